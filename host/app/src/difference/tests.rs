use plumbline_core::Item;

use super::*;
use crate::report::testing::{leaf, node};

fn run(file: &str, tests: &[(&str, &str, &str)]) -> Tests {
    let leaves = tests.iter().map(|(name, status, seconds)| Item {
        meta: if seconds.is_empty() { [].into() } else { [("duration".to_owned(), (*seconds).to_owned())].into() },
        ..leaf(name, status)
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
        meta: if class.is_empty() { [].into() } else { [("classname".to_owned(), (*class).to_owned())].into() },
        ..leaf(name, status)
    });
    let suite = Item { name: "pytest".into(), items: leaves.collect(), ..Item::default() };
    let mut tests = Tests::new();
    add(&mut tests, "p", &Item { name: "p".into(), items: vec![suite], ..Item::default() });
    tests
}

fn names_with_classes(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| format!("{}::{}", change.test.classname, change.test.name)).collect()
}

#[test]
fn tests_with_the_same_name_are_distinguished_by_class() {
    let before = classes(&[("a", "x", "failed"), ("b", "x", "passed"), ("c", "x", "passed")]);
    let after = classes(&[("a", "x", "passed"), ("b", "x", "failed"), ("c", "x", "passed")]);
    let found = compare(&before, &after);
    assert_eq!(
        (names_with_classes(&found.new_failures), names_with_classes(&found.fixed)),
        (vec!["b::x".to_owned()], vec!["a::x".to_owned()])
    );
    assert_eq!((found.still_failing.len(), found.not_run.len(), found.ran_after), (0, 0, 3));
}

#[test]
fn classes_do_not_count_if_one_run_has_none() {
    let before = classes(&[("", "x", "failed"), ("", "x", "passed")]);
    let after = classes(&[("a", "x", "passed"), ("b", "x", "failed")]);
    let found = compare(&before, &after);
    assert_eq!((found.still_failing.len(), found.new_failures.len(), found.not_run.len()), (1, 0, 0));
    let worse = compare(&before, &classes(&[("a", "x", "failed"), ("b", "x", "failed")]));
    assert_eq!((worse.still_failing.len(), worse.new_failures.len()), (1, 1));
}

#[test]
fn a_test_whose_status_is_a_list_ran_only_if_one_of_the_list_did() {
    let before = run("a.xml", &[("x", "failed", ""), ("y", "failed", "")]);
    let after = run("a.xml", &[("x", "skipped: 2", ""), ("y", "passed: 1, skipped: 2", "")]);
    let found = compare(&before, &after);
    assert_eq!((found.ran_after, found.fixed.len(), found.not_run.len()), (1, 1, 1));
    assert_eq!(found.not_run[0].test.name, "x");
}

#[test]
fn nodes_and_suites_tell_tests_apart() {
    let run = |statuses: [&str; 2]| {
        let node = |(name, status): (&str, &str)| node(name, vec![leaf("x", status)]);
        let nodes = ["n1", "n2"].into_iter().zip(statuses).map(node).collect();
        let mut tests = Tests::new();
        add(&mut tests, "p", &Item { name: "p".into(), items: nodes, ..Item::default() });
        tests
    };
    let found = compare(&run(["failed", "passed"]), &run(["passed", "failed"]));
    assert_eq!((found.new_failures[0].test.place.as_str(), found.fixed[0].test.place.as_str()), ("n2", "n1"));
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
        let run = |statuses: &[&str]| classes(&statuses.iter().map(|status| ("", "x", *status)).collect::<Vec<_>>());
        let found = compare(&run(&before), &run(&after));
        let counts = (found.new_failures.len(), found.still_failing.len(), found.fixed.len(), found.not_run.len());
        assert_eq!(counts, (new, still, fixed, not_run), "{before:?} {after:?}");
    }
}

#[test]
fn setup_nodes_that_passed_are_not_tests() {
    let before = classes(&[("", "[SynchronizedBeforeSuite]", "passed"), ("", "x", "passed")]);
    let after = classes(&[("", "[SynchronizedBeforeSuite]", "failed"), ("", "x", "passed")]);
    let found = compare(&before, &after);
    assert_eq!(
        (found.ran_before, names_with_classes(&found.new_failures)),
        (1, vec!["::[SynchronizedBeforeSuite]".to_owned()])
    );
    assert_eq!(compare(&before, &classes(&[("", "x", "passed")])).not_run, []);
}

fn names(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.test.name.as_str()).collect()
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
fn only_what_became_much_slower_or_faster_is_named() {
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
    assert_eq!((names(&found.faster), found.seconds_before, found.seconds_after), (Vec::new(), 76.0, 629.0));
    assert_eq!(names(&compare(&after, &before).faster), ["e", "c"]);
    assert_eq!(names(&found.new_failures), ["e"]);
}

#[test]
fn of_several_tests_of_one_name_the_worst_counts() {
    let before = run("a", &[("t", "passed", "")]);
    for tests in [[("t", "failed", ""), ("t", "passed", "")], [("t", "passed", ""), ("t", "failed", "")]] {
        assert_eq!(names(&compare(&before, &run("a", &tests)).new_failures), ["t"]);
    }
}
