//! A leaf of a result tree, as renderers get it, and what its status means in other formats.

use std::borrow::Cow;

use jiff::Timestamp;
use plumbline_core::failures::message_and_body;
use plumbline_core::item::{seconds, started};
use plumbline_core::judgement::{RuledItem, Ruling};
use plumbline_core::rollup::{is_failure, meaning};
use plumbline_core::{Digest, Item, Status, TestId, reason};
use serde_json::{Value, json};

use crate::report::text::one_line;
use crate::report::verdict::judged;

/// The meta key for the place that an item points at: `PATH:LINE:COLUMN`, where line and column may
/// be missing.
const LOCATION: &str = "location";

/// The details that have the text of a failure.
const TEXTS: [&str; 2] = ["failure", "error"];

/// What a leaf means in formats that have fewer statuses. Only [`Outcome::Passed`] becomes a
/// success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The check passed.
    Passed,
    /// The check failed, or a judge decided that it counts as a failure.
    Failed,
    /// The check did not finish in time, or its outcome is unknown.
    Broken,
    /// The check did not run.
    Skipped,
    /// The check failed, and a judge decided that it does not count.
    Excused,
    /// The file was collected and not read.
    NotRead,
    /// A status that only the plugin knows, and that says neither that the check passed nor that it
    /// failed.
    Custom,
}

impl Outcome {
    /// Every outcome.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] =
        [Self::Passed, Self::Failed, Self::Broken, Self::Skipped, Self::Excused, Self::NotRead, Self::Custom];

    /// Whether the verdict does not pass because of this leaf.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Broken)
    }
}

/// A place in a file that a check points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: Option<u64>,
    pub(crate) column: Option<u64>,
}

/// A leaf with what is around it.
pub(crate) struct Leaf<'a> {
    /// The title of the plugin.
    pub(crate) plugin: &'a str,
    /// The items above the leaf, the root first, without details.
    pub(crate) above: &'a [Item],
    pub(crate) id: TestId,
    /// The leaf. The ruling of a judge is applied to its status and details.
    pub(crate) item: Item,
    /// The status in the tree.
    pub(crate) status: Status,
    pub(crate) ruled: Option<&'a RuledItem>,
    /// Why the check failed, in one line, without the ruling.
    pub(super) reason: Option<String>,
    /// The ID of the failure's cause.
    pub(crate) cause: Option<&'a str>,
    /// The file in the archive that has the leaf; empty if it is not known.
    pub(crate) source: String,
}

impl<'a> Leaf<'a> {
    /// A leaf that is not in the tree.
    pub(crate) fn own(plugin: &'a str, above: &'a [Item], item: Item) -> Self {
        let (id, status) = (TestId::of(above.iter(), &item), item.status.clone());
        let reason = match meaning(&status) {
            Status::Passed | Status::Skipped => None,
            _ => reason(&item.name, &item.details, &item.meta),
        };
        Self { plugin, above, id, item, status, ruled: None, reason, cause: None, source: String::new() }
    }

    /// A leaf of the tree, with the ruling on it.
    pub(super) fn of_tree(plugin: &'a str, above: &'a [Item], item: Item, ruled: Option<&'a RuledItem>) -> Self {
        let own = Self::own(plugin, above, item);
        Self { item: judged(own.item, ruled), ruled, ..own }
    }

    /// What the leaf means, with the ruling of the judges.
    pub(crate) fn outcome(&self) -> Outcome {
        match meaning(&self.item.status) {
            Status::Passed => Outcome::Passed,
            Status::Failed => Outcome::Failed,
            Status::Timeout | Status::Unknown => Outcome::Broken,
            Status::Skipped if is_failure(&self.status) => Outcome::Excused,
            Status::Skipped => Outcome::Skipped,
            Status::NotRead => Outcome::NotRead,
            Status::Custom(_) => Outcome::Custom,
        }
    }

    /// One line that explains the outcome: the check's own, or else the reason of the judge.
    pub(crate) fn message(&self) -> Option<String> {
        let own = match meaning(&self.item.status) {
            Status::Skipped => detail(&self.item, "skipped"),
            _ => self.reason.as_deref().map(Cow::from),
        };
        let own = own.or_else(|| detail(&self.item, "message"));
        let message = own.or_else(|| self.ruled.map(|ruled| ruled.ruling.reason.as_str().into()));
        message.map(|message| one_line(&message)).filter(|message| !message.is_empty())
    }

    /// The whole text of what went wrong.
    pub(super) fn trace(&self) -> Option<Cow<'_, str>> {
        if matches!(meaning(&self.item.status), Status::Passed | Status::Skipped) {
            return None;
        }
        TEXTS.iter().find_map(|key| match message_and_body(key, &self.item.details) {
            (_, Some(body)) => Some(body.into()),
            _ => detail(&self.item, key),
        })
    }

    /// The duration in milliseconds.
    pub(super) fn duration(&self) -> Option<i64> {
        seconds(&self.item.meta).map(milliseconds)
    }

    /// When the check started, in milliseconds since 1970.
    pub(crate) fn start(&self) -> Option<i64> {
        started(&self.item.meta, &self.item.details).map(Timestamp::as_millisecond)
    }

    /// The end, if start and duration are known.
    pub(super) fn stop(&self) -> Option<i64> {
        self.start().zip(self.duration()).map(|(start, took)| start.saturating_add(took))
    }

    /// The ruling as data.
    pub(crate) fn ruling(&self) -> Option<Value> {
        let RuledItem { ruling: rule, judge, .. } = self.ruled?;
        let Ruling { class, counts, reason, source, .. } = rule;
        Some(json!({"class": class, "counts": counts, "reason": reason, "source": source, "judge": judge}))
    }

    /// The value of the item's metadata.
    pub(super) fn meta(&self, key: &str) -> Option<&str> {
        self.item.meta.get(key).map(String::as_str)
    }

    /// The place that the check points at.
    pub(super) fn location(&self) -> Option<Location<'_>> {
        self.meta(LOCATION).and_then(location)
    }

    /// An ID of the test that is the same in each run, and differs from node to node if
    /// `is_per_node`.
    pub(super) fn test_id(&self, is_per_node: bool) -> String {
        let TestId { node, suites, classname, name } = &self.id;
        let node = node.as_ref().filter(|_| is_per_node);
        let parts = json!([self.plugin, node, suites, classname, name]);
        let mut id = Digest::of(parts.to_string().as_bytes()).hex();
        id.truncate(ID_DIGITS);
        id
    }
}

/// The hexadecimal digits of an ID.
const ID_DIGITS: usize = 32;

/// The detail as text. Values other than strings are JSON.
pub(super) fn detail<'a>(item: &'a Item, key: &str) -> Option<Cow<'a, str>> {
    Some(match item.details.get(key)? {
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    })
}

fn location(text: &str) -> Option<Location<'_>> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let split = |text: &'_ str| text.rsplit_once(':').and_then(|(rest, last)| Some((rest.len(), number(last)?)));
    let (path, line, column) = match split(text) {
        None => (text, None, None),
        Some((end, last)) => {
            let rest = text.get(..end)?;
            match split(rest) {
                Some((end, line)) => (rest.get(..end)?, Some(line), Some(last)),
                None => (rest, Some(last), None),
            }
        }
    };
    (!path.trim().is_empty()).then_some(Location { path, line, column })
}

/// Milliseconds of a duration in seconds.
fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_path_with_a_line_and_a_column() {
        let of = |text: &'static str| location(text).map(|found| (found.path, found.line, found.column));
        assert_eq!(of("src/a.rs:12:3"), Some(("src/a.rs", Some(12), Some(3))));
        assert_eq!(of("src/a.rs:12"), Some(("src/a.rs", Some(12), None)));
        assert_eq!(of("C:/a.rs"), Some(("C:/a.rs", None, None)));
        assert_eq!(of("a:0"), Some(("a:0", None, None)));
        assert_eq!(of("a:b:9:8:7"), Some(("a:b:9", Some(8), Some(7))));
        for nothing in ["", ":3", " :1:2"] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }
}
