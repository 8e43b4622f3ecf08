//! Failures as the page keeps them, for the part that needs no script.

use std::rc::Rc;

use plumbline_core::Status;
use plumbline_core::judgement::RuledItem;
use serde::Serialize;

use crate::causes::Cause;
use crate::report::html::ansi::{Part, parts};
use crate::report::text::name;

/// The texts of an item, as the script shows them.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Texts {
    /// Each text with its title.
    pub(super) texts: Vec<(String, Vec<Part>)>,
    /// The number of details that are left out.
    pub(super) more: usize,
}

/// A leaf that failed, or that counts as a failure.
#[derive(Debug, Clone)]
pub(super) struct FailedLeaf {
    /// The number of its row.
    pub(super) item: u32,
    pub(super) reason: Option<Rc<str>>,
    /// The cause that the module found, with a printable template.
    pub(super) cause: Option<Rc<Cause>>,
    pub(super) node: Option<Rc<str>>,
    /// Whether it counts toward the verdict.
    pub(super) counts: bool,
    /// The numbers of what happened in the cluster at its place and time.
    pub(super) related: Vec<u32>,
}

/// A failed test with its leaves, which are on different nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Failed {
    pub(super) leaves: Vec<FailedLeaf>,
    pub(super) status: Status,
    pub(super) seconds: Option<f64>,
    /// The class of the ruling, its judge, its reason and its source.
    pub(super) ruled: Option<RuledItem>,
    /// The texts of the first leaf, if there is room.
    pub(super) sample: Option<Texts>,
}

/// A failed test, for the part of the page that needs no script.
pub(super) struct Test {
    pub(super) label: String,
    pub(super) plugin: String,
    pub(super) failed: Failed,
    /// The nodes with results of the plugin.
    pub(super) nodes: u64,
}

impl Texts {
    pub(super) fn add(&mut self, title: &str, text: &str, source: &str) {
        let parts = parts(text, &name(source));
        if !parts.is_empty() {
            self.texts.push((name(title), parts));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.texts.iter().flat_map(|(_, parts)| parts).map(|(_, text)| text.len()).sum()
    }
}
