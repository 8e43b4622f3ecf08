//! The first failed tests, for a summary. They are collected while results are read, so that the
//! tree does not have to be read again.

use plumbline_core::failures::{CLASSNAME, Level};
use plumbline_core::failures::{FailedTests, nodes_in};
use plumbline_core::judgement::{CheckOutcome, PluginVerdict, RuledItem};
use plumbline_core::{FlatItem, GLOBAL, Item, Status, TestId, reason};
use serde::Serialize;

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
    /// First line of the reason, truncated to 400 characters. `None` if there is nothing beyond the
    /// name. For several nodes, it is that of the first one.
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
    #[must_use]
    pub fn of_tree(root: &Item) -> Vec<Self> {
        let mut failures = Failures::default();
        let mut leaves = root.leaves();
        while let Some(leaf) = leaves.next() {
            let id = TestId::of(leaves.walk().ancestors(), leaf);
            failures.see_place(&id.suites);
            if has_failed(Some(&leaf.status)) {
                let reason = reason(&leaf.name, &leaf.details, &leaf.meta);
                failures.add(Candidate { id: shortened(id), reason });
            }
        }
        failures.into_list(nodes_in(root))
    }

    /// Returns the number of failed leaves that this failure represents.
    #[must_use]
    pub fn leaves(&self) -> u64 {
        self.failed_nodes.max(1)
    }

    /// Returns the first [`MAX_FAILURES`] failures that count according to a verdict: leaves,
    /// failed checks, and judges that could not finish. `own` are the failures with the tests' own
    /// reasons, which are used for leaves without a ruling.
    #[must_use]
    pub fn of_verdict(verdict: &PluginVerdict, own: &[Self]) -> Vec<Self> {
        let said = |parts: [&str; 2]| {
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
                    reason: said([&item.ruling.class, &item.ruling.reason]),
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
                reason: said([&found, &check.reason]),
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

fn has_failed(status: Option<&Status>) -> bool {
    matches!(status, Some(Status::Failed | Status::Timeout))
}

/// Reason of a failed test.
#[derive(Debug, Clone, Default)]
struct Why {
    reason: Option<String>,
    differs: bool,
}

impl Why {
    fn merge(&mut self, other: Self) {
        self.differs |= other.differs || self.reason != other.reason;
    }
}

/// An item that failed.
struct Candidate {
    id: TestId,
    reason: Option<String>,
}

/// Collects failures. An item is a candidate until it is known whether it has children.
pub(super) struct Failures {
    tests: FailedTests<Why>,
    candidate: Option<Candidate>,
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
    pub(super) fn consider(&mut self, item: &FlatItem) {
        self.path.truncate(item.depth as usize);
        self.candidate = has_failed(item.status.as_ref()).then(|| {
            let mut id = TestId {
                classname: item.meta.get(CLASSNAME).cloned().unwrap_or_default(),
                name: item.name.clone(),
                ..TestId::default()
            };
            for (level, name) in &self.path {
                match level {
                    Level::Node => id.node = Some(name.clone()),
                    Level::File => {}
                    Level::Suite => id.suites.push(name.clone()),
                }
            }
            Candidate { id: shortened(id), reason: reason(&item.name, &item.details, &item.meta) }
        });
        self.path.push((Level::of(&item.meta), cut(&item.name)));
    }

    /// Accepts the last item as a leaf.
    pub(super) fn accept(&mut self) {
        let above = self.path.split_last().map(|(_, above)| above).unwrap_or_default();
        let mut suites = above.iter().filter(|(level, _)| *level == Level::Suite).map(|(_, name)| name).peekable();
        if !self.several_places && suites.peek().is_some() {
            match &self.first_place {
                Some(first) => self.several_places = !first.iter().eq(suites),
                None => self.first_place = Some(suites.cloned().collect()),
            }
        }
        if let Some(candidate) = self.candidate.take() {
            self.add(candidate);
        }
    }

    pub(super) fn reject(&mut self) {
        self.candidate = None;
    }

    /// Records the suites of a leaf. Leaves without a suite, such as errors of the host, are
    /// ignored.
    fn see_place(&mut self, suites: &[String]) {
        if suites.is_empty() {
            return;
        }
        match &self.first_place {
            Some(first) => self.several_places |= first != suites,
            None => self.first_place = Some(suites.to_vec()),
        }
    }

    fn add(&mut self, candidate: Candidate) {
        let Some(test) = self.tests.entry(candidate.id) else { return };
        if test.failed_nodes <= 1 {
            test.data.reason = candidate.reason;
        } else {
            test.data.differs |= test.data.reason != candidate.reason;
        }
    }

    /// Appends the failures of later result sets.
    pub(super) fn append(&mut self, other: Self) {
        self.several_places |= other.several_places;
        if let Some(place) = other.first_place {
            self.see_place(&place);
        }
        self.tests.append(other.tests, Why::merge);
    }

    /// Returns the first [`MAX_FAILURES`] failures. `all_nodes` is the number of nodes with
    /// results.
    pub(super) fn into_list(self, all_nodes: u64) -> Vec<Failure> {
        let place = |suites: &[String]| if self.several_places { cut(&suites.join(" › ")) } else { String::new() };
        let tests = self.tests.into_tests().into_iter().take(MAX_FAILURES);
        let told = tests.map(|test| Failure {
            place: place(&test.id.suites),
            name: test.id.name,
            classname: test.id.classname,
            reason: test.data.reason,
            reasons_differ: test.data.differs,
            nodes: test.nodes,
            all_nodes: if test.failed_nodes > 0 { all_nodes } else { 0 },
            failed_nodes: test.failed_nodes,
        });
        told.collect()
    }
}

/// Truncates the names, because many of them are kept.
fn shortened(id: TestId) -> TestId {
    TestId {
        suites: id.suites.iter().map(|suite| cut(suite)).collect(),
        classname: cut(&id.classname),
        name: cut(&id.name),
        node: id.node,
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
        let node = |name: &str, items: serde_json::Value| json!({"name": name, "status": "failed", "meta": {"type": "node"}, "items": items});
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
    fn suites_and_classes_are_told_where_there_are_several() {
        let leaf = |class: &str| json!({"name": "x", "status": "failed", "meta": {"classname": class}});
        let suite = |name: &str, class: &str| json!({"name": name, "status": "failed", "items": [leaf(class)]});
        let of = |suites: serde_json::Value| {
            let root = json!({"name": "p", "status": "failed", "items": suites});
            let told = Failure::of_tree(&serde_json::from_value(root).unwrap()).into_iter();
            told.map(|failure| format!("{}|{}|{}", failure.place, failure.classname, failure.name)).collect::<Vec<_>>()
        };
        assert_eq!(of(json!([suite("s", "a"), suite("t", "b")])), ["s|a|x", "t|b|x"]);
        assert_eq!(of(json!([suite("s", "a")])), ["|a|x"]);
    }
}
