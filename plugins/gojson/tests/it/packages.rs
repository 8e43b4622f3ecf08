//! Tests of packages: the classes of tests, and packages, builds and tests without an end.

use plumbline_sdk::Item;

use crate::events::{read, text};

fn meta<'r>(item: &'r Item, key: &str) -> Option<&'r str> {
    item.meta.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

#[test]
fn the_class_of_a_test_is_its_package() {
    let run = read(
        r#"{"Action":"pass","Package":"example.com/a","Test":"TestNew"}
{"Action":"skip","Package":"example.com/b","Test":"TestNew"}
{"Action":"fail","Package":"example.com/b","Test":"TestNew/sub"}
{"Action":"pass","Test":"TestNew"}
"#,
    );
    let classes: Vec<_> = run.items.iter().skip(1).map(|item| (item.name.as_str(), meta(item, "classname"))).collect();
    assert_eq!(
        classes,
        [
            ("TestNew", Some("example.com/a")),
            ("TestNew", Some("example.com/b")),
            ("TestNew/sub", Some("example.com/b")),
            ("TestNew", None)
        ]
    );
    let long = serde_json::json!({"Action": "pass", "Package": "p".repeat(100_000), "Test": "A"});
    assert_eq!(meta(&read(long.to_string()).items[1], "classname").map(str::len), Some(4 << 10));
}

/// `go tool test2json ./bin` without `-p`.
#[test]
fn a_failed_end_without_a_package_is_a_failed_item() {
    let passed = "{\"Action\":\"start\"}\n{\"Action\":\"run\",\"Test\":\"A\"}\n{\"Action\":\"pass\",\"Test\":\"A\"}\n";
    let said = "{\"Action\":\"output\",\"Output\":\"fatal error: out of memory\\n\"}\n";
    let run = read(format!("{passed}{said}{{\"Action\":\"fail\"}}\n"));
    assert_eq!(run.outline(), "out.json: -\n  A: passed\n  package without a name: failed\n");
    assert_eq!(text(&run.items[2], "failure"), "fatal error: out of memory");
    // A failed test explains the failure, and the next process in the file has its own end.
    let failed = "{\"Action\":\"fail\",\"Test\":\"B\"}\n{\"Action\":\"fail\"}\n";
    assert_eq!(read(format!("{passed}{failed}")).outline(), "out.json: -\n  A: passed\n  B: failed\n");
    let run = read(format!("{passed}{failed}{passed}{{\"Action\":\"fail\"}}\n"));
    assert_eq!(run.outline(), "out.json: -\n  A: passed\n  B: failed\n  A: passed\n  package without a name: failed\n");
    assert_eq!(read(format!("{passed}{{\"Action\":\"pass\"}}\n")).outline(), "out.json: -\n  A: passed\n");
}

#[test]
fn a_test_without_an_end_is_unknown() {
    for (package, class) in [("", None), ("\"Package\":\"p\",", Some("p"))] {
        let event = |action: &str, test: &str| format!("{{{package}\"Action\":\"{action}\",\"Test\":\"{test}\"}}\n");
        let ended = event("run", "A") + &event("pass", "A");
        let stuck = event("run", "B") + &event("run", "B/sub");
        let said = format!("{{{package}\"Action\":\"output\",\"Test\":\"B/sub\",\"Output\":\"waiting\\n\"}}\n");
        let run = read(format!("{ended}{stuck}{said}"));
        assert_eq!(run.outline(), "out.json: -\n  A: passed\n  B: unknown\n  B/sub: unknown\n");
        assert_eq!(meta(&run.items[2], "error"), Some("the file ends before this test"));
        assert_eq!((meta(&run.items[2], "classname"), text(&run.items[3], "failure")), (class, "waiting"));
        // The end of the test or of its package, whatever it is, decides.
        let run = read(format!("{ended}{stuck}{}{}", event("skip", "B/sub"), event("fail", "B")));
        assert_eq!(run.outline(), "out.json: -\n  A: passed\n  B/sub: skipped\n  B: failed\n");
        let run = read(format!("{ended}{stuck}{{{package}\"Action\":\"pass\"}}\n"));
        assert_eq!(run.outline(), "out.json: -\n  A: passed\n");
    }
}

/// `go tool test2json` writes the end of a process that was killed, or that ended itself with exit
/// code 0, as that of its last test.
#[test]
fn a_started_package_without_an_end_is_unknown_as_well() {
    for (package, name) in [("", "package without a name"), (",\"Package\":\"p\"", "p")] {
        let head = format!("{{\"Action\":\"start\"{package}}}\n{{\"Action\":\"run\",\"Test\":\"A\"{package}}}\n");
        let run = read(format!("{head}{{\"Action\":\"pass\",\"Test\":\"A\"{package}}}\n"));
        assert_eq!(run.outline(), format!("out.json: -\n  A: passed\n  {name}: unknown\n"));
        assert_eq!(meta(&run.items[2], "error"), Some("the file ends before this package"));
        let run = read(head);
        assert_eq!(run.outline(), format!("out.json: -\n  A: unknown\n  {name}: unknown\n"));
    }
}

/// A library that calls `exit(0)`, which `go test` reports as a passed package.
#[test]
fn a_test_whose_process_ended_itself_is_unknown() {
    let event =
        |action: &str, test: &str| format!("{{\"Action\":\"{action}\",\"Package\":\"p\",\"Test\":\"{test}\"}}\n");
    let output = |test: &str, text: &str| {
        let event = serde_json::json!({"Action": "output", "Package": "p", "Test": test, "Output": text});
        format!("{event}\n")
    };
    let begun = event("run", "A") + &event("pass", "A") + &event("run", "B");
    let (ok, end) = ("ok  \tp\t0.009s\n", "{\"Action\":\"pass\",\"Package\":\"p\"}\n");
    for rest in [output("B", ok), output("B", "bye") + &output("B", ok), output("B", &format!("bye{ok}"))] {
        let run = read(format!("{begun}{rest}{end}"));
        assert_eq!(run.outline(), "out.json: -\n  A: passed\n  B: unknown\n", "{rest}");
        assert_eq!(meta(&run.items[2], "error"), Some("the process ended before this test, with exit code 0"));
        assert_eq!(meta(&run.items[2], "classname"), Some("p"));
    }
    // Go before 1.20 loses the end of a test that prints an incomplete line.
    let passed = output("B", "bye--- PASS: B (0.00s)\n") + &output("", "PASS\n") + &output("", ok);
    let joined = output("B", "byePASS\n") + &output("B", ok);
    let bench = output("BenchmarkX", "BenchmarkX 10 5 ns/op\n") + &output("", ok);
    let benched = event("pass", "A") + &event("run", "BenchmarkX");
    for (begun, rest) in [(&begun, passed), (&begun, joined), (&benched, bench)] {
        assert_eq!(read(format!("{begun}{rest}{end}")).outline(), "out.json: -\n  A: passed\n", "{rest}");
    }
}

#[test]
fn a_failed_test_does_not_explain_that_others_did_not_end() {
    let failed = "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"A\"}\n";
    let end = "{\"Action\":\"fail\",\"Package\":\"p\"}\n";
    let run = |test: &str| format!("{{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"{test}\"}}\n");
    let output = |text: &str| format!("{{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"{text}\"}}\n");
    let paused = read(format!("{}{failed}{end}", run("B")));
    assert_eq!(paused.outline(), "out.json: -\n  A: failed\n  p: failed\n");
    assert_eq!(text(&paused.items[2], "failure"), "B has not ended");
    // After a panic, the process has not printed its own `FAIL`, and the tests after it have no
    // event.
    let panicked = read(format!("{failed}{}{end}", output("FAIL\\tp\\t0.009s\\n")));
    assert_eq!(panicked.outline(), "out.json: -\n  A: failed\n  p: failed\n");
    let all = read(format!("{failed}{}{}{end}", output("FAIL\\n"), output("FAIL\\tp\\t0.009s\\n")));
    assert_eq!(all.outline(), "out.json: -\n  A: failed\n");
    // Benchmarks have no end.
    let bench = read(format!("{}{failed}{end}", run("BenchmarkX")));
    assert_eq!(bench.outline(), "out.json: -\n  A: failed\n");
}

#[test]
fn a_failed_build_is_a_failed_item_unless_a_package_reports_it() {
    let build = r##"{"ImportPath":"b [b.test]","Action":"build-output","Output":"# b [b.test]\n"}
{"ImportPath":"b [b.test]","Action":"build-output","Output":"./b.go:3:1: syntax error\n"}
{"ImportPath":"b [b.test]","Action":"build-fail"}
"##;
    let good = "{\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"A\"}\n{\"Action\":\"pass\",\"Package\":\"a\"}\n";
    let run = read(format!("{build}{good}"));
    assert_eq!(run.outline(), "out.json: -\n  A: passed\n  b [b.test]: failed\n");
    assert_eq!(text(run.item("b [b.test]").unwrap(), "failure"), "# b [b.test]\n./b.go:3:1: syntax error");
    let package = "{\"Action\":\"fail\",\"Package\":\"b\",\"FailedBuild\":\"b [b.test]\"}\n";
    assert_eq!(read(format!("{build}{good}{package}")).outline(), "out.json: -\n  A: passed\n  b: failed\n");
    // Neither the end of a package with the same name nor the end of the file hides it.
    let same = "{\"ImportPath\":\"a\",\"Action\":\"build-fail\"}\n";
    assert_eq!(read(format!("{same}{good}")).outline(), "out.json: -\n  A: passed\n  a: failed\n");
    let cut = read(format!("{build}{{\"Action\":\"pa"));
    assert!(cut.outline().starts_with("out.json: -\n  b [b.test]: failed\n  unreadable: "), "{}", cut.outline());
    let unnamed = read("{\"Action\":\"build-fail\"}\n");
    assert_eq!(unnamed.outline(), "out.json: -\n  build without an import path: failed\n");
}

#[test]
fn lines_before_the_first_event_are_skipped() {
    let events = "{\"Action\":\"run\",\"Test\":\"A\"}\n{\"Action\":\"fail\",\"Test\":\"A\"}\n";
    assert_eq!(read(format!("go test -json ./...\n\n{events}")).outline(), "out.json: -\n  A: failed\n");
    assert_eq!(read(format!("FAIL\tp [build failed]\n{events}")).outline(), "out.json: unknown\n");
}
