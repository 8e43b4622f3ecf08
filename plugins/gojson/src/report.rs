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
            ("run" | "pause" | "cont" | "bench" | "attr" | "artifacts", _) => {}
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

    fn output(&mut self, package: &str, test: &str, text: &str) {
        if !FRAMES.iter().any(|frame| text.starts_with(frame)) {
            self.outputs.push(package, test, text);
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
        let told = self.outputs.has_failed(&event.package) || self.outputs.has_failed("");
        let mut texts = self.outputs.close(&event.package);
        if !event.failed_build.is_empty() {
            texts.extend(self.outputs.close(&event.failed_build));
        }
        if told {
            return;
        }
        let mut failure = String::new();
        for (test, text) in texts.iter().take(MAX_UNFINISHED) {
            if !test.is_empty() {
                failure.push_str(&format!("{} has not ended:\n", cut(test, MAX_REASON)));
            }
            failure.push_str(text.trim_end());
            failure.push('\n');
        }
        let mut item = Item::new(1, &*event.package).status(Status::Failed);
        if let Some(elapsed) = event.elapsed {
            item = item.meta("duration", decimal(elapsed));
        }
        if !failure.trim_end().is_empty() {
            item = item.text("failure", failure.trim_end());
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

/// Formats seconds as decimal text with up to nine decimals.
fn decimal(seconds: f64) -> String {
    let text = format!("{seconds:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns at most the first `max` bytes of `text`, cut at a character boundary.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
