/* Several runs along one axis: the best time so far of each, on a logarithmic scale. */
(function (ts) {
  "use strict";
  const COLORS = 8; // of charts.css; further runs repeat them with dashes

  const name = (run) => run.label || run.run;
  const drawable = ({ points }) => points.filter(([x, y]) => x >= 0 && y > 0);

  const farthest = (runs) => Math.max(...runs.flatMap(({ points }) => points.map(([x]) => x)));

  const extent = (runs) => {
    const times = runs.flatMap(({ points }) => points.map(([, y]) => y));
    return [Math.min(...times) / 1.2, Math.max(...times) * 1.2];
  };

  const color = (place) => ts.color(`--chart-run-${(place % COLORS) + 1}`);
  const dash = (place) => (place < COLORS ? [] : [6, 3]);

  const paint = (u, runs) =>
    ts.clipped(u, (ctx) => {
      ctx.lineWidth = 2 * uPlot.pxRatio;
      ctx.lineJoin = "round";
      runs.forEach(({ points, place }) => {
        ctx.strokeStyle = ctx.fillStyle = color(place);
        ctx.setLineDash(dash(place).map((length) => length * uPlot.pxRatio));
        ts.stairs(u, ctx, points);
        ctx.setLineDash([]);
        for (const [x, y] of points) {
          ctx.beginPath();
          ctx.arc(u.valToPos(x, "x", true), u.valToPos(y, "y", true), 3 * uPlot.pxRatio, 0, 2 * Math.PI);
          ctx.fill();
        }
      });
    });

  /* Steps between ticks where there are no halves. */
  const whole = (axis) =>
    axis === "round" || axis === "evaluations"
      ? d3.range(7).flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power))
      : undefined;

  const legend = (runs) =>
    runs.map((run) => {
      const key = ts.element("i", { className: `chart-key is-run-${(run.place % COLORS) + 1}`, "aria-hidden": "true" });
      const last = run.points[run.points.length - 1];
      const about = ts.element("span", { textContent: ` ${ts.milliseconds(last[1])}` });
      return ts.element("li", {}, key, ts.element("span", { textContent: name(run) }), about);
    });

  const summary = (runs, data) => {
    const ends = runs.map((run) => [name(run), run.points[run.points.length - 1]]);
    const [best, [, time]] = ends.reduce((one, other) => (other[1][1] < one[1][1] ? other : one));
    const fastest = `The fastest is ${best}: ${ts.milliseconds(time)}.`;
    return `The best time so far of ${ts.count(runs.length, "run")} by ${data.unit}. ${fastest}`;
  };

  const draw = (figure, data, runs) => {
    const box = figure.appendChild(ts.element("div", { className: "chart-box", role: "img" }));
    box.setAttribute("aria-label", summary(runs, data));
    ts.plot(box, () => (ts.narrow(box) ? 300 : 400), () => extent(runs), {
      series: [{}, { scale: "y", show: false }],
      axes: [
        { ...ts.bottomAxis(data.unit, null, (value) => value.toLocaleString("en")), incrs: whole(data.axis) },
        ts.timeAxis("best so far, ms (logarithmic)", ts.narrow(box)),
      ],
      cursor: { show: false },
      hooks: { draw: [(u) => paint(u, runs)] },
    }, [[0, farthest(runs) * 1.02 || 1], [null, null]]);
    figure.append(
      ts.element("ul", { className: "chart-legend" }, ...legend(runs)),
      ts.element("p", { className: "chart-summary", textContent: summary(runs, data) }),
    );
  };

  ts.ready(() => {
    const figure = document.getElementById("compare-chart");
    const data = ts.embedded("compare-data");
    if (!figure || !data) return;
    const known = data.runs.map((run, place) => ({ ...run, place, points: drawable(run) }));
    const runs = known.filter(({ points }) => points.length);
    if (!runs.length) return;
    figure.hidden = false;
    draw(figure, data, runs);
  });
})(window.treesearch);
