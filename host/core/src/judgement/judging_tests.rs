use proptest::prelude::*;
use serde_json::json;

use super::*;

fn ruling(class: &str, counts: bool) -> Ruling {
    Ruling { class: class.to_owned(), counts, ..Ruling::default() }
}

fn judged(leaves: &[(&str, Option<Ruling>)], more: impl FnOnce(&mut Judging)) -> PluginVerdict {
    let mut judging = Judging::new("e2e");
    judging.judge(JudgeRecord { judge: "known-failures".into(), ..JudgeRecord::default() });
    for (n, (status, ruling)) in leaves.iter().enumerate() {
        let path = ["junit.xml".to_owned(), format!("test {n}")];
        let ruling = ruling.as_ref().map(|ruling| (ruling, "known-failures"));
        judging.leaf(Leaf { set: "global", path: &path, status: &Status::from(*status), ruling });
    }
    more(&mut judging);
    judging.finish()
}

fn check(outcome: CheckOutcome) -> Check {
    let text = String::new;
    Check { id: "PODS-001".into(), name: "pods".into(), outcome, want: text(), got: text(), reason: text() }
}

#[test]
fn the_status_follows_from_what_counts() {
    let known = || Some(ruling("known-failure", false));
    let none = |_: &mut Judging| {};
    let status = |leaves: &[(&str, Option<Ruling>)]| judged(leaves, none).status;
    assert_eq!(status(&[("passed", None), ("skipped", None), ("warning", None)]), VerdictStatus::Passed);
    assert_eq!(status(&[("passed", None), ("failed", None)]), VerdictStatus::Failed);
    assert_eq!(status(&[("timeout", None)]), VerdictStatus::Failed);
    assert_eq!(status(&[("failed", known()), ("timeout", known())]), VerdictStatus::Passed);
    assert_eq!(status(&[("skipped", Some(ruling("skip-not-allowed", true)))]), VerdictStatus::Failed);
    assert_eq!(status(&[("passed", None), ("unknown", None)]), VerdictStatus::Unknown);
    assert_eq!(status(&[("passed", None), ("unknown", known())]), VerdictStatus::Passed);
    assert_eq!(status(&[("failed", None), ("unknown", None)]), VerdictStatus::Failed);
    assert_eq!(status(&[]), VerdictStatus::Unknown);
    // Nothing ran.
    assert_eq!(status(&[("skipped", None), ("not-read", None)]), VerdictStatus::Unknown);
    assert_eq!(status(&[("not-read", None)]), VerdictStatus::Unknown);
    // A status may be a list of counts.
    assert_eq!(status(&[("skipped: 2", None)]), VerdictStatus::Unknown);
    assert_eq!(status(&[("not-read: 1", None), ("Skipped: 1, skip: 4", None)]), VerdictStatus::Unknown);
    assert_eq!(status(&[("passed: 1, skipped: 2", None)]), VerdictStatus::Passed);
    assert_eq!(status(&[("passed", None), ("not-read", None)]), VerdictStatus::Passed);

    let passed = [("passed", None)];
    let with = |outcome| judged(&passed, |judging| judging.check("checks", check(outcome))).status;
    assert_eq!(with(CheckOutcome::Passed), VerdictStatus::Passed);
    assert_eq!(with(CheckOutcome::Failed), VerdictStatus::Failed);
    assert_eq!(with(CheckOutcome::Unknown), VerdictStatus::Unknown);
    // Checks may read files that no module reads.
    let checked = |status: &'static str| {
        judged(&[(status, None)], |judging| judging.check("checks", check(CheckOutcome::Passed))).status
    };
    assert_eq!(checked("not-read"), VerdictStatus::Passed);
    assert_eq!(checked("skipped"), VerdictStatus::Unknown);
    let broken = JudgeRecord { judge: "j".into(), error: Some("crashed".into()), ..JudgeRecord::default() };
    assert_eq!(judged(&passed, |judging| judging.judge(broken)).status, VerdictStatus::Unknown);
}

#[test]
fn every_failure_ends_in_a_class_with_a_reason() {
    let verdict = judged(&[("passed", None), ("failed", None), ("failed", Some(ruling("flaky", false)))], |_| {});
    let seen: Vec<_> = verdict
        .items
        .iter()
        .map(|item| (item.name(), item.ruling.class.as_str(), item.ruling.counts, item.judge.as_str()))
        .collect();
    assert_eq!(seen, [("test 1", "failure", true, ""), ("test 2", "flaky", false, "known-failures")]);
    assert_eq!(verdict.items[0].ruling.reason, NO_RULING);
    insta::assert_snapshot!(serde_json::to_string_pretty(&verdict).unwrap(), @r#"
    {
      "version": 1,
      "plugin": "e2e",
      "status": "failed",
      "failures": 2,
      "excused": 1,
      "counting": 1,
      "unknown": 0,
      "chain": [
        {
          "judge": "known-failures"
        }
      ],
      "classes": {
        "failure": {
          "items": 1,
          "counting": 1,
          "failures": 1
        },
        "flaky": {
          "items": 1,
          "counting": 0,
          "failures": 1
        }
      },
      "items": [
        {
          "set": "global",
          "path": [
            "junit.xml",
            "test 1"
          ],
          "status": "failed",
          "class": "failure",
          "counts": true,
          "reason": "no judge ruled on it"
        },
        {
          "set": "global",
          "path": [
            "junit.xml",
            "test 2"
          ],
          "status": "failed",
          "class": "flaky",
          "counts": false,
          "judge": "known-failures"
        }
      ],
      "checks": [],
      "left_out": 0
    }
    "#);
    assert_eq!(serde_json::from_value::<PluginVerdict>(serde_json::to_value(&verdict).unwrap()).unwrap(), verdict);
    // A document of another version is read leniently.
    let other: PluginVerdict = serde_json::from_value(json!({"status": "splendid", "unheard-of": 1})).unwrap();
    assert_eq!(other, PluginVerdict::default());
}

#[test]
fn too_many_items_are_counted_and_those_that_count_have_room() {
    let mut judging = Judging::new("p");
    let (path, excused) = (["t".to_owned()], ruling("flaky", false));
    let leaf = |ruling| Leaf { set: "global", path: &path, status: &Status::Failed, ruling };
    for _ in 0..MAX_ITEMS {
        judging.leaf(leaf(Some((&excused, "j"))));
    }
    judging.leaf(leaf(None));
    let verdict = judging.finish();
    assert_eq!((verdict.items.len(), verdict.left_out), (MAX_HARMLESS + 1, (MAX_ITEMS - MAX_HARMLESS) as u64));
    assert_eq!((verdict.failures, verdict.counting), (MAX_ITEMS as u64 + 1, 1));
}

#[test]
fn the_sentence_says_why() {
    let known = || ("failed", Some(ruling("known-failure", false)));
    let flaky = || ("failed", Some(ruling("flaky", false)));
    let checks =
        |n: usize, outcome| move |judging: &mut Judging| (0..n).for_each(|_| judging.check("checks", check(outcome)));
    let sentence_of = |verdict: PluginVerdict| verdict.summary().sentence();
    assert_eq!(
        sentence_of(judged(&[known(), known(), known(), flaky()], checks(7, CheckOutcome::Passed))),
        "passed: 4 failures, all excused: 3 known-failure, 1 flaky; 7 of 7 checks"
    );
    assert_eq!(sentence_of(judged(&[flaky()], |_| {})), "passed: 1 failure, excused: 1 flaky");
    assert_eq!(sentence_of(judged(&[("passed", None)], |_| {})), "passed: no failures");
    assert_eq!(
        sentence_of(judged(&[known(), ("failed", None)], checks(2, CheckOutcome::Failed))),
        "failed: 2 failures, 1 excused: 1 known-failure; 1 counts: 1 failure; 0 of 2 checks"
    );
    let skip = ("skipped", Some(ruling("skip-not-allowed", true)));
    assert_eq!(sentence_of(judged(&[skip.clone(), skip], |_| {})), "failed: no failures; 2 count: 2 skip-not-allowed");
    // Checks may read files that no module reads.
    let checked = |status: &'static str| {
        judged(&[(status, None)], |judging| judging.check("checks", check(CheckOutcome::Passed))).status
    };
    assert_eq!(checked("not-read"), VerdictStatus::Passed);
    assert_eq!(checked("skipped"), VerdictStatus::Unknown);
    let broken = JudgeRecord { judge: "j".into(), error: Some("crashed".into()), ..JudgeRecord::default() };
    assert_eq!(
        sentence_of(judged(&[("unknown", None)], |judging| judging.judge(broken))),
        "unknown: no failures; 1 of unknown status; 1 judge could not finish"
    );
}

#[test]
fn the_summary_has_the_reasons_of_each_class() {
    let known = |reason: &str, source: &str| {
        let ruling = Ruling { reason: reason.into(), source: source.into(), ..ruling("known-failure", false) };
        ("failed", Some(ruling))
    };
    let reasons_of = |leaves: &[(&str, Option<Ruling>)]| judged(leaves, |_| {}).summary().reasons;
    let same = reasons_of(&[known("no UDP", "a"), known("no UDP", "b"), ("failed", None)]);
    assert_eq!((same["known-failure"].as_str(), same[UNRULED_CLASS].as_str()), ("no UDP", NO_RULING));
    let several = reasons_of(&[known("no UDP", ""), known("", "list, entry 2"), known("no\u{1b}route", "")]);
    assert_eq!(several["known-failure"], "no UDP, and 2 other reasons");
    let long = reasons_of(&[known(&"r".repeat(1 << 12), "")]);
    assert_eq!(long["known-failure"], format!("{}…", "r".repeat(MAX_CLASS_REASON)));
    assert!(reasons_of(&[known("", "")]).is_empty());
}

#[test]
fn reasons_of_excused_failures_leave_room_for_those_that_count() {
    let mut judging = Judging::new("p");
    let long = Ruling { reason: "r".repeat(1 << 20), ..ruling("known-failure", false) };
    let path = ["a test".to_owned()];
    for _ in 0..100 {
        let ruling = Some((&long, "known-failures"));
        judging.leaf(Leaf { set: "global", path: &path, status: &Status::Failed, ruling });
    }
    judging.leaf(Leaf { set: "global", path: &path, status: &Status::Failed, ruling: None });
    let verdict = judging.finish();
    assert_eq!((verdict.excused, verdict.counting), (100, 1));
    assert!(verdict.left_out > 50, "{}", verdict.left_out);
    assert!(verdict.items.last().unwrap().ruling.counts, "who looks for what counts finds it");
}

fn any_leaf() -> impl Strategy<Value = (&'static str, Option<Ruling>)> {
    let status = prop::sample::select(&["passed", "failed", "skipped", "timeout", "unknown", "warning"][..]);
    let ruling = ("[a-z]{1,2}", any::<bool>()).prop_map(|(class, counts)| ruling(&class, counts));
    (status, prop::option::of(ruling))
}

proptest! {
    #[test]
    fn sums_agree_and_the_summary_is_small(leaves in prop::collection::vec(any_leaf(), 0..300)) {
        let verdict = judged(&leaves, |_| {});
        let failed = leaves.iter().filter(|(status, _)| ["failed", "timeout"].contains(status)).count() as u64;
        let ruled = leaves.iter().filter(|(status, ruling)| ruling.is_some() || ["failed", "timeout"].contains(status));
        prop_assert_eq!(verdict.failures, failed);
        prop_assert_eq!(verdict.items.len(), ruled.count());
        prop_assert_eq!(verdict.classes.values().map(|count| count.items).sum::<u64>(), verdict.items.len() as u64);
        prop_assert_eq!(verdict.classes.values().map(|count| count.counting).sum::<u64>(), verdict.counting);
        prop_assert_eq!(verdict.classes.values().map(|count| count.failures).sum::<u64>(), failed);
        prop_assert!(verdict.excused <= failed);
        prop_assert_eq!(verdict.status == VerdictStatus::Failed, verdict.counting > 0);
        let summary = verdict.summary();
        prop_assert!(summary.classes.len() <= MAX_SUMMARY_CLASSES);
        prop_assert_eq!(summary.classes.values().map(|count| count.items).sum::<u64>(), verdict.items.len() as u64);
        let text = serde_json::to_string(&summary).unwrap();
        prop_assert!(text.len() < 2048);
        prop_assert_eq!(serde_json::from_str::<VerdictSummary>(&text).unwrap(), summary);
    }
}
