//! Tools about the results of one run.

use std::collections::{BTreeMap, HashMap};
use std::io;

use plumbline_core::failures::MAX_NODES;
use plumbline_core::item::seconds;
use plumbline_core::{FailedTests, Verdict};
use serde_json::{Map, Value, json};

use crate::error::AppError;
use crate::mcp::answer::{MAX_PART_BYTES, Page, clean_within, ends_of, members, text_of};
use crate::mcp::archives::Archives;
use crate::mcp::tools::{FailuresArgs, ItemArgs, RunsArgs, SummaryArgs};
use crate::report::renderers::{ArchiveFacts, Leaf, Outcome, Plugin, Renderer};
use crate::results::{Rendered, ResultsOptions, ShownResults, show};

/// The most tests that failures are grouped by.
const MAX_TESTS: usize = 10_000;

/// The most different statuses of a plugin that are counted, and the most characters of each.
const MAX_STATUSES: usize = 50;
const MAX_STATUS: usize = 60;

/// The most tests that a cause lists.
const MAX_OF_CAUSE: usize = 10;

/// The bytes of JSON of an item, except for its texts.
const MAX_ITEM_BYTES: usize = 16 << 10;

/// The characters of all texts of an item.
const MAX_ITEM_CHARS: usize = 12_000;

/// The most texts of an item.
const MAX_TEXTS: usize = 12;

impl Archives {
    /// Lists runs, the newest first.
    pub(super) fn list(&self, args: &RunsArgs) -> Result<Value, AppError> {
        let mut runs: Vec<_> = self.sources.runs()?.into_iter().collect();
        runs.sort_by(|(a_name, a), (b_name, b)| b.modified.cmp(&a.modified).then_with(|| a_name.cmp(b_name)));
        let mut page = Page::new(args.cursor.as_deref())?;
        for (name, run) in &runs {
            page.push(|| json!({"run": name, "bytes": run.bytes, "modified": run.modified}));
        }
        Ok(page.finish("runs", json!({})))
    }

    /// Returns the verdict over a run, and the counts of its plugins.
    pub(super) fn summary(&self, args: &SummaryArgs) -> Result<Value, AppError> {
        let mut page = Page::new(args.cursor.as_deref())?;
        let mut overview = Overview::default();
        let verdict = self.show(&args.run, None, &mut overview)?;
        for plugin in overview.plugins {
            page.push(|| plugin.into());
        }
        let facts = overview.facts;
        let tool = facts.tool.map(|(tool, version)| format!("{tool} {version}"));
        let facts = json!({
            "id": facts.run, "tool": tool, "kubernetes": facts.kubernetes, "started": facts.started, "ended": facts.ended,
        });
        let mut answer = members(clean_within(facts, MAX_PART_BYTES));
        answer.insert("run".to_owned(), args.run.as_str().into());
        answer.insert("verdict".to_owned(), verdict.as_str().into());
        answer.insert("exit-code".to_owned(), verdict.exit_code().into());
        Ok(page.finish("plugins", answer.into()))
    }

    /// Lists the tests that failed, or whose outcome is unknown.
    pub(super) fn failures(&self, args: &FailuresArgs) -> Result<Value, AppError> {
        let mut page = Page::new(args.cursor.as_deref())?;
        let mut failures = Failures::default();
        let verdict = self.show(&args.run, args.plugin.as_deref(), &mut failures)?;
        let (leaves, dropped) = (failures.leaves, failures.dropped);
        for test in failures.tests.into_tests() {
            page.push(|| {
                let more = test.failed_nodes.saturating_sub(MAX_NODES as u64);
                let mut entry = test.data;
                entry.insert("nodes".to_owned(), json!(Some(test.nodes).filter(|nodes| !nodes.is_empty())));
                entry.insert("more-nodes".to_owned(), json!(Some(more).filter(|more| *more > 0)));
                entry.into()
            });
        }
        let mut answer = members(json!({"verdict": verdict.as_str(), "failed-results": leaves}));
        if dropped > 0 {
            answer.insert("cut".to_owned(), format!("{dropped} results of further tests are not listed").into());
        }
        Ok(page.finish("failures", answer.into()))
    }

    /// Groups failures by cause.
    pub(super) fn causes(&self, args: &FailuresArgs) -> Result<Value, AppError> {
        let mut page = Page::new(args.cursor.as_deref())?;
        let mut failures = Failures::default();
        self.show(&args.run, args.plugin.as_deref(), &mut failures)?;
        for cause in failures.causes {
            page.push(|| cause.into());
        }
        Ok(page.finish("causes", json!({"failures-without-a-cause": failures.without_cause})))
    }

    /// Returns the results of one test.
    pub(super) fn item(&self, args: &ItemArgs) -> Result<Value, AppError> {
        let page = Page::new(args.cursor.as_deref())?;
        let mut matches = Matches { name: &args.name, node: args.node.as_deref(), page };
        self.show(&args.run, Some(&args.plugin), &mut matches)?;
        let answer = matches.page.finish("results", json!({}));
        if answer.get("total").is_some_and(|total| *total == 0) {
            return Err(AppError::usage("the plugin has no test of this name")
                .hint("pass the name as `failures` lists it, and no node that did not run the test"));
        }
        Ok(answer)
    }

    /// Sends the leaves of a run to `renderer`. Returns the verdict over them.
    fn show(&self, run: &str, plugin: Option<&str>, renderer: &mut dyn Renderer) -> Result<Verdict, AppError> {
        let options = ResultsOptions {
            inputs: vec![self.sources.run(run)?.path],
            plugin: plugin.map(str::to_owned),
            limits: self.limits.clone(),
            ..ResultsOptions::default()
        };
        let mut seen = ShownResults::default();
        Rendered::collect(renderer, |view| {
            show(&self.context, &options, &mut seen, view)?;
            Ok(seen.verdict())
        })
    }
}

/// Counts the leaves of plugins by status.
#[derive(Default)]
struct Overview {
    facts: ArchiveFacts,
    plugins: Vec<Map<String, Value>>,
    counts: BTreeMap<String, u64>,
}

impl Overview {
    fn close(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        if let Some(plugin) = self.plugins.last_mut() {
            plugin.insert("results".to_owned(), json!(counts));
        }
    }
}

impl Renderer for Overview {
    fn archive(&mut self, facts: &ArchiveFacts) -> io::Result<()> {
        self.facts = facts.clone();
        Ok(())
    }

    fn plugin(&mut self, plugin: &Plugin<'_>) -> io::Result<()> {
        self.close();
        let verdict = plugin.verdict.map(|verdict| verdict.summary().sentence());
        self.plugins.push(members(json!({
            "plugin": plugin.title, "status": plugin.root.status.brief(), "verdict": verdict, "causes": plugin.causes.len(),
        })));
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let status = match leaf.outcome() {
            Outcome::Excused => "excused",
            _ => leaf.item.status.as_str(),
        };
        let status = text_of(status, MAX_STATUS);
        let is_known = self.counts.contains_key(&status) || self.counts.len() < MAX_STATUSES;
        *self.counts.entry(if is_known { status } else { "others".to_owned() }).or_default() += 1;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.close();
        Ok(())
    }
}

/// Collects failures by test, and their causes.
struct Failures {
    tests: FailedTests<Map<String, Value>>,
    leaves: u64,
    /// The leaves of further tests, which did not fit.
    dropped: u64,
    causes: Vec<Map<String, Value>>,
    /// The positions of the causes of this plugin in `causes`.
    known: HashMap<String, usize>,
    without_cause: u64,
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            tests: FailedTests::new(MAX_TESTS),
            leaves: 0,
            dropped: 0,
            causes: Vec::new(),
            known: HashMap::new(),
            without_cause: 0,
        }
    }
}

impl Renderer for Failures {
    fn plugin(&mut self, plugin: &Plugin<'_>) -> io::Result<()> {
        self.known.clear();
        for cause in plugin.causes {
            self.known.insert(cause.id.clone(), self.causes.len());
            self.causes.push(members(json!({
                "cause": cause.id, "plugin": plugin.title, "template": cause.template, "count": cause.count, "tests": [],
            })));
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let is_failure = leaf.outcome().is_bad() || leaf.outcome() == Outcome::Excused;
        if !is_failure {
            return Ok(());
        }
        self.leaves += 1;
        let at = leaf.cause.and_then(|cause| self.known.get(cause)).and_then(|at| self.causes.get_mut(*at));
        match at.and_then(|cause| cause.get_mut("tests")).and_then(Value::as_array_mut) {
            Some(tests) => {
                let name = json!(leaf.id.name);
                if tests.len() < MAX_OF_CAUSE && tests.last() != Some(&name) {
                    tests.push(name);
                }
            }
            None => self.without_cause += 1,
        }
        // Tests of several plugins may have the same name.
        let mut id = leaf.id.clone();
        id.suites.insert(0, leaf.plugin.to_owned());
        match self.tests.entry(id) {
            Some(test) if test.data.is_empty() => test.data = failure(leaf),
            Some(_) => {}
            None => self.dropped += 1,
        }
        Ok(())
    }
}

/// A failure with the texts of its first leaf.
fn failure(leaf: &Leaf<'_>) -> Map<String, Value> {
    members(json!({
        "plugin": leaf.plugin, "name": leaf.id.name, "suites": leaf.id.suites, "class": leaf.id.classname,
        "status": leaf.status.as_str(), "reason": leaf.message(), "cause": leaf.cause, "ruling": leaf.ruling(),
        "file": leaf.source,
    }))
}

/// The results of the test with this name.
struct Matches<'a> {
    name: &'a str,
    node: Option<&'a str>,
    page: Page,
}

impl Renderer for Matches<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let is_on_node = self.node.is_none() || leaf.id.node.as_deref() == self.node;
        if leaf.id.name == self.name && is_on_node {
            self.page.push_long(|| full(leaf));
        }
        Ok(())
    }
}

/// Everything about a leaf, with the start and the end of long texts.
fn full(leaf: &Leaf<'_>) -> Value {
    let mut entry = failure(leaf);
    entry.insert("node".to_owned(), json!(leaf.id.node));
    entry.insert("seconds".to_owned(), json!(seconds(&leaf.item.meta)));
    let start = leaf.start().and_then(|start| jiff::Timestamp::from_millisecond(start).ok());
    entry.insert("start".to_owned(), json!(start));
    entry.insert("facts".to_owned(), json!(leaf.item.meta));
    let mut entry = members(clean_within(entry.into(), MAX_ITEM_BYTES));
    let details = &leaf.item.details;
    let most = MAX_ITEM_CHARS / details.len().clamp(1, MAX_TEXTS);
    let texts = details.iter().take(MAX_TEXTS).map(|(key, value)| {
        let text = match value {
            Value::String(text) => ends_of(text, most),
            other => text_of(&other.to_string(), most),
        };
        (text_of(key, 200), Value::from(text))
    });
    entry.insert("texts".to_owned(), Value::Object(texts.collect()));
    let more = details.len().saturating_sub(MAX_TEXTS);
    if more > 0 {
        entry.insert("cut".to_owned(), format!("{more} more details").into());
    }
    entry.into()
}
