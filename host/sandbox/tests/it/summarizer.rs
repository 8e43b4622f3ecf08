//! Tests for the role `summarizer`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumbline_core::{FlatItem, ModuleLimits, Status};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{Entry, ModuleFailure, NoLog, ResultSource, Summarize};
use serde_json::json;

use crate::handmade;
use crate::support::{Called, misbehave, one_second, plugin};

/// Yields these entries, and then an optional error.
struct Given(std::vec::IntoIter<Entry>, Option<&'static str>);

impl ResultSource for Given {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        match (self.0.next(), self.1) {
            (None, Some(error)) => Err(io::Error::other(error)),
            (entry, _) => Ok(entry),
        }
    }
}

/// Never ends. Counts the calls, and records when it is dropped.
struct Endless(Arc<AtomicU64>, Arc<AtomicBool>);

impl ResultSource for Endless {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Some(entry("n", 0, "endless", None)))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

fn entry(set: &str, depth: u32, name: &str, status: Option<Status>) -> Entry {
    Entry { set: set.into(), item: FlatItem { depth, name: name.into(), status, ..FlatItem::default() } }
}

fn summarize(behaviour: Behaviour, results: Box<dyn ResultSource>, limits: &ModuleLimits) -> Called {
    let (mut items, mut log) = (Vec::new(), Vec::new());
    let plugin = plugin(behaviour);
    let result = misbehave().summarize(Summarize { plugin: &plugin, results, limits }, &mut items, &mut log);
    Called { result, items, log }
}

fn given(behaviour: Behaviour, entries: Vec<Entry>) -> Called {
    summarize(behaviour, Box::new(Given(entries.into_iter(), None)), &ModuleLimits::default())
}

fn endless(behaviour: Behaviour, limits: &ModuleLimits) -> (Called, u64) {
    let (asked, gone) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let called = summarize(behaviour, Box::new(Endless(Arc::clone(&asked), Arc::clone(&gone))), limits);
    assert!(gone.load(Ordering::Relaxed), "whatever happened, nothing reads any more when the call is over");
    (called, asked.load(Ordering::Relaxed))
}

#[test]
fn a_summarizer_reads_the_entries_unchanged() {
    let mut full = entry("n1", 1, "test", Some(Status::Custom("warning".into())));
    full.item.meta.insert("file".into(), "a".into());
    full.item.details.insert("failure".into(), json!("text\u{1}"));
    full.item.details.insert("pod".into(), json!({"kind": ["Pod", null, 1.5]}));
    let called = given(Behaviour::Behave, vec![entry("n1", 0, "suite", Some(Status::Failed)), full.clone()]);
    let stats = called.result.unwrap();
    assert_eq!(stats.items, 2);
    assert!(stats.input_bytes > 64, "{}", stats.input_bytes);
    let names: Vec<&str> = called.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["n1/0/suite", "n1/1/test"]);
    assert_eq!(called.items[0].status, Some(Status::Failed));
    let item = FlatItem { depth: 0, name: "n1/1/test".into(), ..full.item };
    assert_eq!(called.items[1], item);
}

#[test]
fn more_results_than_a_batch_come_in_order() {
    let entries = (0..5000).map(|n| entry(&format!("n{}", n / 1000), 0, &format!("{n}"), None)).collect();
    let called = given(Behaviour::Behave, entries);
    assert_eq!(called.result.unwrap().items, 5000);
    assert_eq!(called.items[4999].name, "n4/0/4999");
}

pub(crate) fn the_end_of_the_results_stays_the_end(behaviour: Behaviour) {
    let called = given(behaviour, vec![entry("n", 0, "a", None)]);
    called.result.unwrap();
    assert_eq!(called.items.last().unwrap().name, "0 after the end");
}

pub(crate) fn results_need_not_be_read(behaviour: Behaviour) {
    let (called, asked) = endless(behaviour, &ModuleLimits::default());
    assert_eq!((called.result.unwrap().items, asked), (1, 0), "nothing is read that nobody asks for");
}

#[test]
fn results_without_an_end_end_at_a_limit() {
    let limits = ModuleLimits { input_bytes: 1 << 20, ..ModuleLimits::default() };
    let (called, asked) = endless(Behaviour::ReadFlood, &limits);
    assert_eq!(called.failure(), "module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
    assert!(asked < 40_000, "{asked}");
    let (called, _) = endless(Behaviour::ReadFlood, &ModuleLimits { input_bytes: u64::MAX, ..one_second() });
    assert_eq!(called.failure(), "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
}

#[test]
fn limits_and_rules_hold_for_this_role_too() {
    let failure = |behaviour, limits: &ModuleLimits| endless(behaviour, limits).0;
    let limits = ModuleLimits { items: 1000, ..ModuleLimits::default() };
    let called = failure(Behaviour::ItemFlood, &limits);
    assert_eq!(called.failure(), "module `misbehave` exceeded its limit `items`: 1000 items");
    assert_eq!(called.items.len(), 768, "what was emitted before stays");
    let called = failure(Behaviour::EndlessLoop, &one_second());
    assert_eq!(called.failure(), "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
    let limits = ModuleLimits { memory: 16 << 20, ..ModuleLimits::default() };
    let called = failure(Behaviour::MemoryGrowth, &limits);
    assert_eq!(called.failure(), "module `misbehave` exceeded its limit `memory`: 16 MiB");
    let called = failure(Behaviour::EmptyName, &ModuleLimits::default());
    assert!(called.failure().contains("an item's name must not be empty"), "{}", called.failure());
}

#[test]
fn a_failure_in_the_middle_keeps_earlier_output() {
    let called = given(Behaviour::PanicHalfway, Vec::new());
    assert!(called.failure().starts_with("module `misbehave` crashed: "), "{}", called.failure());
    assert_eq!(called.items.len(), 3);
    assert!(called.log.iter().any(|(_, line)| line.contains("a summary that is not there")), "{:?}", called.log);
    let called = given(Behaviour::RefuseHalfway, Vec::new());
    assert_eq!((called.failure().as_str(), called.items.len()), ("there is nothing to be said of this", 3));
}

#[test]
fn an_error_of_the_source_reaches_the_module() {
    let source = Given(vec![entry("n", 0, "a", None)].into_iter(), Some("the disk is on fire"));
    let called = summarize(Behaviour::Behave, Box::new(source), &ModuleLimits::default());
    assert!(matches!(&called.result, Err(ModuleFailure::Refused(_))), "{:?}", called.result);
    assert_eq!(called.failure(), "failed to read the results: the disk is on fire");
    assert_eq!(called.items.len(), 1);
}

/// A component that was built before this role existed.
#[test]
fn a_module_without_the_role_is_not_called() {
    let module = handmade::load(&handmade::core("", "", "(call $emit_item)"));
    let roles = module.info().roles;
    assert!(roles.post_processor && !roles.expectations && !roles.summarizer);
    let plugin = plugin(Behaviour::Behave);
    let results = Box::new(Given(Vec::new().into_iter(), None));
    let call = Summarize { plugin: &plugin, results, limits: &ModuleLimits::default() };
    let failure = module.summarize(call, &mut Vec::new(), &mut NoLog).unwrap_err();
    assert_eq!(failure.to_string(), "module `handmade` does not implement the role `summarizer`");
    let roles = misbehave().info().roles;
    assert!(roles.post_processor && roles.expectations && roles.summarizer);
}
