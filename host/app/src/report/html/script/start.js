// Connects the parts of the page with each other and with the URL.

/** Runs an action when the element is about to become visible. */
function whenVisible(element, action) {
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) {
      observer.disconnect();
      action();
    }
  }, { rootMargin: "200px" });
  observer.observe(element);
}

class App {
  constructor(data) {
    this.data = data;
    this.table = new Table(data, () => this.save(), (item) => this.open(item));
    this.panel = new Panel(data, {
      closed: () => { this.save(); this.table.grid.focus({ preventScroll: true }); },
      move: (by) => { const item = this.table.move(by); if (item !== undefined) this.open(item); },
      filter: (state) => this.filter(state),
      link: (item) => `${location.href.split("#")[0]}#${data.idOf(item)}`,
    });
    addEventListener("hashchange", () => this.restore());
    addEventListener("keydown", (event) => this.key(event));
    whenVisible(byId("heat"), () => this.heatMaps());
    whenVisible(byId("lanes"), () => this.timeline());
    this.restore();
  }

  /** Focuses the search with `/`. */
  key(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || this.panel.dialog.open) return;
    byId("items").scrollIntoView();
    this.table.search.focus();
    event.preventDefault();
  }

  open(item) {
    this.panel.show(item);
    this.save();
  }

  /** Shows only some items in the table. */
  filter(state) {
    if (this.panel.dialog.open) this.panel.dialog.close();
    this.table.set(state);
    byId("items").scrollIntoView();
  }

  /** Writes the state into the URL. */
  save() {
    const state = Object.entries(this.table.state).filter(([, value]) => value);
    const item = this.panel.item >= 0 ? this.data.idOf(this.panel.item) : "";
    const hash = state.length === 0 ? item : new URLSearchParams(item ? [...state, ["item", item]] : state).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  /** Applies the state in the URL. */
  restore() {
    const hash = location.hash.slice(1);
    const isState = hash.includes("=");
    const given = isState ? Object.fromEntries(new URLSearchParams(hash)) : {};
    const state = Object.fromEntries(Object.keys(EMPTY).map((key) => [key, given[key] || ""]));
    const id = isState ? given.item || "" : hash;
    let item = -1;
    if (id.startsWith("t-")) item = this.data.itemOf(id);
    else if (id.startsWith("item-")) item = Number(id.slice(5));
    if (isState || this.table.items.length === 0) this.table.show(state);
    if (isState) byId("items").scrollIntoView();
    if (item >= 0 && item < this.data.length) {
      const row = this.table.items.indexOf(item);
      if (row >= 0) this.table.move(row - this.table.active);
      this.open(item);
    } else if (id.startsWith("t-")) {
      this.table.count.textContent += ` (the link's item is not on this page)`;
    }
  }

  heatMaps() {
    for (const plugin of this.data.plugins.filter(({ nodes }) => nodes > 0)) {
      const container = make("div", { class: "chart" });
      byId("heat").append(make("h3", {}, plugin.name), container);
      const map = new HeatMap(container, this.data, plugin, (item) => this.open(item));
      const table = make("details", {}, make("summary", {}, "As a table"));
      table.addEventListener("toggle", () => { if (table.children.length === 1) table.append(...map.alternative((state) => this.filter(state))); });
      container.after(table);
    }
  }

  timeline() {
    const tests = testLanes(this.data), cluster = clusterLanes(this.data), place = byId("lanes");
    if (tests.lanes.length === 0) {
      place.append(make("p", { class: "soft" }, "No item has a duration."));
    } else {
      place.append(make("p", { class: "soft" }, tests.note, " The slowest items are also in the table below."));
    }
    for (const note of this.data.cluster.notes) place.append(make("p", { class: "soft" }, note));
    // Tests without start times are on an axis of their own.
    const charts = tests.isKnown ? [{ lanes: [...cluster, ...tests.lanes], isKnown: true }] : [{ lanes: tests.lanes, isKnown: false }, { lanes: cluster, isKnown: true }];
    for (const { lanes, isKnown } of charts.filter(({ lanes }) => lanes.length > 0)) this.chart(place, lanes, isKnown);
  }

  chart(place, lanes, isKnown) {
    const container = make("div", { class: "chart" });
    const buttons = [["Zoom in", 2], ["Zoom out", 0.5], ["Show everything", 0]].map(([title, factor]) =>
      make("button", { type: "button", onclick: () => { chart.at = factor ? chart.at : -1; chart.zoom(factor || 1e-9, chart.spans[chart.at]?.from); } }, title));
    place.append(make("p", { class: "bar" }, buttons), container);
    const chart = new Timeline(container, this.data, lanes, isKnown, (item) => this.open(item));
  }
}

// Print everything that is folded.
addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((folded) => { folded.open = true; }));

load().then((data) => {
  new App(data);
  document.documentElement.dataset.ready = "true";
  performance.measure("plumbline-ready", { start: 0 });
}).catch((error) => {
  byId("table").append(make("p", { class: "failed", role: "alert" }, `The data of this page cannot be read: ${error.message}. Is the file complete, and the browser of 2023 or later?`));
});
