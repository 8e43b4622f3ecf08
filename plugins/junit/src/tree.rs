//! The items above the test cases: the file and its suites. They are held back until their status
//! is known.

use plumbline_sdk::text::cut;
use plumbline_sdk::{Detail, Item, Output, Status};
use serde_json::Value;

/// Maximum depth of suites. Deeper ones are placed at the deepest level, so that the host's limit
/// on depth is never reached. Real reports have up to five.
const MAX_SUITE_DEPTH: u32 = 48;

/// Maximum size in bytes of a name: half of what the host accepts. A longer one is cut, and the
/// detail `name` has the whole name.
const MAX_NAME: usize = 32 << 10;

/// Maximum number of bytes of a reason in a name.
const MAX_REASON: usize = 200;

/// Maximum size in bytes of a suite's name that is compared with class names. The names of all open
/// suites are kept.
const MAX_COMPARED: usize = 4 << 10;

/// Maximum number of setup nodes of a suite to list.
const MAX_SETUP_NODES: u32 = 64;

/// The detail of a suite that lists its setup nodes.
const SETUP_NODES: &str = "setup-nodes";

/// The reason of the item for a report that states that it has no test case.
const NOTHING_TESTED: &str = "the report has no test case: nothing was tested";

/// The reason of the item for a report that has no test case and does not state so.
const NOT_STATED: &str = "the report has no test case, and no `tests=\"0\"` that says so: it may be incomplete";

/// Emits the items of a file in pre-order.
pub(crate) struct Tree<'a> {
    out: &'a mut Output,
    /// The file, followed by the open suites.
    open: Vec<Container>,
    /// Whether there was any test case.
    tested: bool,
    /// Whether there was a setup node that is not a test.
    set_up: bool,
}

struct Container {
    /// The item, if it is not emitted yet. Only its first child, or its end, shows whether it is a
    /// leaf.
    held: Option<Item>,
    /// The name; empty if it is longer than any class name ([`MAX_COMPARED`]).
    name: String,
    depth: u32,
    suites: u32,
    cases: u32,
    /// The number of setup nodes without an item.
    setup_nodes: u32,
}

impl Container {
    fn new(item: Item) -> Self {
        let name = if item.name.len() <= MAX_COMPARED { item.name.clone() } else { String::new() };
        Self { depth: item.depth, held: Some(item), name, suites: 0, cases: 0, setup_nodes: 0 }
    }
}

impl<'a> Tree<'a> {
    pub(crate) fn new(file: Item, out: &'a mut Output) -> Self {
        Self { out, open: vec![Container::new(file)], tested: false, set_up: false }
    }

    /// Opens a suite in the innermost open suite, or in the file. An empty name is replaced.
    pub(crate) fn open_suite(&mut self, mut suite: Item) {
        // Release the outer suite first, so that at most one suite is held, however deeply they are
        // nested.
        if self.open.len() > 1 {
            self.release();
        }
        if let Some(parent) = self.open.last_mut() {
            parent.suites = parent.suites.saturating_add(1);
            suite.depth = (parent.depth + 1).min(MAX_SUITE_DEPTH);
            if suite.name.is_empty() {
                suite.name = format!("testsuite-{:03}", parent.suites);
            }
        }
        self.open.push(Container::new(suite));
    }

    /// Adds properties to the innermost open suite. Properties after its first test case or suite
    /// are dropped, because the suite is already emitted.
    pub(crate) fn add_properties(&mut self, properties: &Value) {
        if self.open.len() > 1
            && let Some(container) = self.open.last_mut()
            && let Some(suite) = container.held.take()
        {
            container.held = Some(suite.json("properties", properties));
        }
    }

    /// Returns the name of the innermost open suite.
    pub(crate) fn suite_name(&self) -> Option<&str> {
        let suite = self.open.get(1..).and_then(<[Container]>::last)?;
        Some(&suite.name)
    }

    /// Records a setup node that is not a test. Only those before the first test case are listed,
    /// because the suite is emitted then.
    pub(crate) fn setup_node(&mut self, name: &str, status: &Status) {
        self.set_up = true;
        let Some(suite) = self.open.last_mut() else { return };
        suite.setup_nodes = suite.setup_nodes.saturating_add(1);
        if suite.depth == 0 || suite.setup_nodes > MAX_SETUP_NODES {
            return;
        }
        if let Some(item) = &mut suite.held {
            let line = format!("{}: {status}", cut(name, MAX_REASON));
            match item.details.iter_mut().find(|(key, _)| key == SETUP_NODES) {
                Some((_, Detail::Text(lines))) => lines.push_str(&format!("\n{line}")),
                _ => item.details.push((SETUP_NODES.to_owned(), Detail::Text(line))),
            }
        }
    }

    /// Closes the innermost open suite.
    pub(crate) fn close_suite(&mut self) {
        if let Some(Container { held: Some(mut suite), .. }) = self.open.pop() {
            // A suite without test cases ran nothing. Sonobuoy counts it as one passed test.
            suite.status = Some(Status::Skipped);
            self.release();
            self.emit(suite);
        }
    }

    /// Emits a test case of the innermost open suite. An empty name is replaced.
    pub(crate) fn leaf(&mut self, mut case: Item) {
        self.release();
        self.tested = true;
        if let Some(parent) = self.open.last_mut() {
            parent.cases = parent.cases.saturating_add(1);
            case.depth = parent.depth + 1;
            if case.name.is_empty() {
                case.name = format!("testcase-{:03}", parent.cases);
            }
        }
        self.emit(case);
    }

    /// Finishes a file that was read to its end. `states_none` is whether its totals state that it
    /// has no test.
    pub(crate) fn close(mut self, states_none: bool) {
        if self.tested {
            while !self.open.is_empty() {
                self.close_suite();
            }
            return;
        }
        while self.open.len() > 1 {
            self.close_suite();
        }
        if states_none || self.set_up {
            self.mark("no test case", Status::Skipped, |item| item.text("skipped", NOTHING_TESTED));
        } else {
            self.mark("no test case", Status::Unknown, |item| item.meta("error", NOT_STATED));
        }
    }

    /// Finishes a file that could not be read to its end.
    pub(crate) fn abort(mut self, problem: String) {
        let name = format!("unreadable: {}", cut(&problem, MAX_REASON));
        self.mark(&name, Status::Unknown, |item| item.meta("error", problem));
    }

    /// Gives the file `status`. If the file's item is not emitted yet, it gets the status itself.
    /// Otherwise an item with this name is added to it. `reason` adds the reason.
    fn mark(&mut self, name: &str, status: Status, reason: impl FnOnce(Item) -> Item) {
        if let [Container { held: Some(_), .. }] = self.open.as_slice() {
            if let Some(Container { held: Some(mut file), .. }) = self.open.pop() {
                file.status = Some(status);
                self.emit(reason(file));
            }
            return;
        }
        self.release();
        self.emit(reason(Item::new(1, name).status(status)));
    }

    /// Emits the held item, because it gets a child.
    fn release(&mut self) {
        if self.open.last().is_some_and(|container| container.held.is_none()) {
            return;
        }
        let held: Vec<Item> = self.open.iter_mut().filter_map(|container| container.held.take()).collect();
        for item in held {
            self.emit(item);
        }
    }

    fn emit(&mut self, mut item: Item) {
        let kept = cut(&item.name, MAX_NAME);
        if kept.len() < item.name.len() {
            let kept = format!("{kept}…");
            let whole = std::mem::replace(&mut item.name, kept);
            item = item.text("name", whole);
        }
        self.out.emit(item);
    }
}
