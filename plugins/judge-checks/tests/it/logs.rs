//! Tests of values in logs.

use plumbline_module_checks::MAX_LINE;
use plumbline_sdk::testing::Case;

use crate::support::{checks, shown};

/// Lines of etcd, as its pod logs them.
const ETCD: &str = r#"{"level":"info","ts":"2026-11-21T13:00:00.000Z","caller":"embed/etcd.go:121","msg":"configuring peer listeners"}
{"level":"warn","ts":"2026-11-21T13:00:01.102Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"123.456789ms","expected-duration":"100ms","prefix":"read-only range ","request":"key:\"/registry/pods/\" ","response":"range_response_count:0 size:6"}
{"level":"warn","ts":"2026-11-21T13:00:02.331Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"1.503s","expected-duration":"100ms"}
{"level":"warn","ts":"2026-11-21T13:00:03.004Z","caller":"wal/wal.go:805","msg":"slow fdatasync","took":"98.5µs","expected-duration":"1s"}
"#;

const LIST: &str = r#"
- id: ETCD-001
  name: etcd applies requests in time
  log: {files: "podlogs/kube-system/etcd-*/logs/*.txt", pattern: 'apply request took too long","took":"([^"]+)"', measure: max}
  want: "< 500ms"
- id: ETCD-002
  log: {files: "podlogs/kube-system/etcd-*/logs/*.txt", pattern: '"took":"([^"]+)"', unit: duration, measure: p50}
  want: "<= 150ms"
- id: ETCD-003
  log: {files: "podlogs/kube-system/etcd-*/logs/*.txt", pattern: apply request took too long, measure: count}
  want: "<= 1"
- id: ETCD-004
  log: {files: "podlogs/kube-system/etcd-*/logs/*.txt", pattern: lost the leader, measure: count}
  want: "== 0"
"#;

/// The queries of a survey.
const QUERIES: &str = "meta/query-time.json";

fn two(list: &str) -> Case {
    of_survey(list).file(QUERIES, "[]")
}

/// Returns a case without the queries of the survey.
fn of_survey(list: &str) -> Case {
    checks(list)
        .file("podlogs/kube-system/etcd-n1/logs/etcd.txt", ETCD)
        .file("podlogs/kube-system/etcd-n2/logs/etcd.txt", "all is well\r\n")
        .file("podlogs/kube-system/other/logs/x.txt", r#""took":"999h""#)
}

#[test]
fn latencies_of_etcd_are_read_from_its_log() {
    let case = two(LIST);
    let shown = shown(&case);
    insta::assert_snapshot!(shown, @"
    ETCD-001 FAILED: etcd applies requests in time: want < 500ms, got 1.5s | 2 lines of 2 files `podlogs/kube-system/etcd-*/logs/*.txt`
    ETCD-002 passed: values in podlogs/kube-system/etcd-*/logs/*.txt: want <= 150ms, got 123.46ms | 3 lines of 2 files `podlogs/kube-system/etcd-*/logs/*.txt`
    ETCD-003 FAILED: values in podlogs/kube-system/etcd-*/logs/*.txt: want <= 1, got 2 | 2 lines of 2 files `podlogs/kube-system/etcd-*/logs/*.txt`
    ETCD-004 passed: values in podlogs/kube-system/etcd-*/logs/*.txt: want == 0, got 0 | 0 lines of 2 files `podlogs/kube-system/etcd-*/logs/*.txt`
    ");
    assert_eq!(crate::support::shown(&case.chunk(3)), shown);
}

#[test]
fn numbers_have_the_given_unit() {
    let of = |unit: &str, measure: &str, want: &str| {
        let list = format!(
            "- {{id: X, log: {{files: '**/m.log', pattern: 'v=(\\S+)', unit: {unit}, measure: {measure}}}, want: '{want}'}}\n"
        );
        shown(&checks(&list).file("plugins/p/m.log", "v=10\nv=20 v=99\nx\nv=40.5\n"))
    };
    assert!(of("ms", "max", "<= 40ms").contains("FAILED") && of("ms", "max", "<= 41ms").contains("got 40.5ms |"));
    assert!(of("number", "mean", "> 23").contains("got 23.5 |"));
    assert!(of("MiB", "min", ">= 10 MiB").contains("passed"));
    assert!(of("'%'", "last", "< 41 %").contains("got 40.5 % |"));
}

#[test]
fn a_log_without_values_is_unknown() {
    let of = |log: &str, pattern: &str| {
        let list =
            format!("- {{id: X, log: {{files: 'a/*.log', pattern: '{pattern}', measure: max}}, want: '< 1s'}}\n");
        shown(&checks(&list).file("a/1.log", log))
    };
    assert!(
        of("nothing", "took (.*)")
            .contains("X unknown: values in a/*.log: want < 1s, got  | no line of 1 file `a/*.log` matches")
    );
    assert!(of("took 5ms\ntook ages", "took (.*)").contains("| `ages` in `a/1.log` is not a duration"));
    assert!(of("took 5 MiB", "took (.*)").contains("| `5 MiB` in `a/1.log` is not a duration"));
    let list = "- {id: X, log: {files: 'b/*.log', pattern: error, measure: count}, want: '== 0'}\n";
    let none = shown(&checks(list).file("a/1.log", "error"));
    assert!(none.contains("X unknown") && none.contains("file `b/*.log` not found"), "{none}");
    let broken = shown(&checks(list).broken_file("b/1.log", "fine\n", "the disk is gone"));
    assert!(broken.contains("X unknown") && broken.contains("failed to read `b/1.log`: the disk is gone"), "{broken}");
}

/// Returns the IDs of the checks that are unknown.
fn unknown(case: &Case) -> Vec<String> {
    let shown = shown(case);
    let unknown = shown.lines().filter_map(|line| line.split_once(" unknown: "));
    unknown.map(|(id, _)| id.trim().to_owned()).collect()
}

#[test]
fn logs_of_a_survey_that_did_not_end_are_not_taken_for_all() {
    let case = of_survey(LIST);
    assert_eq!(unknown(&case), ["ETCD-002", "ETCD-004"], "{}", shown(&case));
    let line = shown(&case);
    assert_eq!(line.matches(" FAILED: ").count(), 2, "{line}");
    let why = "| files of `podlogs/kube-system/etcd-*/logs/*.txt` may be missing, because the survey did not write `meta/query-time.json`";
    assert!(line.contains(why), "{line}");
    // Without files of a survey, there was none.
    let list = "- {id: X, log: {files: '**/*.log', pattern: error, measure: count}, want: '== 0'}\n";
    assert_eq!(unknown(&checks(list).file("plugins/p/results/global/podlogs/a.log", "fine")), [""; 0]);
    assert_eq!(unknown(&checks(list).file("plugins/p/a.log", "fine").file("hosts/n1/a.log", "fine")), ["X"]);
}

#[test]
fn a_survey_that_did_not_finish_may_lack_any_of_its_files() {
    const UNFINISHED: &str =
        r#"[{"queryobj": "survey", "time": "0s", "error": {"message": "the survey did not finish"}}]"#;
    assert_eq!(unknown(&of_survey(LIST).file(QUERIES, UNFINISHED)), ["ETCD-002", "ETCD-004"]);
    let of = |glob: &str| {
        let list = format!("- {{id: X, log: {{files: '{glob}', pattern: error, measure: count}}, want: '== 0'}}\n");
        checks(&list).file(QUERIES, UNFINISHED).file("plugins/p/a.log", "fine").file("hosts/n1/b.log", "fine")
    };
    // The survey may have left no file that the pattern matches.
    for glob in ["**/a.log", "*/p/a.log", "hosts/*/b.log"] {
        let line = shown(&of(glob));
        let why = "may be missing, according to `meta/query-time.json`: the survey did not finish";
        assert!(line.starts_with("X unknown") && line.contains(why), "{glob}: {line}");
    }
    assert_eq!(unknown(&of("plugins/*/a.log")), [""; 0], "it is no file of a survey");
}

#[test]
fn logs_that_were_not_collected_are_not_taken_for_empty_ones() {
    let queries = |entries: &str| of_survey(LIST).file(QUERIES, entries);
    let none: [&str; 0] = [];
    let whole = r#"[{"queryobj": "podlogs", "namespace": "kube-system", "time": "1ms"}]"#;
    assert_eq!(unknown(&queries(whole)), none);
    assert_eq!(unknown(&queries("null")), none);
    for entries in [
        r#"[{"queryobj": "podlogs", "namespace": "kube-system", "time": "1ms", "error": {"message": "node `n3` is not ready"}}]"#,
        r#"[{"queryobj": "podlogs", "namespace": "kube-system", "pod": "etcd-n3", "time": "1ms", "error": {"message": "gone"}}]"#,
        r#"[{"queryobj": "podlogs", "time": "1ms", "error": {}}]"#,
        r#"[{"queryobj": "namespaces", "time": "1ms", "error": {"message": "forbidden"}}]"#,
        "[{",
    ] {
        let case = queries(entries);
        // The two others have failed, and no further line can repair that.
        assert_eq!(unknown(&case), ["ETCD-002", "ETCD-004"], "{}", shown(&case));
        assert_eq!(shown(&case).matches(" FAILED: ").count(), 2, "{}", shown(&case));
    }
    // They concern other files.
    for entries in [
        r#"[{"queryobj": "podlogs", "namespace": "shop", "time": "1ms", "error": {"message": "gone"}}]"#,
        r#"[{"queryobj": "podlogs", "namespace": "kube-system", "pod": "other", "time": "1ms", "error": {"message": "gone"}}]"#,
        r#"[{"queryobj": "hosts/n1/configz", "time": "1ms", "error": {"message": "gone"}}]"#,
        r#"[{"queryobj": "services", "namespace": "kube-system", "time": "1ms", "error": {"message": "forbidden"}}]"#,
    ] {
        let case = queries(entries);
        assert_eq!(unknown(&case), none, "{}", shown(&case));
    }
    let line =
        shown(&queries(r#"[{"queryobj": "podlogs", "time": "1ms", "error": {"message": "node `n3` is not ready"}}]"#));
    let why = "| files of `podlogs/kube-system/etcd-*/logs/*.txt` may be missing, according to `meta/query-time.json`: node `n3` is not ready";
    assert!(line.contains(why), "{line}");
}

#[test]
fn what_was_not_examined_of_a_line_is_not_taken_for_nothing() {
    let of = |log: String| {
        let list =
            "- {id: X, log: {files: 'a.log', pattern: 'panic: (\\d+)', unit: number, measure: count}, want: '<= 1'}\n";
        shown(&checks(list).file("a.log", log))
    };
    let long = "x".repeat(MAX_LINE);
    for log in [format!("{long}panic: 1"), format!("{}panic: 1{long}", "x".repeat(MAX_LINE - 8))] {
        let line = of(log);
        let why = "| a line of `a.log` is longer than 64 KiB, and the rest of it was not examined";
        assert!(line.starts_with("X unknown") && line.contains(why), "{line}");
    }
    assert!(of(format!("panic: 1{long}")).contains("X passed: values in a.log: want <= 1, got 1"));
    // A greedy pattern finds the last value, which may be in the rest.
    let values = |pattern: &str| {
        let list = format!(
            "- {{id: X, log: {{files: 'a.log', pattern: '{pattern}', unit: s, measure: max}}, want: '< 10s'}}\n"
        );
        shown(&checks(&list).file("a.log", format!("took 5 {long} took 50")))
    };
    for pattern in [r".*took (\d+)", "took (.*) ", r"(\d+) x*"] {
        assert!(values(pattern).starts_with("X unknown"), "{pattern}: {}", values(pattern));
    }
    for pattern in [r"took (\d+)", r"^.*?took (\d+) "] {
        assert!(values(pattern).contains("X passed: values in a.log: want < 10s, got 5s |"), "{}", values(pattern));
    }
    // A further match cannot repair it.
    let line = of(format!("panic: 1\npanic: 2\n{long}panic: 3"));
    assert!(line.starts_with("X FAILED") && line.contains("2 lines of 1 file `a.log`; a line of `a.log` is"), "{line}");
}
