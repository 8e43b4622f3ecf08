// JUnit XML becomes items: file, suites, test cases.
import * as plumbline from "../../../../../plugin-sdk/js/index.js";
import { Report } from "./report.js";
import { scan } from "./scanner.js";

export const postProcessor = plumbline.postProcessor((_plugin, files, out) => {
  for (const file of files) {
    const report = new Report(file, out);
    try {
      scan(file.texts(), report);
      report.finish();
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof plumbline.ReadError)) throw error;
      report.breakOff(error.message);
    }
  }
});
