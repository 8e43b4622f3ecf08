//! The first leaves that failed, for a summary: kept on the way, so that nobody has to read the tree again for them.

use std::collections::BTreeMap;

use plumbline_core::judgement::{CheckOutcome, PluginVerdict};
use plumbline_core::{FlatItem, Item, Status};
use serde::Serialize;
use serde_json::{Map, Value};

/// Failed leaves that are kept of one plugin: as many as a person reads at the end of a run.
pub const MAX_FAILURES: usize = 20;
/// Characters of a name or reason.
const MAX_TEXT: usize = 400;

/// A leaf that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Its name, cut to 400 characters.
    pub name: String,
    /// The first line of why, cut to 400 characters; `None` if nothing is said beyond the name.
    pub reason: Option<String>,
}

impl Failure {
    /// The first [`MAX_FAILURES`] of the tree below `root`.
    #[must_use]
    pub fn of_tree(root: &Item) -> Vec<Self> {
        let failed = root.leaves().filter(|leaf| has_failed(Some(&leaf.status)));
        let told =
            failed.map(|leaf| Self { name: cut(&leaf.name), reason: reason(&leaf.name, &leaf.details, &leaf.meta) });
        told.take(MAX_FAILURES).collect()
    }

    /// What counts of a plugin that was judged, the first [`MAX_FAILURES`] of it: leaves, checks that did not pass, judges that could not
    /// finish. `own` is what the tests themselves say of their failures: it is told of what nobody ruled on.
    #[must_use]
    pub fn of_verdict(verdict: &PluginVerdict, own: &[Self]) -> Vec<Self> {
        let said = |parts: [&str; 2]| {
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            Some(parts.join(": ")).filter(|text| !text.is_empty())
        };
        let items = verdict.items.iter().filter(|item| item.ruling.counts).map(|item| {
            match own.iter().find(|failure| failure.name == item.name()) {
                Some(own) if item.judge.is_empty() => own.clone(),
                _ => Self { name: item.name().to_owned(), reason: said([&item.ruling.class, &item.ruling.reason]) },
            }
        });
        let checks = verdict.checks.iter().map(|judged| &judged.check);
        let checks = checks.filter(|check| check.outcome != CheckOutcome::Passed).map(|check| {
            let found = match (check.want.as_str(), check.got.as_str()) {
                ("", got) => got.to_owned(),
                (want, "") => format!("want {want}"),
                (want, got) => format!("want {want}, got {got}"),
            };
            Self { name: format!("{} {}", check.id, check.name), reason: said([&found, &check.reason]) }
        });
        let judges = verdict.chain.iter().filter_map(|judge| {
            Some(Self { name: format!("judge {}", judge.judge), reason: Some(judge.error.clone()?) })
        });
        items.chain(checks).chain(judges).take(MAX_FAILURES).collect()
    }
}

fn has_failed(status: Option<&Status>) -> bool {
    matches!(status, Some(Status::Failed | Status::Timeout))
}

/// Collects them. An item is a candidate until it is known whether it has children.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) found: Vec<Failure>,
    candidate: Option<Failure>,
}

impl Failures {
    pub(super) fn consider(&mut self, item: &FlatItem) {
        self.candidate = (has_failed(item.status.as_ref()) && self.found.len() < MAX_FAILURES)
            .then(|| Failure { name: cut(&item.name), reason: reason(&item.name, &item.details, &item.meta) });
    }

    pub(super) fn accept(&mut self) {
        self.found.extend(self.candidate.take());
    }

    pub(super) fn reject(&mut self) {
        self.candidate = None;
    }
}

/// Formats put the reason under `failure` or `error`, the host under the meta key `error`. What is only said twice is no reason: then
/// the last words of a process that failed are the best there is.
fn reason(name: &str, details: &Map<String, Value>, meta: &BTreeMap<String, String>) -> Option<String> {
    let detail = |key: &str| details.get(key).and_then(Value::as_str);
    let lines =
        |text: &'_ str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(cut).collect::<Vec<_>>();
    let told = detail("failure").or_else(|| detail("error")).or_else(|| meta.get("error").map(String::as_str));
    let first = told.and_then(|text| lines(text).into_iter().next()).filter(|line| *line != cut(name));
    first.or_else(|| lines(detail("output")?).pop())
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reason_of(name: &str, details: Value) -> Option<String> {
        let Value::Object(details) = details else { panic!("no object") };
        reason(name, &details, &BTreeMap::new())
    }

    #[test]
    fn the_first_line_that_says_something_new_is_the_reason() {
        assert_eq!(reason_of("t", json!({"failure": "\n  timed out \nmore"})).unwrap(), "timed out");
        assert_eq!(reason_of("t", json!({"error": "t"})), None);
        assert_eq!(
            reason_of("exited", json!({"error": "exited", "output": "one\nlast words\n"})).unwrap(),
            "last words"
        );
    }
}
