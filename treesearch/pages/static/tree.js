/* The lineage tree: the winning line straight and bright, failures dimmed; zoom, pan, fold, keyboard. */
(function (ts) {
  "use strict";
  const HEAD = 28; // pixels for the names of rounds, which stay in sight
  const SCALES = [0.15, 2];
  const LEGIBLE = 0.55; // scale below which labels are left out
  const CHARACTER = { plain: 6.7, bold: 7.3 }; // pixels, about

  const cut = (text, width, weight) => {
    const most = Math.floor(width / CHARACTER[weight]);
    return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
  };

  const kind = (node) => {
    if (node.of !== undefined) return "rest";
    return ts.failed(node.kernel) ? "failed" : node.kernel.status || "due";
  };

  const caption = (node) => {
    if (node.of !== undefined) return `${node.below.toLocaleString("en")} more`;
    if (node.mends) return "repaired";
    return cut(ts.name(node.kernel), ts.COLUMN - (node.open === null ? 34 : 76), node.winning ? "bold" : "plain");
  };

  const figures = (node) => {
    if (node.of !== undefined) return `${node.failed.toLocaleString("en")} of them failed`;
    const { status, milliseconds, speedup } = node.kernel;
    if (!ts.timed(node.kernel)) return ts.words(status);
    const parts = [ts.milliseconds(milliseconds), speedup > 0 && ts.ratio(speedup), status === "suspect" && status];
    return parts.filter(Boolean).join(" · ");
  };

  const fold = ({ open, below }) => (open ? "−" : `+${below.toLocaleString("en")}`);
  const foldWidth = (node) => Math.max(26, 12 + 6.2 * fold(node).length);

  const spoken = (node) => {
    if (node.of !== undefined) return `${caption(node)}, ${figures(node)}`;
    const parts = [node.winning && "winning line", node.mends && "a repair", ts.sentence(node.kernel)];
    return parts.filter(Boolean).join(", ");
  };

  const SHAPES = {
    verified: d3.symbol(d3.symbolCircle, 90)(),
    suspect: d3.symbol(d3.symbolTriangle, 70)(),
    failed: "M-4,-4L4,4M-4,4L4,-4",
    due: d3.symbol(d3.symbolCircle, 60)(),
    rest: "M-5,0h.01M0,0h.01M5,0h.01",
  };

  const link = (fork, child) => {
    const { x, y } = fork.node;
    if (child.y === y) return `M${x},${y}H${child.x}`;
    return `M${x},${y}H${fork.x}V${child.y - 7}Q${fork.x},${child.y} ${fork.x + 7},${child.y}H${child.x}`;
  };

  const arc = ({ from, to }) => {
    const bend = Math.max(40, Math.abs(to.x - from.x) / 2);
    return `M${from.x},${from.y}C${from.x + bend},${from.y} ${to.x - bend},${to.y} ${to.x},${to.y}`;
  };

  const legend = () => {
    const kinds = { winning: "winning line", refines: "refines", repairs: "repairs", inspired: "inspired by" };
    return ts.element("ul", { className: "chart-legend" }, ...Object.entries(kinds).map(([kind, text]) =>
      ts.element("li", {}, ts.element("i", { className: `chart-key is-${kind}`, "aria-hidden": "true" }), text)));
  };

  class Tree {
    constructor(figure, data) {
      this.lineage = new ts.Lineage(data);
      this.winner = data.winning_line[data.winning_line.length - 1];
      const tools = ts.element("div", { className: "chart-tools", role: "group", "aria-label": "Lineage" });
      this.tools = figure.appendChild(tools);
      this.box = figure.appendChild(ts.element("div", { className: "chart-box chart-tree" }));
      figure.append(legend());
      this.build();
      this.details = ts.details(this.box);
      this.active = this.lineage.items[0] || null;
      ts.treeTools(this);
      this.hint = ts.treeHint(this);
      ts.treeKeys(this);
      new ResizeObserver(() => this.box.clientWidth !== this.width && this.fit()).observe(this.box);
      this.fit();
    }

    build() {
      this.svg = d3.select(this.box).append("svg").attr("role", "tree").attr("tabindex", 0)
        .attr("aria-label", "Lineage of the kernels; arrow keys move and fold, Enter opens a kernel");
      this.view = this.svg.append("g").attr("role", "presentation").append("g").attr("role", "presentation");
      for (const layer of ["links", "inspirations", "nodes"]) {
        this[layer] = this.view.append("g").attr("role", "presentation").attr("class", `tree-${layer}`);
      }
      this.head = this.svg.append("g").attr("class", "tree-head").attr("aria-hidden", "true");
      this.head.append("rect").attr("height", HEAD);
      this.zoom = d3.zoom().scaleExtent(SCALES).constrain((transform) => this.constrain(transform))
        .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
        .on("zoom", ({ transform }) => this.moved(transform));
      this.transform = d3.zoomIdentity;
      this.svg.call(this.zoom).on("dblclick.zoom", null);
      this.svg.node().style.touchAction = "pan-y";
      this.svg.on("wheel.pan", (event) => this.scroll(event), { passive: false });
    }

    /* The size of the box follows from the tree, up to most of a screen. */
    fit() {
      this.width = this.box.clientWidth;
      const most = ts.narrow(this.box) ? 420 : 560;
      this.height = Math.min(most, this.lineage.height + HEAD + 16);
      this.svg.attr("width", this.width).attr("height", this.height);
      this.head.select("rect").attr("width", this.width);
      this.svg.call(this.zoom.transform, this.constrain(this.transform));
    }

    constrain({ k, x, y }) {
      const hold = (offset, content, room) => Math.max(Math.min(0, room - content * k), Math.min(0, offset));
      return d3.zoomIdentity
        .translate(hold(x, this.lineage.width, this.width), hold(y, this.lineage.height, this.height - HEAD))
        .scale(k);
    }

    /* The wheel pans like a box that scrolls; where it can go no further, the page scrolls. */
    scroll(event) {
      if (event.ctrlKey || event.metaKey) return;
      const { x, y } = this.transform;
      const [across, down] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
      this.svg.call(this.zoom.translateBy, -across / this.transform.k, -down / this.transform.k);
      if (x !== this.transform.x || y !== this.transform.y) event.preventDefault();
    }

    moved(transform) {
      this.transform = transform;
      this.view.attr("transform", `translate(0,${HEAD}) ${transform}`);
      this.svg.classed("is-small", transform.k < LEGIBLE);
      if (this.details) this.details.hide();
      this.frame = this.frame || requestAnimationFrame(() => this.draw());
    }

    draw() {
      this.frame = 0;
      const { k, y } = this.transform;
      const [top, bottom] = [-y / k - 2 * ts.ROW, (this.height - y) / k + 2 * ts.ROW];
      const seen = this.lineage.items.filter((node) => (node.y >= top && node.y <= bottom) || node === this.active);
      this.drawNodes(seen);
      this.hint(seen);
      this.drawLinks(top, bottom);
      this.drawInspirations(top, bottom);
      this.drawHead();
    }

    drawHead() {
      const { k, x } = this.transform;
      const every = Math.max(1, Math.ceil(60 / (ts.COLUMN * k)));
      const rounds = this.lineage.columns.filter(({ first, round }) => first && round % every === 0);
      this.head.selectAll("text").data(rounds, ({ round }) => round).join("text")
        .attr("x", ({ left }) => left * k + x - 6 * k).attr("y", 18).text(({ round }) => `round ${round}`);
    }

    drawLinks(top, bottom) {
      const drawn = [];
      for (const fork of this.lineage.forks) {
        if (fork.bottom < top || fork.node.y > bottom) continue;
        // Of children beyond what is seen, one link is enough: it passes through.
        const beyond = fork.children.find((child) => child.y > bottom);
        const near = fork.children.filter((child) => child.y >= top && child.y <= bottom);
        drawn.push(...[...near, ...(beyond ? [beyond] : [])].map((child) => ({ fork, child })));
      }
      drawn.sort((one, other) => Boolean(one.child.winning) - Boolean(other.child.winning));
      this.links.selectAll("path").data(drawn, ({ child }) => child.id).join("path").order()
        .attr("class", ({ child }) => `is-${kind(child)}`)
        .classed("is-winning", ({ child }) => child.winning)
        .classed("is-repair", ({ child }) => child.kernel?.relation === "repairs")
        .attr("d", ({ fork, child }) => link(fork, child));
    }

    /* Only between what is seen or nearly so: the card names all of them. */
    drawInspirations(top, bottom) {
      const reach = bottom - top;
      const near = this.lineage.items.filter(({ kernel, y }) => kernel && y >= top - reach && y <= bottom + reach);
      const shown = new Map(near.map((node) => [node.id, node]));
      const drawn = near.flatMap((to) =>
        to.kernel.inspired_by.map((id) => ({ from: shown.get(id), to })).filter(({ from }) => from));
      const name = ({ from, to }) => `${from.id} ${to.id}`;
      this.inspirations.selectAll("path").data(drawn, name).join("path").attr("d", arc);
    }

    drawNodes(seen) {
      const nodes = this.nodes.selectAll("g.node").data(seen, (node) => node.id)
        .join((entered) => ts.enterNodes(this, entered)).order();
      nodes.attr("transform", ({ x, y }) => `translate(${x},${y})`)
        .attr("class", (node) => `node is-${kind(node)}`)
        .classed("is-winning", ({ winning }) => winning)
        .classed("is-active", (node) => node === this.active);
      nodes.select("[role=treeitem]")
        .attr("aria-level", ({ level }) => level)
        .attr("aria-posinset", ({ position }) => position)
        .attr("aria-setsize", ({ siblings }) => siblings)
        .attr("aria-expanded", ({ open, of }) => (of !== undefined ? "false" : open))
        .attr("aria-selected", (node) => String(node === this.active))
        .attr("aria-label", spoken);
      const grown = Math.max(1, (0.7 * LEGIBLE) / this.transform.k);
      nodes.select("path.mark").attr("d", (node) => SHAPES[kind(node)]).attr("transform", `scale(${grown})`);
      nodes.select("text.title").text(caption);
      nodes.select("text.figures").text(figures);
      nodes.select("a").attr("href", (node) => (node.kernel && node.kernel.href) || null);
      const folds = nodes.select("g.toggle").classed("is-none", ({ open }) => open === null)
        .attr("transform", (node) => `translate(${(node.mends ? ts.REPAIRS : ts.COLUMN) - 46},0)`);
      folds.select("text").text(fold);
      folds.select("rect").attr("x", (node) => -foldWidth(node) / 2).attr("width", foldWidth);
      this.svg.attr("aria-activedescendant", this.active ? `node-${this.active.id}` : null);
    }

    /* ── what the pointer, the keys and the buttons do ────────────────────────────────────────── */

    toggle(node, open) {
      this.lineage.toggle(node, open);
      if (!this.lineage.items.includes(this.active)) this.active = node.of === undefined ? node : this.lineage.items[0];
      this.fit();
      this.draw();
    }

    open(node) {
      if (node.of !== undefined) this.toggle(node);
      else ts.open(node.kernel);
    }

    activate(node) {
      this.active = node;
      this.show(node);
      this.draw();
      this.tell(node);
    }

    /* Pan just as far as a node needs to be seen. */
    show(node) {
      const { k, x, y } = this.transform;
      const [left, top] = [node.x * k + x, node.y * k + y];
      const across = Math.min(0, this.width - ts.COLUMN * k - left) || Math.max(0, 24 - left);
      const down = Math.min(0, this.height - HEAD - ts.ROW * k - top) || Math.max(0, ts.ROW * k - top);
      if (across || down) this.svg.call(this.zoom.translateBy, across / k, down / k);
    }

    tell(node) {
      if (!node.kernel) return this.details.hide();
      const { k, x, y } = this.transform;
      this.details.show(node.kernel, node.x * k + x, node.y * k + y + HEAD + 12);
    }

    update(data) {
      const active = this.active && this.active.id;
      this.winner = data.winning_line[data.winning_line.length - 1];
      this.lineage.renew(data);
      this.active = this.lineage.items.find(({ id }) => id === active) || this.lineage.items[0] || null;
      this.fit();
      this.draw();
    }
  }

  ts.chart("lineage-tree", Tree);
})(window.treesearch);
