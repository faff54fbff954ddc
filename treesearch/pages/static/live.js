/* A page that follows its run: what has changed is fetched and put in place, the rest is left alone. */
(function (ts) {
  "use strict";
  const PAUSES = [1, 2, 5, 10, 30]; // seconds between attempts to reach a server that is gone
  const state = { source: null, version: null, attempts: 0, fetching: false, again: false, over: false, timer: 0 };

  /* ── words about the connection and the search ─────────────────────────────────────────────── */

  const line = () => {
    const found = document.getElementById("live-state");
    if (found) return found;
    const made = ts.element("p", { id: "live-state", role: "status" });
    (document.querySelector("main") || document.body).append(made);
    return made;
  };

  const say = (text, lost = false) => {
    const shown = line();
    if (shown.textContent !== text) shown.textContent = text;
    shown.hidden = false;
    shown.classList.toggle("is-lost", lost);
  };

  const winner = (data) => {
    const id = data && data.winning_line[data.winning_line.length - 1];
    return id ? data.kernels.find((kernel) => kernel.id === id) : null;
  };

  const announce = (before, after) => {
    const [old, now] = [winner(before), winner(after)];
    if (!now || (old && old.id === now.id)) return;
    const figures = `${ts.milliseconds(now.milliseconds)}, ${ts.ratio(now.speedup)} over torch`;
    say(`Kernel ${now.id}, ${ts.name(now)}, is the new best: ${figures}.`);
  };

  /* ── replacing what changed ────────────────────────────────────────────────────────────────── */

  const scrolled = (root) =>
    [...root.querySelectorAll("[id]")].filter((element) => element.scrollTop || element.scrollLeft)
      .map(({ id, scrollTop, scrollLeft }) => ({ id, scrollTop, scrollLeft }));

  /* How to find the element with the focus again: by its id, else by its place below the element that is replaced. */
  const focusWithin = (root) => {
    const focused = document.activeElement;
    if (!root.contains(focused) || focused === root) return null;
    const kind = (within) => [...within.querySelectorAll(focused.tagName)];
    const place = kind(root).indexOf(focused);
    const href = focused.getAttribute("href");
    return (within) =>
      (focused.id && document.getElementById(focused.id)) ||
      (href && kind(within).find((other) => other.getAttribute("href") === href)) ||
      kind(within)[place];
  };

  const replace = (old, fresh) => {
    const opened = [...old.querySelectorAll("details")].map((details) => details.open);
    const [places, refocus] = [scrolled(old), focusWithin(old)];
    const made = document.importNode(fresh, true);
    if (old.tagName === "DETAILS") made.open = old.open;
    [...made.querySelectorAll("details")].forEach((details, place) => {
      details.open = opened[place] ?? details.open;
    });
    old.replaceWith(made);
    for (const { id, ...place } of places) Object.assign(document.getElementById(id) || {}, place);
    const target = refocus && refocus(made);
    if (target) target.focus({ preventScroll: true });
  };

  /* Elements as the server sent them: what scripts have done to those on the page is no difference. */
  const sent = new Map();

  const swap = (page) => {
    for (const fresh of page.querySelectorAll("[data-live][id]")) {
      const old = document.getElementById(fresh.id);
      if (!old || sent.get(fresh.id) === fresh.outerHTML) continue;
      sent.set(fresh.id, fresh.outerHTML);
      if (!old.isEqualNode(fresh)) replace(old, fresh);
    }
    ts.tables.renew();
  };

  const redraw = (page) => {
    const [before, after] = [ts.run(), ts.run(page)];
    if (!after) return;
    document.getElementById("run-data").textContent = page.getElementById("run-data").textContent;
    state.version = after.version;
    ts.follow(after);
    announce(before, after);
  };

  const refresh = async () => {
    state.again = state.fetching;
    if (state.again) return;
    state.fetching = true;
    try {
      const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      swap(page);
      redraw(page);
      if (!page.body.dataset.events) finish();
    } catch {
      lose();
    } finally {
      state.fetching = false;
      if (state.again) refresh();
    }
  };

  /* ── the connection ────────────────────────────────────────────────────────────────────────── */

  const finish = () => {
    state.over = true;
    hangUp();
    say("The run has ended.");
  };

  const hangUp = () => {
    clearTimeout(state.timer);
    if (state.source) state.source.close();
    state.source = null;
  };

  const lose = () => {
    hangUp();
    const pause = PAUSES[Math.min(state.attempts++, PAUSES.length - 1)];
    const again = `Trying again in ${ts.count(pause, "second")}.`;
    say(`The server does not answer; this page shows what was known. ${again}`, true);
    state.timer = setTimeout(connect, 1000 * pause);
  };

  /* The server tells its version at once, so that nothing is missed while a page was out of sight. */
  const connect = () => {
    hangUp();
    if (state.over || document.hidden) return;
    state.source = new EventSource(document.body.dataset.events);
    state.source.addEventListener("open", () => {
      if (state.attempts) say("The server is back.");
      state.attempts = 0;
    });
    state.source.addEventListener("changed", ({ data }) => {
      if (data !== state.version) refresh();
    });
    state.source.addEventListener("error", lose);
  };

  ts.ready(() => {
    if (!document.body.dataset.events) return;
    const data = ts.embedded("run-data");
    state.version = data && data.version;
    say("Live: this page follows the run.");
    connect();
    // A browser allows few connections to one server: pages in the background give theirs up.
    document.addEventListener("visibilitychange", () => (document.hidden ? hangUp() : connect()));
    window.addEventListener("pagehide", hangUp);
    window.addEventListener("pageshow", ({ persisted }) => persisted && connect());
  });
})(window.treesearch);
