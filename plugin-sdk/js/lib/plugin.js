/** What a module may know of the plugin that it works for. */

export class Plugin {
  constructor(info) {
    this.name = info.name;
    this.driver = info.driver;
    this.format = info.format;
    /** How many results the run expects of this plugin. */
    this.expectedResults = Number(info.expectedResults);
    /** The free options of the definition, as an object; `{}` when it gives none. */
    this.options = parse(info.options);
  }
}

function parse(options) {
  const value = options === "" ? {} : JSON.parse(options);
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("the options are no mapping");
  return value;
}
