//! Workflow commands of GitHub Actions, which make annotations.

use std::io::{self, Write};

use plumbline_core::{FailedTests, Status};

use crate::report::failures::{label, nodes};
use crate::report::renderers::{Leaf, Outcome, Renderer};
use crate::report::text::{name, shortened};

/// The annotations of a level that GitHub shows for a step.
const MAX_SHOWN: usize = 10;

/// The most characters of a title. GitHub cuts longer ones.
const MAX_TITLE: usize = 200;

/// The most characters of a message.
const MAX_MESSAGE: usize = 1000;

/// The levels of annotations.
const LEVELS: [&str; 3] = ["error", "warning", "notice"];

/// Collects the first tests of each level, and counts the others.
pub(super) struct Github<'a> {
    out: &'a mut dyn Write,
    levels: [Level; LEVELS.len()],
}

struct Level {
    tests: FailedTests<Annotation>,
    leaves: u64,
}

#[derive(Default)]
struct Annotation {
    plugin: String,
    message: Option<String>,
    /// The properties of the place in a file.
    place: String,
    leaves: u64,
}

impl<'a> Github<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        let level = || Level { tests: FailedTests::new(MAX_SHOWN), leaves: 0 };
        Self { out, levels: std::array::from_fn(|_| level()) }
    }
}

impl Renderer for Github<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let Some(at) = level(leaf).and_then(|level| LEVELS.iter().position(|known| *known == level)) else {
            return Ok(());
        };
        let Some(level) = self.levels.get_mut(at) else { return Ok(()) };
        level.leaves += 1;
        // Tests of several plugins may have the same name.
        let mut id = leaf.id.clone();
        id.suites.insert(0, leaf.plugin.to_owned());
        if let Some(test) = level.tests.entry(id) {
            test.data.leaves += 1;
            if test.data.leaves == 1 {
                test.data.plugin = leaf.plugin.to_owned();
                test.data.message = leaf.message();
                test.data.place = place(leaf);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let levels = std::mem::replace(
            &mut self.levels,
            std::array::from_fn(|_| Level { tests: FailedTests::new(0), leaves: 0 }),
        );
        for (level, Level { tests, leaves }) in LEVELS.iter().zip(levels) {
            let tests = tests.into_tests();
            // If not all of them are shown, the last one counts the others.
            let all: u64 = tests.iter().map(|test| test.data.leaves).sum();
            let shown = if all < leaves { MAX_SHOWN - 1 } else { MAX_SHOWN };
            let mut rest = leaves;
            for test in tests.into_iter().take(shown) {
                let Annotation { plugin, message, place, leaves } = test.data;
                rest = rest.saturating_sub(leaves);
                let on = nodes(&test.nodes, test.failed_nodes, 0);
                let suites = test.id.suites.get(1..).unwrap_or_default().join(" › ");
                let title = label(&test.id.name, suites, &test.id.classname);
                let title = property(&format!("{}: {}", name(&plugin), shortened(&title, MAX_TITLE)));
                let message = message.unwrap_or_else(|| test.id.name.clone());
                let text = data(&shortened(&format!("{message}{on}"), MAX_MESSAGE));
                writeln!(self.out, "::{level} title={title}{place}::{text}")?;
            }
            if rest > 0 {
                let text = data(&format!("{rest} more results are not shown here"));
                writeln!(self.out, "::{level} title=Plumbline::{text}")?;
            }
        }
        Ok(())
    }
}

/// The level of an annotation. `None` if the leaf needs no attention.
fn level(leaf: &Leaf<'_>) -> Option<&'static str> {
    match (leaf.outcome(), &leaf.item.status) {
        (Outcome::Failed | Outcome::Broken, _) => Some("error"),
        (Outcome::Custom, Status::Custom(status)) if status == "warning" => Some("warning"),
        (Outcome::Custom | Outcome::Excused, _) => Some("notice"),
        (Outcome::Passed | Outcome::Skipped | Outcome::NotRead, _) => None,
    }
}

fn place(leaf: &Leaf<'_>) -> String {
    let Some(location) = leaf.location() else { return String::new() };
    let number = |key: &str, number: Option<u64>| number.map(|number| format!(",{key}={number}")).unwrap_or_default();
    let (line, column) = (number("line", location.line), number("col", location.column));
    format!(",file={}{line}{column}", property(&name(location.path)))
}

/// Escapes a message, which is one line: nothing in it can start another command.
fn data(text: &str) -> String {
    name(text).replace('%', "%25")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
