/* Tables that sort by any column, and a box that filters the table of kernels. Without scripts they stay plain. */
(function (ts) {
  "use strict";
  const chosen = new Map(); // the sorting of each table, by its id: kept while its rows are replaced

  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return "";
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number.parseFloat(text.replaceAll(",", ""));
    return /^[-+]?[\d.]/.test(text) && Number.isFinite(number) ? number : text.toLowerCase();
  };

  const empty = (found) => found === "" || found === "–";

  /* Numbers before words, and what is empty last, whichever way it is sorted. */
  const compare = (one, other, sign) => {
    if (empty(one) || empty(other)) return empty(one) - empty(other);
    if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
    return sign * (typeof one === "number" ? one - other : one.localeCompare(other));
  };

  const sort = (table, column, direction) => {
    const body = table.tBodies[0];
    const sign = direction === "ascending" ? 1 : -1;
    const keyed = [...body.rows].map((row) => [value(row, column), row]);
    keyed.sort(([one], [other]) => compare(one, other, sign));
    const focused = document.activeElement;
    body.append(...keyed.map(([, row]) => row));
    if (body.contains(focused)) focused.focus({ preventScroll: true }); // a row that is moved loses it
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    });
  };

  const choose = (table, column) => {
    const before = chosen.get(table.id);
    const descending = before && before.column === column && before.direction === "ascending";
    chosen.set(table.id, { column, direction: descending ? "descending" : "ascending" });
    renew(table);
  };

  const addButtons = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim() || head.querySelector("button")) return;
      const button = ts.element("button", { type: "button", className: "table-sort" }, ...head.childNodes);
      button.addEventListener("click", () => choose(table, column));
      head.append(button);
    });
  };

  /* Every word must be somewhere in a row. */
  const filter = (table, wanted) => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    return shown;
  };

  const addFilter = (tools, table) => {
    const box = ts.element("input", { type: "search", id: "kernels-filter", autocomplete: "off" });
    const label = ts.element("label", { htmlFor: box.id, textContent: "Filter kernels" });
    const count = ts.element("span", { className: "table-count", role: "status" });
    box.addEventListener("input", () => {
      const shown = filter(table, box.value).toLocaleString("en");
      count.textContent = box.value ? `${shown} of ${ts.count(table.tBodies[0].rows.length, "kernel")}` : "";
    });
    tools.append(label, box, count);
    tools.hidden = false;
  };

  /* Sort and filter again as was chosen, after rows were replaced. */
  const renew = (table) => {
    const order = chosen.get(table.id);
    if (order) sort(table, order.column, order.direction);
    const box = document.getElementById("kernels-filter");
    if (table.id === "kernels" && box) box.dispatchEvent(new Event("input"));
  };

  /* Tables of the page, those that came with newer data included. */
  const start = () =>
    document.querySelectorAll("table[data-sortable][id]").forEach((table) => {
      if (!table.tHead || !table.tBodies.length) return;
      addButtons(table);
      renew(table);
    });

  ts.tables = { renew: start };

  ts.ready(() => {
    start();
    const [tools, table] = [document.getElementById("kernels-tools"), document.getElementById("kernels")];
    if (tools && table) addFilter(tools, table);
  });
})(window.treesearch);
