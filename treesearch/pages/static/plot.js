/* What the plots have in common: logarithmic milliseconds upwards, uPlot's life cycle, sizes and themes. */
(function (ts) {
  "use strict";
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const NARROW = 560;

  ts.narrow = (element) => element.clientWidth < NARROW;

  /* Round values between two positive ones that lie about evenly on a logarithmic axis: 0.1, 0.2, 0.5, 1 … */
  ts.logTicks = (low, high) => {
    const decades = Math.log10(high / low);
    if (decades < 0.5) return d3.ticks(low, high, 5);
    const leading = decades < 1 ? [1, 1.5, 2, 3, 4, 5, 7] : decades < 3.5 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      ticks.push(...leading.map((digit) => Number(`${digit}e${power}`)));
    }
    return ticks.filter((tick) => tick >= low && tick <= high);
  };

  /* The vertical axis of times. `label` names what is measured; the unit is part of it. */
  ts.timeAxis = (label, narrow) => ({
    scale: "y",
    font: FONT,
    labelFont: FONT,
    label,
    labelSize: 18,
    size: narrow ? 44 : 54,
    gap: 6,
    stroke: () => ts.color("--chart-muted"),
    grid: { stroke: () => ts.color("--chart-rule"), width: 1 },
    ticks: { show: false },
    splits: (u, axis, low, high) => ts.logTicks(low, high),
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map(ts.figure),
  });

  ts.bottomAxis = (label, splits, values) => ({
    scale: "x",
    font: FONT,
    labelFont: FONT,
    label,
    labelSize: 20,
    size: 30,
    gap: 4,
    stroke: () => ts.color("--chart-muted"),
    grid: { show: false },
    ticks: { show: false },
    ...(splits && { splits: (u, axis, low, high) => splits(low, high), filter: (u, found) => found }),
    values: (u, found) => found.map(values),
  });

  const drawn = new Map(); // by the id of the figure
  let run; // what the page came with, read once

  const draw = (id, Kind, data) => {
    const figure = document.getElementById(id);
    if (!figure || !data || !data.kernels.length) return;
    figure.hidden = false;
    drawn.set(id, { Kind, chart: new Kind(figure, data) });
  };

  /* Fill the figure with this id from the run's data as soon as there are kernels. */
  ts.chart = (id, Kind) => {
    drawn.set(id, { Kind, chart: null });
    ts.ready(() => draw(id, Kind, (run = run || ts.run())));
  };

  /* Show what has become of the run. */
  ts.follow = (data) => {
    for (const [id, { Kind, chart }] of drawn) {
      if (chart) chart.update(data);
      else draw(id, Kind, data);
    }
  };

  /* A plot that keeps to its box's width and to the theme. `data` spans the horizontal axis, `extent` tells the ends of
     the vertical one. */
  ts.plot = (box, height, extent, options, data) => {
    const made = new uPlot(
      {
        width: box.clientWidth,
        height: height(),
        legend: { show: false },
        padding: [10, 14, 0, 0],
        ...options,
        scales: {
          x: { time: false, range: (u, low, high) => [low, high] },
          y: { distr: 3, log: 10, auto: (u, whole) => whole, range: () => extent() },
        },
      },
      data,
      box,
    );
    new ResizeObserver(() => {
      if (box.clientWidth && box.clientWidth !== made.width) made.setSize({ width: box.clientWidth, height: height() });
    }).observe(box);
    ts.onTheme(() => made.redraw(false, true));
    return made;
  };

  /* Run `paint` with the canvas clipped to the plot's area. */
  ts.clipped = (u, paint) => {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    paint(u.ctx);
    u.ctx.restore();
  };

  /* A line through [x, y] values that moves along one axis at a time, held to the right until the next point. */
  ts.stairs = (u, ctx, points, end) => {
    ctx.beginPath();
    points.forEach(([x, y], place) => {
      const [left, top] = [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
      if (place === 0) ctx.moveTo(left, top);
      else {
        ctx.lineTo(left, u.valToPos(points[place - 1][1], "y", true));
        ctx.lineTo(left, top);
      }
    });
    if (points.length && end !== undefined) {
      ctx.lineTo(u.valToPos(end, "x", true), u.valToPos(points[points.length - 1][1], "y", true));
    }
    ctx.stroke();
  };
})(window.treesearch);
