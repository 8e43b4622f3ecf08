//! Compares the tests of two runs, and renders the differences as text and as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use plumbline_conformance::lists::is_suite_node;
use plumbline_conformance::submission::cleaned;
use plumbline_core::{Item, Status, TestId, reason};
use serde::Serialize;

use crate::report::markdown::escape;
use crate::report::text::{name, one_line, seconds_of, short_seconds};

/// The identity of a test across runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestKey {
    /// The plugin.
    pub plugin: String,
    /// The test, without the prefixes of frameworks.
    pub test: TestId,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its status.
    pub status: Status,
    /// Its duration in seconds.
    pub seconds: Option<f64>,
    /// The first line of the reason why it failed.
    pub reason: Option<String>,
}

impl Test {
    /// Whether it failed or timed out.
    pub fn failed(&self) -> bool {
        matches!(self.status, Status::Failed | Status::Timeout)
    }

    /// Whether it ran, as far as the status says.
    pub fn ran(&self) -> bool {
        !matches!(self.status, Status::Skipped | Status::Unknown | Status::NotRead)
    }
}

/// The tests with the same key. Reports often have several, such as one for each attempt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SameTests(pub Vec<Test>);

impl SameTests {
    /// Whether at least one of them ran.
    pub fn ran(&self) -> bool {
        self.0.iter().any(Test::ran)
    }
}

/// The tests of a run.
pub type Tests = BTreeMap<TestKey, SameTests>;

/// Adds the leaves of the tree of `plugin` to `tests`. Setup nodes of the suite are added only if
/// they failed.
pub fn add(tests: &mut Tests, plugin: &str, root: &Item) {
    let mut leaves = root.leaves();
    while let Some(leaf) = leaves.next() {
        let mut test = Test { status: leaf.status.clone(), seconds: seconds_of(leaf), reason: None };
        if test.failed() {
            test.reason = reason(&leaf.name, &leaf.details, &leaf.meta).map(|reason| one_line(&reason));
        } else if is_suite_node(&leaf.name) {
            continue;
        }
        let mut id = TestId::of(leaves.walk().ancestors(), leaf);
        id.name = cleaned(&leaf.name).trim().to_owned();
        tests.entry(TestKey { plugin: plugin.to_owned(), test: id }).or_default().0.push(test);
    }
}

fn with_classes(tests: &Tests) -> BTreeSet<&str> {
    tests.keys().filter(|key| !key.test.classname.is_empty()).map(|key| key.plugin.as_str()).collect()
}

/// The tests, with the classes of these plugins only.
fn without_other_classes(tests: &Tests, plugins: &BTreeSet<&str>) -> Tests {
    let mut kept = Tests::new();
    for (key, same) in tests {
        let mut key = key.clone();
        if !plugins.contains(key.plugin.as_str()) {
            key.test.classname.clear();
        }
        kept.entry(key).or_default().0.extend(same.0.iter().cloned());
    }
    kept
}

/// A test is listed as slower from this factor on.
const GREW_TIMES: f64 = 2.0;

/// A test is listed as slower from this many more seconds on.
const GREW_SECONDS: f64 = 10.0;

/// A test that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The plugin.
    pub plugin: String,
    /// The node and the suites of the test; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Its class; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub classname: String,
    /// Its name.
    pub name: String,
    /// Its status in the earlier run. `None` if the run does not have it.
    pub before: Option<Status>,
    /// Its status in the later run. `None` if the run does not have it.
    pub after: Option<Status>,
    /// Its seconds in the earlier run.
    #[serde(rename = "seconds-before", skip_serializing_if = "Option::is_none")]
    pub seconds_before: Option<f64>,
    /// Its seconds in the later run.
    #[serde(rename = "seconds-after", skip_serializing_if = "Option::is_none")]
    pub seconds_after: Option<f64>,
    /// The first line of the reason why it failed, of the later run if it failed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The differences between two runs. Keys are only ever added (docs/results.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Difference {
    /// Tests that ran in the earlier run.
    pub ran_before: usize,
    /// Tests that ran in the later run.
    pub ran_after: usize,
    /// Tests that failed in the later run only.
    pub new_failures: Vec<Change>,
    /// Tests that failed in the earlier run, and ran without a failure in the later one.
    pub fixed: Vec<Change>,
    /// Tests that failed in both runs.
    pub still_failing: Vec<Change>,
    /// Tests that ran in one run only. Tests that failed in their first run are in `new_failures`.
    pub not_run: Vec<Change>,
    /// Tests that took much longer, whatever their status; the slowest first.
    pub slower: Vec<Change>,
}

/// Compares two runs.
///
/// Archives of Sonobuoy and of earlier versions have no classes. If a plugin has none in one of the
/// runs, its classes in the other are ignored.
pub fn compare(before: &Tests, after: &Tests) -> Difference {
    let (old, new) = (with_classes(before), with_classes(after));
    let both: BTreeSet<&str> = old.intersection(&new).copied().collect();
    let (before, after) = (without_other_classes(before, &both), without_other_classes(after, &both));
    let ran = |tests: &Tests| tests.values().flat_map(|same| &same.0).filter(|test| test.ran()).count();
    let mut found = Difference { ran_before: ran(&before), ran_after: ran(&after), ..Difference::default() };
    let none = SameTests::default();
    for (key, old) in &before {
        compare_same(key, old, after.get(key).unwrap_or(&none), &mut found);
    }
    for (key, new) in &after {
        if !before.contains_key(key) {
            compare_same(key, &none, new, &mut found);
        }
    }
    let growth = |change: &Change| change.seconds_after.unwrap_or_default() - change.seconds_before.unwrap_or_default();
    found.slower.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
    found
}

/// Compares the tests with the same key as multisets. Tests with the same outcome are paired first,
/// then the worst of the rest.
fn compare_same(key: &TestKey, before: &SameTests, after: &SameTests, found: &mut Difference) {
    let ([mut old, mut new], mut rest) = ([by_outcome(before), by_outcome(after)], (Vec::new(), Vec::new()));
    for (old, new) in old.iter_mut().zip(&mut new) {
        let pairs = old.len().min(new.len());
        rest.0.extend(old.split_off(pairs));
        rest.1.extend(new.split_off(pairs));
        old.iter().zip(new.iter()).for_each(|(old, new)| sort_in(key, Some(*old), Some(*new), found));
    }
    let (mut old, mut new) = (rest.0.into_iter(), rest.1.into_iter());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return,
            // One failure fewer, of a test that ran.
            (Some(old), None) if old.failed() && after.ran() => found.fixed.push(change(key, Some(old), None)),
            (old, new) => sort_in(key, old, new, found),
        }
    }
}

/// The tests that failed, that ran without a failure, and that did not run, each by duration,
/// the slowest first.
fn by_outcome(same: &SameTests) -> [Vec<&Test>; 3] {
    let mut sorted: [Vec<&Test>; 3] = Default::default();
    let [failed, ran, others] = &mut sorted;
    for test in &same.0 {
        match (test.failed(), test.ran()) {
            (true, _) => failed.push(test),
            (_, true) => ran.push(test),
            _ => others.push(test),
        }
    }
    for tests in &mut sorted {
        tests.sort_by(|a, b| b.seconds.unwrap_or_default().total_cmp(&a.seconds.unwrap_or_default()));
    }
    sorted
}

fn sort_in(key: &TestKey, before: Option<&Test>, after: Option<&Test>, found: &mut Difference) {
    let failed = |test: Option<&Test>| test.is_some_and(Test::failed);
    let ran = |test: Option<&Test>| test.is_some_and(Test::ran);
    let list = match (failed(before), failed(after)) {
        (false, true) => Some(&mut found.new_failures),
        (true, true) => Some(&mut found.still_failing),
        (true, false) if ran(after) => Some(&mut found.fixed),
        _ if ran(before) != ran(after) => Some(&mut found.not_run),
        _ => None,
    };
    if let Some(list) = list {
        list.push(change(key, before, after));
    }
    let seconds = |test: Option<&Test>| test.and_then(|test| test.seconds);
    if let (Some(old), Some(new)) = (seconds(before), seconds(after))
        && new >= old * GREW_TIMES
        && new - old >= GREW_SECONDS
    {
        found.slower.push(change(key, before, after));
    }
}

fn change(key: &TestKey, before: Option<&Test>, after: Option<&Test>) -> Change {
    let reason = |test: Option<&Test>| test.and_then(|test| test.reason.clone());
    Change {
        plugin: key.plugin.clone(),
        place: key.test.node.iter().chain(&key.test.suites).map(String::as_str).collect::<Vec<_>>().join(" | "),
        classname: key.test.classname.clone(),
        name: key.test.name.clone(),
        before: before.map(|test| test.status.clone()),
        after: after.map(|test| test.status.clone()),
        seconds_before: before.and_then(|test| test.seconds),
        seconds_after: after.and_then(|test| test.seconds),
        reason: reason(after).or_else(|| reason(before)),
    }
}

/// The most tests in a list.
const MAX_LISTED: usize = 50;

fn lists(found: &Difference) -> [(&'static str, &[Change]); 5] {
    [
        ("new failures", &found.new_failures),
        ("still failing", &found.still_failing),
        ("fixed", &found.fixed),
        ("not run in one of them", &found.not_run),
        ("much slower", &found.slower),
    ]
}

/// Prints the lists as text.
pub fn diff_text(found: &Difference, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} tests ran before, {} after", found.ran_before, found.ran_after)?;
    for (title, changes) in lists(found) {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{title}: {}", changes.len())?;
        for change in changes.iter().take(MAX_LISTED) {
            writeln!(out, "  {}{}  ({})", place(change), name(&label(change)), how(title, change))?;
            if let Some(reason) = change.reason.as_ref().filter(|reason| !reason.is_empty() && title != "much slower") {
                writeln!(out, "      {}", one_line(reason))?;
            }
        }
        if changes.len() > MAX_LISTED {
            writeln!(out, "  and {} more: `-o json` has all", changes.len() - MAX_LISTED)?;
        }
    }
    if lists(found).iter().all(|(_, changes)| changes.is_empty()) {
        writeln!(out, "no test changed")?;
    }
    Ok(())
}

/// Prints a table of counts, and the lists below it.
pub fn diff_markdown(found: &Difference, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| ran before | ran after | new failures | still failing | fixed | not run in one | much slower |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|---:|")?;
    let counts = lists(found).map(|(_, changes)| changes.len().to_string());
    writeln!(out, "| {} | {} | {} |", found.ran_before, found.ran_after, counts.join(" | "))?;
    for (title, changes) in lists(found) {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n### {title}: {}\n", changes.len())?;
        for change in changes.iter().take(MAX_LISTED) {
            let reason = change.reason.as_ref().filter(|reason| !reason.is_empty() && title != "much slower");
            let reason = reason.map(|reason| format!(": {}", escape(reason))).unwrap_or_default();
            writeln!(
                out,
                "- {}**{}** ({}){reason}",
                escaped_place(change),
                escape(&label(change)),
                escape(&how(title, change))
            )?;
        }
        if changes.len() > MAX_LISTED {
            writeln!(out, "- and {} more", changes.len() - MAX_LISTED)?;
        }
    }
    Ok(())
}

fn label(change: &Change) -> String {
    match change.classname.as_str() {
        "" => change.name.clone(),
        class => format!("{} ({class})", change.name),
    }
}

/// The plugin and the place of a test. Empty for the conformance suite.
fn place(change: &Change) -> String {
    if change.plugin == "e2e" {
        String::new()
    } else {
        format!("{} {} ", name(&change.plugin), name(&change.place)).replace("  ", " ")
    }
}

/// The same for Markdown, with a space at the end, because asterisks after a letter do not start
/// bold text.
fn escaped_place(change: &Change) -> String {
    match escape(&place(change)) {
        place if place.is_empty() => place,
        place => place + " ",
    }
}

fn how(title: &str, change: &Change) -> String {
    if title == "much slower" {
        let seconds = |seconds: Option<f64>| short_seconds(seconds.unwrap_or_default());
        return format!("{}, before {}", seconds(change.seconds_after), seconds(change.seconds_before));
    }
    let word = |status: &Option<Status>| {
        status.as_ref().map_or_else(|| "not there".to_owned(), |status| name(status.as_str()))
    };
    let took = change.seconds_after.map(|seconds| format!(", {}", short_seconds(seconds))).unwrap_or_default();
    format!("{}, before {}{took}", word(&change.after), word(&change.before))
}

#[cfg(test)]
mod tests {
    use plumbline_core::Item;

    use super::*;

    fn run(file: &str, tests: &[(&str, &str, &str)]) -> Tests {
        let leaves = tests.iter().map(|(name, status, seconds)| Item {
            name: (*name).to_owned(),
            status: (*status).into(),
            meta: if seconds.is_empty() { [].into() } else { [("duration".to_owned(), (*seconds).to_owned())].into() },
            ..Item::default()
        });
        let suite = Item { name: "suite".into(), items: leaves.collect(), ..Item::default() };
        let meta = [("type".to_owned(), "file".to_owned())].into();
        let file = Item { name: file.into(), meta, items: vec![suite], ..Item::default() };
        let root = Item { name: "e2e".into(), items: vec![file], ..Item::default() };
        let mut tests = Tests::new();
        add(&mut tests, "e2e", &root);
        tests
    }

    /// A run of tests of one suite: classes, names, statuses.
    fn classes(tests: &[(&str, &str, &str)]) -> Tests {
        let leaves = tests.iter().map(|(class, name, status)| Item {
            name: (*name).to_owned(),
            status: (*status).into(),
            meta: if class.is_empty() { [].into() } else { [("classname".to_owned(), (*class).to_owned())].into() },
            ..Item::default()
        });
        let suite = Item { name: "pytest".into(), items: leaves.collect(), ..Item::default() };
        let mut tests = Tests::new();
        add(&mut tests, "p", &Item { name: "p".into(), items: vec![suite], ..Item::default() });
        tests
    }

    fn told(changes: &[Change]) -> Vec<String> {
        changes.iter().map(|change| format!("{}::{}", change.classname, change.name)).collect()
    }

    #[test]
    fn tests_of_one_name_are_told_apart_by_their_class() {
        let before = classes(&[("a", "x", "failed"), ("b", "x", "passed"), ("c", "x", "passed")]);
        let after = classes(&[("a", "x", "passed"), ("b", "x", "failed"), ("c", "x", "passed")]);
        let found = compare(&before, &after);
        assert_eq!((told(&found.new_failures), told(&found.fixed)), (vec!["b::x".to_owned()], vec!["a::x".to_owned()]));
        assert_eq!((found.still_failing.len(), found.not_run.len(), found.ran_after), (0, 0, 3));
    }

    #[test]
    fn classes_do_not_count_where_one_run_has_none() {
        let before = classes(&[("", "x", "failed"), ("", "x", "passed")]);
        let after = classes(&[("a", "x", "passed"), ("b", "x", "failed")]);
        let found = compare(&before, &after);
        assert_eq!((found.still_failing.len(), found.new_failures.len(), found.not_run.len()), (1, 0, 0));
        let worse = compare(&before, &classes(&[("a", "x", "failed"), ("b", "x", "failed")]));
        assert_eq!((worse.still_failing.len(), worse.new_failures.len()), (1, 1));
    }

    #[test]
    fn nodes_and_suites_tell_tests_apart() {
        let run = |statuses: [&str; 2]| {
            let leaf = |status: &str| vec![Item { name: "x".into(), status: status.into(), ..Item::default() }];
            let node = |(name, status): (&str, &str)| Item {
                name: name.to_owned(),
                meta: [("type".to_owned(), "node".to_owned())].into(),
                items: leaf(status),
                ..Item::default()
            };
            let nodes = ["n1", "n2"].into_iter().zip(statuses).map(node).collect();
            let mut tests = Tests::new();
            add(&mut tests, "p", &Item { name: "p".into(), items: nodes, ..Item::default() });
            tests
        };
        let found = compare(&run(["failed", "passed"]), &run(["passed", "failed"]));
        assert_eq!((found.new_failures[0].place.as_str(), found.fixed[0].place.as_str()), ("n2", "n1"));
    }

    #[test]
    fn tests_of_one_identity_are_compared_as_multisets() {
        for (before, after, new, still, fixed, not_run) in [
            (vec!["failed", "failed"], vec!["failed", "passed"], 0, 1, 1, 0),
            (vec!["failed", "failed"], vec!["failed"], 0, 1, 1, 0),
            (vec!["failed", "failed"], vec!["skipped"], 0, 0, 0, 2),
            (vec!["failed", "passed"], vec!["passed", "failed"], 0, 1, 0, 0),
            (vec!["failed", "passed"], vec!["failed", "failed"], 1, 1, 0, 0),
            (vec!["failed", "passed"], vec!["passed", "passed"], 0, 0, 1, 0),
            (vec!["skipped"], vec!["passed", "failed"], 1, 0, 0, 1),
            (vec!["passed"], vec!["passed", "passed"], 0, 0, 0, 1),
        ] {
            let run =
                |statuses: &[&str]| classes(&statuses.iter().map(|status| ("", "x", *status)).collect::<Vec<_>>());
            let found = compare(&run(&before), &run(&after));
            let counts = (found.new_failures.len(), found.still_failing.len(), found.fixed.len(), found.not_run.len());
            assert_eq!(counts, (new, still, fixed, not_run), "{before:?} {after:?}");
        }
    }

    #[test]
    fn setup_nodes_that_passed_are_no_tests() {
        let before = classes(&[("", "[SynchronizedBeforeSuite]", "passed"), ("", "x", "passed")]);
        let after = classes(&[("", "[SynchronizedBeforeSuite]", "failed"), ("", "x", "passed")]);
        let found = compare(&before, &after);
        assert_eq!((found.ran_before, told(&found.new_failures)), (1, vec!["::[SynchronizedBeforeSuite]".to_owned()]));
        assert_eq!(compare(&before, &classes(&[("", "x", "passed")])).not_run, []);
    }

    fn names(changes: &[Change]) -> Vec<&str> {
        changes.iter().map(|change| change.name.as_str()).collect()
    }

    #[test]
    fn every_test_is_where_it_belongs() {
        let before = run(
            "junit_01.xml",
            &[
                ("[It] same", "passed", ""),
                ("[It] broke", "passed", ""),
                ("[It] mended", "failed", ""),
                ("[It] bad", "failed", ""),
                ("[It] gone", "passed", ""),
                ("[It] gave up", "failed", ""),
                ("[It] idle", "skipped", ""),
                ("[It] woke", "skipped", ""),
                ("[It] late", "passed", ""),
                ("[It] lost", "passed", ""),
            ],
        );
        // Other tools give the file another name, and add no prefix to the names of tests.
        let after = run(
            "other.xml",
            &[
                ("same", "passed", ""),
                ("broke", "failed", ""),
                ("mended", "passed", ""),
                ("bad", "failed", ""),
                ("gave up", "skipped", ""),
                ("idle", "skipped", ""),
                ("woke", "passed", ""),
                ("late", "timeout", ""),
                ("lost", "unknown", ""),
                ("new and bad", "failed", ""),
                ("new and skipped", "skipped", ""),
            ],
        );
        let found = compare(&before, &after);
        assert_eq!(names(&found.new_failures), ["broke", "late", "new and bad"]);
        assert_eq!(names(&found.fixed), ["mended"]);
        assert_eq!(names(&found.still_failing), ["bad"]);
        assert_eq!(names(&found.not_run), ["gave up", "gone", "lost", "woke"]);
        assert_eq!((found.ran_before, found.ran_after), (8, 7));
        assert_eq!(compare(&before, &before).new_failures, []);
    }

    #[test]
    fn only_what_became_much_slower_is_named() {
        let before = run(
            "a",
            &[
                ("a", "passed", "1"),
                ("b", "passed", "60"),
                ("c", "passed", "10"),
                ("d", "passed", ""),
                ("e", "passed", "5"),
            ],
        );
        let after = run(
            "a",
            &[
                ("a", "passed", "9"),
                ("b", "passed", "100"),
                ("c", "passed", "20"),
                ("d", "passed", "99"),
                ("e", "failed", "500"),
            ],
        );
        let found = compare(&before, &after);
        assert_eq!(names(&found.slower), ["e", "c"]);
        assert_eq!(names(&found.new_failures), ["e"]);
    }

    #[test]
    fn of_several_tests_of_one_name_the_worst_counts() {
        let before = run("a", &[("t", "passed", "")]);
        for tests in [[("t", "failed", ""), ("t", "passed", "")], [("t", "passed", ""), ("t", "failed", "")]] {
            assert_eq!(names(&compare(&before, &run("a", &tests)).new_failures), ["t"]);
        }
    }
}
