//! Runs a judge natively.

use std::cell::RefCell;
use std::rc::Rc;

use super::Case;
use super::judged::Judged;
use super::log;
use crate::batches::BatchSource;
use crate::judgement::RulingSink;
use crate::{Check, Entry, Judge, JudgedItem, Ruling, Rulings, Tree};

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
            let source = Given { items: tree.clone().into_iter(), error: self.broken_results.clone() };
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

/// Returns the items of a case, a few at a time, so that a module sees more than one batch.
struct Given {
    items: std::vec::IntoIter<JudgedItem>,
    error: Option<String>,
}

impl BatchSource<JudgedItem> for Given {
    fn next(&mut self, max: u32) -> Result<Vec<JudgedItem>, String> {
        let batch: Vec<JudgedItem> = self.items.by_ref().take(max.clamp(1, 256) as usize).collect();
        match &self.error {
            Some(error) if batch.is_empty() => Err(error.clone()),
            _ => Ok(batch),
        }
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
