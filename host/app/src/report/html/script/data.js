// The data of the page: columns of numbers, one entry for each item, and a table of distinct strings.

/** Returns the element with this ID. */
const byId = (id) => document.getElementById(id);

/** Makes an element with properties and children. Strings become text, never markup. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ""));
  return element;
}

/** Returns the text of an element that holds gzip in Base64. */
async function inflate(id) {
  const text = byId(id).textContent;
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  }
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** How bad an item is: the order of the table, and the colour in charts. */
const SEVERITY = { good: 0, skipped: 1, odd: 2, excused: 3, failed: 4 };

/** The items of the page. Numbers of strings, plugins, rulings and causes are indexes. */
class Data {
  constructor(head, body) {
    this.plugins = head.plugins;
    this.causes = head.causes;
    this.blocks = head.texts;
    this.cluster = head.cluster;
    this.logs = head.logs;
    this.meanings = head.meanings;
    this.strings = body.strings;
    this.rulings = body.rulings;
    for (const [key, column] of Object.entries(body.items)) {
      this[key] = key === "start" ? Float64Array.from(column) : Int32Array.from(column);
    }
    this.length = this.took.length;
    this.plugin = new Uint16Array(this.length);
    this.plugins.forEach((plugin, at) => this.plugin.fill(at, plugin.first, plugin.first + plugin.count));
    this.cause = new Int32Array(this.length).fill(-1);
    this.causes.forEach((cause, at) => cause.items.forEach((item) => { this.cause[item] = at; }));
    this.severity = Uint8Array.from({ length: this.length }, (_, item) => this.severityOf(item));
    this.group = this.groupsOf();
    this.loaded = new Map();
  }

  severityOf(item) {
    const ruling = this.rulings[this.ruling[item] - 1];
    const status = this.meanings[this.status[item]] ?? this.strings[this.status[item]];
    const failed = status === "failed" || status === "timeout";
    if (ruling ? ruling[1] : failed) return SEVERITY.failed;
    if (failed) return SEVERITY.excused;
    if (status === "passed") return SEVERITY.good;
    return status === "skipped" ? SEVERITY.skipped : SEVERITY.odd;
  }

  /** The SIG in the name of each item, or else its suite, as indexes into `groups`. */
  groupsOf() {
    const numbers = new Map([["", 0]]);
    const number = (text) => {
      if (!numbers.has(text)) numbers.set(text, numbers.size);
      return numbers.get(text);
    };
    const sigs = new Map(), places = new Map();
    const group = Int32Array.from({ length: this.length }, (_, item) => {
      const name = this.name[item], place = this.place[item];
      if (!sigs.has(name)) {
        const sig = /\[(sig-[\w-]+)\]/.exec(this.strings[name]);
        sigs.set(name, sig ? number(sig[1]) : 0);
      }
      if (sigs.get(name)) return sigs.get(name);
      if (!places.has(place)) places.set(place, number(this.strings[place]));
      return places.get(place);
    });
    this.groups = [...numbers.keys()];
    return group;
  }

  /** The class of the ruling on an item, or 0. */
  classOf(item) {
    const ruling = this.rulings[this.ruling[item] - 1];
    return ruling ? ruling[0] : 0;
  }

  /** What happened in the cluster at the place and time of a failure. */
  relatedTo(item) {
    return this.cluster.relations.filter(({ items }) => items.includes(item)).map(({ sentence }) => sentence);
  }

  /** The logs of the pods that ran a failed item. */
  logsOf(item) {
    if (this.severity[item] < SEVERITY.excused) return [];
    const node = this.strings[this.node[item]];
    return this.logs.filter((log) => log.plugin === this.plugin[item] && (!log.node || log.node === node));
  }

  /** The texts of an item or a log, from the block that contains them. Texts are counted from 1. */
  async textsAt(text) {
    const number = text - 1;
    if (number < 0) return undefined;
    let block = this.blocks.length - 1;
    while (this.blocks[block] > number) block--;
    if (!this.loaded.has(block)) this.loaded.set(block, inflate(`texts-${block}`).then(JSON.parse));
    return (await this.loaded.get(block))[number - this.blocks[block]];
  }

  /**
   * The ID of an item in links. It depends on plugin, node, suite and name, so it is the same on the
   * page of another run.
   */
  idOf(item) {
    const key = this.keyOf(item);
    let earlier = 0;
    for (let other = this.plugins[this.plugin[item]].first; other < item; other++) {
      if (this.name[other] === this.name[item] && this.keyOf(other) === key) earlier++;
    }
    return `t-${key.toString(36)}${earlier ? `.${earlier + 1}` : ""}`;
  }

  /** The item with this ID, or -1. */
  itemOf(id) {
    const [text, nth] = id.slice(2).split(".");
    const key = parseInt(text, 36);
    let left = nth ? Number(nth) : 1;
    for (let item = 0; item < this.length; item++) {
      if (this.keyOf(item) === key && --left === 0) return item;
    }
    return -1;
  }

  /** 53 bits of a hash of what identifies an item. */
  keyOf(item) {
    this.hashes ??= [new Int32Array(this.strings.length), new Int32Array(this.strings.length), new Uint8Array(this.strings.length)];
    const plugin = this.plugins[this.plugin[item]];
    plugin.hash ??= hash(plugin.name);
    let [high, low] = plugin.hash;
    const [firsts, seconds, known] = this.hashes;
    for (const text of [this.node[item], this.place[item], this.name[item]]) {
      if (!known[text]) {
        [firsts[text], seconds[text]] = hash(shown(this.strings[text]));
        known[text] = 1;
      }
      high = Math.imul(high ^ firsts[text], 0x9e3779b1) ^ (high >>> 15);
      low = Math.imul(low ^ seconds[text], 0x85ebca77) ^ (low >>> 13);
    }
    return (high >>> 11) * 4294967296 + (low >>> 0);
  }
}

/** Two 32-bit hashes of a text. */
function hash(text) {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  return [a ^ (a >>> 16), b ^ (b >>> 16)];
}

/** Reads the data of the page. */
async function load() {
  const text = await inflate("data");
  const end = text.indexOf("\n");
  const data = new Data(JSON.parse(text.slice(0, end)), JSON.parse(text.slice(end + 1)));
  byId("data").remove();
  return data;
}

/** A name without the prefix of Ginkgo, which some versions of it write. */
const shown = (name) => name.replace(/^\[It\] /, "");

/** A duration for people, as everywhere in Plumbline. */
function duration(milliseconds) {
  if (milliseconds < 0) return "";
  const seconds = milliseconds / 1000, whole = Math.round(seconds);
  if (seconds < 0.9995) return `${Math.round(milliseconds)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
