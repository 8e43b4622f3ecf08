/** The role post-processor: turns the files of a result set into items. */
import { refuseUnrun, sentence } from "./failure.js";
import { InputFile } from "./input.js";
import { Output } from "./output.js";
import { Plugin } from "./plugin.js";

/** Makes the export `postProcessor` of a module from `(plugin, files, out) => void`. */
export function postProcessor(process) {
  return {
    process(info, files) {
      const out = new Output();
      let failure;
      try {
        refuseUnrun(process(new Plugin(info), files.map((file) => new InputFile(file)), out));
      } catch (thrown) {
        failure = { sentence: sentence(thrown) };
      }
      // Items emitted before a failure stay.
      out.flush();
      if (failure) throw failure.sentence;
    },
  };
}
