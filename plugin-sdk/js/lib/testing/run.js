/** The outcome of a native run. */
export class Run {
  /** The emitted items in order, each with its `depth`. */
  items = [];
  /** The error message of the module, if it failed. */
  error = undefined;
  /** The log: `[level, message]`. */
  log = [];
  /** The reports of a check in order: `{ completed, total, message }`. */
  progress = [];

  /**
   * Returns a line `name: status` per item, indented by two spaces per level, with `-` if the host
   * rolls the status up.
   */
  outline() {
    return this.items.map(({ depth, name, status }) => `${"  ".repeat(depth)}${name}: ${status ?? "-"}\n`).join("");
  }

  /** Returns the first item with that name. */
  item(name) {
    return this.items.find((item) => item.name === name);
  }
}
