//! Counts and durations of items.

use plumbline_sdk::Status;
use plumbline_sdk::text::shortened;

use crate::check::Matching;
use crate::evaluate::{Amount, Found};
use crate::quantity::{Kind, Quantity, number};
use crate::samples::{Measure, Samples};

/// Maximum number of bytes of an item's name in a note.
const MAX_NAME: usize = 500;

/// The metadata key with an item's duration: seconds as decimal text.
pub(crate) const DURATION: &str = "duration";

/// A leaf of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf<'a> {
    pub(crate) name: &'a str,
    pub(crate) status: &'a Status,
    /// The class that an earlier judge gave it.
    pub(crate) class: Option<&'a str>,
    pub(crate) duration: Option<&'a str>,
}

impl Leaf<'_> {
    /// Returns the class. Failures without a ruling have the class `failure`, as in the verdict.
    fn class(&self) -> Option<&str> {
        let failed = || matches!(self.status.meaning(), Status::Failed | Status::Timeout);
        self.class.or_else(|| failed().then_some("failure"))
    }

    fn is_in(&self, matching: Option<&Matching>) -> bool {
        matching.is_none_or(|matching| matching.regex.is_match(self.name.as_bytes()))
    }
}

/// Returns why there is nothing to count.
fn nothing(matching: Option<&Matching>) -> String {
    match matching {
        Some(matching) => format!("no item has a name that `{}` matches", shortened(&matching.text, MAX_NAME)),
        None => "the plugin has no items".to_owned(),
    }
}

/// The property by which items are counted.
#[derive(Debug)]
pub(crate) enum By {
    Status(Vec<String>),
    Class(String),
}

/// Counts items.
#[derive(Debug)]
pub(crate) struct Count {
    by: By,
    matching: Option<Matching>,
    part: u64,
    all: u64,
    first: Option<String>,
}

impl Count {
    pub(crate) fn new(by: By, matching: Option<Matching>) -> Self {
        Self { by, matching, part: 0, all: 0, first: None }
    }

    pub(crate) fn see(&mut self, leaf: &Leaf<'_>) {
        if !leaf.is_in(self.matching.as_ref()) {
            return;
        }
        self.all += 1;
        let counted = match &self.by {
            By::Status(statuses) => {
                let meaning = leaf.status.meaning();
                statuses.iter().any(|status| [leaf.status.as_str(), meaning.as_str()].contains(&status.as_str()))
            }
            By::Class(class) => leaf.class() == Some(class),
        };
        if counted {
            self.part += 1;
            self.first.get_or_insert_with(|| shortened(leaf.name, MAX_NAME));
        }
    }

    pub(crate) fn found(self) -> Result<Found, String> {
        if self.all == 0 {
            return Err(nothing(self.matching.as_ref()));
        }
        let note = self.first.map(|name| format!("the first of them is {name}")).unwrap_or_default();
        Ok(Found { amount: Amount::Part { part: self.part, all: self.all }, note, gap: None })
    }
}

/// Measures durations.
#[derive(Debug)]
pub(crate) struct Durations {
    measure: Measure,
    matching: Option<Matching>,
    samples: Samples,
    slowest: Option<(f64, String)>,
    seen: bool,
    wrong: Option<String>,
}

impl Durations {
    pub(crate) fn new(measure: Measure, matching: Option<Matching>, samples: Samples) -> Self {
        Self { measure, matching, samples, slowest: None, seen: false, wrong: None }
    }

    pub(crate) fn see(&mut self, leaf: &Leaf<'_>) {
        // Skipped items took no time, and would lower every measure.
        if leaf.status.meaning() == Status::Skipped || !leaf.is_in(self.matching.as_ref()) {
            return;
        }
        self.seen = true;
        let Some(text) = leaf.duration else { return };
        match number(text) {
            Some(seconds) => {
                self.samples.add(seconds);
                if self.slowest.as_ref().is_none_or(|(most, _)| seconds > *most) {
                    self.slowest = Some((seconds, shortened(leaf.name, MAX_NAME)));
                }
            }
            None => {
                self.wrong.get_or_insert_with(|| {
                    format!(
                        "the duration of {} is not a number of seconds: `{}`",
                        shortened(leaf.name, MAX_NAME),
                        shortened(text, 60)
                    )
                });
            }
        }
    }

    pub(crate) fn found(self) -> Result<Found, String> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if !self.seen {
            return Err(nothing(self.matching.as_ref()));
        }
        let kind = if self.measure == Measure::Count { Kind::Number } else { Kind::Seconds };
        let count = self.samples.count;
        // Also for a count: no check passes because it found nothing.
        let value = self.samples.measure()?.filter(|_| count > 0).ok_or("no item has a duration")?;
        let slowest = self.slowest.map(|(_, name)| format!("the slowest of {count} is {name}")).unwrap_or_default();
        Ok(Found { amount: Amount::Measured(Quantity { value, kind }), note: slowest, gap: None })
    }
}
