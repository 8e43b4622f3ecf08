/** The plugin that the module works for. */

export class Plugin {
  constructor(info) {
    this.name = info.name;
    this.driver = info.driver;
    this.format = info.format;
    /** How many results the run expects of this plugin. */
    this.expectedResults = Number(info.expectedResults);
    /** The options of the definition as an object, or `{}`. */
    this.options = parse(info.options);
  }
}

function parse(options) {
  const value = options === "" ? {} : JSON.parse(options);
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("the options are not a mapping");
  return value;
}
