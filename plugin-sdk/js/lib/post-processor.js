/** The role of a post-processor: the files of one result set become items. */
import { refusePromise, sentence } from "./failure.js";
import { InputFile } from "./input.js";
import { Output } from "./output.js";
import { Plugin } from "./plugin.js";

/** The export `postProcessor` of a module, made of `(plugin, files, out) => void`. */
export function postProcessor(process) {
  return {
    process(info, files) {
      const out = new Output();
      let failure;
      try {
        refusePromise(process(new Plugin(info), files.map((file) => new InputFile(file)), out));
      } catch (thrown) {
        failure = { sentence: sentence(thrown) };
      }
      // What was emitted before stays, whatever happened after it.
      out.flush();
      if (failure) throw failure.sentence;
    },
  };
}
