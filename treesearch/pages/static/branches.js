/* How one reaches into the lineage tree: its nodes under the pointer, its buttons, its keys. */
(function (ts) {
  "use strict";

  /* New nodes: one for those who hear it, then what is seen: a link to its kernel, a button to fold what came of it. */
  ts.enterNodes = (tree, entered) => {
    const node = entered.append("g").attr("role", "presentation");
    const item = node.append("g").attr("role", "treeitem").attr("id", ({ id }) => `node-${id}`);
    item.append("rect").attr("class", "reach").attr("x", -12).attr("y", -20).attr("width", 190).attr("height", 40);
    const link = node.append("a").attr("tabindex", -1).attr("aria-hidden", "true");
    link.append("rect").attr("class", "target").attr("x", -12).attr("y", -20).attr("height", 40)
      .attr("width", ({ mends }) => (mends ? 120 : 214));
    link.append("path").attr("class", "mark");
    link.append("text").attr("class", "title").attr("x", 12).attr("y", -6);
    link.append("text").attr("class", "figures").attr("x", 12).attr("y", 15);
    link.on("pointerenter", (event, found) => tree.tell(found))
      .on("pointerleave", () => tree.details.hide())
      .on("click", (event, found) => found.of !== undefined && tree.toggle(found));
    const fold = node.append("g").attr("class", "toggle").attr("aria-hidden", "true")
      .on("click", (event, found) => tree.toggle(found));
    fold.append("rect").attr("y", -8).attr("height", 16).attr("rx", 8);
    fold.append("text").attr("y", 4);
    return node;
  };

  ts.treeTools = (tree) => {
    const button = (text, title, act) => {
      const made = ts.element("button", { type: "button", textContent: text, title });
      if (text.length === 1) made.setAttribute("aria-label", title);
      made.addEventListener("click", act);
      tree.tools.append(made);
    };
    const scale = (by) => tree.svg.call(tree.zoom.scaleBy, by, [0, 0]);
    button("Fastest", "Go to the fastest kernel", () => {
      const node = tree.lineage.nodes.get(tree.winner);
      if (!node) return;
      tree.lineage.reveal(node);
      tree.fit();
      tree.activate(node);
      tree.svg.node().focus();
    });
    button("Open all", "Open all branches", () => folded(tree, true));
    button("Fold", "Fold all but the winning line", () => folded(tree, false));
    button("−", "Zoom out", () => scale(1 / 1.3));
    button("+", "Zoom in", () => scale(1.3));
    button("Fit", "Zoom to the width of the whole tree", () => {
      const whole = Math.min(1, Math.max(0.15, tree.width / tree.lineage.width));
      tree.svg.call(tree.zoom.transform, d3.zoomIdentity.scale(whole));
    });
  };

  /* A button that says where kernels are when none is in sight, and goes there. */
  ts.treeHint = (tree) => {
    const button = ts.element("button", { type: "button", className: "chart-hint", hidden: true });
    tree.box.append(button);
    let away = 0;
    button.addEventListener("click", () => tree.svg.call(tree.zoom.translateBy, away / tree.transform.k, 0));
    return (nodes) => {
      const { k, x, y } = tree.transform;
      const shown = nodes.filter((node) => node.y * k + y > 0 && node.y * k + y < tree.height);
      const lefts = shown.map((node) => node.x * k + x);
      const right = d3.min(lefts.filter((left) => left > tree.width - 12));
      const left = d3.max(lefts.filter((left) => left < -0.8 * ts.COLUMN * k));
      button.hidden = lefts.length === 0 || lefts.some((one) => one >= -0.8 * ts.COLUMN * k && one <= tree.width - 12);
      away = right === undefined ? 40 - left : 40 - right;
      button.textContent = right === undefined ? "← Kernels are further left" : "Kernels are further right →";
    };
  };

  const folded = (tree, open) => {
    tree.lineage.all(open);
    tree.active = tree.lineage.items[0];
    tree.fit();
    tree.draw();
  };

  /* Left goes to the parent, right to what came of a kernel, up and down stay in the column; Space folds. */
  ts.treeKeys = (tree) => {
    const { lineage } = tree;
    const along = (node, by) => {
      const column = lineage.items.filter((other) => other.column === node.column);
      column.sort((one, other) => one.row - other.row);
      return column[column.indexOf(node) + by];
    };
    const foldable = (node) => node.open !== null || node.of !== undefined;
    const moves = {
      ArrowDown: (node) => along(node, 1),
      ArrowUp: (node) => along(node, -1),
      Home: () => lineage.items[0],
      End: () => lineage.nodes.get(tree.winner),
      ArrowRight: (node) => (node.open === false ? void tree.toggle(node, true) : node.open && node.children[0]),
      ArrowLeft: (node) => node.parent,
      Enter: (node) => void tree.open(node),
      " ": (node) => void (foldable(node) && tree.toggle(node)),
      Escape: () => void tree.details.hide(),
    };
    tree.svg.on("keydown", (event) => {
      if (!(event.key in moves) || !tree.active || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const next = moves[event.key](tree.active);
      if (next && lineage.items.includes(next)) tree.activate(next);
    });
    tree.svg.on("focus", () => tree.active && tree.svg.node().matches(":focus-visible") && tree.tell(tree.active));
    tree.svg.on("blur", () => tree.details.hide());
  };
})(window.treesearch);
