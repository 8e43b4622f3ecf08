//! Converts events to items.

use plumbline_sdk::{Item, Output, Status};

use crate::event::Event;
use crate::outputs::Outputs;

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
const OWN_KEYS: [&str; 5] = ["duration", "error", "file", "start", "type"];

/// Maximum size in bytes of the name of an attribute. Longer ones are ignored.
const MAX_KEY: usize = 100;

/// Maximum size in bytes of the value of an attribute. The rest is cut off.
const MAX_VALUE: usize = 4 << 10;

/// The prefix of the line that ends the output of a skipped test. It only repeats the event.
const SKIP_LINE: &str = "--- SKIP: ";

/// The reason of a package that has no end.
const UNFINISHED: &str = "the file ends before this package";

/// Prefixes of output lines that only repeat the events.
const FRAMES: [&str; 4] = ["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "];

/// The report of one file.
pub(crate) struct Report<'a> {
    /// The item of the file. It is emitted with the first item below it, because it has a status
    /// only if there are none.
    file: Option<Item>,
    outputs: Outputs,
    out: &'a mut Output,
}

impl<'a> Report<'a> {
    /// Creates the report of the file with this name and path.
    pub(crate) fn new(name: &str, path: &str, out: &'a mut Output) -> Self {
        let file = Item::new(0, name).meta("file", path).meta("type", "file");
        Self { file: Some(file), outputs: Outputs::default(), out }
    }

    /// Processes the next event.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        match (&*event.action, event.test.is_empty()) {
            ("run", false) => {
                if !event.time.is_empty() && event.time.len() <= MAX_TIME {
                    self.outputs.start(&event.package, &event.test, &event.time);
                }
            }
            ("attr", false) => self.attribute(event),
            ("run" | "pause" | "cont" | "bench" | "attr" | "artifacts", _) => {}
            ("start", true) if !event.package.is_empty() => self.outputs.open(&event.package),
            ("output", _) => self.output(&event.package, &event.test, &event.output),
            // The output of a build does not belong to a package yet. It is kept under its import
            // path.
            ("build-output", true) => self.output(&event.import_path, "", &event.output),
            ("fail", true) => self.package_failed(event),
            ("pass" | "skip", true) if !event.package.is_empty() => drop(self.outputs.close(&event.package)),
            (_, true) => {}
            (action, false) => self.test_ended(action, event),
        }
    }

    /// Emits the remaining items. `problem` says why the file could not be read to its end.
    pub(crate) fn finish(mut self, problem: Option<String>) {
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

    /// Emits an item for each package that has started and not ended: the process that wrote the file
    /// was killed, or its disk was full. The tests that passed until then prove nothing.
    fn report_unfinished(&mut self) {
        for package in self.outputs.unfinished() {
            let texts = self.outputs.close(&package);
            let mut item = Item::new(1, package).status(Status::Unknown).meta("error", UNFINISHED);
            if let Some(output) = combined(&texts) {
                item = item.text("failure", output);
            }
            self.emit(item);
        }
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
        let mut item = Item::new(1, &*event.test).status(status);
        for (key, value) in self.outputs.take_attributes(&event.package, &event.test) {
            item = item.meta(key, value);
        }
        let start = self.outputs.take_start(&event.package, &event.test);
        // A test that was skipped has no times.
        if action != "skip" {
            if let Some(elapsed) = event.elapsed {
                item = item.meta("duration", decimal(elapsed));
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

    /// Reports a failed package, unless a failed test of it already does.
    fn package_failed(&mut self, event: &Event<'_>) {
        if event.package.is_empty() {
            return;
        }
        // Other programs write tests without a package, which may belong to any package.
        let reported = self.outputs.has_failed(&event.package) || self.outputs.has_failed("");
        let mut texts = self.outputs.close(&event.package);
        if !event.failed_build.is_empty() {
            texts.extend(self.outputs.close(&event.failed_build));
        }
        if reported {
            return;
        }
        let mut item = Item::new(1, &*event.package).status(Status::Failed);
        if let Some(elapsed) = event.elapsed {
            item = item.meta("duration", decimal(elapsed));
        }
        if let Some(failure) = combined(&texts) {
            item = item.text("failure", failure);
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

/// Combines the output of a package and of its unfinished tests. `None` if there is none.
fn combined(texts: &[(String, String)]) -> Option<String> {
    let mut all = String::new();
    for (test, text) in texts.iter().take(MAX_UNFINISHED) {
        if !test.is_empty() {
            all.push_str(&format!("{} has not ended:\n", cut(test, MAX_REASON)));
        }
        all.push_str(text.trim_end());
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

/// Formats seconds as decimal text with up to nine decimals.
fn decimal(seconds: f64) -> String {
    let text = format!("{seconds:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns at most the first `max` bytes of `text`, cut at a character boundary.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
