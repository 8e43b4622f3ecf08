// The heat map of nodes and checks, and the timeline.

/** The colours of charts by severity, from the style sheet. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  return ["--cell-good", "--cell-skipped", "--cell-odd", "--cell-odd", "--cell-bad"].map((name) => style.getPropertyValue(name).trim());
}

/** A canvas as wide as its container, with a line of text about the position under the pointer. */
class Chart {
  constructor(container, label, height) {
    this.readout = make("p", { class: "readout", role: "status" }, "\u00a0");
    this.canvas = make("canvas", {
      tabindex: "0", role: "application", "aria-label": label,
      onmousemove: (event) => this.point(event), onclick: () => this.enter(), onkeydown: (event) => this.key(event),
    });
    container.append(this.canvas, this.readout);
    this.height = height;
    this.prepared = 0;
    new ResizeObserver(() => this.redraw()).observe(container);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  redraw() {
    const start = performance.now();
    const width = this.canvas.parentElement.clientWidth;
    if (width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.width = width;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue("--text").trim();
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.draw(context);
    // The first drawing also took the time to prepare what is drawn.
    performance.measure(this.measure, { start: start - this.prepared });
    this.prepared = 0;
  }

  say(text) {
    this.readout.textContent = text || "\u00a0";
  }
}

/** The height of a row in charts, in CSS pixels. */
const ROW = 18;

/** Nodes from left to right, checks from top to bottom. */
class HeatMap extends Chart {
  constructor(container, data, plugin, open) {
    const start = performance.now();
    const { nodes, checks, cells } = HeatMap.cells(data, plugin);
    const prepared = performance.now() - start;
    super(container, `Heat map of ${plugin.name}: ${nodes.length} nodes and ${checks.length} checks. Arrow keys move, Enter opens an item.`, Math.max(1, checks.length) * ROW);
    Object.assign(this, { data, nodes, checks, cells, open, measure: "plumbline-heat", prepared, at: undefined });
  }

  /** The nodes and checks of a plugin, and the item of each pair plus 1. The worst item wins. */
  static cells(data, plugin) {
    const nodes = [], checks = [], nodeOf = new Map(), checkOf = new Map(), pairs = [];
    const numberOf = (map, list, key, value) => {
      if (!map.has(key)) { map.set(key, list.length); list.push(value); }
      return map.get(key);
    };
    for (let item = plugin.first; item < plugin.first + plugin.count; item++) {
      if (!data.node[item]) continue;
      const key = data.name[item] * 4194304 + data.place[item];
      pairs.push(numberOf(nodeOf, nodes, data.node[item], data.node[item]), numberOf(checkOf, checks, key, data.name[item]), item);
    }
    const cells = new Int32Array(nodes.length * checks.length);
    for (let at = 0; at < pairs.length; at += 3) {
      const cell = pairs[at + 1] * nodes.length + pairs[at], item = pairs[at + 2];
      if (!cells[cell] || data.severity[cells[cell] - 1] < data.severity[item]) cells[cell] = item + 1;
    }
    return { nodes, checks, cells };
  }

  draw(context) {
    const { data, nodes, checks, cells } = this;
    this.left = Math.min(220, this.width * 0.35);
    const room = Math.max(1, this.width - this.left);
    // More nodes than pixels share a column, which shows the worst of them.
    const columns = Math.max(1, Math.min(nodes.length, Math.floor(room)));
    const worst = new Int8Array(columns * checks.length).fill(-1);
    for (let check = 0; check < checks.length; check++) {
      for (let node = 0; node < nodes.length; node++) {
        const item = cells[check * nodes.length + node] - 1;
        if (item < 0) continue;
        const at = check * columns + Math.floor((node * columns) / nodes.length);
        if (data.severity[item] > worst[at]) worst[at] = data.severity[item];
      }
    }
    const palette = colours();
    const labels = context.fillStyle;
    const wide = room / columns, gap = wide > 4 ? 1 : 0;
    for (let check = 0; check < checks.length; check++) {
      for (let from = 0; from < columns;) {
        const level = worst[check * columns + from];
        let to = from + 1;
        // Without gaps, equal neighbours are one rectangle.
        while (!gap && to < columns && worst[check * columns + to] === level) to++;
        if (level >= 0) {
          context.fillStyle = palette[level];
          context.fillRect(this.left + from * wide, check * ROW, (to - from) * wide - gap, ROW - 1);
        }
        from = to;
      }
    }
    context.fillStyle = labels;
    checks.forEach((check, at) => context.fillText(short(context, data.strings[check], this.left - 8), 0, at * ROW + ROW / 2));
    if (this.at) {
      context.strokeStyle = labels;
      context.lineWidth = 2;
      const x = this.left + (this.at.node * room) / nodes.length;
      context.strokeRect(x, this.at.check * ROW, Math.max(room / nodes.length, 3), ROW - 1);
    }
  }

  point(event) {
    const room = this.width - this.left;
    const node = Math.floor(((event.offsetX - this.left) * this.nodes.length) / room), check = Math.floor(event.offsetY / ROW);
    this.to(node >= 0 && node < this.nodes.length && check >= 0 && check < this.checks.length ? { node, check } : undefined);
  }

  /** Moves to a cell, and says what is there. */
  to(at) {
    const { data } = this;
    this.at = at;
    this.item = at ? this.cells[at.check * this.nodes.length + at.node] - 1 : -1;
    const place = at && `${data.strings[this.nodes[at.node]]} · ${data.strings[this.checks[at.check]]}`;
    this.say(at && (this.item < 0 ? `${place}: no result` : `${place}: ${data.strings[data.status[this.item]]} ${data.strings[data.reason[this.item]]}`));
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Enter") this.enter();
    else if (event.key in steps) {
      const [right, down] = steps[event.key], at = this.at || { node: 0, check: 0 };
      const clamp = (n, list) => Math.min(Math.max(n, 0), list.length - 1);
      this.to({ node: clamp(at.node + right, this.nodes), check: clamp(at.check + down, this.checks) });
      this.redraw();
    } else return;
    event.preventDefault();
  }

  enter() {
    if (this.item >= 0) this.open(this.item);
  }

  /** The same content as a table: for each check, on how many nodes it failed. */
  alternative(filter) {
    const { data, nodes, checks, cells } = this;
    const rows = checks.map((check, at) => {
      const failed = nodes.filter((_, node) => data.severity[cells[at * nodes.length + node] - 1] === SEVERITY.failed);
      return { check, failed };
    }).filter(({ failed }) => failed.length > 0).sort((a, b) => b.failed.length - a.failed.length).slice(0, 100);
    if (rows.length === 0) return [make("p", { class: "soft" }, "No check failed on a node.")];
    return [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Failed checks by node" }, make("table", {},
      make("thead", {}, make("tr", {}, ["check", "failed on", "nodes"].map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", {}, rows.map(({ check, failed }) => make("tr", {}, make("th", { scope: "row" }, data.strings[check]), make("td", {}, `${failed.length} of ${nodes.length}`),
        make("td", {}, failed.slice(0, 5).map((node) => make("button", { type: "button", class: "link", onclick: () => filter({ ...EMPTY, node: data.strings[node], status: "failure" }) }, data.strings[node])),
          failed.length > 5 ? `… ${failed.length - 5} more` : ""))))))];
  }
}

/** The text, shortened at its end to fit a width. */
function short(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = Math.min(text.length, Math.floor(width / 4));
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}

/** The most lanes of one source in the timeline. */
const MAX_LANES = 40;

/**
 * When the items of a file started, which is known of some of them: `[item, start]`. The others
 * follow each other in the order of the report, if that is the order in which they ran.
 */
function started(data, items) {
  const known = items.filter((item) => data.start[item] > 0);
  const inOrder = known.every((item, at) => at === 0 || data.start[known[at - 1]] <= data.start[item]);
  if (!inOrder) return known.map((item) => [item, data.start[item]]);
  let at = known.length ? data.start[known[0]] : 0;
  if (known.length) for (const item of items.slice(0, items.indexOf(known[0]))) at -= data.took[item];
  return items.map((item) => {
    const from = data.start[item] || at;
    at = from + data.took[item];
    return [item, from];
  });
}

/**
 * The lanes of tests: intervals that do not overlap share a lane. Returns the lanes, and a note on
 * where the times come from. Another source of lanes returns the same: `title`, and `spans` with
 * `from` and `to` in milliseconds, `severity`, `label`, and `item` if there is one.
 */
function testLanes(data) {
  const files = new Map();
  let ran = 0, isKnown = false;
  for (let item = 0; item < data.length; item++) {
    if (data.took[item] <= 0) continue;
    const key = `${data.plugin[item]} ${data.node[item]} ${data.source[item]}`;
    if (!files.has(key)) files.set(key, []);
    files.get(key).push(item);
    ran++;
    isKnown ||= data.start[item] > 0;
  }
  const spans = [];
  let estimated = 0;
  for (const items of files.values()) {
    if (isKnown && !items.some((item) => data.start[item] > 0)) continue;
    for (const [item, from] of started(data, items)) {
      if (!data.start[item]) estimated++;
      spans.push({ from, to: from + data.took[item], severity: data.severity[item], label: shown(data.strings[data.name[item]]), item, plugin: data.plugin[item] });
    }
  }
  spans.sort((a, b) => a.from - b.from || a.item - b.item);
  const lanes = [];
  for (const span of spans) {
    const own = lanes.filter((lane) => lane.plugin === span.plugin);
    let lane = own.find((candidate) => candidate.end <= span.from);
    if (!lane && own.length >= MAX_LANES) lane = own[own.length - 1];
    if (!lane) {
      lane = { title: own.length ? "" : data.plugins[span.plugin].name, plugin: span.plugin, spans: [], end: 0 };
      lanes.push(lane);
    }
    lane.spans.push(span);
    lane.end = Math.max(lane.end, span.to);
  }
  lanes.sort((a, b) => a.plugin - b.plugin);
  const notes = [];
  if (!isKnown) notes.push("The report has no start times: items follow each other in its order.");
  else if (estimated) notes.push(`${estimated.toLocaleString("en")} start times are estimated from the order of the report.`);
  if (spans.length < ran) notes.push(`${(ran - spans.length).toLocaleString("en")} items without a start time are not shown.`);
  return { lanes, note: notes.join(" "), isKnown };
}

/** The lanes of what the cluster went through. */
function clusterLanes(data) {
  const lanes = new Map();
  for (const span of data.cluster.spans) {
    if (!lanes.has(span.lane)) lanes.set(span.lane, { title: span.lane, spans: [] });
    lanes.get(span.lane).spans.push({ from: span.from, to: span.to, severity: span.bad ? SEVERITY.failed : SEVERITY.odd, label: span.label });
  }
  return [...lanes.values()].sort((a, b) => (a.title < b.title ? -1 : 1));
}

/** Lanes of intervals on one axis of time. */
class Timeline extends Chart {
  constructor(container, data, lanes, isKnown, open) {
    super(container, "Timeline. Left and right arrow keys move between items, plus and minus zoom, Enter opens an item.", (lanes.length + 1) * ROW);
    const spans = lanes.flatMap((lane, row) => lane.spans.map((span) => ({ ...span, row }))).sort((a, b) => a.from - b.from);
    const from = spans[0].from, to = spans.reduce((most, span) => Math.max(most, span.to), from + 1);
    Object.assign(this, { data, lanes, spans, isKnown, open, all: { from, to }, from, to, measure: "plumbline-timeline", at: -1 });
  }

  zoom(factor, around) {
    const middle = around ?? (this.from + this.to) / 2, span = (this.to - this.from) / factor;
    this.from = Math.max(this.all.from, middle - span / 2);
    this.to = Math.min(this.all.to, this.from + span);
    this.redraw();
  }

  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * (this.width - this.left);
  }

  draw(context) {
    this.left = Math.min(140, this.width * 0.25);
    const palette = colours(), labels = context.fillStyle;
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.width - this.left, this.height);
    context.clip();
    const ends = new Float64Array(this.lanes.length).fill(-1), levels = new Int8Array(this.lanes.length);
    this.spans.forEach((span, at) => {
      if (span.to < this.from || span.from > this.to) return;
      const x = this.x(span.from), wide = Math.max(this.x(span.to) - x - 0.5, 1);
      // What another rectangle hides is not drawn, unless it is worse.
      if (x + wide < ends[span.row] + 0.5 && span.severity <= levels[span.row]) return;
      ends[span.row] = x + wide;
      levels[span.row] = span.severity;
      context.fillStyle = palette[span.severity];
      context.fillRect(x, (span.row + 1) * ROW + 1, wide, ROW - 2);
      if (at === this.at) {
        context.strokeStyle = labels;
        context.lineWidth = 2;
        context.strokeRect(x, (span.row + 1) * ROW + 1, wide, ROW - 2);
      }
    });
    context.restore();
    context.fillStyle = labels;
    this.lanes.forEach((lane, row) => context.fillText(short(context, lane.title, this.left - 8), 0, (row + 1.5) * ROW));
    const marks = Math.max(1, Math.floor((this.width - this.left) / 130));
    for (let mark = 0; mark < marks; mark++) {
      const time = this.from + ((this.to - this.from) * mark) / marks;
      context.fillText(this.isKnown ? new Date(time).toISOString().slice(11, 19) : duration(time - this.all.from), this.x(time), ROW / 2);
    }
  }

  point(event) {
    const row = Math.floor(event.offsetY / ROW) - 1;
    const time = this.from + ((event.offsetX - this.left) / (this.width - this.left)) * (this.to - this.from);
    const slack = (this.to - this.from) / this.width;
    this.go(this.spans.findIndex((span) => span.row === row && span.from - slack <= time && time <= span.to + slack));
  }

  /** Moves to an interval, and says what it is. */
  go(at) {
    this.at = at;
    const span = this.spans[at];
    const start = span && (this.isKnown ? new Date(span.from).toISOString().slice(11, 19) : `after ${duration(span.from - this.all.from)}`);
    this.say(span && `${span.label} · ${start} · ${duration(span.to - span.from)}`);
  }

  key(event) {
    if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 2 : 0.5, this.spans[this.at]?.from);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const step = event.key === "ArrowRight" ? 1 : -1;
      this.go(Math.min(Math.max(this.at + step, 0), this.spans.length - 1));
      this.redraw();
    } else if (event.key === "Enter") this.enter();
    else return;
    event.preventDefault();
  }

  enter() {
    const span = this.spans[this.at];
    if (span?.item !== undefined) this.open(span.item);
  }
}
