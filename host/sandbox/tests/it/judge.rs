//! Tests for the role `judge`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumbline_core::{Check, CheckOutcome, FlatItem, ModuleLimits, Ruling, Status};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{
    CallStats, InputFile, Judge, LogLevel, ModuleFailure, NoLog, RulingSink, TreeItem, TreeSource,
};

use crate::handmade;
use crate::support::{file, misbehave, one_second, plugin};

/// Yields these items, and then an optional error.
struct Given(std::vec::IntoIter<TreeItem>, Option<&'static str>);

impl TreeSource for Given {
    fn next(&mut self) -> io::Result<Option<TreeItem>> {
        match (self.0.next(), self.1) {
            (None, Some(error)) => Err(io::Error::other(error)),
            (item, _) => Ok(item),
        }
    }
}

/// Never ends. Counts the calls, and records when it is dropped.
struct Endless(Arc<AtomicU64>, Arc<AtomicBool>);

impl TreeSource for Endless {
    fn next(&mut self) -> io::Result<Option<TreeItem>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Some(item("n", 0, "endless", Status::Failed, true)))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Recorded {
    rulings: Vec<(u64, Ruling)>,
    checks: Vec<Check>,
    /// How many entries fit before the disk is full.
    room: Option<usize>,
}

impl Recorded {
    fn full(&self) -> io::Result<()> {
        match self.room {
            Some(room) if self.rulings.len() + self.checks.len() >= room => Err(io::Error::other("the disk is full")),
            _ => Ok(()),
        }
    }
}

impl RulingSink for Recorded {
    fn ruling(&mut self, index: u64, ruling: Ruling) -> io::Result<()> {
        self.full()?;
        self.rulings.push((index, ruling));
        Ok(())
    }

    fn check(&mut self, check: Check) -> io::Result<()> {
        self.full()?;
        self.checks.push(check);
        Ok(())
    }
}

struct Judged {
    result: Result<CallStats, ModuleFailure>,
    kept: Recorded,
    log: Vec<(LogLevel, String)>,
}

impl Judged {
    fn failure(&self) -> String {
        self.result.as_ref().unwrap_err().to_string()
    }

    fn classes(&self) -> Vec<(u64, &str)> {
        self.kept.rulings.iter().map(|(index, ruling)| (*index, ruling.class.as_str())).collect()
    }
}

fn item(set: &str, depth: u32, name: &str, status: Status, leaf: bool) -> TreeItem {
    let item = FlatItem { depth, name: name.into(), status: Some(status), ..FlatItem::default() };
    TreeItem { set: set.into(), item, leaf, ruling: None }
}

/// Returns a test suite with one failed and one passed test.
fn suite() -> Vec<TreeItem> {
    vec![
        item("n1", 0, "suite", Status::Failed, false),
        item("n1", 1, "one", Status::Failed, true),
        item("n1", 1, "two", Status::Passed, true),
    ]
}

fn call(
    behaviour: Behaviour,
    tree: Box<dyn TreeSource>,
    evidence: Vec<InputFile>,
    limits: &ModuleLimits,
    room: Option<usize>,
) -> Judged {
    let (mut kept, mut log) = (Recorded { room, ..Recorded::default() }, Vec::new());
    let plugin = plugin(behaviour);
    let result = misbehave().judge(Judge { plugin: &plugin, tree, evidence, limits }, &mut kept, &mut log);
    Judged { result, kept, log }
}

fn given(behaviour: Behaviour, tree: Vec<TreeItem>) -> Judged {
    call(behaviour, Box::new(Given(tree.into_iter(), None)), Vec::new(), &ModuleLimits::default(), None)
}

fn endless(behaviour: Behaviour, limits: &ModuleLimits) -> (Judged, u64) {
    let (asked, gone) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let judged = call(behaviour, Box::new(Endless(Arc::clone(&asked), Arc::clone(&gone))), Vec::new(), limits, None);
    assert!(gone.load(Ordering::Relaxed), "whatever happened, nothing reads any more when the call is over");
    (judged, asked.load(Ordering::Relaxed))
}

#[test]
fn a_judge_reads_items_unchanged_and_its_rulings_are_returned() {
    let mut tree = suite();
    let ruling = Ruling { class: "flaky".into(), counts: false, reason: "r".into(), source: "s".into() };
    tree[2].ruling = Some(ruling);
    tree.push(item("", 0, "in all", Status::Custom("warning".into()), true));
    let evidence = vec![file("data/known.yaml", "- one\n"), file("meta/clusterhealth.json", "{}")];
    let tree = Box::new(Given(tree.into_iter(), None));
    let judged = call(Behaviour::Behave, tree, evidence, &ModuleLimits::default(), None);
    let stats = judged.result.unwrap();
    let said = |counts: bool, reason: &str, source: &str| Ruling {
        class: "read".into(),
        counts,
        reason: reason.into(),
        source: source.into(),
    };
    assert_eq!(
        judged.kept.rulings,
        [
            (1, said(true, "n1/1/one", "failed, by nobody")),
            (2, said(false, "n1/1/two", "passed, by flaky")),
            (3, said(false, "/0/in all", "warning, by nobody")),
        ]
    );
    let check = |id: &str, want: &str, got: &str| Check {
        id: id.into(),
        name: "can be read".into(),
        outcome: CheckOutcome::Passed,
        want: want.into(),
        got: got.into(),
        reason: String::new(),
    };
    let checks = [check("data/known.yaml", "6 bytes", "- one\n"), check("meta/clusterhealth.json", "2 bytes", "{}")];
    assert_eq!(judged.kept.checks, checks);
    assert_eq!(stats.items, 5, "rulings and checks are what a judge emits");
    assert!(stats.input_bytes > 8 + 4 * 32 && stats.output_bytes > 5 * 32, "{stats:?}");
}

#[test]
fn more_items_than_a_batch_have_their_numbers() {
    let tree = (0..5000).map(|n| item("n", 0, &n.to_string(), Status::Failed, n % 2 == 0)).collect();
    let judged = given(Behaviour::Behave, tree);
    assert_eq!(judged.result.unwrap().items, 2500);
    let right = |(index, ruling): &(u64, Ruling)| index % 2 == 0 && ruling.reason == format!("n/0/{index}");
    assert!(judged.kept.rulings.iter().all(right));
}

#[test]
fn an_error_of_the_evidence_reaches_the_module() {
    let gone = InputFile { path: "gone".into(), size: 1, open: Box::new(|| Err(io::Error::other("no such file"))) };
    let tree = Box::new(Given(Vec::new().into_iter(), None));
    let judged = call(Behaviour::Behave, tree, vec![gone], &ModuleLimits::default(), None);
    judged.result.unwrap();
    let check = &judged.kept.checks[0];
    assert_eq!((check.outcome, check.got.as_str()), (CheckOutcome::Unknown, ""));
    assert!(check.reason.contains("no such file"), "{}", check.reason);
}

pub(crate) fn rulings_may_come_when_the_tree_is_let_go_of(behaviour: Behaviour) {
    let judged = given(behaviour, suite());
    judged.result.as_ref().unwrap();
    assert_eq!(judged.classes(), [(1, "read"), (2, "read")]);
}

pub(crate) fn items_that_were_not_read_cannot_be_ruled_on(behaviour: Behaviour) {
    let (judged, asked) = endless(behaviour, &ModuleLimits::default());
    let rule = "module `misbehave` violated the contract: only items that were given can be ruled on: ";
    assert_eq!((judged.failure(), asked), (format!("{rule}item 0, where 0 were given"), 0));
    assert!(judged.kept.rulings.is_empty());
}

pub(crate) fn only_leaves_are_ruled_on(behaviour: Behaviour) {
    let rule = "module `misbehave` violated the contract: only leaves can be ruled on: ";
    assert_eq!(given(behaviour, suite()).failure(), format!("{rule}item 0 has children"));
}

pub(crate) fn a_second_ruling_comes_after_the_first(behaviour: Behaviour) {
    let judged = given(behaviour, suite());
    assert_eq!(judged.result.as_ref().unwrap().items, 2);
    assert_eq!(judged.classes(), [(1, "first"), (1, "second-thought")], "who takes them lets the last count");
}

pub(crate) fn a_class_is_a_word(behaviour: Behaviour) {
    let rule = "module `misbehave` violated the contract: a class has 1 to 64 of the characters `a-z`, `0-9` and `-`: ";
    assert_eq!(given(behaviour, suite()).failure(), format!(r"{rule}item 1 has the class `Not A Class\u{{1b}}`"));
}

pub(crate) fn rulings_end_at_the_limit(behaviour: Behaviour) {
    let limits = ModuleLimits { items: 1000, ..ModuleLimits::default() };
    let (judged, _) = endless(behaviour, &limits);
    assert_eq!(judged.failure(), "module `misbehave` exceeded its limit `items`: 1000 items");
    assert_eq!(judged.kept.rulings.len(), 768, "the batch that goes over the limit is dropped whole; others are kept");
    let limits = ModuleLimits { output_bytes: 1 << 20, ..ModuleLimits::default() };
    assert_eq!(endless(behaviour, &limits).0.failure(), "module `misbehave` exceeded its limit `output-bytes`: 1 MiB");
}

pub(crate) fn checks_are_few(behaviour: Behaviour) {
    let judged = given(behaviour, Vec::new());
    let rule = "module `misbehave` violated the contract: a judge must not report too many checks: ";
    assert_eq!(judged.failure(), format!("{rule}there are more than 10000 checks: `C-10000`"));
    assert_eq!(judged.kept.checks.len(), 10_000 / 256 * 256);
}

pub(crate) fn only_a_judge_can_rule_on_items(behaviour: Behaviour) {
    let called = crate::support::run(behaviour, Vec::new(), &ModuleLimits::default());
    let rule = "module `misbehave` violated the contract: only judges rule on items and report checks: ";
    assert_eq!(called.failure(), format!("{rule}`rule` was called in another role"));
}

#[test]
fn texts_and_ids_keep_to_the_rules() {
    let rubbish = |behaviour| {
        let failure = given(behaviour, suite()).failure();
        failure.strip_prefix("module `misbehave` violated the contract: ").unwrap_or(&failure).to_owned()
    };
    assert_eq!(
        rubbish(Behaviour::LongName),
        "a judge's strings must be short: the reason of the ruling on item 1 has 5000 bytes (at most 4096)"
    );
    assert_eq!(rubbish(Behaviour::Twice), "a check is reported once: `ONCE`");
    assert_eq!(
        rubbish(Behaviour::EmptyName),
        "a check's id must be short and not empty: check 1 has an id of 0 characters (1 to 64)"
    );
    assert_eq!(
        rubbish(Behaviour::EmitOutOfRole),
        "only post-processors, summarizers and checks emit items: `emit` was called in another role"
    );
    assert_eq!(
        given(Behaviour::HugeString, suite()).failure(),
        "module `misbehave` exceeded its limit `hostcall-bytes`: 32 MiB"
    );
}

#[test]
fn a_batch_of_rulings_is_taken_whole_or_not_at_all() {
    let judged = given(Behaviour::BadBatch, suite());
    assert!(judged.failure().contains("only items that were given can be ruled on"), "{}", judged.failure());
    assert_eq!(judged.classes(), [(1, "first")]);
}

#[test]
fn the_end_of_the_tree_stays_the_end_and_it_need_not_be_read() {
    let judged = given(Behaviour::ReadAfterEnd, suite());
    judged.result.unwrap();
    assert_eq!(judged.kept.checks[0].got, "0 after the end");
    let (judged, asked) = endless(Behaviour::ReadNothing, &ModuleLimits::default());
    assert_eq!((judged.result.unwrap().items, asked), (1, 0), "nothing is read that nobody asks for");
    assert_eq!(judged.kept.checks[0].id, "UNREAD");
}

#[test]
fn a_tree_without_an_end_ends_at_a_limit() {
    let limits = ModuleLimits { input_bytes: 1 << 20, ..ModuleLimits::default() };
    let (judged, asked) = endless(Behaviour::ReadFlood, &limits);
    assert_eq!(judged.failure(), "module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
    assert!(asked < 40_000, "{asked}");
    let (judged, _) = endless(Behaviour::ReadFlood, &ModuleLimits { input_bytes: u64::MAX, ..one_second() });
    assert_eq!(judged.failure(), "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
}

#[test]
fn loops_and_memory_end_as_in_every_role() {
    let (judged, _) = endless(Behaviour::EndlessLoop, &one_second());
    assert_eq!(judged.failure(), "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
    let limits = ModuleLimits { memory: 16 << 20, ..ModuleLimits::default() };
    let (judged, _) = endless(Behaviour::MemoryGrowth, &limits);
    assert_eq!(judged.failure(), "module `misbehave` exceeded its limit `memory`: 16 MiB");
}

#[test]
fn a_failure_in_the_middle_keeps_earlier_output() {
    let judged = given(Behaviour::PanicHalfway, suite());
    assert!(judged.failure().starts_with("module `misbehave` crashed: "), "{}", judged.failure());
    assert_eq!((judged.kept.rulings.len(), judged.kept.checks.len()), (2, 1));
    assert!(judged.log.iter().any(|(_, line)| line.contains("a judgement that is not there")), "{:?}", judged.log);
    let judged = given(Behaviour::RefuseHalfway, suite());
    assert!(matches!(&judged.result, Err(ModuleFailure::Refused(_))), "{:?}", judged.result);
    assert_eq!((judged.failure().as_str(), judged.kept.rulings.len()), ("there is no list to judge by", 2));
}

#[test]
fn an_error_of_the_tree_reaches_the_module() {
    let source = Given(suite().into_iter(), Some("the disk is on fire"));
    let judged = call(Behaviour::Behave, Box::new(source), Vec::new(), &ModuleLimits::default(), None);
    assert!(matches!(&judged.result, Err(ModuleFailure::Refused(_))), "{:?}", judged.result);
    assert_eq!(judged.failure(), "failed to read the results: the disk is on fire");
    assert_eq!(judged.kept.rulings.len(), 2);
}

#[test]
fn a_sink_that_fails_ends_the_call() {
    let (asked, gone) = (Arc::default(), Arc::default());
    let tree = Box::new(Endless(asked, gone));
    let judged = call(Behaviour::RuleFlood, tree, Vec::new(), &ModuleLimits::default(), Some(300));
    assert_eq!(judged.failure(), "failed to run the module: the disk is full");
    assert_eq!(judged.kept.rulings.len(), 300);
}

/// A component that was built before this role existed.
#[test]
fn a_module_without_the_role_is_not_called() {
    let module = handmade::load(&handmade::core("", "", "(call $emit_item)"));
    assert!(!module.info().roles.judge);
    let plugin = plugin(Behaviour::Behave);
    let tree = Box::new(Given(Vec::new().into_iter(), None));
    let call = Judge { plugin: &plugin, tree, evidence: Vec::new(), limits: &ModuleLimits::default() };
    let failure = module.judge(call, &mut Recorded::default(), &mut NoLog).unwrap_err();
    assert_eq!(failure.to_string(), "module `handmade` does not implement the role `judge`");
    assert!(misbehave().info().roles.judge);
}
