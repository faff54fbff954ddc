/* What all scripts share: figures and words as the terminal prints them, elements, the page's data. Loaded first. */
(function () {
  "use strict";
  const ts = (window.treesearch = {});

  /* Three significant digits of a positive number, never in powers of ten: 0.0636, 12345. */
  ts.figure = (value) => {
    if (value >= 999.5) return value.toFixed(0);
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(value)));
    return String(value.toFixed(Math.min(decimals, 12))).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  };
  ts.milliseconds = (value) => (value > 0 ? `${ts.figure(value)} ms` : "–");
  ts.ratio = (value) => (value > 0 ? `${value >= 999.5 ? value.toFixed(0) : value.toFixed(2)}×` : "–");
  ts.count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  ts.words = (status) => (status ? status.replaceAll("_", " ") : "not judged yet");
  ts.timed = (kernel) => kernel.milliseconds > 0 && (kernel.status === "verified" || kernel.status === "suspect");
  ts.failed = (kernel) => Boolean(kernel.status) && kernel.status !== "verified" && kernel.status !== "suspect";
  ts.name = (kernel) => kernel.title || kernel.id;

  /* An element with properties and children; strings become text, never markup. */
  ts.element = (tag, properties = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };

  /* A link to a kernel's page, or plain text where the page holds none. */
  ts.link = (kernel, properties, ...children) =>
    kernel.href
      ? ts.element("a", { ...properties, href: kernel.href }, ...children)
      : ts.element("span", properties, ...children);

  ts.open = (kernel) => {
    if (kernel.href) window.location.assign(kernel.href);
  };

  /* The JSON that a page embeds under an id; null where there is none. */
  ts.embedded = (id, page = document) => {
    const script = page.getElementById(id);
    return script ? JSON.parse(script.textContent) : null;
  };

  /* What a page embeds of its run, with an object for each kernel in place of the columns that it came in. */
  ts.run = (page = document) => {
    const data = ts.embedded("run-data", page);
    return data && { ...data, kernels: kernels(data) };
  };

  const kernels = (data) => {
    const { id, round, parent, relation, status, milliseconds, speedup, idea } = data.kernels;
    const [winning, steps] = [new Set(data.winning_line), new Set(data.steps)];
    const paged = data.paged && new Set(data.paged);
    return id.map((name, place) => ({
      id: name,
      round: round[place],
      parent: parent[place] === null ? null : id[parent[place]],
      relation: data.relations[relation[place]],
      inspired_by: data.inspired_by[place] || [],
      status: data.statuses[status[place]],
      milliseconds: milliseconds[place],
      speedup: speedup[place],
      title: data.ideas[idea[place]].title,
      category: data.ideas[idea[place]].category,
      href: !paged || paged.has(place) ? data.pages + encodeURIComponent(name) : "",
      winning: winning.has(name),
      step: steps.has(place),
    }));
  };

  ts.ready = (start) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
  };

  /* The value of a CSS variable now: it differs between light and dark. */
  ts.color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  ts.onTheme = (redraw) => window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
