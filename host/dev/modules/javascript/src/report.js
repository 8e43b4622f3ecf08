// Converts XML events to items.
import { attribute } from "./scanner.js";

/** Elements of a test case whose text is kept; those with `true` have a message too. */
const PARTS = new Map([
  ["skipped", true],
  ["failure", true],
  ["error", true],
  ["rerunFailure", true],
  ["rerunError", true],
  ["flakyFailure", true],
  ["flakyError", true],
  ["system-out", false],
  ["system-err", false],
]);
/** Levels of suites: the host accepts 64 levels in total. */
const MAX_DEPTH = 48;
/** Characters of one text. */
const MAX_TEXT = 1 << 20;

export class Report {
  #out;
  #file;
  /** The names of open elements. */
  #open = [];
  /** Open suites, outermost first: `{ name, emitted, suites, cases }`. */
  #suites = [];
  /** Counts top-level suites. */
  #root = { suites: 0 };
  #case;
  /** The part whose text is collected, and the depth of its element. */
  #part;
  #tested = false;

  constructor(file, out) {
    this.#file = file;
    this.#out = out;
    out.emit({ name: file.name, meta: { file: file.path, type: "file" } });
  }

  start(name, attributes, _empty) {
    const depth = this.#open.push(name);
    if (depth === 1 && name !== "testsuites" && name !== "testsuite") {
      throw new SyntaxError(`root element \`${name}\` is not \`testsuites\` or \`testsuite\``);
    }
    if (this.#part) return;
    if (this.#case) {
      const hasMessage = PARTS.get(name);
      if (hasMessage !== undefined && depth === this.#case.depth + 1) {
        const message = hasMessage ? attribute(attributes, "message") : undefined;
        this.#part = { name, depth, hasMessage, message, text: "" };
        if (name === "skipped") this.#case.skipped = true;
        if (name === "failure" || name === "error") this.#case.failed = true;
      }
    } else if (name === "testsuite") {
      this.#openSuite(attribute(attributes, "name"));
    } else if (name === "testcase") {
      this.#case = { depth, name: attribute(attributes, "name") || attribute(attributes, "classname") || "", texts: {} };
    }
  }

  text(text) {
    const part = this.#part;
    if (part && part.text.length < MAX_TEXT) part.text += text.slice(0, MAX_TEXT - part.text.length);
  }

  end(name) {
    const depth = this.#open.length;
    const open = this.#open.pop();
    if (open !== name) throw new SyntaxError(`\`${name}\` is closed, and \`${open ?? "nothing"}\` is open`);
    if (this.#part) {
      if (depth === this.#part.depth) this.#closePart();
    } else if (this.#case) {
      if (depth === this.#case.depth) this.#closeCase();
    } else if (name === "testsuite") {
      this.#closeSuite();
    }
  }

  /** Completes the report after the whole file was read. */
  finish() {
    if (this.#open.length > 0) throw new SyntaxError(`the file ends within \`${this.#open.at(-1)}\``);
    if (!this.#tested) this.breakOff("the report has no test case: nothing was tested", "no test case");
  }

  /** Completes the report if the file could not be read to its end. */
  breakOff(error, name = `unreadable: ${error.slice(0, 200)}`) {
    this.#release();
    this.#out.emit({ depth: 1, name, status: "unknown", meta: { error } });
  }

  #openSuite(name) {
    const parent = this.#suites.at(-1) ?? this.#root;
    parent.suites++;
    this.#suites.push({ name: name || `testsuite-${String(parent.suites).padStart(3, "0")}`, emitted: false, suites: 0, cases: 0 });
  }

  /** A suite is emitted with its first child. An empty suite counts as one passed test. */
  #closeSuite() {
    const suite = this.#suites.at(-1);
    if (suite && !suite.emitted) this.#release("passed");
    this.#suites.pop();
  }

  #release(status) {
    this.#suites.forEach((suite, at) => {
      if (suite.emitted) return;
      suite.emitted = true;
      const own = at === this.#suites.length - 1 ? status : undefined;
      this.#out.emit({ depth: Math.min(at + 1, MAX_DEPTH), name: suite.name, status: own });
    });
  }

  #closePart() {
    const { name, hasMessage, message, text } = this.#part;
    this.#part = undefined;
    const whole = hasMessage ? (message ? `${message} ${text}` : text).trim() : text;
    if (whole === "" && message === undefined) return;
    if (name === "skipped" && (whole === "" || whole.toLowerCase() === "skipped")) return;
    const texts = this.#case.texts;
    texts[name] = texts[name] ? `${texts[name]}\n${whole}` : whole;
  }

  #closeCase() {
    const { name, skipped, failed, texts } = this.#case;
    this.#case = undefined;
    this.#tested = true;
    const suite = this.#suites.at(-1);
    if (suite && !suite.emitted) this.#release();
    const number = suite ? ++suite.cases : 1;
    this.#out.emit({
      depth: Math.min(this.#suites.length, MAX_DEPTH) + 1,
      name: name || `testcase-${String(number).padStart(3, "0")}`,
      status: skipped ? "skipped" : failed ? "failed" : "passed",
      details: texts,
    });
  }
}
