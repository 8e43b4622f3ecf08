/** What a native run gives back. */
export class Run {
  /** What was emitted, in order, each with its `depth`. */
  items = [];
  /** The sentence with which the module ended, if it failed. */
  error = undefined;
  /** The log: `[level, message]`. */
  log = [];

  /** One line `name: status` per item, two spaces per level; `-` where the host is to work the status out. */
  outline() {
    return this.items.map(({ depth, name, status }) => `${"  ".repeat(depth)}${name}: ${status ?? "-"}\n`).join("");
  }

  /** The first item of that name. */
  item(name) {
    return this.items.find((item) => item.name === name);
  }
}
