/** The role summarizer: adds items at the plugin's root about the items of all result sets. */
import { refuseUnrun, sentence } from "./failure.js";
import { ReadError } from "./input.js";
import { fromWire } from "./item.js";
import { Output } from "./output.js";
import { Plugin } from "./plugin.js";
import { text } from "./text.js";

/** Entries requested at a time. The host returns fewer if they are large. */
const BATCH = 256;

/** Makes the export `summarizer` of a module from `(plugin, entries, out) => void`. */
export function summarizer(summarize) {
  return {
    summarize(info, items) {
      const out = new Output();
      let failure;
      try {
        refuseUnrun(summarize(new Plugin(info), entries(items), out));
      } catch (thrown) {
        failure = { sentence: sentence(thrown) };
      }
      out.flush();
      if (failure) throw failure.sentence;
    },
  };
}

function* entries(items) {
  for (;;) {
    let batch;
    try {
      batch = items.next(BATCH);
    } catch (error) {
      throw new ReadError(text(error?.payload ?? error?.message ?? error));
    }
    if (batch.length === 0) return;
    for (const { set, item } of batch) yield { set, item: fromWire(item) };
  }
}
