// The table of all items: search, filters, sorting, and rows that exist only while they are visible.

/** The state of the table, as it is in the URL. */
const EMPTY = { q: "", status: "", group: "", node: "", class: "", plugin: "", min: "", cause: "", sort: "" };

/** The columns: the key to sort by, and the title. */
const COLUMNS = [["status", "status"], ["name", "name"], ["node", "node"], ["plugin", "plugin"], ["took", "took"]];

/** The position of each severity in the default order. */
const WORST_FIRST = [3, 4, 2, 1, 0];

/** Finds the items that match, and sorts them. */
class Query {
  constructor(data) {
    this.data = data;
    this.hits = new Map();
    this.orders = new Map();
  }

  /** The strings in lower case, made once. */
  get haystack() {
    this.lower ??= this.data.strings.map((text) => text.toLowerCase());
    return this.lower;
  }

  /** Which strings contain the term, from those that contain a shorter one if possible. */
  find(term) {
    const known = this.hits.get(term);
    if (known) return known;
    let before;
    for (const [shorter, hits] of this.hits) if (term.startsWith(shorter)) before = hits;
    const { haystack } = this;
    const hits = new Uint8Array(haystack.length);
    for (let at = 0; at < hits.length; at++) {
      if ((!before || before[at]) && haystack[at].includes(term)) hits[at] = 1;
    }
    if (this.hits.size > 16) this.hits.clear();
    this.hits.set(term, hits);
    return hits;
  }

  /** The numbers of the items that match the state, sorted. */
  run(state) {
    const { data } = this;
    const numberOf = (text) => (text ? data.strings.indexOf(text) : -1);
    const [status, node, ruled] = [numberOf(state.status), numberOf(state.node), numberOf(state.class)];
    const group = state.group ? data.groups.indexOf(state.group) : -1;
    const plugin = state.plugin ? data.plugins.findIndex(({ name }) => name === state.plugin) : -1;
    const cause = state.cause ? data.causes.findIndex(({ id }) => id === state.cause) : -1;
    const least = state.min ? Number(state.min) * 1000 : -Infinity;
    const terms = state.q.toLowerCase().split(/\s+/).filter((term) => term).map((term) => this.find(term));
    const found = new Int32Array(data.length);
    let count = 0;
    const order = this.orderOf(state.sort);
    search: for (let at = 0; at < order.length; at++) {
      const item = order[at];
      if (state.status && (state.status === "failure" ? data.severity[item] !== SEVERITY.failed : data.status[item] !== status)) continue;
      if (state.group && data.group[item] !== group) continue;
      if (state.node && data.node[item] !== node) continue;
      if (state.class && data.classOf(item) !== ruled) continue;
      if (state.plugin && data.plugin[item] !== plugin) continue;
      if (state.cause && (cause < 0 || data.cause[item] !== cause)) continue;
      if (data.took[item] < least) continue;
      for (const hits of terms) {
        if (!(hits[data.name[item]] | hits[data.place[item]] | hits[data.node[item]] | hits[data.reason[item]])) continue search;
      }
      found[count++] = item;
    }
    return found.subarray(0, count);
  }

  /** All items, sorted by a column or the worst first. Equal ones stay in the order of the archive. */
  orderOf(by) {
    if (!this.orders.has(by)) this.orders.set(by, this.sort(by));
    return this.orders.get(by);
  }

  sort(by) {
    const { data } = this;
    const column = by.replace("-", "");
    let rank;
    if (!column) rank = (item) => WORST_FIRST[data.severity[item]];
    else if (column === "took" || column === "plugin") rank = (item) => data[column][item] + 1;
    else {
      const ranks = this.ranks(column);
      rank = (item) => ranks[data[column][item]];
    }
    const ranked = Float64Array.from({ length: data.length }, (_, item) => rank(item));
    const most = by.startsWith("-") ? ranked.reduce((a, b) => Math.max(a, b), 0) : 0;
    // The native sort of numbers is far faster than one with a function.
    const keys = ranked.map((rank, item) => (most ? most - rank : rank) * data.length + item).sort();
    return Int32Array.from(keys, (key) => key % data.length);
  }

  /** The position of each string of a column in alphabetical order. */
  ranks(column) {
    const { haystack } = this;
    const sorted = [...new Set(this.data[column])].sort((a, b) => (haystack[a] < haystack[b] ? -1 : haystack[a] > haystack[b] ? 1 : 0));
    const ranks = new Int32Array(haystack.length);
    sorted.forEach((text, at) => { ranks[text] = at; });
    return ranks;
  }
}

/** Shows the items that match. */
class Table {
  /** `changed` is called when the user changes the state, and `open` for an item to show. */
  constructor(data, changed, open) {
    Object.assign(this, { data, changed, open, query: new Query(data), state: { ...EMPTY }, items: new Int32Array(0), active: 0 });
    this.body = make("div", { class: "body", role: "rowgroup" });
    this.count = make("p", { class: "soft", role: "status" });
    this.head = make("div", { class: "row head", role: "row", "aria-rowindex": "1" }, COLUMNS.map((column) => this.title(column)));
    this.grid = make("div", {
      class: "grid", role: "grid", tabindex: "0", "aria-label": "All items", "aria-colcount": COLUMNS.length,
      onscroll: () => this.draw(), onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
    }, make("div", { role: "rowgroup", class: "top" }, this.head), this.body);
    // A suite that all items share tells nothing.
    this.hasPlaces = new Set(data.place.filter((place) => place > 0)).size > 1;
    if (data.plugins.length === 1) this.grid.classList.add("one-plugin");
    if (data.node.every((node) => node === 0)) this.grid.classList.add("no-nodes");
    byId("table").append(this.controls(), this.count, this.grid);
    new ResizeObserver(() => this.resize()).observe(this.grid);
    this.resize();
    // Searches need it, and the first one should be as fast as the others.
    setTimeout(() => this.query.haystack, 100);
  }

  /** Reads the sizes that the style sheet sets: reading them for each row would be slow. */
  resize() {
    this.height = parseFloat(getComputedStyle(this.grid).getPropertyValue("--row"));
    this.visible = this.grid.clientHeight;
    this.draw();
  }

  title([key, text]) {
    return make("div", { role: "columnheader", class: `col-${key}` },
      make("button", { type: "button", onclick: () => this.set({ sort: this.state.sort === key ? `-${key}` : this.state.sort === `-${key}` ? "" : key }) }, text));
  }

  controls() {
    const { data } = this;
    const present = (column) => [...new Set(column)].map((number) => data.strings[number]).filter((text) => text).sort();
    const names = (list) => list.map((text) => [text, text]);
    const choices = [
      ["status", "status", [["failure", "counts as failure"], ...names(present(data.status))]],
      ["group", "SIG or suite", names([...data.groups].filter((text) => text).sort())],
      ["node", "node", names(present(data.node))],
      ["class", "class", names(present(data.rulings.map((ruling) => ruling[0])))],
      ["plugin", "plugin", data.plugins.length > 1 ? names(data.plugins.map(({ name }) => name)) : []],
      ["min", "duration", [["1", "1 s or longer"], ["10", "10 s or longer"], ["60", "1 min or longer"], ["600", "10 min or longer"]]],
      ["cause", "cause", data.causes.length > 1 ? data.causes.map(({ id, template, count }) => [id, `${count} × ${template}`.slice(0, 100)]) : []],
    ];
    this.search = make("input", { type: "search", placeholder: "name, suite, node or reason", "aria-label": "Search", oninput: () => this.set({ q: this.search.value }) });
    this.selects = {};
    const filters = choices.filter(([, , options]) => options.length > 0).map(([key, title, options]) => {
      const select = make("select", { "aria-label": `Filter by ${title}`, onchange: () => this.set({ [key]: select.value }) },
        make("option", { value: "" }, `any ${title}`), options.map(([value, text]) => make("option", { value }, text)));
      this.selects[key] = select;
      return select;
    });
    return make("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() },
      this.search, filters, make("button", { type: "button", onclick: () => this.set({ ...EMPTY }) }, "Clear"));
  }

  /** Changes a part of the state, as the user asked. */
  set(part) {
    this.show({ ...this.state, ...part });
    this.changed();
  }

  /** Shows the items that match a state. */
  show(state) {
    const start = performance.now();
    this.state = state;
    if (this.search.value !== state.q) this.search.value = state.q;
    for (const [key, select] of Object.entries(this.selects)) select.value = state[key];
    this.items = this.query.run(state);
    this.active = 0;
    this.grid.scrollTop = 0;
    this.grid.setAttribute("aria-rowcount", this.items.length + 1);
    this.count.textContent = `${this.items.length.toLocaleString("en")} of ${this.data.length.toLocaleString("en")} items`;
    COLUMNS.forEach(([key], at) => {
      const order = this.state.sort === key ? "ascending" : this.state.sort === `-${key}` ? "descending" : "none";
      this.head.children[at].setAttribute("aria-sort", order);
    });
    this.rows = undefined;
    this.draw();
    performance.measure("plumbline-search", { start });
  }

  /** Makes the rows that are visible. */
  draw() {
    const { height } = this;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / height) - 5);
    const last = Math.min(this.items.length, first + Math.ceil(this.visible / height) + 10);
    const rows = `${first} ${last} ${height} ${this.active}`;
    if (rows === this.rows) return;
    this.rows = rows;
    this.body.style.height = `${this.items.length * height}px`;
    const made = [];
    for (let at = first; at < last; at++) made.push(this.row(at, height));
    this.body.replaceChildren(...made);
    if (this.items.length) this.grid.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  row(at, height) {
    const { data } = this, item = this.items[at];
    const text = (number) => data.strings[number];
    const cell = (key, ...children) => make("div", { role: "gridcell", class: `col-${key}` }, children);
    const reason = text(data.reason[item]);
    const name = [shown(text(data.name[item]))];
    if (this.hasPlaces && data.place[item]) name.push(make("span", { class: "soft" }, ` ${text(data.place[item])}`));
    if (reason) name.push(make("span", { class: "soft" }, ` ${reason}`));
    const row = make("div", { id: `row-${at}`, role: "row", class: at === this.active ? "row active" : "row", "aria-rowindex": at + 2, "data-at": at },
      cell("status", statusOf(data, item)), cell("name", name), cell("node", text(data.node[item])),
      cell("plugin", data.plugins[data.plugin[item]].name), cell("took", duration(data.took[item])));
    row.style.transform = `translateY(${at * height}px)`;
    return row;
  }

  click(event) {
    const row = event.target.closest("[data-at]");
    if (!row) return;
    this.active = Number(row.dataset.at);
    this.draw();
    this.open(this.items[this.active]);
  }

  key(event) {
    if (event.target !== this.grid) return;
    const page = Math.max(1, Math.floor(this.visible / this.height) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === "Enter" && this.items.length) this.open(this.items[this.active]);
    else return;
    event.preventDefault();
  }

  /** Makes another row the active one, and shows it. Returns its item, or `undefined`. */
  move(by) {
    const { height } = this;
    this.active = Math.min(Math.max(this.active + by, 0), Math.max(this.items.length - 1, 0));
    const top = this.active * height, room = this.visible - height;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top + height > this.grid.scrollTop + room) this.grid.scrollTop = top + height - room;
    this.draw();
    return this.items[this.active];
  }
}

/** The status of an item, with the class of its ruling. */
function statusOf(data, item) {
  const colour = ["passed", "soft", "odd", "odd", "failed"][data.severity[item]];
  const parts = [make("span", { class: `status ${colour}` }, data.strings[data.status[item]])];
  if (data.ruling[item]) parts.push(" ", make("span", { class: "class" }, data.strings[data.classOf(item)]));
  return parts;
}
