use super::*;
use crate::history::index::{FileKey, Index, PluginFacts, RunFacts};
use crate::history::store::Loaded;
use crate::history::{History, HistoryReport, Selection, flaky_tests, history_text, known_failures};

/// A history of a test `t` with one run for each letter, an hour apart. `f` are two attempts.
fn history(runs: &[(&str, &str, char, Option<u32>)]) -> History {
    let mut index = Index::default();
    for (number, (cluster, version, letter, millis)) in (0..).zip(runs) {
        let facts = RunFacts {
            run: number.to_string(),
            tool: "Plumbline".into(),
            started: 3600 * number,
            cluster: (*cluster).to_owned(),
            version: (*version).to_owned(),
            missed: 0,
            is_dated: true,
            content: 0,
            plugins: vec![PluginFacts { name: "e2e".into(), digest: 1, has_classes: false }],
        };
        let file = FileKey { name: format!("{number:02}.tar.gz"), size: 1, modified: 0 };
        let outcome = [Outcome::Passed, Outcome::Failed, Outcome::Flaky, Outcome::Other, Outcome::Skipped]
            .into_iter()
            .find(|outcome| outcome.letter() == *letter);
        let test = |outcome| (key("t", ""), outcome, *millis);
        index.add(file, facts, outcome.map(test).into_iter().collect()).unwrap();
    }
    History { loaded: vec![Loaded { index, problems: Vec::new() }], problems: Vec::new() }
}

fn key(name: &str, class: &str) -> TestKey {
    let id = plumbline_core::TestId { name: name.into(), classname: class.into(), ..Default::default() };
    TestKey { plugin: "e2e".into(), test: id }
}

fn one_cluster(letters: &str) -> HistoryReport {
    let runs: Vec<_> = letters.chars().map(|letter| ("c", "v1.37.2", letter, None)).collect();
    history(&runs).report(&Selection::default()).unwrap()
}

#[test]
fn a_failure_is_a_flake_only_if_the_test_passed_after_it() {
    // Outcomes, and: ran, passed, flakes.
    for (letters, ran, passed, flakes) in [
        ("....", 4, 4, 0),
        ("..F.", 4, 3, 1),
        // The last failures may be a regression.
        ("..FF", 4, 2, 0),
        (".F.FF", 5, 2, 1),
        ("F-.-", 2, 1, 1),
        ("..f", 3, 2, 1),
        // The last attempt of a flaky run passed.
        ("Ff", 2, 0, 2),
        ("F?", 1, 0, 0),
    ] {
        let report = one_cluster(letters);
        let test = &report.tests[0];
        assert_eq!((test.ran, test.passed, test.flakes), (ran, passed, flakes), "{letters}");
        assert_eq!(test.outcomes, letters);
        assert!((test.pass_rate - passed as f64 / ran as f64).abs() < 1e-9);
    }
}

#[test]
fn a_pass_on_another_version_or_cluster_makes_no_flake() {
    let upgrade = [("c", "v1.36.0", 'F', None), ("c", "v1.37.2", '.', None)];
    let report = history(&upgrade).report(&Selection::default()).unwrap();
    assert_eq!((report.tests[0].flakes, report.clusters.len()), (0, 2));
    let versions: Vec<_> =
        report.tests[0].versions.iter().map(|one| (one.version.as_deref().unwrap(), one.ran, one.passed)).collect();
    assert_eq!(versions, [("v1.36.0", 1, 0), ("v1.37.2", 1, 1)]);
    let elsewhere = [("a", "v1.37.2", 'F', None), ("b", "v1.37.2", '.', None), ("a", "v1.37.2", 'F', None)];
    let report = history(&elsewhere).report(&Selection::default()).unwrap();
    let streaks: Vec<_> =
        report.tests.iter().map(|test| (test.streak.failing, test.streak.runs, test.flakes)).collect();
    assert_eq!(streaks, [(true, 2, 0), (false, 1, 0)]);
}

#[test]
fn without_a_version_only_attempts_of_one_run_make_a_flake() {
    // A local run does not know the version of the code that it tests, so a fix looks like a flake.
    let local = |letters: &str| {
        let runs: Vec<_> = letters.chars().map(|letter| ("", "", letter, None)).collect();
        let report = history(&runs).report(&Selection::default()).unwrap();
        (report.tests[0].flakes, flaky_tests(&report).len())
    };
    assert_eq!(local("F.F..F"), (0, 0));
    assert_eq!(local("f.F.f."), (2, 1));
    // Runs with and without a known version are not compared.
    let mixed = [("c", "v1.37.2", 'F', None), ("c", "", 'F', None), ("c", "", '.', None), ("c", "v1.37.2", '.', None)];
    assert_eq!(history(&mixed).report(&Selection::default()).unwrap().tests[0].flakes, 1);
}

#[test]
fn a_series_of_failures_has_a_first_bad_run() {
    let report = one_cluster(".FFF.-F-F");
    let test = &report.tests[0];
    assert_eq!((test.streak.failing, test.streak.runs, test.longest_failing), (true, 2, 3));
    assert_eq!((test.first_bad.as_deref(), test.last_good.as_deref()), (Some("06.tar.gz"), Some("04.tar.gz")));
    assert_eq!(test.streak.since, Timestamp::from_second(6 * 3600).unwrap());
    let good = &one_cluster("F..").tests[0];
    assert_eq!((good.streak.failing, good.streak.runs, &good.first_bad), (false, 2, &None));
    // It failed in every run.
    assert_eq!(one_cluster("FF").tests[0].last_good, None);
}

#[test]
fn the_trend_compares_the_newest_runs_with_those_before() {
    let run = |seconds: u32| ("c", "v", '.', Some(seconds * 1000));
    let slow: Vec<_> = [10, 12, 11, 30, 31, 29, 30, 33].map(run).into();
    let report = history(&slow).report(&Selection::default()).unwrap();
    assert_eq!(report.tests[0].slower(), Some((11.0, 30.0)));
    // Too few runs before say nothing.
    let few = history(&slow[1..]).report(&Selection::default()).unwrap();
    assert_eq!((few.tests[0].slower(), few.tests[0].seconds_recent), (None, None));
    // Twice as long is not much if it is short.
    let short: Vec<_> = [1, 1, 1, 5, 5, 5, 5, 5].map(run).into();
    assert_eq!(history(&short).report(&Selection::default()).unwrap().tests[0].slower(), None);
}

#[test]
fn the_text_has_the_trend_of_a_test_and_its_cluster() {
    let run = |cluster: &'static str, seconds: u32| (cluster, "v1.37.2", '.', Some(seconds * 1000));
    let slow = [10, 12, 11, 30, 31, 29, 30, 33].map(|seconds| run("a", seconds));
    let report = history(&[&slow[..], &[run("b", 3)]].concat()).report(&Selection::default()).unwrap();
    let mut out = Vec::new();
    history_text(&report, false, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let facts = "........  passed 8 of 8 (100 %), takes 30.0 s, previously 11.0 s";
    assert!(text.contains(&format!("much slower: 1\n  t [cluster a]\n      {facts}\n")), "{text}");
}

#[test]
fn runs_and_tests_are_selected() {
    let all = history(&[("abc", "v1.36.0", 'F', None), ("abd", "v1.37.2", '.', None), ("abd", "v1.37.20", '.', None)]);
    let runs = |selection: Selection| all.report(&selection).map(|report| report.runs.len());
    assert_eq!(runs(Selection { last: Some(2), ..Selection::default() }).unwrap(), 2);
    assert_eq!(runs(Selection { cluster: Some("ab".into()), ..Selection::default() }).unwrap(), 3);
    assert_eq!(runs(Selection { kubernetes_version: Some("v1.37.2".into()), ..Selection::default() }).unwrap(), 1);
    assert_eq!(runs(Selection { kubernetes_version: Some("v1.37".into()), ..Selection::default() }).unwrap(), 2);
    let wrong = runs(Selection { cluster: Some("x".into()), ..Selection::default() }).unwrap_err().in_full();
    assert!(wrong.contains("the history has the clusters abc, abd"), "{wrong}");
    let none = all.report(&Selection { test: Some("^u".into()), ..Selection::default() }).unwrap();
    assert_eq!((none.tests.len(), none.runs.len()), (0, 3));
    assert!(all.report(&Selection { test: Some("(".into()), ..Selection::default() }).is_err());
}

/// A history of runs with these tests, by class and letter. Runs whose tests have no class are from
/// another tool.
fn with_classes(runs: &[&[(&str, Outcome)]]) -> History {
    let mut index = Index::default();
    for (number, tests) in (0..).zip(runs) {
        let has_classes = tests.iter().any(|(class, _)| !class.is_empty());
        let facts = RunFacts {
            run: number.to_string(),
            started: 3600 * number,
            cluster: "c".into(),
            version: "v1".into(),
            plugins: vec![PluginFacts { name: "e2e".into(), digest: 1, has_classes }],
            ..RunFacts::default()
        };
        let file = FileKey { name: format!("{number}.tar.gz"), size: 1, modified: 0 };
        index
            .add(file, facts, tests.iter().map(|(class, outcome)| (key("t", class), *outcome, None)).collect())
            .unwrap();
    }
    History { loaded: vec![Loaded { index, problems: Vec::new() }], problems: Vec::new() }
}

#[test]
fn a_test_without_a_class_is_the_one_of_its_name() {
    use Outcome::{Failed, Passed};
    let rows = |runs: &[&[(&str, Outcome)]]| {
        let report = with_classes(runs).report(&Selection::default()).unwrap();
        let rows: Vec<String> =
            report.tests.iter().map(|test| format!("{} {}", test.list_name(), test.outcomes)).collect();
        let names = |tests: Vec<&TestHistory>| tests.into_iter().map(TestHistory::list_name).collect::<Vec<_>>();
        (rows.join(", "), names(known_failures(&report, 3)), names(flaky_tests(&report)))
    };
    let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    // Its name alone would also excuse the test of a class that is new.
    let one: [&[(&str, Outcome)]; 3] = [&[("", Failed)], &[("a", Failed)], &[("a", Failed)]];
    assert_eq!(rows(&one), ("t (a) FFF".to_owned(), known(&["t (a)"]), known(&[])));
    // The failures of one class excuse neither the other class, nor the name of both.
    let two: [&[(&str, Outcome)]; 4] = [
        &[("", Failed)],
        &[("a", Failed), ("b", Passed)],
        &[("a", Failed), ("b", Passed)],
        &[("a", Failed), ("b", Passed)],
    ];
    assert_eq!(rows(&two), ("t F---, t (a) -FFF, t (b) -...".to_owned(), known(&["t (a)"]), known(&[])));
    let older: [&[(&str, Outcome)]; 4] =
        [&[("", Failed)], &[("", Failed)], &[("", Failed)], &[("a", Failed), ("b", Passed)]];
    assert_eq!(rows(&older), ("t FFF-, t (a) ---F, t (b) ---.".to_owned(), known(&[]), known(&[])));
    let flaky: [&[(&str, Outcome)]; 5] =
        [&[("", Failed)], &[("", Passed)], &[("", Failed)], &[("", Passed)], &[("a", Passed), ("b", Passed)]];
    assert_eq!(rows(&flaky), ("t F.F.-, t (a) ----., t (b) ----.".to_owned(), known(&[]), known(&[])));
}

/// The runs of a source that numbers its tests in the order of `tests`. Returns the source.
fn source(runs: Range<usize>, tests: &[usize]) -> Loaded {
    let mut index = Index::default();
    for run in runs {
        let facts = RunFacts { started: i64::try_from(run).unwrap(), cluster: "c".into(), ..RunFacts::default() };
        let file = FileKey { name: format!("{run}.tar.gz"), size: 1, modified: 0 };
        let test = |test: &usize| (key(&format!("t{test:05}"), ""), outcome_of(*test, run), Some(1000));
        index.add(file, facts, tests.iter().map(test).collect()).unwrap();
    }
    Loaded { index, problems: Vec::new() }
}

fn outcome_of(test: usize, run: usize) -> Outcome {
    match (test + run) % 5 {
        0 => Outcome::Failed,
        1 => Outcome::Skipped,
        _ => Outcome::Passed,
    }
}

#[test]
fn tests_of_all_chunks_have_their_outcomes_whatever_the_order_in_sources() {
    let all: Vec<usize> = (0..3 * CHUNK + 7).collect();
    let reversed: Vec<usize> = all.iter().rev().copied().collect();
    let (last, missing) = (&reversed[..2 * CHUNK], CHUNK + 7);
    // The number of runs, and that of the first tests that the second source does not have.
    for (runs, missing, loaded) in [
        (2, 0, vec![source(0..2, &all)]),
        (2, 0, vec![source(0..2, &reversed)]),
        (4, 0, vec![source(0..2, &all), source(2..4, &reversed)]),
        (4, missing, vec![source(0..2, &all), source(2..4, last)]),
    ] {
        let outcome =
            |test: usize, run: usize| if run >= 2 && test < missing { Outcome::Skipped } else { outcome_of(test, run) };
        let strip = |test: usize| (0..runs).map(|run| outcome(test, run).letter()).collect::<String>();
        let failures = |run: usize| all.iter().filter(|test| outcome(**test, run) == Outcome::Failed).count() as u64;
        let history = History { loaded, problems: Vec::new() };
        let is_selected = |pattern: &str, test: usize| match pattern {
            "3$" => test % 10 == 3,
            "^t0052" => test / 10 == 52,
            _ => true,
        };
        for pattern in ["t", "3$", "^t0052"] {
            let report = history.report(&Selection { test: Some(pattern.into()), ..Selection::default() }).unwrap();
            let found: Vec<(&str, &str)> =
                report.tests.iter().map(|test| (test.test.name.as_str(), test.outcomes.as_str())).collect();
            let tests = all.iter().filter(|test| is_selected(pattern, **test));
            let wanted: Vec<(String, String)> = tests.map(|test| (format!("t{test:05}"), strip(*test))).collect();
            assert_eq!(found.len(), wanted.len(), "{pattern}");
            for (found, (name, outcomes)) in found.iter().zip(&wanted) {
                assert_eq!(*found, (name.as_str(), outcomes.as_str()));
            }
            if pattern == "t" {
                let failed: Vec<u64> = report.runs.iter().map(|run| run.failed).collect();
                assert_eq!(failed, (0..runs).map(failures).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_copy_of_an_archive_is_no_further_evidence() {
    let runs = [("c", "v1", '.', None), ("c", "v1", 'F', None), ("c", "v1", '.', None)];
    let mut twice = history(&runs);
    twice.loaded.extend(history(&runs).loaded);
    let report = twice.report(&Selection::default()).unwrap();
    assert_eq!((report.runs.len(), report.tests[0].outcomes.as_str(), flaky_tests(&report).len()), (3, ".F.", 0));
    let last = Selection { last: Some(2), ..Selection::default() };
    assert_eq!(twice.report(&last).unwrap().tests[0].outcomes, "F.");
}

#[test]
fn a_damaged_copy_of_an_archive_does_not_hide_the_whole_one() {
    let mut both = history(&[("c", "v1", '.', None)]);
    let damaged = &mut both.loaded[0].index.runs[0];
    damaged.file = damaged.file.clone().unsettled();
    both.loaded.extend(history(&[("c", "v1", 'F', None)]).loaded);
    assert_eq!(both.report(&Selection::default()).unwrap().tests[0].outcomes, "F");
}

#[test]
fn known_failures_and_flaky_tests_need_evidence() {
    let known = |letters: &str, runs| known_failures(&one_cluster(letters), runs).len();
    assert_eq!((known(".FFF", 3), known("..FF", 3), known("FF", 3), known("FFF.", 3)), (1, 0, 1, 0));
    let flaky = |letters: &str| flaky_tests(&one_cluster(letters)).len();
    assert_eq!((flaky(".F.F."), flaky(".F..."), flaky(".F.F.F"), flaky(".F.F.FF")), (1, 0, 1, 0));
    // Lists have only names, so another cluster counts too.
    let both = |one: &str, other: &str| {
        let mut runs = Vec::new();
        for (cluster, letters) in [("c", one), ("d", other)] {
            runs.extend(letters.chars().map(|letter| (cluster, "v1", letter, None)));
        }
        let report = history(&runs).report(&Selection::default()).unwrap();
        (known_failures(&report, 2).len(), flaky_tests(&report).len())
    };
    assert_eq!(
        (both("FFF", "FF"), both("FFF", ".."), both(".F.F.", "."), both(".F.F.", "FF")),
        ((2, 0), (0, 0), (0, 1), (0, 0))
    );
}
