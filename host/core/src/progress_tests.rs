//! Tests for parsing and combining progress updates.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(body: Value) -> ProgressUpdate {
    ProgressUpdate::from_body(body.to_string().as_bytes()).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn key() -> ResultKey {
    "e2e/n1".parse().unwrap()
}

#[test]
fn a_body_is_read_leniently() {
    let update = read(json!({
        "MSG": "half way", "Total": 10, "completed": 4, "errors": ["e"], "failures": null, "appendTotals": false,
        "skipped": 3, "failed": 1, "whatever": {"a": []},
    }));
    let expected = ProgressUpdate {
        msg: "half way".to_owned(),
        total: 10,
        completed: 4,
        errors: names(&["e"]),
        ..ProgressUpdate::default()
    };
    assert_eq!(update, expected);
    assert_eq!(read(json!({})), ProgressUpdate::default());
}

#[test]
fn a_sender_may_know_only_how_many_tests_failed() {
    let update = read(json!({"total": 9, "completed": 3, "omitted": 2}));
    assert_eq!((update.failed(), update.remaining()), (2, Some(4)));
    for wrong in [json!(-1), json!("2"), json!(null)] {
        assert_eq!(read(json!({"omitted": wrong})).failed(), 0);
    }
}

#[test]
fn reasons_belong_to_failures_and_are_one_short_line() {
    let update = read(json!({"failures": ["a", "b"], "reasons": {
        "a": "it is\nbad", "b": "x".repeat(1_000), "passed": "why not", "c": 7}}));
    let long = format!("{}…", "x".repeat(MAX_REASON));
    let expected = [("a".to_owned(), "it is bad".to_owned()), ("b".to_owned(), long)];
    assert_eq!(update.reasons, BTreeMap::from(expected));
    for other in [json!(null), json!(["a"]), json!("a"), json!({"a": ["b"]}), json!({"a": ""})] {
        assert_eq!(read(json!({"failures": ["a"], "reasons": other})), read(json!({"failures": ["a"]})));
    }
    let longest = "n".repeat(1_000_000);
    assert_eq!(read(json!({"failures": [longest], "reasons": {(longest.as_str()): "no"}})).reasons, BTreeMap::new());
}

#[test]
fn the_latest_reasons_stay() {
    let names = |from: usize, to: usize| (from..to).map(|n| format!("t{n}")).collect::<Vec<_>>();
    let reasons = |from, to| names(from, to).into_iter().map(|name| (name, "no")).collect::<BTreeMap<_, _>>();
    let kept = |state: &ProgressUpdate, name: &str| state.reasons.contains_key(name);
    let old = read(json!({"failures": names(0, 30), "reasons": reasons(0, 30)}));
    assert_eq!((old.reasons.len(), kept(&old, "t9"), kept(&old, "t10")), (20, false, true));
    let state = combine(Some(&old), read(json!({"appendfailing": names(30, 35), "reasons": reasons(30, 35)})));
    assert_eq!((state.reasons.len(), kept(&state, "t14"), kept(&state, "t34")), (20, false, true));
    assert_eq!(combine(Some(&state), read(json!({"msg": "new"}))).reasons, BTreeMap::new());
}

#[test]
fn reasons_count_toward_the_size_and_are_dropped_before_names() {
    let mut state = read(json!({"failures": ["one", "two"], "reasons": {"one": "1234", "two": "5678"}}));
    assert_eq!(state.name_bytes(), 20);
    state.trim_names(13);
    assert_eq!((state.failures.len(), state.reasons.len(), state.omitted), (2, 1, 0));
    assert!(state.reasons.contains_key("two"), "the latest");
    state.trim_names(3);
    assert_eq!((state.failures.len(), state.reasons.len(), state.omitted), (1, 0, 1));
}

#[test]
fn the_server_sets_name_node_and_time() {
    // Not even their types matter.
    let mut update = read(json!({"name": 7, "NODE": ["x"], "timestamp": "yesterday", "omitted": "all", "msg": "m"}));
    assert_eq!((update.name.as_str(), update.node.as_str(), update.timestamp, update.omitted), ("", "", NEVER, 0));
    let at = "2026-07-01T10:00:00.123456789Z".parse().unwrap();
    update.stamp(&key(), at);
    assert_eq!((update.name.as_str(), update.node.as_str(), update.timestamp), ("e2e", "n1", at));
}

#[test]
fn other_bodies_are_refused() {
    for body in [
        "",
        "{",
        "{\"total\": \"ten\"}",
        "{\"failures\": [1]}",
        "{\"total\": 1.5}",
        "{} {}",
        "{\"total\": 99999999999999999999}",
    ] {
        assert!(matches!(ProgressUpdate::from_body(body.as_bytes()), Err(ProgressError::Invalid(_))), "{body}");
    }
    for body in ["[]", "null", "\"done\"", "7"] {
        assert_eq!(ProgressUpdate::from_body(body.as_bytes()), Err(ProgressError::NotAnObject), "{body}");
    }
    assert!(ProgressUpdate::from_body(b"{\"msg\": \"\xff\"}").is_err());
}

#[test]
fn rule_1_an_update_that_does_not_append_replaces_the_state() {
    let old = read(json!({"msg": "old", "total": 9, "completed": 8, "failures": ["a"], "errors": ["b"]}));
    let update = read(json!({"msg": "new", "completed": 1, "appendcompleted": -4}));
    assert_eq!(combine(Some(&old), update), read(json!({"msg": "new", "completed": 1})));
}

#[test]
fn rule_2_an_update_that_appends_grows_the_state() {
    let old = read(json!({"msg": "old", "total": 9, "completed": 3, "failures": ["a"], "errors": ["b"]}));
    let update =
        read(json!({"msg": "new", "total": 77, "completed": 77, "appendcompleted": 2, "appendfailing": ["c", "d"]}));
    let state = combine(Some(&old), update.clone());
    let expected = json!({"msg": "new", "total": 9, "completed": 5, "failures": ["a", "c", "d"], "errors": ["b"]});
    assert_eq!(state, read(expected));
    assert!(!state.is_appending());

    let with_totals = combine(Some(&old), ProgressUpdate { appendtotals: true, ..update });
    let expected = json!({"msg": "new", "total": 13, "completed": 5, "failures": ["a", "c", "d"], "errors": ["b"]});
    assert_eq!(with_totals, read(expected));
}

#[test]
fn rule_2_without_a_state_meets_an_empty_one() {
    let update = read(json!({"msg": "m", "appendcompleted": 2, "appendfailing": ["c"], "appendtotals": true}));
    assert_eq!(combine(None, update), read(json!({"msg": "m", "total": 3, "completed": 2, "failures": ["c"]})));
}

#[test]
fn rule_3_two_updates_that_append_become_one() {
    let a = read(json!({"msg": "a", "appendcompleted": 2, "appendfailing": ["x"], "appendtotals": true}));
    let b = read(json!({"msg": "b", "appendcompleted": 3, "appendfailing": ["y"]}));
    let both = combine(Some(&a), b);
    assert_eq!(
        both,
        read(json!({"msg": "b", "appendcompleted": 5, "appendfailing": ["x", "y"], "appendtotals": false}))
    );
    assert!(both.is_appending());
}

#[test]
fn an_update_appends_when_any_of_the_three_keys_says_so() {
    for (body, appends) in [
        (json!({"appendtotals": true}), true),
        (json!({"appendcompleted": 1}), true),
        (json!({"appendfailing": ["a"]}), true),
        (json!({"appendcompleted": 0, "appendfailing": [], "appendtotals": false}), false),
        (json!({"appendcompleted": -1}), false),
    ] {
        assert_eq!(read(body.clone()).is_appending(), appends, "{body}");
    }
}

#[test]
fn the_state_is_written_as_the_status_shows_it() {
    let mut state =
        combine(None, read(json!({"msg": "m", "appendcompleted": 1, "appendfailing": ["t"], "appendtotals": true})));
    state.stamp(&key(), "2026-07-01T10:00:00.5Z".parse().unwrap());
    let text = r#"{"name":"e2e","node":"n1","timestamp":"2026-07-01T10:00:00.5Z","msg":"m","total":2,"completed":1,"failures":["t"]}"#;
    assert_eq!(serde_json::to_string(&state).unwrap(), text);
    assert_eq!(serde_json::from_str::<ProgressUpdate>(text).unwrap(), state);
}

#[test]
fn the_remaining_count_is_known_if_the_total_is() {
    for (body, remaining) in [
        (json!({"total": 10, "completed": 4, "failures": ["a"]}), Some(5)),
        (json!({"total": 5, "completed": 4, "failures": ["a"]}), Some(0)),
        (json!({"total": 0, "completed": 4}), None),
        (json!({"total": i64::MIN, "completed": i64::MAX}), None),
        (json!({"total": i64::MAX, "completed": i64::MIN}), Some(i64::MAX as u64)),
    ] {
        assert_eq!(read(body.clone()).remaining(), remaining, "{body}");
    }
}

#[test]
fn names_and_messages_are_bounded() {
    let many: Vec<String> = (0..MAX_NAMES + 5).map(|i| i.to_string()).collect();
    let state = combine(None, read(json!({"failures": many, "errors": ["e"]})));
    assert_eq!((state.failures.len(), state.errors.len(), state.omitted), (MAX_NAMES, 0, 6));
    assert_eq!(state.failed(), MAX_NAMES as u64 + 6);
    // The oldest names stay, and the number of omitted names adds up.
    let more = combine(Some(&state), read(json!({"appendfailing": ["late"]})));
    assert_eq!(
        (more.failures.first().map(String::as_str), more.failures.len(), more.omitted),
        (Some("0"), MAX_NAMES, 7)
    );

    let long = combine(
        None,
        read(json!({"failures": ["a".repeat(MAX_NAME_BYTES), "b"], "msg": "ü".repeat(MAX_MESSAGE_BYTES)})),
    );
    assert_eq!((long.failures.len(), long.omitted, long.name_bytes()), (1, 1, MAX_NAME_BYTES));
    assert_eq!(long.msg.len(), MAX_MESSAGE_BYTES);
    let odd = read(json!({"msg": format!("a{}", "ü".repeat(MAX_MESSAGE_BYTES))}));
    assert_eq!(odd.msg.len(), MAX_MESSAGE_BYTES - 1);
}

#[test]
fn counters_saturate() {
    let old = read(json!({"total": i64::MAX, "completed": i64::MAX - 1}));
    let state = combine(Some(&old), read(json!({"appendcompleted": i64::MAX, "appendtotals": true})));
    assert_eq!((state.total, state.completed), (i64::MAX, i64::MAX));
}

fn update() -> impl Strategy<Value = ProgressUpdate> {
    let names = || prop::collection::vec("[a-z]{1,3}", 0..4);
    let counters = (0i64..50, 0i64..50, -2i64..50);
    ("[a-z]{0,4}", counters, names(), names(), names(), any::<bool>()).prop_map(
        |(msg, (total, completed, appendcompleted), errors, failures, appendfailing, appendtotals)| ProgressUpdate {
            msg,
            total,
            completed,
            errors,
            failures,
            appendtotals,
            appendcompleted,
            appendfailing,
            ..ProgressUpdate::default()
        },
    )
}

fn appending() -> impl Strategy<Value = ProgressUpdate> {
    update().prop_filter("appends", ProgressUpdate::is_appending)
}

proptest! {
    #[test]
    fn a_state_never_appends(updates in prop::collection::vec(update(), 1..8)) {
        let mut state = None;
        for update in updates {
            let next = combine(state.as_ref(), update);
            prop_assert!(!next.is_appending());
            let text = serde_json::to_string(&next).unwrap();
            prop_assert!(!text.contains("append"), "{}", text);
            prop_assert_eq!(&serde_json::from_str::<ProgressUpdate>(&text).unwrap(), &next);
            state = Some(next);
        }
    }

    #[test]
    fn the_last_update_that_replaces_is_where_counting_begins(
        before in prop::collection::vec(update(), 0..5),
        base in update(),
        after in prop::collection::vec(appending(), 0..5),
    ) {
        let base = ProgressUpdate { appendtotals: false, appendcompleted: 0, appendfailing: Vec::new(), ..base };
        let state = before.into_iter().chain([base.clone()]).chain(after.clone())
            .fold(None, |state: Option<ProgressUpdate>, update| Some(combine(state.as_ref(), update))).unwrap();
        let completed: i64 = after.iter().map(|update| update.appendcompleted).sum();
        let failing: Vec<String> = after.iter().flat_map(|update| update.appendfailing.clone()).collect();
        let total: i64 = after.iter().filter(|update| update.appendtotals)
            .map(|update| update.appendcompleted + update.appendfailing.len() as i64).sum();
        prop_assert_eq!(state.completed, base.completed + completed);
        prop_assert_eq!(state.total, base.total + total);
        prop_assert_eq!(state.failures, [base.failures, failing].concat());
        prop_assert_eq!(state.errors, base.errors);
        prop_assert_eq!(state.msg, after.last().map_or(base.msg, |last| last.msg.clone()));
    }

    #[test]
    fn two_appending_updates_count_as_one(state in update(), a in appending(), b in appending()) {
        let state = ProgressUpdate { appendtotals: false, appendcompleted: 0, appendfailing: Vec::new(), ..state };
        let b = ProgressUpdate { appendtotals: a.appendtotals, ..b };
        let b = ProgressUpdate { appendcompleted: b.appendcompleted.max(1), ..b };
        let a = ProgressUpdate { appendcompleted: a.appendcompleted.max(0), ..a };
        let one_by_one = combine(Some(&combine(Some(&state), a.clone())), b.clone());
        let at_once = combine(Some(&state), combine(Some(&a), b));
        prop_assert_eq!(one_by_one, at_once);
    }

    #[test]
    fn any_body_is_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = ProgressUpdate::from_body(&body);
    }
}

#[test]
fn progress_does_not_contradict_a_result() {
    let counts = |passed, failed| {
        [("passed".to_owned(), passed), ("failed".to_owned(), failed), ("skipped".to_owned(), 7_000)].into()
    };
    let numbers = |progress: &ProgressUpdate| (progress.completed, progress.failed(), progress.remaining());
    // A test suite that only reported its start.
    let start = ProgressUpdate { total: 1, ..ProgressUpdate::default() };
    assert_eq!(numbers(&start.clone().settled(&counts(1, 0))), (1, 0, Some(0)));
    let failing = ProgressUpdate { total: 9, failures: vec!["a".to_owned()], ..ProgressUpdate::default() };
    let settled = failing.settled(&counts(5, 2));
    assert_eq!((numbers(&settled), settled.failures.len()), ((5, 2, Some(0)), 1));
    // A plugin that reported all tests keeps its own counts.
    let whole = ProgressUpdate { total: 3, completed: 2, omitted: 1, ..ProgressUpdate::default() };
    assert_eq!(whole.clone().settled(&counts(7, 7)), whole);
    // A format with custom statuses.
    assert_eq!(numbers(&start.settled(&[("warning".to_owned(), 3)].into())), (0, 0, Some(0)));
}
