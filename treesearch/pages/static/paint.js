/* What the speed chart paints on its canvas: bands of rounds, lines, a mark for each kernel, the strip of failures. */
(function (ts) {
  "use strict";

  const bands = (u, { rounds }) =>
    ts.clipped(u, (ctx) => {
      ctx.fillStyle = ts.color("--chart-band");
      for (let round = 1; round < rounds; round += 2) {
        const left = u.valToPos(round, "x", true);
        ctx.fillRect(left, u.bbox.top, u.valToPos(round + 1, "x", true) - left, u.bbox.height);
      }
    });

  const rule = (u, ctx, { kind, y }) => {
    const top = u.valToPos(y, "y", true);
    const { left, width, height } = u.bbox;
    ctx.strokeStyle = ts.color(`--chart-${kind}`);
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    ctx.setLineDash((kind === "floor" ? [] : kind === "eager" ? [7, 4] : [2, 3]).map((dash) => dash * uPlot.pxRatio));
    ctx.beginPath();
    ctx.moveTo(left, top);
    ctx.lineTo(left + width, top);
    ctx.stroke();
    ctx.setLineDash([]);
    if (kind !== "floor") return;
    ctx.fillStyle = ts.color("--chart-unreachable");
    ctx.fillRect(left, top, width, u.bbox.top + height - top);
  };

  const marks = {
    verified(ctx, x, y, size) {
      ctx.beginPath();
      ctx.arc(x, y, size, 0, 2 * Math.PI);
      ctx.fill();
    },
    suspect(ctx, x, y, size) {
      ctx.beginPath();
      ctx.moveTo(x, y - 1.4 * size);
      ctx.lineTo(x + 1.3 * size, y + size);
      ctx.lineTo(x - 1.3 * size, y + size);
      ctx.closePath();
      ctx.stroke();
    },
  };

  const scatter = (u, ctx, points, status) => {
    const crowded = points.length > 600;
    ctx.fillStyle = ctx.strokeStyle = ts.color(`--chart-${status}`);
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    ctx.globalAlpha = status === "verified" ? (crowded ? 0.4 : 0.75) : 1;
    const size = (crowded ? 2.2 : 3.5) * uPlot.pxRatio;
    const shown = points.filter(({ kernel, y }) => kernel.status === status && y > 0);
    for (const { x, y } of shown) marks[status](ctx, u.valToPos(x, "x", true), u.valToPos(y, "y", true), size);
    ctx.globalAlpha = 1;
  };

  const strip = (u, ctx, points) => {
    const failures = points.filter(({ kernel }) => ts.failed(kernel));
    if (!failures.length) return;
    const height = ts.STRIP * uPlot.pxRatio;
    ctx.fillStyle = ts.color("--chart-strip");
    ctx.fillRect(u.bbox.left, u.bbox.top, u.bbox.width, height);
    ctx.strokeStyle = ts.color("--chart-failed");
    ctx.lineWidth = (failures.length > 600 ? 1 : 1.5) * uPlot.pxRatio;
    ctx.globalAlpha = Math.min(0.9, Math.max(0.25, (0.3 * u.over.clientWidth) / failures.length));
    ctx.beginPath();
    for (const { x } of failures) {
      const left = u.valToPos(x, "x", true);
      ctx.moveTo(left, u.bbox.top + 0.25 * height);
      ctx.lineTo(left, u.bbox.top + 0.75 * height);
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
  };

  const line = (u, ctx, points, color, width, end) => {
    ctx.strokeStyle = ts.color(color);
    ctx.lineWidth = width * uPlot.pxRatio;
    ctx.lineJoin = "round";
    ts.stairs(u, ctx, points.map(({ x, y }) => [x, y]), end);
  };

  const paint = (u, shown) =>
    ts.clipped(u, (ctx) => {
      for (const baseline of shown.lines) rule(u, ctx, baseline);
      scatter(u, ctx, shown.points, "verified");
      scatter(u, ctx, shown.points, "suspect");
      line(u, ctx, shown.best, "--chart-best", 1.5, shown.rounds);
      line(u, ctx, shown.winning, "--chart-winning", 2.5, shown.rounds);
      strip(u, ctx, shown.points);
    });

  ts.paint = { bands, chart: paint };
})(window.treesearch);
