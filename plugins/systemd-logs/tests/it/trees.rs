//! Tests of the conversion of lines.

use plumbline_module_systemd_logs::SystemdLogs;
use plumbline_sdk::testing::{Case, Run};
use serde_json::json;

const PATH: &str = "results/node-1/systemd_logs";

const LINES: &str = r#"{"__REALTIME_TIMESTAMP":"1700000000000000","PRIORITY":"6","_SYSTEMD_UNIT":"kubelet.service","MESSAGE":"begun"}
{"__REALTIME_TIMESTAMP":"1700000001000000","PRIORITY":"3","_SYSTEMD_UNIT":"kubelet.service","MESSAGE":"cannot reach the server"}
{"__REALTIME_TIMESTAMP":"1700000002000000","PRIORITY":"3","_SYSTEMD_UNIT":"kubelet.service","MESSAGE":[27,91,49,109]}
{"__REALTIME_TIMESTAMP":"1700000003000000","PRIORITY":"4","_SYSTEMD_UNIT":"sshd.service","MESSAGE":"a warning"}
{"__REALTIME_TIMESTAMP":"1700000004000000","PRIORITY":"2","_TRANSPORT":"kernel","MESSAGE":"out of memory"}
{"__REALTIME_TIMESTAMP":"1700000005000000","_SYSTEMD_UNIT":"quiet.service","MESSAGE":"without a priority"}
"#;

fn case() -> Case {
    Case::new().plugin("systemd-logs").driver("DaemonSet").file(PATH, LINES)
}

fn run(case: &Case) -> Run {
    let run = case.run::<SystemdLogs>();
    assert_eq!(run.outcome, Ok(()));
    run
}

fn read(text: &str) -> Run {
    run(&Case::new().file(PATH, text))
}

#[test]
fn counts_by_priority_and_units_with_errors() {
    assert_eq!(
        run(&case()).to_json(),
        json!([
            {
                "depth": 0, "name": "systemd_logs", "status": null,
                "meta": {
                    "file": PATH, "type": "file", "entries": "6",
                    "crit": "1", "err": "2", "warning": "1", "info": "1", "none": "1",
                },
            },
            {
                "depth": 1, "name": "kubelet.service", "status": "passed",
                "meta": {"type": "unit", "err": "2", "info": "1"},
                "details": {"messages": "2023-11-14T22:13:21Z err: cannot reach the server\n2023-11-14T22:13:22Z err: \u{1b}[1m"},
            },
            {
                "depth": 1, "name": "kernel", "status": "passed",
                "meta": {"type": "unit", "crit": "1"},
                "details": {"messages": "2023-11-14T22:13:24Z crit: out of memory"},
            },
        ])
    );
    // The result does not depend on where the host splits the file.
    assert_eq!(run(&case().chunk(7)).items, run(&case()).items);
}

#[test]
fn options_select_the_entries_that_fail() {
    let outline = |case: Case| run(&case).outline();
    assert_eq!(
        outline(case().option("fail-on", "crit")),
        "systemd_logs: -\n  kubelet.service: passed\n  kernel: failed\n"
    );
    assert_eq!(
        outline(case().option("fail-on", "err").option("units", json!(["kube*"]))),
        "systemd_logs: -\n  kubelet.service: failed\n  kernel: passed\n"
    );
    assert_eq!(
        outline(case().option("fail-on", "warning")),
        "systemd_logs: -\n  kubelet.service: failed\n  kernel: failed\n  sshd.service: failed\n"
    );
    assert_eq!(outline(case().option("fail-on", "never")), outline(case()));
}

#[test]
fn options_that_make_no_sense_are_named() {
    for (option, value, named) in [
        ("fail-on", json!("error"), "`error`"),
        ("max-units", json!(100_000), "`max-units` is 100000"),
        ("max-messages", json!(101), "`max-messages`"),
        ("units", json!(vec!["*"; 300]), "`units` is 300"),
        ("fail_on", json!("err"), "fail_on"),
    ] {
        let error = case().option(option, value).run::<SystemdLogs>().outcome.unwrap_err();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn notes_of_the_worker_are_not_entries() {
    let text = format!(
        "{}\n{LINES}{}\n",
        r#"{"PLUMBLINE_TRUNCATED":"1","PLUMBLINE_MISSING_LINES":"9","MESSAGE":"the oldest 9 lines are left out","PRIORITY":"4"}"#,
        r#"{"PLUMBLINE_NOTE":"1","MESSAGE":"a file is left out","PRIORITY":"4"}"#
    );
    let file = read(&text).to_json()[0].clone();
    assert_eq!(file["meta"]["warning"], "the oldest 9 lines are left out; a file is left out");
    assert_eq!((&file["meta"]["entries"], &file["meta"]["warning"].is_string()), (&json!("6"), &true));

    let failed = read(&format!(r#"{LINES}{{"PLUMBLINE_FAILED":"1","MESSAGE":"broke off","PRIORITY":"3"}}"#));
    assert_eq!(failed.outline().lines().nth(1), Some("  incomplete: failed"));
    assert_eq!(failed.to_json()[1]["meta"]["error"], "broke off");

    let none = read(r#"{"PLUMBLINE_NO_JOURNAL":"1","MESSAGE":"there is no journal","PRIORITY":"5"}"#);
    assert_eq!(none.outline(), "systemd_logs: not-read\n");
    assert_eq!(none.to_json()[0]["meta"]["reason"], "there is no journal");

    let empty = read("");
    assert_eq!(empty.outline(), "systemd_logs: not-read\n");
    assert_eq!(empty.to_json()[0]["meta"]["reason"], "the journal has no entries");
}

#[test]
fn invalid_lines_are_counted_and_reported() {
    let run = read(&format!("rubbish\n{LINES}\n{{\"half\": \n"));
    let meta = run.to_json()[0]["meta"].clone();
    assert_eq!((&meta["entries"], &meta["unparsed"]), (&json!("6"), &json!("2")));
    assert_eq!(meta["unparsed-first"], "line 1: it is not a JSON object");

    let run = read("Hint: you are not permitted\n");
    assert_eq!(run.outline(), "systemd_logs: -\n  unreadable: unknown\n");
    assert_eq!(read("").outline(), "systemd_logs: not-read\n", "an empty journal says nothing");
    let broken = run_broken();
    assert_eq!(broken.outline().lines().nth(1), Some("  unreadable: unknown"));
    assert_eq!(broken.to_json()[1]["meta"]["error"], "the disk is gone");
}

fn run_broken() -> Run {
    run(&Case::new().broken_file(PATH, LINES, "the disk is gone"))
}
