/* What lies over the speed chart's canvas: names of lines, numbered steps, and titles where none covers another. */
(function (ts) {
  "use strict";
  const ROWS = 6;
  const GAP = 13;
  const FEW = 3; // titles on a narrow screen

  const meet = (one, other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

  const box = (left, top, size) => ({ left, top, right: left + size.width, bottom: top + size.height });

  /* Places to try for a label of `size` at a step: below the line nothing is ever measured, so there first. */
  const candidates = ({ x, y }, size) => {
    const below = [];
    for (let row = 0; row < ROWS; row++) {
      const top = y + GAP + row * (size.height + 4);
      below.push(box(x + GAP, top, size), box(x - size.width - GAP, top, size), box(x - size.width / 2, top, size));
    }
    const beside = [0, 30, 60, 90].map((away) =>
      box(x - size.width - GAP - 4 - away, y + 2 - size.height / (away ? 4 : 2), size));
    return [
      beside[0],
      ...below,
      ...beside.slice(1),
      box(x + GAP, y - size.height - GAP, size),
    ];
  };

  const inside = (found, area) =>
    found.left >= 0 && found.top >= area.top && found.right <= area.width && found.bottom <= area.height;

  /* Thin boxes around a staircase's treads and drops. */
  const alongStairs = (steps, end) =>
    steps.flatMap(({ x, y }, place) => {
      const next = steps[place + 1] || { x: end, y };
      return [
        { left: x - 11, right: Math.max(x, next.x) + 3, top: y - 11, bottom: y + 9 },
        { left: next.x - 3, right: next.x + 3, top: Math.min(y, next.y) - 3, bottom: Math.max(y, next.y) + 3 },
      ];
    });

  /* For each step {x, y, size, weight} a box in which its label is legible, or null where there is none; heavier steps
     choose first. `area` is {width, height, top}, `obstacles` are boxes, all in pixels from the area's upper left;
     those that are `thin` may be crossed where nothing else is free. */
  const placeLabels = (steps, area, obstacles) => {
    const taken = [...obstacles, ...alongStairs(steps, area.width)];
    const placed = steps.map(() => null);
    const order = steps.map((step, place) => place).sort((one, other) => steps[other].weight - steps[one].weight);
    for (const place of order) {
      const within = candidates(steps[place], steps[place].size).filter((found) => inside(found, area));
      const clear = (found, all) => !all.some((other) => meet(found, other));
      const free =
        within.find((found) => clear(found, taken)) ||
        within.find((found) => clear(found, taken.filter(({ thin }) => !thin)));
      if (!free) continue;
      placed[place] = free;
      taken.push(free);
    }
    return placed;
  };

  const within = ({ width, height }, { x, y }) => x >= 0 && y >= 0 && x <= width && y <= height;

  const boxOf = (element) => ({
    left: element.offsetLeft - 2,
    top: element.offsetTop - 1,
    right: element.offsetLeft + element.offsetWidth + 2,
    bottom: element.offsetTop + element.offsetHeight + 1,
  });

  /* A line's name above it, or below where another is near; one that is out of sight is named at the edge. */
  const labelLine = (u, layer, { kind, label, y, top }, crowded) => {
    const bottom = u.over.clientHeight;
    const away = top < ts.STRIP ? " ↑" : top > bottom ? " ↓" : "";
    const text = `${label} ${ts.milliseconds(y)}${away}`;
    const made = layer.appendChild(ts.element("span", { className: `chart-line is-${kind}`, textContent: text }));
    const height = made.offsetHeight;
    const place = crowded || (kind === "floor" && !away) ? top + 2 : top - height - 1;
    made.style.top = `${Math.max(ts.STRIP + 2, Math.min(place, bottom - height))}px`;
    const drawn = { left: 0, right: u.over.clientWidth, top: top - 2, bottom: top + 2, thin: true };
    return away ? [boxOf(made)] : [boxOf(made), drawn];
  };

  const labelLines = (u, layer, lines) => {
    const drawn = lines.map((line) => ({ ...line, top: u.valToPos(line.y, "y") }));
    const near = ({ top }) => drawn.some((other) => other.top < top && top - other.top < 18);
    return drawn.flatMap((line) => labelLine(u, layer, line, near(line)));
  };

  /* The steps of the winning line that have a time; one that failed is numbered in the strip. */
  const numberSteps = (u, layer, winning, area) =>
    winning.flatMap((point, place) => {
      const failed = !(point.y > 0);
      const at = { x: u.valToPos(point.x, "x"), y: failed ? ts.STRIP / 2 : u.valToPos(point.y, "y") };
      if (!within(area, at)) return [];
      const about = `${place + 1}. ${ts.sentence(point.kernel)}`;
      const className = failed ? "chart-step is-failed" : "chart-step";
      const dot = ts.link(point.kernel, { className, title: about, "aria-label": about }, String(place + 1));
      dot.style.left = `${at.x}px`;
      dot.style.top = `${at.y}px`;
      layer.append(dot);
      if (failed) return [];
      const before = winning.slice(0, place).reverse().find(({ y }) => y > 0);
      const gain = before ? before.y / point.y : 1;
      return [{ ...at, point, number: place + 1, weight: place === winning.length - 1 ? Infinity : gain }];
    });

  const titleSteps = (layer, steps, area, obstacles, most) => {
    const titled = [...steps].sort((one, other) => other.weight - one.weight).slice(0, most);
    for (const step of titled) {
      step.made = ts.element("span", { className: "chart-title", "aria-hidden": "true" });
      step.made.append(
        ts.element("span", {}, ts.element("b", { textContent: step.number }), ` ${ts.name(step.point.kernel)}`),
        ts.element("small", { textContent: ts.milliseconds(step.point.y) }),
      );
      layer.append(step.made);
    }
    const sized = steps.map(({ x, y, weight, made }) => ({
      x, y, weight, size: made ? { width: made.offsetWidth, height: made.offsetHeight } : { width: 1e6, height: 1e6 },
    }));
    const placed = placeLabels(sized, area, obstacles);
    steps.forEach(({ made }, place) => {
      if (!made) return;
      const found = placed[place];
      if (!found) return made.remove();
      made.style.left = `${found.left}px`;
      made.style.top = `${found.top}px`;
    });
  };

  const annotate = (u, layer, shown) => {
    layer.replaceChildren();
    // Read once: after each change the browser would lay the page out anew to tell.
    const area = { width: u.over.clientWidth, height: u.over.clientHeight, top: ts.STRIP };
    const obstacles = labelLines(u, layer, shown.lines);
    const best = shown.best.map(({ x, y }) => ({ x: u.valToPos(x, "x"), y: u.valToPos(y, "y") }));
    obstacles.push(...alongStairs(best, area.width).map((found) => ({ ...found, thin: true })));
    const steps = numberSteps(u, layer, shown.line, area);
    titleSteps(layer, steps, area, obstacles, ts.narrow(u.root) ? FEW : Infinity);
  };

  ts.labels = { place: placeLabels, annotate };
})(window.treesearch);
