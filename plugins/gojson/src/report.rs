//! Converts events to items.

use plumbline_sdk::text::{cut, decimal};
use plumbline_sdk::{Item, Output, Status};

use crate::event::Event;
use crate::outputs::{Outputs, Rest};

/// Maximum size in bytes of an item's name.
const MAX_NAME: usize = 32 << 10;

/// Maximum size in bytes of the whole name that is kept as a detail if the name was cut.
const MAX_WHOLE_NAME: usize = 1 << 20;

/// Maximum size in bytes of a reason in an item's name.
const MAX_REASON: usize = 200;

/// Maximum size in bytes of a time. RFC 3339 with nanoseconds and a zone has 35.
const MAX_TIME: usize = 40;

/// Number of tests to show that were unfinished when their package failed. Usually one of them
/// ended the process.
const MAX_UNFINISHED: usize = 20;

/// Metadata keys that attributes of tests cannot set.
const OWN_KEYS: [&str; 6] = ["classname", "duration", "error", "file", "start", "type"];

/// Maximum size in bytes of the name of a package that is kept as the class of a test.
const MAX_CLASS: usize = 4 << 10;

/// Maximum size in bytes of the name of an attribute. Longer ones are ignored.
const MAX_KEY: usize = 100;

/// Maximum size in bytes of the value of an attribute. The rest is cut off.
const MAX_VALUE: usize = 4 << 10;

/// The prefix of the line that ends the output of a skipped test. It only repeats the event.
const SKIP_LINE: &str = "--- SKIP: ";

/// The reason of a package that has no end.
const UNFINISHED: &str = "the file ends before this package";

/// The reason of a test that has no end.
const UNFINISHED_TEST: &str = "the file ends before this test";

/// The reason of a test that has no end although its package passed.
const ENDED_PROCESS: &str = "the process ended before this test, with exit code 0";

/// The name of the item for a package without a name. `go tool test2json` without `-p` writes such
/// events.
const UNNAMED_PACKAGE: &str = "package without a name";

/// The name of the item for a failed build without an import path.
const UNNAMED_BUILD: &str = "build without an import path";

/// The number of decimals of a duration in seconds.
const DECIMALS: usize = 9;

/// Prefixes of output lines that only repeat the events.
const FRAMES: [&str; 4] = ["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "];

/// The report of one file.
pub(crate) struct Report<'a> {
    /// The item of the file. It is emitted with the first item below it, because it has a status
    /// only if there are none.
    file: Option<Item>,
    outputs: Outputs,
    /// The output of builds by import path, and whether they failed. A package may have the same
    /// name.
    builds: Outputs,
    out: &'a mut Output,
}

impl<'a> Report<'a> {
    /// Creates the report of the file with this item.
    pub(crate) fn new(file: Item, out: &'a mut Output) -> Self {
        Self { file: Some(file), outputs: Outputs::default(), builds: Outputs::default(), out }
    }

    /// Processes the next event.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        match (&*event.action, event.test.is_empty()) {
            ("run", false) => {
                let time = if event.time.len() <= MAX_TIME { &*event.time } else { "" };
                self.outputs.start(&event.package, &event.test, time);
            }
            ("attr", false) => self.attribute(event),
            ("run" | "pause" | "cont" | "bench" | "attr" | "artifacts", _) => {}
            ("start", true) => self.outputs.open(&event.package),
            ("output", _) => self.output(&event.package, &event.test, &event.output),
            // The output of a build does not belong to a package yet.
            ("build-output", true) => self.builds.push(&event.import_path, "", &event.output),
            ("build-fail", true) => self.build_failed(&event.import_path),
            ("fail", true) => self.package_failed(event),
            ("pass" | "skip", true) => self.package_passed(&event.package),
            (_, true) => {}
            (action, false) => self.test_ended(action, event),
        }
    }

    /// Emits the remaining items. `problem` says why the file could not be read to its end.
    pub(crate) fn finish(mut self, problem: Option<String>) {
        for path in self.builds.failed() {
            self.report_build(&path);
        }
        // If reading stopped early, packages have no end for that reason.
        if problem.is_none() {
            self.report_unfinished();
        }
        match (self.file.take(), problem) {
            (Some(file), None) => self.out.emit(file),
            (Some(file), Some(problem)) => self.out.emit(file.status(Status::Unknown).meta("error", problem)),
            (None, None) => {}
            (None, Some(problem)) => {
                let name = format!("unreadable: {}", cut(&problem, MAX_REASON));
                self.out.emit(Item::new(1, name).status(Status::Unknown).meta("error", problem));
            }
        }
    }

    /// Emits an item for each test and each package that began and did not end: the process that
    /// wrote the file was killed, or its disk was full. The tests that passed until then prove
    /// nothing.
    fn report_unfinished(&mut self) {
        for package in self.outputs.unfinished() {
            let mut rest = self.outputs.close(&package);
            self.report_running(&package, &mut rest, UNFINISHED_TEST);
            if rest.started {
                let mut item = package_item(&package).status(Status::Unknown).meta("error", UNFINISHED);
                if let Some(output) = combined(&rest) {
                    item = item.text("failure", output);
                }
                self.emit(item);
            }
        }
        let untracked = self.outputs.untracked;
        if untracked > 0 {
            let reason = format!("{untracked} more tests began and did not end");
            self.emit(Item::new(1, "unfinished tests").status(Status::Unknown).meta("error", reason));
        }
    }

    /// Emits an item for each test of a package that began and did not end, for this reason.
    fn report_running(&mut self, package: &str, rest: &mut Rest, reason: &str) {
        for test in std::mem::take(&mut rest.running) {
            let mut item = test_item(package, &test).status(Status::Unknown).meta("error", reason);
            let text = rest.texts.remove(&test);
            if let Some(text) = text.as_deref().map(str::trim_end).filter(|text| !text.is_empty()) {
                item = item.text("failure", text);
            }
            self.emit(item);
        }
    }

    /// Records a failed build, which the package that could not be built reports. Without such a
    /// package, the build has an item of its own.
    fn build_failed(&mut self, path: &str) {
        if !self.builds.set_failed(path) {
            self.report_build(path);
        }
    }

    fn report_build(&mut self, path: &str) {
        let rest = self.builds.close(path);
        let name = if path.is_empty() { UNNAMED_BUILD } else { path };
        let mut item = Item::new(1, name).status(Status::Failed);
        if let Some(failure) = combined(&rest) {
            item = item.text("failure", failure);
        }
        self.emit(item);
    }

    fn output(&mut self, package: &str, test: &str, text: &str) {
        if !FRAMES.iter().any(|frame| text.starts_with(frame)) {
            self.outputs.push(package, test, text);
        }
    }

    fn attribute(&mut self, event: &Event<'_>) {
        if !OWN_KEYS.contains(&&*event.key) && !event.key.is_empty() && event.key.len() <= MAX_KEY {
            self.outputs.attribute(&event.package, &event.test, &event.key, cut(&event.value, MAX_VALUE));
        }
    }

    fn test_ended(&mut self, action: &str, event: &Event<'_>) {
        let text = self.outputs.take(&event.package, &event.test);
        let status = match action {
            "pass" => Status::Passed,
            "skip" => Status::Skipped,
            "fail" => Status::Failed,
            _ => Status::Unknown,
        };
        let mut item = test_item(&event.package, &event.test).status(status);
        for (key, value) in self.outputs.take_attributes(&event.package, &event.test) {
            item = item.meta(key, value);
        }
        let start = self.outputs.take_start(&event.package, &event.test);
        // A test that was skipped has no times.
        if action != "skip" {
            if let Some(elapsed) = event.elapsed {
                item = item.meta("duration", decimal(elapsed, DECIMALS));
            }
            if let Some(start) = start {
                item = item.meta("start", start);
            }
        }
        if action == "skip"
            && let Some(reason) = text.as_deref().and_then(skip_reason)
        {
            item = item.text("skipped", reason);
        }
        if action == "fail" {
            self.outputs.set_failed(&event.package);
            if let Some(text) = text.as_deref().map(str::trim_end).filter(|text| !text.is_empty()) {
                item = item.text("failure", text);
            }
            if !event.package.is_empty() {
                item = item.text("package", &*event.package);
            }
        }
        self.emit(item);
    }

    /// Reports the tests of a passed package that did not end because the process ended itself.
    fn package_passed(&mut self, package: &str) {
        let mut rest = self.outputs.close(package);
        rest.running.retain(|test| !is_benchmark(test));
        if ended_itself(&rest) {
            self.report_running(package, &mut rest, ENDED_PROCESS);
        }
    }

    /// Reports a failed package, unless its failed tests explain the failure. They do not if the
    /// process ended before all tests had.
    fn package_failed(&mut self, event: &Event<'_>) {
        // Other programs write tests without a package, which may belong to any package.
        let has_failed = self.outputs.has_failed(&event.package) || self.outputs.has_failed("");
        let mut rest = self.outputs.close(&event.package);
        rest.running.retain(|test| !is_benchmark(test));
        let mut failures = vec![combined(&rest)];
        if !event.failed_build.is_empty() {
            failures.push(combined(&self.builds.close(&event.failed_build)));
        }
        let own = rest.texts.get("").map_or("", String::as_str);
        if has_failed && event.failed_build.is_empty() && rest.running.is_empty() && !was_interrupted(own) {
            return;
        }
        let mut item = package_item(&event.package).status(Status::Failed);
        if let Some(elapsed) = event.elapsed {
            item = item.meta("duration", decimal(elapsed, DECIMALS));
        }
        let failures: Vec<String> = failures.into_iter().flatten().collect();
        if !failures.is_empty() {
            item = item.text("failure", failures.join("\n"));
        }
        self.emit(item);
    }

    fn emit(&mut self, mut item: Item) {
        if let Some(file) = self.file.take() {
            self.out.emit(file);
        }
        let kept = cut(&item.name, MAX_NAME);
        if kept.len() < item.name.len() {
            let kept = format!("{kept}…");
            let whole = cut(&item.name, MAX_WHOLE_NAME).to_owned();
            item.name = kept;
            item = item.text("name", whole);
        }
        self.out.emit(item);
    }
}

/// Creates the item of a test. Its class is the package, because packages have tests with the same
/// name.
fn test_item(package: &str, test: &str) -> Item {
    let item = Item::new(1, test);
    if package.is_empty() { item } else { item.meta("classname", cut(package, MAX_CLASS)) }
}

fn package_item(package: &str) -> Item {
    Item::new(1, if package.is_empty() { UNNAMED_PACKAGE } else { package })
}

/// Returns whether a test process ended before all tests had run, such as by a panic. `own` is the
/// output of the failed package. After all tests, the process prints `FAIL`, and then Go prints
/// `FAIL` with the package.
fn was_interrupted(own: &str) -> bool {
    own.lines().any(|line| line.starts_with("FAIL\t")) && !own.lines().any(|line| line.trim_end().ends_with("FAIL"))
}

/// Returns whether the process of a passed package ended before all tests had run, such as by
/// `exit(0)` in a library. After all tests, it prints `PASS`, and then Go prints `ok` with the
/// package. Go attributes both to a test that has no end, and joins them to an incomplete line.
fn ended_itself(rest: &Rest) -> bool {
    let has = |is_wanted: fn(&str) -> bool| rest.texts.values().flat_map(|text| text.lines()).any(is_wanted);
    has(|line| line.contains("ok  \t")) && !has(|line| line.trim_end().ends_with("PASS"))
}

/// Returns whether a test is a benchmark, whose end no event reports.
fn is_benchmark(test: &str) -> bool {
    test.starts_with("Benchmark")
}

/// Combines the output of a package and of its unfinished tests. `None` if there is none.
fn combined(rest: &Rest) -> Option<String> {
    let texts = rest.texts.iter().map(|(test, text)| (test.as_str(), text.trim_end()));
    let silent = rest.running.iter().filter(|test| !rest.texts.contains_key(*test)).map(|test| (test.as_str(), ""));
    let mut all = String::new();
    for (test, text) in texts.chain(silent).take(MAX_UNFINISHED) {
        if !test.is_empty() {
            let end = if text.is_empty() { "" } else { ":\n" };
            all.push_str(&format!("{} has not ended{end}", cut(test, MAX_REASON)));
        }
        all.push_str(text);
        all.push('\n');
    }
    all.truncate(all.trim_end().len());
    (!all.is_empty()).then_some(all)
}

/// Returns what a skipped test printed, which has the reason. `None` if it printed nothing.
fn skip_reason(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with(SKIP_LINE)).collect();
    let reason = lines.join("\n");
    let reason = reason.trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}
