/* Speed over rounds: every kernel by status, the best so far, the winning line, both baselines and the floor. */
(function (ts) {
  "use strict";
  const REACH = 24; // pixels around the pointer in which a kernel is found

  ts.STRIP = 20; // pixels at the top for what failed, which has no time

  /* The run's data with a place for each kernel: round plus its share of the round's width. */
  const prepare = (data) => {
    const kernels = [...data.kernels].sort((one, other) => one.round - other.round);
    const sizes = new Map();
    for (const { round } of kernels) sizes.set(round, (sizes.get(round) || 0) + 1);
    const seen = new Map();
    const points = kernels.map((kernel) => {
      const ordinal = seen.get(kernel.round) || 0;
      seen.set(kernel.round, ordinal + 1);
      return { kernel, x: kernel.round + (ordinal + 0.5) / sizes.get(kernel.round), y: kernel.milliseconds };
    });
    const places = new Map(points.map((point) => [point.kernel.id, point]));
    const line = data.winning_line.map((id) => places.get(id)).filter(Boolean);
    const winning = line.filter(({ y }) => y > 0);
    const best = points.filter(({ kernel }) => kernel.step && kernel.milliseconds > 0);
    const rounds = d3.max(kernels, ({ round }) => round + 1) || 1;
    return { data, points, line, winning, best, rounds, lines: baselines(data.baselines) };
  };

  const baselines = ({ eager_ms: eager, compile_ms: compile, floor_ms: floor }) =>
    [
      { kind: "eager", label: "torch eager", y: eager },
      { kind: "compile", label: "torch.compile", y: compile },
      { kind: "floor", label: "floor", y: floor },
    ].filter(({ y }) => y > 0);

  const breadth = (times) => Math.log(d3.max(times) / d3.min(times));

  /* The times that the axis covers. A line that would squeeze all kernels together is left beyond its edge. */
  const covered = ({ points, lines }) => {
    const times = points.filter(({ kernel }) => ts.timed(kernel)).map(({ y }) => y);
    if (!times.length) return lines.map(({ y }) => y);
    const center = times[times.length - 1];
    const near = [...lines].sort((one, other) => breadth([one.y, center]) - breadth([other.y, center]));
    for (const { y } of near) {
      if (breadth([...times, y]) <= Math.max(Math.log(8), 2.5 * breadth(times))) times.push(y);
    }
    return times;
  };

  const extent = (shown, height) => {
    const times = covered(shown);
    const margin = times.length ? Math.max(1.25, Math.exp(0.1 * breadth(times))) : 1;
    const [low, high] = times.length ? [d3.min(times) / margin, d3.max(times) * 1.25] : [0.1, 10];
    const share = Math.min(0.3, (ts.STRIP + 4) / Math.max(height, 100));
    return [low, high * Math.pow(high / low, share / (1 - share))];
  };

  /* In words what the chart shows. */
  const summary = ({ data, points, winning }) => {
    const tally = (wanted) => points.filter(({ kernel }) => wanted(kernel)).length;
    const failed = tally(ts.failed);
    const rounds = new Set(points.map(({ kernel }) => kernel.round)).size;
    const parts = [
      `${ts.count(points.length, "kernel")} in ${ts.count(rounds, "round")}:`,
      `${tally(({ status }) => status === "verified").toLocaleString("en")} verified,`,
      `${tally(({ status }) => status === "suspect").toLocaleString("en")} suspect,`,
      `${failed.toLocaleString("en")} failed.`,
    ];
    const winner = winning[winning.length - 1];
    return [...parts, winner ? praise(winner, data.baselines) : "None is right yet."].join(" ");
  };

  const praise = ({ kernel, y }, { eager_ms: eager, compile_ms: compile, floor_ms: floor }) => {
    const against = [
      eager > 0 && `${ts.ratio(eager / y)} over torch eager (${ts.milliseconds(eager)})`,
      compile > 0 && `${ts.ratio(compile / y)} over torch.compile (${ts.milliseconds(compile)})`,
    ].filter(Boolean);
    const gain = against.length ? `, ${against.join(" and ")}` : "";
    const bound = floor > 0 ? `; no kernel can take less than ${ts.milliseconds(floor)}` : "";
    return `The fastest, ${ts.name(kernel)}, takes ${ts.milliseconds(y)}${gain}${bound}.`;
  };

  /* ── the legend, the pointer and the keyboard ──────────────────────────────────────────────── */

  const legend = ({ points, winning }) => {
    const entry = (kind, text) =>
      ts.element("li", {}, ts.element("i", { className: `chart-key is-${kind}`, "aria-hidden": "true" }), text);
    const tally = (wanted) => points.filter(({ kernel }) => wanted(kernel)).length;
    const [verified, suspect] = ["verified", "suspect"].map((word) => tally(({ status }) => status === word));
    const failed = tally(ts.failed);
    return [
      winning.length && entry("winning", "winning line"),
      winning.length && entry("best", "best so far"),
      entry("verified", `${verified.toLocaleString("en")} verified`),
      suspect && entry("suspect", `${suspect.toLocaleString("en")} suspect`),
      failed && entry("failed", `${failed.toLocaleString("en")} failed, without a time`),
    ].filter(Boolean);
  };

  /* Where a kernel lies in pixels of the plot; one that failed lies in the strip, one without a verdict nowhere. */
  const spot = (u, { kernel, x, y }) => {
    const left = u.valToPos(x, "x");
    if (ts.failed(kernel)) return { left, top: ts.STRIP / 2 };
    return y > 0 ? { left, top: u.valToPos(y, "y") } : null;
  };

  const nearest = (u, points, left, top) => {
    let [found, least] = [null, REACH * REACH];
    for (const point of points) {
      const at = spot(u, point);
      const distance = at ? (at.left - left) ** 2 + (at.top - top) ** 2 : Infinity;
      if (distance < least) [found, least] = [point, distance];
    }
    return found;
  };

  class Chart {
    constructor(figure, data) {
      this.box = figure.appendChild(ts.element("div", { className: "chart-box", tabIndex: 0, role: "group" }));
      this.box.setAttribute("aria-label", "Speed over rounds: arrow keys go from kernel to kernel, Enter opens one");
      this.legend = figure.appendChild(ts.element("ul", { className: "chart-legend" }));
      this.words = figure.appendChild(ts.element("p", { className: "chart-summary" }));
      this.spoken = figure.appendChild(ts.element("p", { className: "chart-hidden", role: "status" }));
      this.reset = this.box.appendChild(
        ts.element("button", { type: "button", className: "chart-reset", hidden: true, textContent: "Whole run" }),
      );
      this.current = null;
      this.describe(data);
      this.plot = this.make();
      this.details = ts.details(this.box);
      this.ring = this.plot.over.appendChild(ts.element("i", { className: "chart-ring", hidden: true }));
      this.listen();
    }

    describe(data) {
      this.shown = prepare(data);
      this.legend.replaceChildren(...legend(this.shown));
      this.words.textContent = summary(this.shown);
    }

    height() {
      return ts.narrow(this.box) ? 340 : 440;
    }

    extent() {
      return extent(this.shown, this.height() - 60);
    }

    series() {
      return [[0, this.shown.rounds], [null, null]];
    }

    make() {
      const narrow = ts.narrow(this.box);
      const layer = ts.element("div", { className: "chart-layer" });
      const rounds = (low, high) => {
        const every = Math.max(1, Math.ceil((high - low) / (narrow ? 8 : 20)));
        return d3.range(Math.ceil((low - 0.5) / every) * every, high - 0.5, every).map((round) => round + 0.5);
      };
      return ts.plot(this.box, () => this.height(), () => this.extent(), {
        series: [{}, { scale: "y", show: false }],
        axes: [
          ts.bottomAxis("round", rounds, (value) => String(Math.floor(value))),
          ts.timeAxis("time of a launch, ms (logarithmic)", narrow),
        ],
        cursor: { x: false, y: false, points: { show: false }, drag: { x: true, y: true, uni: 30, dist: 6 } },
        hooks: {
          init: [(u) => u.over.append(layer)],
          drawClear: [(u) => ts.paint.bands(u, this.shown)],
          draw: [
            (u) => ts.paint.chart(u, this.shown),
            (u) => ts.labels.annotate(u, layer, this.shown),
            (u) => this.zoomed(u),
          ],
        },
      }, this.series());
    }

    zoomed(u) {
      const whole = { x: [0, this.shown.rounds], y: this.extent() };
      const differs = (axis) => {
        const [low, high] = whole[axis];
        const { min, max } = u.scales[axis];
        return Math.max(Math.abs(min - low), Math.abs(max - high)) > 1e-6 * (high - low);
      };
      this.reset.hidden = !differs("x") && !differs("y");
      if (this.current) this.select(this.current, false);
    }

    listen() {
      const over = this.plot.over;
      const at = (event) => {
        const area = over.getBoundingClientRect();
        return nearest(this.plot, this.shown.points, event.clientX - area.left, event.clientY - area.top);
      };
      over.addEventListener("pointermove", (event) => {
        if (event.pointerType === "touch") return;
        this.select(event.buttons ? null : at(event));
      });
      over.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.select(null));
      over.addEventListener("click", (event) => {
        if (event.target !== over) return;
        const found = at(event);
        if (event.pointerType === "touch") this.select(found, true, true);
        else if (found) ts.open(found.kernel);
      });
      this.box.addEventListener("keydown", (event) => this.press(event));
      // A tap's card holds a link, and stays while that is reached for.
      this.box.addEventListener("blur", () => this.details.touched() || this.select(null));
      this.reset.addEventListener("click", () => this.plot.setData(this.series(), true));
    }

    press(event) {
      if (event.target !== this.box || event.altKey || event.ctrlKey || event.metaKey) return;
      const points = this.shown.points.filter((point) => spot(this.plot, point));
      const winning = this.shown.winning;
      const step = (list, by) => {
        const place = list.indexOf(this.current);
        const start = place >= 0 ? place + by : by > 0 ? 0 : list.length - 1;
        return list[Math.max(0, Math.min(list.length - 1, start))];
      };
      const moves = {
        ArrowRight: () => step(points, 1),
        ArrowLeft: () => step(points, -1),
        ArrowDown: () => step(winning, 1),
        ArrowUp: () => step(winning, -1),
        Home: () => points[0],
        End: () => points[points.length - 1],
        Escape: () => null,
      };
      if (event.key === "Enter" && this.current) ts.open(this.current.kernel);
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.select(moves[event.key]() || null);
      this.spoken.textContent = this.current ? ts.sentence(this.current.kernel) : "";
    }

    select(point, details = true, touch = false) {
      const at = point && spot(this.plot, point);
      this.current = at ? point : null;
      this.ring.hidden = !at;
      this.plot.over.classList.toggle("can-open", Boolean(at));
      if (!at) return this.details.hide();
      this.ring.style.left = `${at.left}px`;
      this.ring.style.top = `${at.top}px`;
      const { offsetLeft, offsetTop } = this.plot.over;
      if (details) this.details.show(point.kernel, at.left + offsetLeft, at.top + offsetTop, touch);
    }

    /* New data; what was zoomed into stays in sight. */
    update(data) {
      const followed = this.reset.hidden;
      const current = this.current && this.current.kernel.id;
      this.describe(data);
      this.current = this.shown.points.find(({ kernel }) => kernel.id === current) || null;
      this.plot.setData(this.series(), followed);
      if (!followed) this.plot.redraw();
    }
  }

  ts.chart("speed-chart", Chart);

  ts.speed = { prepare, extent, summary };
})(window.treesearch);
