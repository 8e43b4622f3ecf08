//! The result of a native run of a judge.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::judgement::{MAX_CHECKS, MAX_CLASS, MAX_ID, MAX_TEXT};
use crate::log::Level;
use crate::{Check, JudgedItem, Outcome, Ruling};

/// The rulings and checks that a judge made in a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The tree that the judge read.
    pub tree: Vec<JudgedItem>,
    /// The rulings with the numbers of their items, in the order in which the judge made them.
    pub rulings: Vec<(u64, Ruling)>,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// The return value of the module's function.
    pub outcome: Result<(), String>,
    /// The log, line by line.
    pub log: Vec<(Level, String)>,
}

impl Judged {
    /// Returns the last ruling of this judge on the first leaf named `name`.
    #[must_use]
    pub fn ruling(&self, name: &str) -> Option<&Ruling> {
        let index = self.tree.iter().find(|judged| judged.leaf && judged.item.name == name)?.index;
        self.last(index)
    }

    /// Returns the check with this ID.
    #[must_use]
    pub fn check(&self, id: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.id == id)
    }

    /// Counts the items to which this judge gave the class.
    #[must_use]
    pub fn count(&self, class: &str) -> usize {
        self.ruled().filter(|(_, ruling)| ruling.class == class).count()
    }

    /// Returns an outline of the rulings and checks, for assertions.
    ///
    /// It has a line `set/name: class, counts: reason` (or `excused`) for each item that this judge
    /// ruled on, in the order of the tree. A line `id: outcome` for each check follows.
    #[must_use]
    pub fn outline(&self) -> String {
        let mut lines = String::new();
        for (judged, Ruling { class, counts, reason, .. }) in self.ruled() {
            let counts = if *counts { "counts" } else { "excused" };
            // Writing to a string cannot fail.
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

    /// Returns why the host would end the call, as a sentence. The harness does not track how much
    /// of the tree the judge has read at the time of a ruling: every number of the tree is valid.
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
            return Some(format!("item {index} has a ruling, but the tree has only {} items", self.tree.len()));
        };
        let name = &judged.item.name;
        if !judged.leaf {
            return Some(format!("item {index} (`{name}`) has a ruling, but is not a leaf"));
        }
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=MAX_CLASS).contains(&ruling.class.len()) || !ruling.class.bytes().all(good) {
            return Some(format!("the class `{}` of item {index} (`{name}`) is invalid", ruling.class));
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
