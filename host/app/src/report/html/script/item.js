// One item with its texts, in a dialog.

class Panel {
  /** `closed` is called when the dialog closes, `move` to show the next or previous item. */
  constructor(data, { closed, move, filter, link }) {
    Object.assign(this, { data, move, filter, link, item: -1 });
    this.content = make("div", { class: "content" });
    this.note = make("span", { class: "soft", role: "status" });
    const button = (title, action) => make("button", { type: "button", onclick: action }, title);
    this.dialog = make("dialog", { "aria-labelledby": "item-title", onclose: () => { this.item = -1; closed(); }, onkeydown: (event) => this.key(event) },
      make("div", { class: "bar" }, button("Previous", () => move(-1)), button("Next", () => move(1)),
        button("Copy link", () => this.copy()), this.note, button("Close", () => this.dialog.close())), this.content);
    document.body.append(this.dialog);
  }

  key(event) {
    if (event.key === "j" || event.key === "k") this.move(event.key === "j" ? 1 : -1);
  }

  async copy() {
    const url = this.link(this.item);
    try {
      await navigator.clipboard.writeText(url);
      this.note.textContent = "copied";
    } catch {
      // Without permission, the link is shown to be copied by hand.
      this.note.textContent = url;
    }
  }

  /** Shows an item. */
  async show(item) {
    this.item = item;
    this.note.textContent = "";
    this.content.replaceChildren(...this.facts(item), make("p", { class: "soft" }, "Loading texts …"));
    if (!this.dialog.open) this.dialog.showModal();
    this.content.scrollTop = 0;
    const texts = await this.data.textsAt(this.data.text[item]);
    if (this.item === item) this.content.lastChild.replaceWith(...this.texts(item, texts), ...this.logs(item));
  }

  /** The logs of the pods that ran the item. Each is read when it is opened. */
  logs(item) {
    return this.data.logsOf(item).map(({ file, text }) => {
      if (!text) return make("p", { class: "soft" }, `The log is in the archive: ${file}`);
      const log = make("details", {}, make("summary", {}, `Log: ${file}`));
      const open = async () => log.append(...shownTexts(await this.data.textsAt(text)));
      log.addEventListener("toggle", open, { once: true });
      return log;
    });
  }

  facts(item) {
    const { data } = this;
    const text = (number) => data.strings[number];
    const plugin = data.plugins[data.plugin[item]], ruling = data.rulings[data.ruling[item] - 1];
    const rows = [["plugin", plugin.name], ["node", text(data.node[item])], ["suite", text(data.place[item])],
      ["duration", duration(data.took[item])], ["started", data.start[item] ? new Date(data.start[item]).toISOString() : ""],
      ["reason", text(data.reason[item])]];
    if (ruling) {
      rows.push(["class", `${text(ruling[0])}${ruling[1] ? "" : ", does not count"}`], ["ruling", text(ruling[2])],
        ["judge", text(ruling[4])], ["list", text(ruling[3])]);
    }
    data.relatedTo(item).forEach((sentence) => rows.push(["cluster", sentence]));
    rows.push(["file", text(data.source[item])]);
    const facts = rows.filter(([, value]) => value).map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value)));
    const links = [];
    if (data.cause[item] >= 0) {
      const cause = data.causes[data.cause[item]];
      links.push(make("button", { type: "button", onclick: () => this.filter({ ...EMPTY, cause: cause.id }) }, `${cause.count} failures with this cause`));
    }
    if (data.node[item]) {
      links.push(make("button", { type: "button", onclick: () => this.filter({ ...EMPTY, q: text(data.name[item]), plugin: data.plugins.length > 1 ? plugin.name : "" }) }, "This test on all nodes"),
        make("button", { type: "button", onclick: () => this.filter({ ...EMPTY, node: text(data.node[item]) }) }, "Everything on this node"));
    }
    return [make("h2", { id: "item-title" }, statusOf(data, item), " ", shown(text(data.name[item]))), make("dl", { class: "facts" }, facts), make("p", { class: "bar" }, links)];
  }

  texts(item, texts) {
    const source = this.data.strings[this.data.source[item]];
    if (!texts) {
      const failed = this.data.severity[item] >= SEVERITY.odd;
      return [make("p", { class: "soft" }, failed && source ? `The texts are in the archive: ${source}` : "No texts.")];
    }
    const shown = shownTexts(texts);
    if (texts.more) shown.push(make("p", { class: "soft" }, `and ${texts.more} more details in the archive`));
    return shown;
  }
}

/** The elements of texts, each with its title and its colours. */
function shownTexts({ texts }) {
  return texts.flatMap(([title, parts]) => [title ? make("h3", {}, title) : "", make("pre", { tabindex: "0" },
    parts.map(([style, part]) => (style ? make("span", { class: style }, part) : part)))]).filter((part) => part !== "");
}
