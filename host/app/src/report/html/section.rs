//! The items of one plugin: each becomes a row of the page's data, and failures are kept for the
//! part of the page that needs no script.

use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;

use jiff::Timestamp;
use plumbline_core::failures::message_and_body;
use plumbline_core::item::{seconds, started};
use plumbline_core::judgement::{PluginVerdict, RuledItem};
use plumbline_core::rollup::meaning;
use plumbline_core::{FailedTests, Item, Status, TestId};
use serde_json::Value;

use crate::causes::Cause;
use crate::report::failures::label;
use crate::report::html::durations::SlowItem;
use crate::report::html::failed::{Failed, FailedLeaf, Test, Texts};
use crate::report::html::page::Page;
use crate::report::html::row::PluginRow;
use crate::report::nodes::{Drift, NodeResults, is_node};
use crate::report::renderers::source;
use crate::report::text::{name, one_line};
use crate::report::verdict::Rulings;
use crate::timeline::Relation;
use crate::trees::Position;

/// The most failed tests of a plugin that are listed without a script. The table has the others.
const MAX_TESTS: usize = 2_000;

/// The most failed leaves of a plugin that are grouped by cause.
const MAX_FAILED: usize = 100_000;

/// The most details of an item.
const MAX_DETAILS: usize = 20;

/// The most bytes of texts that are on the page without a script.
const MAX_SAMPLES: usize = 1 << 20;

/// The items of a plugin that are being added to a page.
pub(crate) struct Section<'a> {
    page: &'a mut Page,
    rulings: Rulings<'a>,
    row: PluginRow,
    position: Position,
    tests: FailedTests<Failed>,
    failed: usize,
    reasons: HashSet<Rc<str>>,
    /// The causes of failures, by the number of the leaf.
    causes: HashMap<usize, Rc<Cause>>,
    /// The numbers of cluster events, by the number of the leaf.
    related: HashMap<usize, Vec<u32>>,
    nodes: NodeResults,
    first_place: Option<String>,
    has_several_places: bool,
}

impl<'a> Section<'a> {
    /// Starts a plugin with the root of its tree, or of a part of it. `plugin` is its name on the
    /// page, and `directory` that of its directory in the archive.
    pub(crate) fn new(
        page: &'a mut Page,
        plugin: &str,
        directory: &str,
        root: &Item,
        verdict: Option<&'a PluginVerdict>,
        causes: &[Cause],
        relations: &[Relation],
    ) -> Self {
        let row = PluginRow::new(name(plugin), directory, root, page.columns.len(), verdict);
        let of_leaves = |cause: &Cause| {
            let (id, template) = (cause.id.clone(), name(&cause.template));
            let known = Rc::new(Cause { id, template, count: cause.count, items: Vec::new() });
            cause.items.iter().map(move |leaf| (*leaf, Rc::clone(&known))).collect::<Vec<_>>()
        };
        Self {
            causes: causes.iter().flat_map(of_leaves).collect(),
            related: page.cluster.relate(relations),
            page,
            rulings: Rulings::new(verdict),
            row,
            position: Position::default(),
            tests: FailedTests::new(MAX_TESTS),
            failed: 0,
            reasons: HashSet::new(),
            nodes: Vec::new(),
            first_place: None,
            has_several_places: false,
        }
    }

    /// Adds an item, parents before children. The root has depth 0.
    pub(crate) fn item(&mut self, depth: usize, item: &Item, is_leaf: bool) -> io::Result<()> {
        if is_node(item) && self.nodes.last().is_none_or(|(last, _)| **last != *item.name) {
            self.nodes.push((name(&item.name).into(), false));
        }
        let leaf = self.position.advance(depth, item, is_leaf);
        // An item that is not a leaf is now the last one above.
        let node = self.position.above.iter().take(depth).find(|item| is_node(item));
        self.page.nodes.group(node, item);
        leaf.map_or(Ok(()), |leaf| self.leaf(leaf, item))
    }

    fn leaf(&mut self, leaf: usize, item: &Item) -> io::Result<()> {
        let above = &self.position.above;
        let id = TestId::of(above.iter(), item);
        let path = above.iter().skip(1).map(|item| item.name.as_str()).chain([item.name.as_str()]);
        let ruled = self.rulings.next(path, &item.status);
        let counted = meaning(&item.status);
        let has_failed = matches!(counted, Status::Failed | Status::Timeout);
        let counts = ruled.map_or(has_failed, |ruled| ruled.ruling.counts);
        self.row.add(item);
        self.page.nodes.drift.extend(Drift::of(item));
        self.place(&id);
        let is_bad = has_failed || counts;
        if !self.page.has_room(is_bad) {
            self.page.left_out = self.page.left_out.saturating_add(1);
            if is_bad {
                self.row.count(counts);
            }
            return Ok(());
        }
        let number = self.page.columns.len();
        let source = source(&self.row.directory, &self.position.above, item);
        let reason = reason(item, ruled);
        let is_fine = matches!(counted, Status::Passed | Status::Skipped);
        let texts = (has_failed || counts || ruled.is_some() || !is_fine)
            .then(|| texts_of(item, &source))
            .filter(|texts| !texts.texts.is_empty());
        let text = match &texts {
            Some(texts) => self.page.texts.push(texts)?,
            None => 0,
        };
        self.push(&id, item, reason.as_deref(), &source, ruled, text)?;
        if let Some(durations) = &mut self.page.durations {
            durations.add_item(&self.row.directory, &id, number);
        }
        if let Some(seconds) = seconds(&item.meta).filter(|seconds| *seconds > 0.0) {
            let slow = || SlowItem::new(number, &id, &item.status, &self.row.plugin);
            self.page.slowest.add(seconds, slow);
        }
        if is_bad {
            let cause = self.causes.remove(&leaf);
            let related = self.related.remove(&leaf).unwrap_or_default();
            self.page.cluster.add_item(&related, number);
            let failed = FailedLeaf {
                item: number,
                reason: reason.map(|reason| self.shared(reason)),
                cause,
                node: None,
                counts,
                related,
            };
            self.failure(id, item, ruled, failed, texts);
        }
        Ok(())
    }

    /// Adds the row of a leaf to the table.
    fn push(
        &mut self,
        id: &TestId,
        item: &Item,
        reason: Option<&str>,
        source: &str,
        ruled: Option<&RuledItem>,
        text: u32,
    ) -> io::Result<()> {
        let place = shown_place(id);
        let page = &mut *self.page;
        let ruling = page.ruling(ruled)?;
        let mut number_of = |text: &str| page.strings.number(text);
        let node = number_of(&name(id.node.as_deref().unwrap_or_default()))?;
        let (test, place) = (number_of(&name(&id.name))?, number_of(&name(&place))?);
        let status = number_of(&name(item.status.as_str()))?;
        let (reason, source) = (number_of(reason.unwrap_or_default())?, number_of(&name(source))?);
        page.add_meaning(status, &item.status);
        let row = [node, test, place, status, reason, source, ruling, text];
        let start = started(&item.meta, &item.details).map(Timestamp::as_millisecond);
        page.columns.push(row, seconds(&item.meta), start)
    }

    fn failure(
        &mut self,
        id: TestId,
        item: &Item,
        ruled: Option<&RuledItem>,
        mut leaf: FailedLeaf,
        texts: Option<Texts>,
    ) {
        self.row.count(leaf.counts);
        if let Some((node, failed)) = self.nodes.last_mut().filter(|_| id.node.is_some()) {
            *failed |= leaf.counts;
            self.row.failed_nodes.insert(Rc::clone(node));
        }
        if self.failed >= MAX_FAILED {
            return;
        }
        self.failed += 1;
        leaf.node = self.nodes.last().filter(|_| id.node.is_some()).map(|(node, _)| Rc::clone(node));
        // The same test with different rulings on different nodes is in several groups.
        let mut group = id;
        group.suites.extend(ruled.map(|ruled| ruled.ruling.class.clone()));
        let Some(test) = self.tests.entry(group) else { return };
        let failed = &mut test.data;
        failed.seconds = failed.seconds.into_iter().chain(seconds(&item.meta)).max_by(f64::total_cmp);
        if failed.leaves.is_empty() {
            failed.status = item.status.clone();
            failed.ruled = ruled.cloned();
            let bytes = texts.as_ref().map_or(0, Texts::bytes);
            if self.page.samples.saturating_add(bytes) <= MAX_SAMPLES {
                self.page.samples += bytes;
                failed.sample = texts;
            }
        }
        failed.leaves.push(leaf);
    }

    fn shared(&mut self, reason: String) -> Rc<str> {
        if let Some(known) = self.reasons.get(reason.as_str()) {
            return Rc::clone(known);
        }
        let shared: Rc<str> = reason.into();
        self.reasons.insert(Rc::clone(&shared));
        shared
    }

    fn place(&mut self, id: &TestId) {
        let place = id.place();
        if !place.is_empty() {
            self.has_several_places |= *self.first_place.get_or_insert_with(|| place.clone()) != place;
        }
    }

    /// Ends the plugin.
    pub(crate) fn finish(mut self) {
        let nodes = self.nodes.len() as u64;
        for test in self.tests.into_tests() {
            let mut id = test.id;
            if test.data.ruled.is_some() {
                id.suites.pop();
            }
            let place = if self.has_several_places { id.place() } else { String::new() };
            let label = name(&label(&id.name, place, &id.classname));
            self.page.tests.push(Test { label, plugin: self.row.plugin.clone(), failed: test.data, nodes });
        }
        self.row.nodes = std::mem::take(&mut self.nodes);
        self.row.rows = self.page.columns.len().saturating_sub(self.row.first);
        self.page.rows.push(self.row);
    }
}

fn shown_place(id: &TestId) -> String {
    let place = id.place();
    match (place.is_empty(), id.classname.is_empty()) {
        (_, true) => place,
        (true, false) => id.classname.clone(),
        (false, false) => format!("{place} › {}", id.classname),
    }
}

/// The line that explains an item: why it failed or was skipped, or else the ruling on it.
fn reason(item: &Item, ruled: Option<&RuledItem>) -> Option<String> {
    let own = match meaning(&item.status) {
        Status::Passed => None,
        Status::Skipped => item.details.get("skipped").and_then(Value::as_str).map(str::to_owned),
        _ => plumbline_core::reason(&item.name, &item.details, &item.meta),
    };
    let own = own.or_else(|| ruled.map(|ruled| ruled.ruling.reason.clone()));
    own.map(|reason| one_line(&reason)).filter(|reason| !reason.is_empty())
}

fn texts_of(item: &Item, source: &str) -> Texts {
    let is_message = |key: &str| key.strip_suffix("-message").is_some_and(|key| item.details.contains_key(key));
    let mut all = Texts::default();
    if let Some(error) = item.meta.get("error") {
        all.add("error", error, source);
    }
    for (key, value) in item.details.iter().filter(|(key, _)| !is_message(key)) {
        if all.texts.len() >= MAX_DETAILS {
            all.more += 1;
            continue;
        }
        match (message_and_body(key, &item.details), value) {
            ((Some(message), Some(body)), _) => {
                all.add(key, message, source);
                all.add("", body, source);
            }
            (_, Value::String(text)) => all.add(key, text, source),
            (_, other) => all.add(key, &serde_json::to_string_pretty(other).unwrap_or_default(), source),
        }
    }
    all
}
