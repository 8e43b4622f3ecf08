//! Tests of counts, classes and durations of items.

use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Ruling, Status};

use crate::support::{checks, shown};

/// Returns a case with four tests that ran and one that was skipped.
fn suite(list: &str) -> Case {
    let leaf = |name: &str, status, seconds: &str| Item::new(1, name).status(status).meta("duration", seconds);
    checks(list).results(
        "global",
        [
            Item::new(0, "junit_01.xml").status(Status::Failed).meta("duration", "9000"),
            leaf("[It] [sig-apps] Deployment should run [Conformance]", Status::Passed, "3.2"),
            leaf("[It] [sig-apps] StatefulSet should scale [Slow]", Status::Passed, "723.4"),
            leaf("[It] [sig-network] Services should serve UDP", Status::Failed, "61.05"),
            leaf("[It] [sig-storage] CSI should attach", Status::Timeout, "600"),
            leaf("[It] [sig-node] Probes should wait [Conformance]", Status::Skipped, "0"),
        ],
    )
}

#[test]
fn items_are_counted_by_status() {
    let list = r#"
- {id: A, items: failed, want: "== 0"}
- {id: B, items: [failed, timeout], want: "<= 50 %"}
- {id: C, items: skipped, matching: '\[Conformance\]', want: "== 0"}
- {id: D, items: passed, want: ">= 2"}
- {id: E, items: failed, matching: '\[Conformence\]', want: "== 0"}
- {id: F, items: warning, want: "== 0"}
"#;
    insta::assert_snapshot!(shown(&suite(list)), @r"
    A FAILED: items failed: want == 0, got 1 of 5 | the first of them is [sig-network] Services should serve UDP
    B passed: items failed or timeout: want <= 50 %, got 40 % (2 of 5) | the first of them is [sig-network] Services should serve UDP
    C FAILED: items skipped matching \[Conformance\]: want == 0, got 1 of 2 | the first of them is [sig-node] Probes should wait [Conformance]
    D passed: items passed: want >= 2, got 2 of 5 | the first of them is [sig-apps] Deployment should run [Conformance]
    E unknown: items failed matching \[Conformence\]: want == 0, got  | no item has a name that `\[Conformence\]` matches
    F passed: items warning: want == 0, got 0 of 5 | 
    ");
}

#[test]
fn modules_and_the_host_know_the_same_words() {
    let host = plumbline_core::status::WORDS.iter().map(|(status, words)| (status.as_str(), *words));
    let modules = plumbline_sdk::item::WORDS.iter().map(|(status, words)| (status.as_str(), *words));
    assert_eq!(modules.collect::<Vec<_>>(), host.collect::<Vec<_>>());
    let words = ["FAIL", " Timed-Out", "not run", "PASSED", "NOT_READ", "odd", "failed badly"];
    // A status may be a list of counts.
    let lists = [
        "skipped: 2",
        "Skipped: 1, skip: 4",
        "passed: 1, skipped: 2",
        "failed: 1, passed: 2",
        "failed: 1, timed-out: 1, unknown: 1",
        "unknown: 1, passed: 1",
        "NOT-READ: 3",
        "warning: 3",
        "failed: 0, passed: 1",
        "failed: 0",
        "blocked, see log: 1, ERROR: 2",
        "failed: 1,passed: 2",
        "failed: 1, passed",
        ": 1",
        "failed: 99999999999999999999",
    ];
    for text in words.into_iter().chain(lists) {
        let host = plumbline_core::rollup::meaning(&plumbline_core::Status::from(text));
        assert_eq!(Status::from(text).meaning().as_str(), host.as_str(), "{text}");
    }
}

#[test]
fn items_are_counted_by_what_earlier_judges_said() {
    let list = r#"
- {id: KNOWN, class: known-failure, want: "<= 1"}
- {id: OTHER, class: failure, want: "== 0"}
"#;
    let udp = "[It] [sig-network] Services should serve UDP";
    let case = suite(list).ruled(udp, Ruling::excused("known-failure", "it is known"));
    insta::assert_snapshot!(shown(&case), @"
    KNOWN passed: items of class known-failure: want <= 1, got 1 of 5 | the first of them is [sig-network] Services should serve UDP
    OTHER FAILED: items of class failure: want == 0, got 1 of 5 | the first of them is [sig-storage] CSI should attach
    ");
}

#[test]
fn durations_are_those_of_tests_that_ran() {
    let list = r#"
- {id: MAX, name: no test takes longer than ten minutes, duration: max, want: "<= 10m"}
- {id: P50, duration: p50, want: "< 2m"}
- {id: MIN, duration: min, want: "> 1s"}
- {id: COUNT, duration: count, want: "== 4"}
- {id: CONF, duration: max, matching: '\[Conformance\]', want: "< 5s"}
- {id: GONE, duration: max, matching: windows, want: "< 5s"}
"#;
    insta::assert_snapshot!(shown(&suite(list)), @"
    MAX FAILED: no test takes longer than ten minutes: want <= 10m, got 12m3s | the slowest of 4 is [sig-apps] StatefulSet should scale [Slow]
    P50 passed: durations of items: want < 2m, got 1m1s | the slowest of 4 is [sig-apps] StatefulSet should scale [Slow]
    MIN passed: durations of items: want > 1s, got 3.2s | the slowest of 4 is [sig-apps] StatefulSet should scale [Slow]
    COUNT passed: durations of items: want == 4, got 4 | the slowest of 4 is [sig-apps] StatefulSet should scale [Slow]
    CONF passed: durations of items matching \\[Conformance\\]: want < 5s, got 3.2s | the slowest of 1 is [sig-apps] Deployment should run [Conformance]
    GONE unknown: durations of items matching windows: want < 5s, got  | no item has a name that `windows` matches
    ");
}

#[test]
fn an_invalid_duration_is_unknown() {
    let list = "- {id: MAX, duration: max, want: '< 1h'}\n";
    let of_list = |list: &str, items: Vec<Item>| shown(&checks(list).results("global", items));
    let of = |items: Vec<Item>| of_list(list, items);
    let item = |name: &str| Item::new(0, name).status(Status::Passed);
    assert!(of(vec![item("a")]).contains("unknown: durations of items: want < 1h, got  | no item has a duration"));
    let count = of_list("- {id: COUNT, duration: count, want: '== 0'}\n", vec![item("a")]);
    assert!(count.contains("COUNT unknown: ") && count.contains("| no item has a duration"), "{count}");
    assert!(of(vec![]).contains("| the plugin has no items"));
    let wrong = of(vec![item("a").meta("duration", "1"), item("b").meta("duration", "-3")]);
    assert!(wrong.contains("| the duration of b is not a number of seconds: `-3`"), "{wrong}");
}

#[test]
fn statuses_count_as_in_the_verdict_of_a_run() {
    let list = r#"
- {id: FAILED, items: failed, want: "== 0"}
- {id: ERROR, items: error, want: "== 1"}
- {id: CLASS, class: failure, want: "<= 2"}
- {id: OWN, items: warning, want: "== 1"}
- {id: TIME, duration: max, want: "< 5s"}
"#;
    let leaf = |name: &str, status: &str, seconds: &str| {
        Item::new(0, name).status(Status::from(status)).meta("duration", seconds)
    };
    let case = checks(list).results(
        "global",
        [leaf("a", "Failed", "1"), leaf("b", "error", "1"), leaf("c", "warning", "1"), leaf("d", "SKIPPED", "99")],
    );
    insta::assert_snapshot!(shown(&case), @"
    FAILED FAILED: items failed: want == 0, got 2 of 4 | the first of them is a
    ERROR passed: items error: want == 1, got 1 of 4 | the first of them is b
    CLASS passed: items of class failure: want <= 2, got 2 of 4 | the first of them is a
    OWN passed: items warning: want == 1, got 1 of 4 | the first of them is c
    TIME passed: durations of items: want < 5s, got 1s | the slowest of 3 is a
    ");
}
