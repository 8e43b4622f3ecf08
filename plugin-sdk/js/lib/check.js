/** The role check: reads a node or a cluster itself. */
import { node } from "#node";
import { Context } from "./context.js";
import { refuseUnrun, sentence } from "./failure.js";
import { Output } from "./output.js";
import { Plugin } from "./plugin.js";

/** Makes the export `check` of a module from `(plugin, context, out) => void`. */
export function check(run) {
  return {
    run(info) {
      const out = new Output();
      let failure;
      try {
        refuseUnrun(run(new Plugin(info), new Context(node()), out));
      } catch (thrown) {
        failure = { sentence: sentence(thrown) };
      }
      // Items emitted before a failure stay.
      out.flush();
      if (failure) throw failure.sentence;
    },
  };
}
