//! The first leaves that failed, for a summary: kept on the way, so that nobody has to read the tree again for them.

use plumbline_core::{FlatItem, Status};
use serde::Serialize;
use serde_json::Value;

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

/// Collects them. An item is a candidate until it is known whether it has children.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) found: Vec<Failure>,
    candidate: Option<Failure>,
}

impl Failures {
    pub(super) fn consider(&mut self, item: &FlatItem) {
        let failed = matches!(item.status, Some(Status::Failed | Status::Timeout));
        self.candidate = (failed && self.found.len() < MAX_FAILURES)
            .then(|| Failure { name: cut(&item.name), reason: reason(item) });
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
fn reason(item: &FlatItem) -> Option<String> {
    let detail = |key: &str| item.details.get(key).and_then(Value::as_str);
    let lines =
        |text: &'_ str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(cut).collect::<Vec<_>>();
    let told = detail("failure").or_else(|| detail("error")).or_else(|| item.meta.get("error").map(String::as_str));
    let first = told.and_then(|text| lines(text).into_iter().next()).filter(|line| *line != cut(&item.name));
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
        reason(&FlatItem { name: name.into(), details, ..FlatItem::default() })
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
