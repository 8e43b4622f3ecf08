// A check that compares settings of the kernel with the values that they should have.
import * as plumbline from "../sdk/javascript/index.js";

// The directory of the settings. The definition grants it.
const DIRECTORY = "/proc/sys";
// The settings without the option `settings`.
const DEFAULT = { "fs/protected_hardlinks": "1", "kernel/panic_on_oops": "1" };

export const check = plumbline.check((plugin, context, out) => {
  const settings = Object.entries(readOptions(plugin.options)).sort();
  settings.forEach(([name, want], done) => {
    context.progress(done, settings.length, name);
    out.emit(compare(context, name, want));
  });
  context.progress(settings.length, settings.length, "done");
});

function compare(context, name, want) {
  try {
    const got = context.readFile(`${DIRECTORY}/${name}`).trim();
    if (got === want) return { name, status: "passed" };
    return { name, status: "failed", details: { failure: `want ${want}, got ${got}` } };
  } catch (error) {
    if (!(error instanceof plumbline.ReadError)) throw error;
    if (error instanceof plumbline.FileError && error.code === "not-found") {
      return { name, status: "skipped", details: { reason: error.message } };
    }
    // What cannot be read never passes.
    return { name, status: "unknown", meta: { error: error.message } };
  }
}

function readOptions({ settings = DEFAULT, ...others }) {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw `unknown option \`${unknown}\`: the only one is \`settings\``;
  const isMapping = typeof settings === "object" && settings !== null && !Array.isArray(settings);
  if (!isMapping || !Object.values(settings).every((want) => typeof want === "string")) {
    throw "the option `settings` must be a mapping of names to strings";
  }
  return settings;
}
