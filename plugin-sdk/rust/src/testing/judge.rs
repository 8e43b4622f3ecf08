//! Runs a judge natively.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;

use super::Case;
use super::case::Given;
use super::log;
use crate::judgement::{MAX_CHECKS, MAX_CLASS, MAX_ID, MAX_TEXT, RulingSink};
use crate::log::Level;
use crate::{Check, Entry, Judge, JudgedItem, Outcome, Ruling, Rulings, Tree};

impl Case {
    /// Adds the ruling of an earlier judge of the chain, on the first leaf named `name` among the
    /// added results.
    ///
    /// # Panics
    ///
    /// If there is no such leaf yet: add the results first.
    #[must_use]
    #[expect(clippy::panic, reason = "a test that is wrong, as the documentation says")]
    pub fn ruled(mut self, name: &str, ruling: Ruling) -> Self {
        let tree = self.judged_items();
        let Some(judged) = tree.iter().find(|judged| judged.leaf && judged.item.name == name) else {
            panic!("no leaf of the results is called `{name}`");
        };
        self.ruled.insert(judged.index, ruling);
        self
    }

    /// Runs a judge. The added results are its tree, and the added files its evidence. The harness
    /// derives from the depths which items are leaves. Items keep the status that they have here.
    ///
    /// # Panics
    ///
    /// Where the host would end the call: a ruling or a check that breaks a rule.
    #[must_use]
    #[expect(clippy::panic, reason = "a failed test, as the documentation says")]
    pub fn judge<J: Judge>(&self) -> Judged {
        let tree = self.judged_items();
        let said = Rc::new(RefCell::new(Said::default()));
        let (outcome, log) = log::gather(|| {
            let source = Given { entries: tree.clone().into_iter(), error: self.broken_results.clone() };
            let mut out = Rulings::new(Box::new(Kept(Rc::clone(&said))));
            J::judge(&self.info(), Tree::new(Box::new(source)), self.inputs(), &mut out)
        });
        let Said { rulings, checks } = said.take();
        let judged = Judged { tree, rulings, checks, outcome, log };
        if let Some(problem) = judged.problem() {
            panic!("the host would end the call: {problem}");
        }
        judged
    }

    fn judged_items(&self) -> Vec<JudgedItem> {
        let mut tree: Vec<JudgedItem> = Vec::with_capacity(self.results.len());
        for (index, Entry { set, item }) in (0..).zip(self.results.clone()) {
            if let Some(before) = tree.last_mut()
                && before.set == set
                && before.item.depth < item.depth
            {
                before.leaf = false;
            }
            tree.push(JudgedItem { index, set, item, leaf: true, ruling: self.ruled.get(&index).cloned() });
        }
        tree
    }
}

/// The sink of a test: shares the rulings and checks with the harness.
struct Kept(Rc<RefCell<Said>>);

/// Rulings and checks, in the order in which they were made.
#[derive(Default)]
struct Said {
    rulings: Vec<(u64, Ruling)>,
    checks: Vec<Check>,
}

impl RulingSink for Kept {
    fn rule(&mut self, rulings: &mut Vec<(u64, Ruling)>) {
        self.0.borrow_mut().rulings.append(rulings);
    }

    fn report(&mut self, checks: &mut Vec<Check>) {
        self.0.borrow_mut().checks.append(checks);
    }
}

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
    fn problem(&self) -> Option<String> {
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
