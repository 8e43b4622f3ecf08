//! The first failed tests, for a summary, collected while results are read.

use plumbline_core::failures::{CLASSNAME, FailedTests, Level, nodes_in};
use plumbline_core::judgement::{CheckOutcome, PluginVerdict, RuledItem};
use plumbline_core::rollup::is_failure;
use plumbline_core::{GLOBAL, Item, Meta, Status, TestId, reason};
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of failed tests to list per plugin, as many as users read at the end of a run.
pub const MAX_FAILURES: usize = 20;
/// Maximum length of a name or reason, in characters.
const MAX_TEXT: usize = 400;

/// Maximum number of distinct failed tests to collect. Further ones are ignored.
const MAX_TESTS: usize = 1_000;

/// A test that failed, on one node or on several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// Name of the test, truncated to 400 characters.
    pub name: String,
    /// First line of the reason, truncated to 400 characters, of the first node. `None` if there is
    /// nothing beyond the name.
    pub reason: Option<String>,
    /// Whether other nodes have other reasons.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasons_differ: bool,
    /// The surrounding suites, if the plugin has several, truncated to 400 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Class of the test, truncated to 400 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub classname: String,
    /// The first nodes on which the test failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Number of nodes on which the test failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_nodes: u64,
    /// Number of nodes with results.
    #[serde(skip_serializing_if = "is_zero")]
    pub all_nodes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Failure {
    /// Returns the first [`MAX_FAILURES`] failures in the tree below `root`.
    pub fn of_tree(root: &Item) -> Vec<Self> {
        let mut failures = Failures::default();
        let mut walk = root.walk();
        while let Some(item) = walk.next() {
            // The root is not an ancestor of tests, but without items it is the only leaf.
            if walk.depth() > 0 || item.is_leaf() {
                let depth = walk.depth().saturating_sub(1);
                failures.consider(depth, &item.name, Some(&item.status), &item.meta, &item.details);
                if item.is_leaf() { failures.accept() } else { failures.reject() }
            }
        }
        failures.into_list(nodes_in(root))
    }

    /// Returns the number of failed leaves that this failure represents.
    pub fn leaves(&self) -> u64 {
        self.failed_nodes.max(1)
    }

    /// Returns the first [`MAX_FAILURES`] failures that count according to a verdict. `own` are the
    /// failures with the tests' own reasons, for leaves without a ruling.
    pub fn of_verdict(verdict: &PluginVerdict, own: &[Self]) -> Vec<Self> {
        let join = |parts: [&str; 2]| {
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            Some(parts.join(": ")).filter(|text| !text.is_empty())
        };
        let mut tests: FailedTests<Option<&RuledItem>> = FailedTests::new(MAX_TESTS);
        for item in verdict.items.iter().filter(|item| item.ruling.counts) {
            let node = Some(&item.set).filter(|set| !set.is_empty() && *set != GLOBAL).cloned();
            // Leaves are one failure only if their rulings are the same.
            let mut suites = item.path.clone();
            suites.extend([item.ruling.class.clone(), item.ruling.reason.clone()]);
            let id = TestId { node, suites, name: item.name().to_owned(), ..TestId::default() };
            if let Some(test) = tests.entry(id) {
                test.data.get_or_insert(item);
            }
        }
        let items = tests.into_tests().into_iter().filter_map(|test| {
            let item = test.data?;
            let mut own = own.iter().filter(|failure| failure.name == cut(item.name()));
            let failure = match (own.next(), own.next()) {
                (Some(own), None) if item.judge.is_empty() => own.clone(),
                _ => Self {
                    name: item.name().to_owned(),
                    reason: join([&item.ruling.class, &item.ruling.reason]),
                    ..Self::default()
                },
            };
            Some(Self { nodes: test.nodes, failed_nodes: test.failed_nodes, ..failure })
        });
        let checks = verdict.checks.iter().map(|judged| &judged.check);
        let checks = checks.filter(|check| check.outcome != CheckOutcome::Passed).map(|check| {
            let found = match (check.want.as_str(), check.got.as_str()) {
                ("", got) => got.to_owned(),
                (want, "") => format!("want {want}"),
                (want, got) => format!("want {want}, got {got}"),
            };
            Self {
                name: format!("{} {}", check.id, check.name),
                reason: join([&found, &check.reason]),
                ..Self::default()
            }
        });
        let judges = verdict.chain.iter().filter_map(|judge| {
            let name = format!("judge {}", judge.judge);
            Some(Self { name, reason: Some(judge.error.clone()?), ..Self::default() })
        });
        items.chain(checks).chain(judges).take(MAX_FAILURES).collect()
    }
}

/// Reasons of a failed test.
#[derive(Debug, Clone, Default)]
struct Reasons {
    first: Option<String>,
    differ: bool,
}

/// Collects failures. An item is a candidate until it is known whether it has children.
pub(super) struct Failures {
    tests: FailedTests<Reasons>,
    /// The last item and its reason, if it failed.
    candidate: Option<(TestId, Option<String>)>,
    /// The items from the root to the last one, inclusive.
    path: Vec<(Level, String)>,
    /// The suites around the first leaf.
    first_place: Option<Vec<String>>,
    several_places: bool,
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            tests: FailedTests::new(MAX_TESTS),
            candidate: None,
            path: Vec::new(),
            first_place: None,
            several_places: false,
        }
    }
}

impl Failures {
    /// Makes an item the candidate. `depth` is 0 for children of the root.
    pub(super) fn consider(
        &mut self,
        depth: usize,
        name: &str,
        status: Option<&Status>,
        meta: &Meta,
        details: &Map<String, Value>,
    ) {
        self.path.truncate(depth);
        self.candidate = status.is_some_and(is_failure).then(|| {
            // Names are truncated, because many of them are kept.
            let classname = meta.get(CLASSNAME).map(|class| cut(class)).unwrap_or_default();
            let mut id = TestId { classname, name: cut(name), ..TestId::default() };
            for (level, name) in &self.path {
                match level {
                    Level::Node => id.node = Some(name.clone()),
                    Level::File => {}
                    Level::Suite => id.suites.push(name.clone()),
                }
            }
            (id, reason(name, details, meta))
        });
        self.path.push((Level::of(meta), cut(name)));
    }

    /// Accepts the last item as a leaf.
    pub(super) fn accept(&mut self) {
        let above = self.path.split_last().map(|(_, above)| above).unwrap_or_default();
        let suites = above.iter().filter(|(level, _)| *level == Level::Suite).map(|(_, name)| name);
        see_place(&mut self.first_place, &mut self.several_places, suites);
        let Some((id, reason)) = self.candidate.take() else { return };
        let Some(test) = self.tests.entry(id) else { return };
        if test.failed_nodes <= 1 {
            test.data.first = reason;
        } else {
            test.data.differ |= test.data.first != reason;
        }
    }

    /// Drops the last item, which has children.
    pub(super) fn reject(&mut self) {
        self.candidate = None;
    }

    /// Appends the failures of later result sets.
    pub(super) fn append(&mut self, other: Self) {
        self.several_places |= other.several_places;
        if let Some(place) = other.first_place {
            see_place(&mut self.first_place, &mut self.several_places, place.iter());
        }
        self.tests.append(other.tests, |reasons, other| {
            reasons.differ |= other.differ || reasons.first != other.first;
        });
    }

    /// Returns the first [`MAX_FAILURES`] failures, of `all_nodes` nodes with results.
    pub(super) fn into_list(self, all_nodes: u64) -> Vec<Failure> {
        let place = |suites: &[String]| if self.several_places { cut(&suites.join(" › ")) } else { String::new() };
        let tests = self.tests.into_tests().into_iter().take(MAX_FAILURES);
        let failures = tests.map(|test| Failure {
            place: place(&test.id.suites),
            name: test.id.name,
            classname: test.id.classname,
            reason: test.data.first,
            reasons_differ: test.data.differ,
            nodes: test.nodes,
            all_nodes: if test.failed_nodes > 0 { all_nodes } else { 0 },
            failed_nodes: test.failed_nodes,
        });
        failures.collect()
    }
}

/// Records the suites of a leaf. Leaves without a suite, such as errors of the host, are ignored.
fn see_place<'a>(first: &mut Option<Vec<String>>, several: &mut bool, suites: impl Iterator<Item = &'a String>) {
    let mut suites = suites.peekable();
    if *several || suites.peek().is_none() {
        return;
    }
    match first {
        Some(first) => *several = !first.iter().eq(suites),
        None => *first = Some(suites.cloned().collect()),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_test_that_failed_on_many_nodes_is_one_failure() {
        let check = |reason: &str| json!({"name": "check 33", "status": "failed", "details": {"failure": reason}});
        let node = |name: &str, items: Value| json!({"name": name, "status": "failed", "meta": {"type": "node"}, "items": items});
        let good = json!({"name": "good", "status": "passed"});
        let root: Item = serde_json::from_value(json!({"name": "p", "status": "failed", "items": [
            node("n1", json!([check("full"), good])), node("n2", json!([check("full")])),
            node("n3", json!([check("other")])), node("n4", json!([good])),
        ]}))
        .unwrap();
        let found = Failure::of_tree(&root);
        let want = Failure {
            name: "check 33".into(),
            reason: Some("full".into()),
            reasons_differ: true,
            nodes: vec!["n1".into(), "n2".into(), "n3".into()],
            failed_nodes: 3,
            all_nodes: 4,
            ..Failure::default()
        };
        assert_eq!(found, [want]);
        assert_eq!(found[0].leaves(), 3);
    }

    #[test]
    fn suites_and_classes_are_reported_where_there_are_several() {
        let leaf = |class: &str| json!({"name": "x", "status": "failed", "meta": {"classname": class}});
        let suite = |name: &str, class: &str| json!({"name": name, "status": "failed", "items": [leaf(class)]});
        let of = |suites: Value| {
            let root = json!({"name": "p", "status": "failed", "items": suites});
            let failures = Failure::of_tree(&serde_json::from_value(root).unwrap()).into_iter();
            failures
                .map(|failure| format!("{}|{}|{}", failure.place, failure.classname, failure.name))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(json!([suite("s", "a"), suite("t", "b")])), ["s|a|x", "t|b|x"]);
        assert_eq!(of(json!([suite("s", "a")])), ["|a|x"]);
    }
}
