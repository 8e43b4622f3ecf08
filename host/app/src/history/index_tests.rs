use super::*;
use crate::difference::Test;

fn key(plugin: &str, node: Option<&str>, suites: &[&str], class: &str, name: &str) -> TestKey {
    let suites = suites.iter().map(|suite| (*suite).to_owned()).collect();
    let test = TestId { node: node.map(str::to_owned), suites, classname: class.into(), name: name.into() };
    TestKey { plugin: plugin.into(), test }
}

fn named(name: &str) -> TestKey {
    key("e2e", None, &["suite"], "", name)
}

fn file(name: &str) -> FileKey {
    FileKey { name: name.into(), size: 4711, modified: -5 }
}

fn facts(cluster: &str) -> RunFacts {
    RunFacts {
        run: "id".into(),
        tool: "Plumbline 0.1.0".into(),
        started: 1_764_000_000,
        cluster: cluster.into(),
        version: "v1.37.2".into(),
        missed: 3,
        is_dated: true,
        content: 4711,
        plugins: vec![PluginFacts { name: "e2e".into(), digest: u64::MAX, has_classes: true }],
    }
}

fn two_runs() -> Index {
    let mut index = Index::default();
    let all = |a, b| {
        vec![
            (named("a"), a, Some(0)),
            (key("p", Some("n1"), &[], "c", "a"), b, None),
            (key("p", Some("n2"), &["s", "t"], "c", "a"), Outcome::Other, Some(u32::MAX)),
        ]
    };
    index.add(file("1.tar.gz"), facts("x"), all(Outcome::Passed, Outcome::Failed)).unwrap();
    let mut more = all(Outcome::Flaky, Outcome::Skipped);
    more.push((named("only here"), Outcome::Passed, Some(70_000)));
    index.add(file("2.tar.gz"), facts("y"), more).unwrap();
    index
}

/// The tests of a run with their outcomes and durations, by name.
fn entries_of(index: &Index, run: usize) -> Vec<(&TestKey, Outcome, Option<u32>)> {
    let entry = |entry: Entry| (&index.tests()[entry.test as usize], entry.outcome, entry.millis);
    let mut entries: Vec<_> = index.runs[run].entries().map(entry).collect();
    entries.sort_by_key(|(key, ..)| *key);
    entries
}

#[test]
fn written_data_reads_back_equal() {
    let index = two_runs();
    let read = Index::from_bytes(index.to_bytes()).unwrap();
    assert_eq!((read.tests(), &read.runs), (index.tests(), &index.runs));
    assert_eq!(entries_of(&read, 1).len(), 4);
    assert_eq!(entries_of(&read, 1)[1], (&named("only here"), Outcome::Passed, Some(70_000)));
    // A run that is added later shares the numbers of the tests.
    let mut read = read;
    read.add(file("3.tar.gz"), facts("x"), vec![(named("a"), Outcome::Passed, None)]).unwrap();
    assert_eq!((read.tests().len(), entries_of(&read, 2)), (4, vec![(&named("a"), Outcome::Passed, None)]));
}

#[test]
fn each_damaged_byte_costs_at_most_its_run() {
    let index = two_runs();
    let bytes = index.to_bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x21;
        if let Some(read) = Index::from_bytes(damaged) {
            assert!(read.runs.len() < 2, "byte {at}: damage was not noticed");
            assert!(read.runs.iter().all(|run| index.runs.contains(run)), "byte {at}");
        }
        // A file that was cut off has the runs before the cut.
        if let Some(read) = Index::from_bytes(bytes[..at].to_vec()) {
            assert!(read.runs.len() < 2 && read.runs.iter().all(|run| index.runs.contains(run)), "{at} bytes");
        }
    }
    let mut older = bytes;
    older[MAGIC.len()] += 1;
    assert!(Index::from_bytes(older).is_none() && Index::from_bytes(b"other".to_vec()).is_none());
}

#[test]
fn runs_that_are_dropped_take_their_tests_along() {
    let mut index = two_runs();
    let before = entries_of(&index, 0).into_iter().map(|(key, a, b)| (key.clone(), a, b)).collect::<Vec<_>>();
    index.retain(|file| file.name == "1.tar.gz");
    assert_eq!((index.runs.len(), index.tests().len()), (1, 3));
    let after: Vec<_> = entries_of(&index, 0).into_iter().map(|(key, a, b)| (key.clone(), a, b)).collect();
    assert_eq!(after, before);
}

#[test]
fn attempts_of_one_test_are_one_outcome() {
    use Outcome::{Failed, Flaky, Other, Passed, Skipped};
    let of = |statuses: &[&str]| {
        let test = |status: &&str| Test { status: (*status).into(), seconds: None, reason: None };
        Outcome::of(&statuses.iter().map(test).collect::<Vec<_>>())
    };
    for (statuses, outcome) in [
        (vec!["passed"], Passed),
        (vec!["timeout", "failed"], Failed),
        (vec!["failed", "passed"], Flaky),
        (vec!["passed", "failed", "failed"], Flaky),
        (vec!["skipped", "failed"], Failed),
        (vec!["passed", "warning"], Passed),
        (vec!["skipped", "warning"], Other),
        (vec!["unknown"], Other),
        (vec!["not-read"], Other),
        (vec!["skipped"], Skipped),
    ] {
        assert_eq!(of(&statuses), outcome, "{statuses:?}");
    }
    // Two tests that nothing distinguishes are no attempts.
    assert_eq!((Failed.with_test(Passed), Passed.with_test(Flaky), Skipped.with_test(Passed)), (Failed, Flaky, Passed));
    let entry = |outcome, millis| Entry { test: 7, outcome, millis };
    let entries = encoded(vec![entry(Failed, Some(3)), entry(Passed, Some(2))]);
    let run = IndexedRun { file: file("a"), facts: facts("x"), entries: entries.into() };
    assert_eq!(run.entries().collect::<Vec<_>>(), [entry(Flaky, Some(3))]);
}

#[test]
fn chunks_without_a_selected_test_are_skipped() {
    let numbers = [0, 511, 512, 5000, 5001, 1_000_000];
    let entry = |&test: &u32| Entry { test, outcome: Outcome::Passed, millis: (test != 5000).then_some(test) };
    let entries = encoded(numbers.iter().rev().map(entry).collect()).into();
    let run = IndexedRun { file: file("a"), facts: facts("x"), entries };
    let read = |wanted: &[usize]| {
        let chunks = run.chunks().filter(|(chunk, _)| wanted.contains(chunk));
        chunks.flat_map(|(_, entries)| entries).map(|one| one.test).collect::<Vec<_>>()
    };
    assert_eq!(run.entries().collect::<Vec<_>>(), numbers.iter().map(entry).collect::<Vec<_>>());
    assert_eq!((read(&[0]), read(&[1, 9]), read(&[2])), (vec![0, 511], vec![512, 5000, 5001], vec![]));
}

#[test]
fn forged_counts_and_numbers_are_not_entries() {
    let forged = |entries: &[u8]| {
        let run = IndexedRun { file: file("a"), facts: facts("x"), entries: entries.to_vec().into() };
        run.entries().count()
    };
    // Each chunk has: the absent chunks before it, the codes and their number, the width, the durations.
    assert_eq!((forged(&[]), forged(&[0, 1, 0, 1, 0])), (0, 1));
    // A number without an end, more codes than the rest has, and a chunk beyond all numbers.
    assert_eq!(
        (forged(&[0xff; 40]), forged(&[0, 4, 0, 1, 0]), forged(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0, 1, 0])),
        (0, 0, 0)
    );
    // An outcome that does not exist, a missing duration, and widths that no duration has.
    assert_eq!((forged(&[0, 1, 9, 1, 0]), forged(&[0, 1, 0x80, 2, 1, 7])), (0, 0));
    assert_eq!((forged(&[0, 1, 0, 0, 0]), forged(&[0, 1, 0x80, 5, 5, 1, 1, 1, 1, 1])), (0, 0));
    // A test of the next chunk.
    let mut codes = vec![0, 0x81, 0x04];
    codes.extend([0; CHUNK + 1]);
    codes.extend([1, 0]);
    assert_eq!(forged(&codes), 0);
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    add_section(&packed(&u64::MAX), &mut bytes);
    assert!(Index::from_bytes(bytes).is_none());
}
