//! What changed between two runs.

use plumbline_core::Status;
use serde::Serialize;

use super::tests_of::{Key, Test, Tests};

/// How many times as long a test must take to be named.
const GREW_TIMES: f64 = 2.0;

/// And how many seconds longer: a test of a second that takes three is nothing to look at.
const GREW_SECONDS: f64 = 10.0;

/// A test that is not as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Change {
    /// The plugin.
    pub(crate) plugin: String,
    /// Where it stands in the tree; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) place: String,
    /// Its name.
    pub(crate) name: String,
    /// How it ended in the earlier run; nothing where it is not there.
    pub(crate) before: Option<Status>,
    /// How it ended in the later run.
    pub(crate) after: Option<Status>,
    /// How many seconds it took in the earlier run.
    #[serde(rename = "seconds-before", skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_before: Option<f64>,
    /// How many seconds it took in the later run.
    #[serde(rename = "seconds-after", skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_after: Option<f64>,
    /// The first line of why it failed, in the later run where it failed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// What changed. Keys are only ever added (docs/results.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Difference {
    /// Tests that ran in the earlier run.
    pub(crate) ran_before: usize,
    /// Tests that ran in the later run.
    pub(crate) ran_after: usize,
    /// Failed in the later run, and did not in the earlier.
    pub(crate) new_failures: Vec<Change>,
    /// Failed in the earlier run, and ran without a failure in the later.
    pub(crate) fixed: Vec<Change>,
    /// Failed in both.
    pub(crate) still_failing: Vec<Change>,
    /// Ran in one and not in the other; those that failed when they ran for the first time stand under `new-failures`.
    pub(crate) not_run: Vec<Change>,
    /// Took much longer, whatever came of it: the worst first.
    pub(crate) slower: Vec<Change>,
}

/// Compares two runs.
pub(crate) fn compare(before: &Tests, after: &Tests) -> Difference {
    let ran = |tests: &Tests| tests.values().filter(|test| test.ran()).count();
    let mut found = Difference { ran_before: ran(before), ran_after: ran(after), ..Difference::default() };
    for (key, old) in before {
        sort_in(key, Some(old), after.get(key), &mut found);
    }
    for (key, new) in after {
        if !before.contains_key(key) {
            sort_in(key, None, Some(new), &mut found);
        }
    }
    let growth = |change: &Change| change.seconds_after.unwrap_or_default() - change.seconds_before.unwrap_or_default();
    found.slower.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
    found
}

fn sort_in(key: &Key, before: Option<&Test>, after: Option<&Test>, found: &mut Difference) {
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

fn change(key: &Key, before: Option<&Test>, after: Option<&Test>) -> Change {
    let reason = |test: Option<&Test>| test.and_then(|test| test.reason.clone());
    Change {
        plugin: key.plugin.clone(),
        place: key.place.clone(),
        name: key.name.clone(),
        before: before.map(|test| test.status.clone()),
        after: after.map(|test| test.status.clone()),
        seconds_before: before.and_then(|test| test.seconds),
        seconds_after: after.and_then(|test| test.seconds),
        reason: reason(after).or_else(|| reason(before)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_of::add;
    use super::*;
    use plumbline_core::Item;

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
        // Other tools name the file otherwise, and put nothing before names.
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
