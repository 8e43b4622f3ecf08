//! What a native run of a judge gives back.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::judgement::{MAX_CHECKS, MAX_CLASS, MAX_ID, MAX_TEXT};
use crate::log::Level;
use crate::{Check, JudgedItem, Outcome, Ruling};

/// What a judge said of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The tree that it was given.
    pub tree: Vec<JudgedItem>,
    /// The rulings, in the order in which they came, with the numbers of their items.
    pub rulings: Vec<(u64, Ruling)>,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// What the module's function returned.
    pub outcome: Result<(), String>,
    /// The log, line by line.
    pub log: Vec<(Level, String)>,
}

impl Judged {
    /// What this judge said of the first leaf of that name: the last of its rulings.
    #[must_use]
    pub fn ruling(&self, name: &str) -> Option<&Ruling> {
        let index = self.tree.iter().find(|judged| judged.leaf && judged.item.name == name)?.index;
        self.last(index)
    }

    /// The check of that id.
    #[must_use]
    pub fn check(&self, id: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.id == id)
    }

    /// How many items this judge put into a class.
    #[must_use]
    pub fn count(&self, class: &str) -> usize {
        self.ruled().filter(|(_, ruling)| ruling.class == class).count()
    }

    /// A line `set/name: class, counts: reason` (or `excused`) for each item that this judge ruled on, in the order of the tree, then a
    /// line `id: outcome` for each check. A form to compare with at a glance.
    #[must_use]
    pub fn outline(&self) -> String {
        let mut lines = String::new();
        for (judged, Ruling { class, counts, reason, .. }) in self.ruled() {
            let counts = if *counts { "counts" } else { "excused" };
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{}/{}: {class}, {counts}: {reason}", judged.set, judged.item.name);
        }
        for check in &self.checks {
            let outcome = match check.outcome {
                Outcome::Passed => "passed",
                Outcome::Failed => "failed",
                Outcome::Unknown => "unknown",
            };
            let _ = writeln!(lines, "{}: {outcome}", check.id);
        }
        lines
    }

    fn ruled(&self) -> impl Iterator<Item = (&JudgedItem, &Ruling)> {
        self.tree.iter().filter_map(|judged| Some((judged, self.last(judged.index)?)))
    }

    fn last(&self, index: u64) -> Option<&Ruling> {
        self.rulings.iter().rev().find(|(ruled, _)| *ruled == index).map(|(_, ruling)| ruling)
    }

    /// What the host would end the call for, as a sentence. The whole tree counts as given: what a judge has read of it by the time of a
    /// ruling is not followed.
    pub(super) fn problem(&self) -> Option<String> {
        self.rulings.iter().find_map(|(index, ruling)| self.problem_of_ruling(*index, ruling)).or_else(|| {
            let mut ids = BTreeSet::new();
            let problem = |check| problem_of_check(check, &mut ids);
            let too_many = self.checks.len() > MAX_CHECKS;
            let too_many = too_many.then(|| format!("there are {} checks (at most {MAX_CHECKS})", self.checks.len()));
            self.checks.iter().find_map(problem).or(too_many)
        })
    }

    fn problem_of_ruling(&self, index: u64, ruling: &Ruling) -> Option<String> {
        let place = usize::try_from(index).ok();
        let Some(judged) = place.and_then(|place| self.tree.get(place)) else {
            return Some(format!("item {index} is ruled on, and there are {}", self.tree.len()));
        };
        let name = &judged.item.name;
        if !judged.leaf {
            return Some(format!("item {index} (`{name}`) is ruled on, and is not a leaf"));
        }
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=MAX_CLASS).contains(&ruling.class.len()) || !ruling.class.bytes().all(good) {
            return Some(format!("the class `{}` of item {index} (`{name}`) cannot be one", ruling.class));
        }
        let long = [("reason", &ruling.reason), ("source", &ruling.source)].into_iter().find(|text| is_long(text.1));
        long.map(|(what, text)| {
            format!("the {what} for item {index} (`{name}`) has {} bytes (at most {MAX_TEXT})", text.len())
        })
    }
}

fn problem_of_check<'a>(check: &'a Check, ids: &mut BTreeSet<&'a str>) -> Option<String> {
    let Check { id, name, want, got, reason, .. } = check;
    if !(1..=MAX_ID).contains(&id.chars().count()) {
        return Some(format!("the id `{id}` of a check is empty or longer than {MAX_ID} characters"));
    }
    if !ids.insert(id) {
        return Some(format!("check `{id}` is reported twice"));
    }
    let texts = [("name", name), ("want", want), ("got", got), ("reason", reason)];
    let long = texts.into_iter().find(|text| is_long(text.1));
    long.map(|(what, text)| format!("`{what}` of check `{id}` has {} bytes (at most {MAX_TEXT})", text.len()))
}

fn is_long(text: &str) -> bool {
    text.len() > MAX_TEXT
}
