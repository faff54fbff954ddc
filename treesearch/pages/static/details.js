/* The card that tells about the kernel under the pointer or the keyboard, beside it and within its box. */
(function (ts) {
  "use strict";
  const GAP = 14;

  const figures = (kernel) => {
    const parts = [ts.words(kernel.status)];
    if (kernel.milliseconds > 0) parts.push(ts.milliseconds(kernel.milliseconds));
    if (kernel.speedup > 0) parts.push(`${ts.ratio(kernel.speedup)} over torch`);
    return parts.join(" · ");
  };

  const origin = (kernel) => {
    const parts = [`kernel ${kernel.id}`, `round ${kernel.round}`];
    if (kernel.relation && kernel.parent) parts.push(`${kernel.relation} ${kernel.parent}`);
    if (kernel.inspired_by.length) parts.push(`inspired by ${kernel.inspired_by.join(", ")}`);
    if (kernel.category) parts.push(kernel.category);
    return parts.join(" · ");
  };

  /* One sentence for those who hear it. */
  ts.sentence = (kernel) => `${ts.name(kernel)}: ${figures(kernel)}; round ${kernel.round}`;

  ts.details = (box) => {
    const card = box.appendChild(ts.element("div", { className: "chart-details", hidden: true }));
    const place = (left, top) => {
      const beyond = left + GAP + card.offsetWidth > box.clientWidth;
      card.style.left = `${Math.max(0, beyond ? left - GAP - card.offsetWidth : left + GAP)}px`;
      card.style.top = `${Math.max(0, Math.min(top + GAP, box.clientHeight - card.offsetHeight))}px`;
    };
    return {
      /* `left` and `top` in pixels of the box. With `touch` the card holds a link, since a tap only shows it. */
      show(kernel, left, top, touch = false) {
        card.replaceChildren(
          ts.element("strong", { textContent: ts.name(kernel) }),
          ts.element("span", { className: `chart-status is-${kernel.status || "due"}`, textContent: figures(kernel) }),
          ts.element("span", { className: "chart-origin", textContent: origin(kernel) }),
          ...(touch && kernel.href ? [ts.link(kernel, {}, "Open kernel")] : []),
        );
        card.classList.toggle("can-touch", touch);
        card.hidden = false;
        place(left, top);
      },
      touched: () => !card.hidden && card.classList.contains("can-touch"),
      hide() {
        card.hidden = true;
      },
    };
  };
})(window.treesearch);
