//! From events to items.

use plumbline_sdk::{Item, Output, Status};

use crate::event::Event;
use crate::outputs::Outputs;

/// Bytes of an item's name.
const MAX_NAME: usize = 32 << 10;

/// Bytes of a name that is kept as a detail because it was cut.
const MAX_WHOLE_NAME: usize = 1 << 20;

/// Bytes of a reason that stand in the name of an item.
const MAX_REASON: usize = 200;

/// Tests that had not ended when their package failed, whose output is shown. Usually it is the one that broke the process.
const MAX_UNFINISHED: usize = 20;

/// Lines of output that only repeat what the events say.
const FRAMES: [&str; 4] = ["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "];

/// One file on its way to items.
pub(crate) struct Report<'a> {
    /// Held until something stands in it, because it has a status only when nothing does.
    file: Option<Item>,
    outputs: Outputs,
    out: &'a mut Output,
}

impl<'a> Report<'a> {
    /// The report of the file of that name and path.
    pub(crate) fn new(name: &str, path: &str, out: &'a mut Output) -> Self {
        let file = Item::new(0, name).meta("file", path).meta("type", "file");
        Self { file: Some(file), outputs: Outputs::default(), out }
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        match (&*event.action, event.test.is_empty()) {
            ("run" | "pause" | "cont" | "bench" | "attr" | "artifacts", _) => {}
            ("output", _) => self.output(&event.package, &event.test, &event.output),
            // What a build prints belongs to no package yet: it waits under the name of what is built.
            ("build-output", true) => self.output(&event.import_path, "", &event.output),
            ("fail", true) => self.package_failed(event),
            ("pass" | "skip", true) if !event.package.is_empty() => drop(self.outputs.close(&event.package)),
            (_, true) => {}
            (action, false) => self.test_ended(action, event),
        }
    }

    /// Emits what is left. `problem` says why the file could not be read to its end.
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
        // What did not run took no time.
        if let Some(elapsed) = event.elapsed.filter(|_| action != "skip") {
            item = item.meta("duration", decimal(elapsed));
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

    /// Where a test of the package failed, that says it all. Where none did, the package must not vanish.
    fn package_failed(&mut self, event: &Event<'_>) {
        if event.package.is_empty() {
            return;
        }
        // Tests without a package, as other programs write them, may be any package's.
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

/// Seconds as decimal text, to the nanosecond.
fn decimal(seconds: f64) -> String {
    let text = format!("{seconds:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The first `max` bytes of `text`, or less, so that no character is cut.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
