/** The role of a judge: it says what of the finished tree counts. */
import { refusePromise, sentence } from "./failure.js";
import { InputFile, ReadError } from "./input.js";
import { fromWire } from "./item.js";
import { Plugin } from "./plugin.js";
import { Rulings } from "./rulings.js";
import { text } from "./text.js";

/** Items that are asked for at a time; the host gives fewer where they are large. */
const BATCH = 256;

/** The export `judge` of a module, made of `(plugin, tree, evidence, out) => void`. */
export function judge(judgement) {
  return {
    judge(info, tree, evidence) {
      const out = new Rulings();
      let failure;
      try {
        const files = evidence.map((file) => new InputFile(file));
        refusePromise(judgement(new Plugin(info), judgedItems(tree), files, out));
      } catch (thrown) {
        failure = { sentence: sentence(thrown) };
      }
      // What was said before stays, whatever happened after it.
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

/** An item of the contract as an author reads it. */
export function judgedItem({ index, set, item, leaf, ruling }) {
  const read = fromWire(item);
  const isFailure = leaf && (read.status === "failed" || read.status === "timeout");
  // The engine writes `none` as `null`.
  return { index: Number(index), set, item: read, leaf, isFailure, ruling: ruling ?? undefined };
}
