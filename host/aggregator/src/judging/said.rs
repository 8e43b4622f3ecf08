//! Rulings and checks that the judges of a chain have reported.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use plumbline_core::judgement::{Check, Ruling};
use plumbline_sandbox::{RulingSink, TreeItem, TreeSource};

use super::kept::KeptItems;

/// Maximum number of items that the judges of a chain may rule on. No suite has as many tests.
const MAX_RULINGS: usize = 1_000_000;
/// Maximum size of the texts of all rulings of a chain: 256 MiB. They are held in memory, because
/// every judge sees earlier rulings.
const MAX_RULING_BYTES: usize = 256 << 20;
/// Maximum number of checks in a chain. Users cannot read more.
const MAX_CHECKS: usize = 1_000;

/// Rulings by item number, each with the number of its judge in the chain.
pub(super) type Rulings = BTreeMap<u64, (Ruling, usize)>;

/// Rulings and checks of one judge.
pub(super) struct JudgeOutput {
    judge: usize,
    /// Number and text size of earlier rulings.
    before: (usize, usize),
    bytes: usize,
    pub(super) rulings: BTreeMap<u64, Ruling>,
    pub(super) checks: Vec<Check>,
    checks_before: usize,
    /// The first limit that the judge exceeded.
    pub(super) too_much: Option<String>,
}

impl JudgeOutput {
    /// Creates an empty value. `before` are the rulings of earlier judges, `bytes` is the size of
    /// their texts, and `checks` is the number of their checks.
    pub(super) fn new(judge: usize, before: &Rulings, bytes: usize, checks: usize) -> Self {
        Self {
            judge,
            before: (before.len(), bytes),
            bytes: 0,
            rulings: BTreeMap::new(),
            checks: Vec::new(),
            checks_before: checks,
            too_much: None,
        }
    }

    /// Adds the rulings to those of earlier judges, and returns the size of their texts.
    pub(super) fn settle(&mut self, all: &mut Rulings) -> usize {
        let judge = self.judge;
        all.extend(std::mem::take(&mut self.rulings).into_iter().map(|(index, ruling)| (index, (ruling, judge))));
        self.bytes
    }
}

fn size(ruling: &Ruling) -> usize {
    ruling.class.len() + ruling.reason.len() + ruling.source.len()
}

impl RulingSink for JudgeOutput {
    fn ruling(&mut self, index: u64, ruling: Ruling) -> io::Result<()> {
        let bytes = self.bytes.saturating_add(size(&ruling));
        if self.before.0 + self.rulings.len() >= MAX_RULINGS {
            self.too_much.get_or_insert_with(|| format!("the judges ruled on more than {MAX_RULINGS} items"));
        } else if self.before.1.saturating_add(bytes) > MAX_RULING_BYTES {
            self.too_much.get_or_insert_with(|| {
                format!("the texts of all rulings have more than {} MiB", MAX_RULING_BYTES >> 20)
            });
        } else {
            self.bytes = bytes;
            self.rulings.insert(index, ruling);
        }
        Ok(())
    }

    fn check(&mut self, check: Check) -> io::Result<()> {
        if self.checks_before + self.checks.len() >= MAX_CHECKS {
            self.too_much.get_or_insert_with(|| format!("the judges reported more than {MAX_CHECKS} checks"));
        } else {
            self.checks.push(check);
        }
        Ok(())
    }
}

/// The tree for a judge.
pub(super) struct JudgeTree {
    pub(super) items: KeptItems,
    pub(super) rulings: Arc<Rulings>,
    pub(super) index: u64,
}

impl TreeSource for JudgeTree {
    fn next(&mut self) -> io::Result<Option<TreeItem>> {
        while let Some(kept) = self.items.next()? {
            if kept.node {
                continue;
            }
            let ruling = self.rulings.get(&self.index).map(|(ruling, _)| ruling.clone());
            self.index += 1;
            return Ok(Some(TreeItem { set: kept.set, item: kept.item, leaf: kept.leaf, ruling }));
        }
        Ok(None)
    }
}
