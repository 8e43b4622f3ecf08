//! Tests of known failures, flaky tests and allowed skips.

use plumbline_module_known_failures::Lists;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Ruling, Status};

use crate::support::{judged, leaf, suite};

const UDP: &str = "[It] [sig-network] Services should serve UDP";

/// A list with every kind of entry.
const KNOWN: &str = r#"
- test: "[sig-network] Services should serve UDP"
  reason: the cloud has no UDP load balancers
  source: https://example.org/issues/1
  until: 2027-03-31
- pattern: '^\[sig-storage\].*attach'
- "[sig-apps] Deployment should run"
"#;

fn known(list: &str, today: &str) -> Case {
    suite("known-failures").file("data/known.yaml", list).option("today", today)
}

#[test]
fn failures_in_a_list_do_not_count_and_say_where_it_is_known() {
    let said = judged(&known(KNOWN, "2027-03-31"));
    insta::assert_snapshot!(said.outline(), @"
    global/[It] [sig-network] Services should serve UDP: known-failure, excused: the cloud has no UDP load balancers
    global/[It] [sig-storage] CSI should attach [Slow]: known-failure, excused: it is a known failure
    ");
    assert_eq!(said.ruling(UDP).unwrap().source, "known.yaml, entry 1 (https://example.org/issues/1)");
    assert_eq!(said.log[0].1, "1 of 3 entries match nothing in these results");
}

#[test]
fn an_entry_names_the_cause_of_failures_with_any_name() {
    let failed = |name: &str, cause: &str| leaf(name, Status::Failed).meta("cause", cause);
    let case = |judge: &str| {
        let items = [
            Item::new(0, "f"),
            failed("a", "0a65"),
            failed("b", "0a65"),
            failed("c", "ffff"),
            leaf("d", Status::Failed),
        ];
        Case::new().format(judge).results("global", items)
    };
    let list = "- {pattern: a|c, reason: by pattern}\n- {cause: 0a65, reason: the disk is full}\n- {test: b, reason: by name}\n";
    insta::assert_snapshot!(judged(&case("known-failures").file("data/k.yaml", list)).outline(), @"
    global/a: known-failure, excused: the disk is full
    global/b: known-failure, excused: by name
    global/c: known-failure, excused: by pattern
    ");
    let expired = "- {cause: 0a65, until: 2020-01-01}\n";
    assert_eq!(judged(&case("flaky").file("data/k.yaml", expired).option("today", "2026-11-25")).count("expired"), 2);
    let skips = case("allowed-skips").file("data/s.yaml", "- a\n- cause: 0a65\n").judge::<Lists>();
    assert_eq!(
        skips.outcome,
        Err("s.yaml, entry 2: `cause` is for failures, and this list is for skipped tests".to_owned())
    );
}

#[test]
fn a_failure_in_a_list_of_counts_can_be_known() {
    let own = ["failed: 1, passed: 2", "TimedOut: 1", "passed: 2"]
        .map(|status| Item::new(0, status).status(Status::from(status)));
    let case = Case::new().format("known-failures").results("global", own).file("data/k.yaml", "- pattern: ':'\n");
    assert_eq!(judged(&case).count("known-failure"), 2);
}

#[test]
fn flaky_tests_have_their_own_class() {
    let said = judged(&suite("flaky").file("data/a.json", format!(r#"[{{"test": "{}"}}]"#, &UDP[5..])));
    insta::assert_snapshot!(said.outline(), @"global/[It] [sig-network] Services should serve UDP: flaky, excused: it is known to be flaky");
    assert_eq!(said.ruling(UDP).unwrap().source, "a.json, entry 1");
}

#[test]
fn an_entry_is_reported_as_expired_from_the_next_day() {
    let said = judged(&known(KNOWN, "2027-04-01"));
    insta::assert_snapshot!(said.outline(), @"
    global/[It] [sig-network] Services should serve UDP: expired, counts: it was a known failure until 2027-03-31, which has passed: the cloud has no UDP load balancers
    global/[It] [sig-storage] CSI should attach [Slow]: known-failure, excused: it is a known failure
    ");
    // Another entry that is still valid replaces the expired one.
    let again = format!("{KNOWN}- pattern: UDP\n  reason: it was put off\n");
    let said = judged(&known(&again, "2027-04-01"));
    assert_eq!(said.ruling(UDP).unwrap().reason, "it was put off");
    assert_eq!(said.ruling(UDP).unwrap().source, "known.yaml, entry 4");
}

#[test]
fn without_a_day_an_entry_that_expires_excuses_nothing() {
    let said = suite("known-failures").file("data/known.yaml", KNOWN).judge::<Lists>();
    let error = said.outcome.clone().unwrap_err();
    assert_eq!(error, "known.yaml, entry 1: it has `until`, but the current date is unknown: set the option `today`");
    assert_eq!(said.ruling(UDP), None);
    assert_eq!(said.count("known-failure"), 1, "the other entries hold");
}

#[test]
fn the_ruling_of_an_earlier_judge_is_kept() {
    let earlier = Ruling::counts("regression", "it worked yesterday");
    let said = judged(&known(KNOWN, "2027-03-31").ruled(UDP, earlier));
    assert_eq!(said.ruling(UDP), None);
    assert_eq!(said.count("known-failure"), 1);
}

#[test]
fn skips_are_allowed_or_not() {
    let list = "- pattern: '^\\[sig-windows\\]'\n  reason: there are no Windows nodes\n";
    let skips = || suite("allowed-skips").file("data/skips.yaml", list);
    insta::assert_snapshot!(judged(&skips()).outline(), @"
    global/[It] [sig-windows] Pods should start: allowed-skip, excused: there are no Windows nodes
    global/[It] [sig-node] NodeLease should renew [Conformance]: skip-not-allowed, counts: it was skipped, and is not in the list of what may be
    ");
    let required = |pattern: &str| judged(&skips().option("required", pattern)).count("skip-not-allowed");
    assert_eq!((required(r"\[Conformance\]"), required(r"\[Slow\]")), (1, 0));
    // Without a list, no test may be skipped.
    assert_eq!(judged(&suite("allowed-skips")).count("skip-not-allowed"), 2);
    // A status of the plugin may also say that a test was skipped.
    let own = ["SKIPPED", "skip", "skipped: 2", "passed: 1, skipped: 2", "warning"]
        .map(|status| Item::new(0, status).status(Status::from(status)));
    let said = judged(&Case::new().plugin("e2e").format("allowed-skips").results("global", own));
    assert_eq!(said.count("skip-not-allowed"), 3);
    let until = "- pattern: Windows|windows\n  until: 2020-01-01\n";
    let said = judged(&suite("allowed-skips").file("data/s.yaml", until).option("today", "2026-11-21"));
    let reason = &said.ruling("[It] [sig-windows] Pods should start").unwrap().reason;
    assert_eq!(reason, "skipping it was allowed until 2020-01-01, which has passed");
}

#[test]
fn a_required_test_may_be_named_by_its_class() {
    let skipped = |class: &str| leaf("test_x", Status::Skipped).meta("classname", class);
    let file = Item::new(0, "junit.xml").status(Status::Skipped).meta("type", "file");
    let case =
        Case::new().format("allowed-skips").results("global", [file, skipped("tests.core"), skipped("tests.more")]);
    for (pattern, rejected) in
        [(r"tests\.core", 1), (r"^test_x \(tests\.more\)$", 1), ("^test_x$", 2), (r"tests\.other", 0)]
    {
        let said = judged(&case.clone().option("required", pattern));
        assert_eq!(said.count("skip-not-allowed"), rejected, "{pattern}");
    }
}

#[test]
fn every_problem_is_named_with_its_place() {
    let list = "- test: a\n  untill: 2027-03-31\n- pattern: '('\n- [sig-apps]\n- fine\n- {test: b, until: soon}\n";
    let said = known(list, "2026-11-21").file("data/other.json", "{}").judge::<Lists>();
    insta::assert_snapshot!(said.outcome.unwrap_err().replace("; ", "\n"), @"
    known.yaml, entry 1: unknown key `untill`: the keys are `test`, `pattern`, `cause`, `reason`, `source`, `until`
    known.yaml, entry 2: the pattern is not a regular expression: unclosed group
    known.yaml, entry 3: it is a list: put names that begin with `[` in quotes
    known.yaml, entry 5: `until` is not a day such as 2027-03-31, but `soon`
    other.json: it is not a list of entries, each beginning with `- `
    ");
}

#[test]
fn an_invalid_list_file_is_reported() {
    let outcome = |list: &str| known(list, "2026-11-21").judge::<Lists>().outcome;
    let unquoted = outcome("- [sig-apps] Deployment should run\n").unwrap_err();
    assert!(unquoted.starts_with("known.yaml: it cannot be read: "), "{unquoted}");
    assert!(unquoted.ends_with("(names that begin with `[` must be quoted)"), "{unquoted}");
    for empty in ["", "# all are mended\n", "[]", "---\n"] {
        assert_eq!(outcome(empty), Ok(()), "{empty}");
    }
    let broken = suite("flaky").broken_file("data/f.yaml", "- a", "the disk is gone").judge::<Lists>().outcome;
    assert!(broken.unwrap_err().contains("f.yaml: it cannot be read: the disk is gone"));
}

#[test]
fn options_that_make_no_sense_are_named() {
    for (case, says) in [
        (suite("flaky").option("required", "x"), "option `required` is for the judge `allowed-skips`, not for `flaky`"),
        (suite("flaky").option("today", "tomorrow"), "option `today` is not a day such as 2027-03-31, but `tomorrow`"),
        (suite("flaky").option("to-day", "2026-11-21"), "unknown field `to-day`"),
        (suite("allowed-skips").option("required", "("), "option `required`: the pattern is not a regular expression"),
        (suite("baseline"), "option `failed` is missing"),
        (suite("known"), "unknown judge `known`"),
    ] {
        let outcome = case.judge::<Lists>().outcome;
        assert!(outcome.clone().unwrap_err().contains(says), "{outcome:?}");
    }
}
