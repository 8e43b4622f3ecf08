/** The role judge: decides what counts in the finished tree. */
import { refuseUnrun, sentence } from "./failure.js";
import { InputFile, ReadError } from "./input.js";
import { fromWire } from "./item.js";
import { Plugin } from "./plugin.js";
import { Rulings } from "./rulings.js";
import { text } from "./text.js";

/** Items requested at a time. The host returns fewer if they are large. */
const BATCH = 256;

/** Makes the export `judge` of a module from `(plugin, tree, evidence, out) => void`. */
export function judge(judgement) {
  return {
    judge(info, tree, evidence) {
      const out = new Rulings();
      let failure;
      try {
        const files = evidence.map((file) => new InputFile(file));
        refuseUnrun(judgement(new Plugin(info), judgedItems(tree), files, out));
      } catch (thrown) {
        failure = { sentence: sentence(thrown) };
      }
      // Rulings made before a failure stay.
      out.flush();
      if (failure) throw failure.sentence;
    },
  };
}

function* judgedItems(tree) {
  for (;;) {
    let batch;
    try {
      batch = tree.next(BATCH);
    } catch (error) {
      throw new ReadError(text(error?.payload ?? error?.message ?? error));
    }
    if (batch.length === 0) return;
    for (const given of batch) yield judgedItem(given);
  }
}

/** Converts an item of the contract for the module. */
export function judgedItem({ index, set, item, leaf, ruling }) {
  const read = fromWire(item);
  const isFailure = leaf && (read.status === "failed" || read.status === "timeout");
  // This engine represents `none` as `null`.
  return { index: Number(index), set, item: read, leaf, isFailure, ruling: ruling ?? undefined };
}
