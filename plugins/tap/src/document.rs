//! Converts lines to items.

use plumbline_sdk::text::{cut, decimal};
use plumbline_sdk::{Detail, Item, Output, Status};

use crate::level::{Kept, Level};
use crate::line::{Directive, Line, Point};

/// Number of columns by which a subtest is indented.
const INDENT: usize = 4;
/// Maximum depth of subtests.
const MAX_LEVELS: usize = 32;
/// Maximum number of items that wait for the test point of their subtest, and of bytes of their
/// texts.
const MAX_HELD: usize = 20_000;
const MAX_HELD_BYTES: usize = 8 << 20;
/// Maximum size in bytes of the lines of a YAML block that wait for its end.
const MAX_PENDING: usize = 1 << 20;
/// Maximum size in bytes of the diagnostics of one test.
const MAX_DIAGNOSTICS: usize = 64 << 10;
/// Maximum size in bytes of a name. A line may have more, but no real description does.
const MAX_NAME: usize = 16 << 10;
/// The reason why a document is `unknown` that has no test.
const NOTHING: &str = "there is neither a plan nor a test point";

/// The document of one file.
pub(crate) struct Document<'a> {
    out: &'a mut Output,
    /// The item of the file. It is emitted with the first item below it, because it has a status
    /// only if there are none.
    file: Option<Item>,
    /// The items that later lines may change: those of an open subtest, and the latest test.
    held: Vec<Item>,
    held_bytes: usize,
    levels: Vec<Level>,
    /// The index of the test that diagnostics belong to, its level, and the diagnostics so far.
    current: Option<(usize, usize)>,
    diagnostics: String,
    in_yaml: bool,
    /// The lines of the open YAML block from the first one that could be TAP. Only the end of the
    /// block shows whether they are: a block without `...` was interrupted.
    pending: Vec<String>,
    pending_bytes: usize,
    bailed_out: bool,
    first_line: bool,
    /// Whether a version line began a document of which nothing else was read.
    only_version: bool,
}

impl<'a> Document<'a> {
    pub(crate) fn new(file: Item, out: &'a mut Output) -> Self {
        Self {
            out,
            file: Some(file),
            held: Vec::new(),
            held_bytes: 0,
            levels: vec![Level::default()],
            current: None,
            diagnostics: String::new(),
            in_yaml: false,
            pending: Vec::new(),
            pending_bytes: 0,
            bailed_out: false,
            first_line: true,
            only_version: false,
        }
    }

    pub(crate) fn line(&mut self, line: &str) {
        let line = if std::mem::take(&mut self.first_line) { line.trim_start_matches('\u{feff}') } else { line };
        let text = line.trim_start_matches(' ');
        let indentation = line.len() - text.len();
        let text = text.trim_end();
        if self.bailed_out || self.yaml(line, text, indentation) {
            return;
        }
        // A pending line may have been a bail-out.
        if self.bailed_out || text.is_empty() {
            return;
        }
        let parsed = Line::parse(text);
        match parsed {
            Line::Comment(comment) => return self.diagnose(comment),
            // It ends the whole file, whatever its indentation.
            Line::BailOut(reason) => return self.bail_out(reason),
            _ => {}
        }
        let level = indentation / INDENT;
        if indentation % INDENT != 0 || level >= MAX_LEVELS {
            return;
        }
        match parsed {
            Line::Point(point) => self.point(level, point),
            Line::Plan { last, reason } => {
                if let Some(open) = self.at(level) {
                    open.plan(last, reason);
                }
            }
            Line::Version if level == 0 => self.begin_document(),
            Line::Version => {
                self.at(level);
            }
            Line::Subtest(name) => {
                let name = name.to_owned();
                if let Some(open) = self.at(level) {
                    open.announced = Some(name);
                }
            }
            Line::Comment(_) | Line::BailOut(_) | Line::Other => {}
        }
    }

    /// Begins a document, because a file may have several one after the other.
    fn begin_document(&mut self) {
        if self.root_is_empty() {
            self.report_empty();
        } else {
            self.close(0);
            self.judge();
            self.levels = vec![Level::default()];
        }
        self.only_version = true;
    }

    /// Adds an item for a document that has only a version line: its program ended before the first
    /// test.
    fn report_empty(&mut self) {
        if self.only_version {
            self.add(Item::new(1, "empty document").status(Status::Unknown).meta("error", NOTHING));
        }
    }

    fn bail_out(&mut self, reason: &str) {
        self.bailed_out = true;
        let item = Item::new(1, "Bail out!").status(Status::Failed);
        self.add(if reason.is_empty() { item } else { item.text("failure", reason) });
    }

    /// Emits the remaining items. `problem` says why the file could not be read to its end.
    pub(crate) fn finish(mut self, problem: Option<String>) {
        // Each pass handles at least one line.
        while self.in_yaml {
            self.leave_yaml();
        }
        if let Some(problem) = problem {
            self.add(Item::new(1, "unreadable").status(Status::Unknown).meta("error", problem));
        } else if !self.bailed_out {
            self.close(0);
            if !self.root_is_empty() {
                self.judge();
            } else if self.has_items() {
                self.report_empty();
            }
        }
        self.emit();
        if let Some(file) = self.file.take() {
            self.out.emit(file.status(Status::Unknown).meta("error", NOTHING));
        }
    }

    /// Returns whether there is an item below the file.
    fn has_items(&self) -> bool {
        self.file.is_none() || !self.held.is_empty()
    }

    fn root_is_empty(&self) -> bool {
        self.levels.first().is_none_or(Level::is_empty) && self.levels.len() == 1
    }

    /// Closes deeper subtests, opens those down to `level`, and returns that level.
    fn at(&mut self, level: usize) -> Option<&mut Level> {
        self.close(level);
        self.open(level);
        self.levels.last_mut()
    }

    fn open(&mut self, level: usize) {
        while self.levels.len() <= level {
            let announced = self.levels.last_mut().and_then(|open| open.announced.take());
            let name = announced.filter(|name| !name.is_empty()).unwrap_or_else(|| "subtest".to_owned());
            let item = self.add(Item::new(depth(self.levels.len() - 1), name));
            self.levels.push(Level::below(item));
        }
    }

    /// Closes subtests down to `level`, whose test points are missing.
    fn close(&mut self, level: usize) {
        while self.levels.len() > level + 1 {
            self.judge();
            let error = "the subtest has no test point of its own";
            let item = Item::new(depth(self.levels.len() - 1), "end of the subtest").status(Status::Unknown);
            self.add(item.meta("error", error));
            self.levels.pop();
        }
    }

    fn point(&mut self, level: usize, point: Point) {
        self.settle();
        self.close(level + 1);
        let subtest = if self.levels.len() == level + 2 {
            self.judge();
            self.levels.pop().map(|closed| closed.item)
        } else {
            self.open(level);
            None
        };
        let Some(open) = self.levels.last_mut() else { return };
        open.announced = None;
        let number = open.count(point.number);
        let status = match (point.directive, point.ok) {
            (Some(Directive::Skip), true) | (Some(Directive::Todo), false) => Status::Skipped,
            (_, true) => Status::Passed,
            // `prove` ignores `SKIP` here too.
            (_, false) => Status::Failed,
        };
        let name = match point.description.as_str() {
            "" => format!("test {number}"),
            description => cut(description, MAX_NAME).to_owned(),
        };
        let at = match subtest {
            Some(Some(at)) => {
                self.end_subtest(at, level, &point, &status);
                if let Some(item) = self.held.get_mut(at)
                    && !point.description.is_empty()
                {
                    item.name = name;
                }
                at
            }
            // The item of the subtest was already emitted, because there were too many tests to
            // hold.
            Some(None) | None => self.add(Item::new(depth(level), name).status(status)),
        };
        if let Some(item) = self.held.get_mut(at) {
            item.meta.push(("number".into(), number.to_string()));
            if let Some(directive) = point.directive {
                let word = if directive == Directive::Skip { "skip" } else { "todo" };
                item.meta.push(("directive".into(), word.into()));
            }
            if !point.reason.is_empty() {
                item.meta.push(("reason".into(), cut(&point.reason, MAX_NAME).to_owned()));
            }
        }
        self.current = Some((at, level));
    }

    /// Applies the test point of the subtest at `at` to the tests in it.
    fn end_subtest(&mut self, at: usize, level: usize, point: &Point, status: &Status) {
        let tests = self.held.iter_mut().skip(at + 1);
        if point.directive.is_some() && *status != Status::Failed {
            // Tests of a subtest with `SKIP` or `TODO` must not make their parent fail.
            for test in tests.filter(|test| matches!(test.status, Some(Status::Failed | Status::Unknown))) {
                test.status = Some(Status::Skipped);
            }
        } else if *status == Status::Failed && !tests.into_iter().any(|test| test.status == Some(Status::Failed)) {
            // All its tests passed, so the host would roll its status up to passed. Add a failed
            // item.
            self.held.push(Item::new(depth(level) + 1, "not ok").status(Status::Failed));
        }
    }

    /// Adds an item if the innermost document did not keep its plan.
    fn judge(&mut self) {
        let below = depth(self.levels.len() - 1);
        match self.levels.last().map(Level::kept) {
            Some(Kept::NoTests(reason)) => {
                let item = Item::new(below, "all tests").status(Status::Skipped);
                self.add(if reason.is_empty() { item } else { item.meta("reason", reason) });
            }
            Some(Kept::No(why)) => {
                self.add(Item::new(below, "plan").status(Status::Failed).text("failure", why));
            }
            Some(Kept::Yes) | None => {}
        }
    }

    /// Holds `item`, and returns its index among the held items.
    fn add(&mut self, item: Item) -> usize {
        self.only_version = false;
        self.settle();
        let full = self.held.len() >= MAX_HELD || self.held_bytes >= MAX_HELD_BYTES;
        if self.levels.len() == 1 || full {
            self.emit();
        }
        self.held_bytes += item.bytes();
        self.held.push(item);
        self.held.len() - 1
    }

    fn emit(&mut self) {
        self.settle();
        for item in self.held.drain(..) {
            if let Some(file) = self.file.take() {
                self.out.emit(file);
            }
            self.out.emit(item);
        }
        self.held_bytes = 0;
        for level in &mut self.levels {
            level.item = None;
        }
    }

    fn diagnose(&mut self, text: &str) {
        if self.current.is_some() {
            let room = MAX_DIAGNOSTICS.saturating_sub(self.diagnostics.len());
            self.diagnostics.push_str(cut(text, room));
            self.diagnostics.push('\n');
        }
    }

    /// Adds diagnostics to their test. Those after a passed test are dropped, because they may
    /// belong to the next one.
    fn settle(&mut self) {
        let text = std::mem::take(&mut self.diagnostics);
        self.in_yaml = false;
        let Some((at, _)) = self.current.take() else { return };
        let Some(item) = self.held.get_mut(at) else { return };
        if item.status != Some(Status::Passed) && !text.trim().is_empty() {
            let key = if item.status == Some(Status::Failed) { "failure" } else { "diagnostics" };
            self.held_bytes += text.len();
            item.details.push((key.into(), Detail::Text(text.trim_end().to_owned())));
        }
    }

    /// Returns whether the line belongs to a YAML block of the current test.
    fn yaml(&mut self, line: &str, text: &str, indentation: usize) -> bool {
        let Some((_, level)) = self.current else { return false };
        let own = INDENT * level + 2;
        if !self.in_yaml {
            self.in_yaml = text == "---" && indentation == own;
            return self.in_yaml;
        }
        if !text.is_empty() && indentation < own {
            // The line may belong to another block after this.
            self.leave_yaml();
            return self.yaml(line, text, indentation);
        }
        if text == "..." && indentation == own {
            self.in_yaml = false;
            for line in self.take_pending() {
                self.yaml_line(&line, own);
            }
        } else if self.pending.is_empty() && !Line::is_tap(text) {
            self.yaml_line(line, own);
        } else {
            self.pending_bytes += line.len() + size_of::<String>();
            self.pending.push(line.to_owned());
            if self.pending_bytes > MAX_PENDING {
                self.leave_yaml();
            }
        }
        true
    }

    /// Handles the end of a YAML block that is not closed. Lines that could be TAP are.
    fn leave_yaml(&mut self) {
        self.in_yaml = false;
        for line in self.take_pending() {
            self.line(&line);
        }
    }

    fn take_pending(&mut self) -> Vec<String> {
        self.pending_bytes = 0;
        std::mem::take(&mut self.pending)
    }

    /// Handles a line of a YAML block, whose own indentation is `own`.
    fn yaml_line(&mut self, line: &str, own: usize) {
        if let Some((at, _)) = self.current
            && let Some(duration) = line.trim().strip_prefix("duration_ms:").and_then(seconds)
            && let Some(item) = self.held.get_mut(at)
        {
            item.meta.push(("duration".into(), duration));
        }
        self.diagnose(line.get(own..).unwrap_or_default());
    }
}

/// Returns the depth of items of a level, which are below the file.
fn depth(level: usize) -> u32 {
    u32::try_from(level).map_or(u32::MAX, |level| level + 1)
}

/// Converts milliseconds to decimal text of seconds.
fn seconds(milliseconds: &str) -> Option<String> {
    let milliseconds: f64 = milliseconds.trim().parse().ok()?;
    (0.0..1e15).contains(&milliseconds).then(|| decimal(milliseconds / 1000.0, 6))
}
