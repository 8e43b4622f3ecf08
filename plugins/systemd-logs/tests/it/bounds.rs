//! Tests that memory does not grow with the file.

use plumbline_module_systemd_logs::{MAX_LINE, MAX_UNITS_KNOWN, SystemdLogs};
use plumbline_sdk::Status;
use plumbline_sdk::testing::Case;
use proptest::prelude::*;
use serde_json::json;

const PATH: &str = "results/node-1/systemd_logs";

fn line(unit: &str, message: &str) -> String {
    format!("{}\n", json!({"PRIORITY": "3", "_SYSTEMD_UNIT": unit, "MESSAGE": message}))
}

#[test]
fn units_and_messages_beyond_what_is_shown_are_summed_up() {
    let mut text = String::new();
    for unit in 0..60 {
        for message in 0..=unit {
            text += &line(&format!("u{unit:02}.service"), &format!("m{message}"));
        }
    }
    let run = Case::new().file(PATH, text).option("max-messages", 3).run::<SystemdLogs>();
    assert_eq!(run.items.len(), 1 + 50 + 1);
    assert_eq!(run.items[1].name, "u59.service", "most errors first");
    let first = run.to_json()[1].clone();
    assert_eq!(first["meta"]["err"], "60");
    assert_eq!(first["details"]["messages"], "- err: m0\n- err: m1\n- err: m2");
    let last = run.to_json()[51].clone();
    assert_eq!((&last["name"], &last["meta"]["err"]), (&json!("10 further units"), &json!("55")));
}

#[test]
fn endless_units_do_not_gather() {
    let units = MAX_UNITS_KNOWN + 500;
    let text: String = (0..units).map(|unit| line(&format!("{unit}.service"), "x")).collect();
    let run = Case::new().file(PATH, text).run::<SystemdLogs>();
    let last = run.to_json()[51].clone();
    assert_eq!(last["name"], format!("more than {} further units", MAX_UNITS_KNOWN - 50));
    assert_eq!(last["meta"]["err"], (units - 50).to_string());
}

#[test]
fn an_error_of_a_unit_that_is_not_distinguished_never_passes() {
    let quiet = |unit: usize| {
        format!("{}\n", json!({"PRIORITY": "6", "_SYSTEMD_UNIT": format!("{unit}.service"), "MESSAGE": "x"}))
    };
    let text: String = (0..MAX_UNITS_KNOWN).map(quiet).chain([line("late.service", "broken")]).collect();
    let case = Case::new().file(PATH, text);
    let status = |case: Case| case.run::<SystemdLogs>().items.last().unwrap().status.clone();
    assert_eq!(status(case.clone()), Some(Status::Passed));
    assert_eq!(status(case.clone().option("fail-on", "err")), Some(Status::Failed));
    assert_eq!(status(case.clone().option("fail-on", "crit")), Some(Status::Passed));
    assert_eq!(status(case.option("fail-on", "err").option("units", json!(["late.service"]))), Some(Status::Unknown));
}

#[test]
fn lines_that_are_not_entries_may_be_errors() {
    let case = Case::new().file(PATH, format!("{}{{\"PRIORITY\"\n", line("a.service", "x")));
    let unknown = |case: &Case| case.run::<SystemdLogs>().count(&Status::Unknown);
    assert_eq!(unknown(&case), 0);
    let run = case.option("fail-on", "crit").run::<SystemdLogs>();
    assert_eq!(run.item("unparsed lines").unwrap().status, Some(Status::Unknown), "{}", run.outline());
    let all = |text: &str| unknown(&Case::new().file(PATH, text).option("fail-on", "crit"));
    assert_eq!(all("rubbish\n"), 1, "there is one item for it");
    let entry = line("a.service", "x");
    assert_eq!(all(&format!("-- Logs begin at Mon --\n{entry}-- Boot 7f3a --\n{entry}")), 0, "headers are not entries");
    assert_eq!(all("-- Logs begin at Mon --\n"), 1, "nothing was read");
}

#[test]
fn lines_that_the_worker_did_not_get_may_be_errors() {
    for kind in ["TRUNCATED", "NOTE"] {
        for entries in [line("a.service", "x"), String::new()] {
            let note = format!("{}\n", json!({format!("PLUMBLINE_{kind}"): "1", "MESSAGE": "some are missing"}));
            let case = Case::new().file(PATH, note + &entries);
            assert_eq!(case.run::<SystemdLogs>().count(&Status::Unknown), 0);
            let run = case.option("fail-on", "crit").run::<SystemdLogs>();
            let missing = run.item("missing lines").unwrap();
            assert_eq!(missing.status, Some(Status::Unknown));
            assert_eq!(missing.meta, [("error".to_owned(), "some are missing".to_owned())]);
            assert_eq!(run.count(&Status::Unknown), 1);
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_not_an_entry_and_the_next_one_is_read() {
    let text = line("a.service", &"x".repeat(MAX_LINE)) + &line("b.service", "y");
    let run = Case::new().file(PATH, text).option("fail-on", "crit").run::<SystemdLogs>();
    let file = run.to_json()[0].clone();
    assert_eq!((&file["meta"]["entries"], &file["meta"]["unparsed"]), (&json!("1"), &json!("1")));
    assert_eq!(file["meta"]["unparsed-first"], "line 1: it exceeds the length limit");
    assert_eq!(run.item("unparsed lines").unwrap().status, Some(Status::Unknown), "{}", run.outline());
}

#[test]
fn long_messages_and_names_are_cut() {
    let run = Case::new().file(PATH, line(&"ü".repeat(1000), &"ä".repeat(10_000))).run::<SystemdLogs>();
    assert_eq!(run.items[1].name, "ü".repeat(128));
    let message = run.to_json()[1]["details"]["messages"].as_str().unwrap().to_owned();
    assert!(message.ends_with("ä…") && message.len() < 1100, "{}", message.len());
}

proptest! {
    /// For any lines, the host accepts the items, and every line but headers is counted.
    #[test]
    fn any_lines(lines in proptest::collection::vec(prop_oneof![
        "[ -~]{0,40}",
        "[A-Z_]{1,8}".prop_map(|key| json!({key: "3", "PRIORITY": 3}).to_string()),
        Just(r#"{"MESSAGE":[1,"a",[2]],"PRIORITY":["3"]}"#.to_owned()),
    ], 0..30), chunk in 1_u32..50) {
        let run = Case::new().file(PATH, lines.join("\n")).chunk(chunk).run::<SystemdLogs>();
        prop_assert_eq!(&run.outcome, &Ok(()));
        let meta = run.to_json()[0]["meta"].clone();
        let number = |key: &str| meta[key].as_str().map_or(0, |text| text.parse::<usize>().unwrap());
        let full = lines.iter().filter(|line| !line.trim().is_empty() && !line.starts_with("-- ")).count();
        prop_assert_eq!(number("entries") + number("unparsed"), full);
    }
}
