//! `plumbline run --local -- COMMAND`: runs a command without a definition, and detects the format
//! of its results.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::bed::{Bed, Done};

/// Runs `command` with the archive in `out`.
fn run(bed: &Bed, options: &[&str], command: &[&str]) -> Done {
    let mut args = vec!["run", "--local", "--dir", "out"];
    args.extend(options);
    args.push("--");
    args.extend(command);
    bed.plumbline(&args)
}

fn script(bed: &Bed, name: &str, text: &str) {
    let path = bed.write(name, &format!("#!/bin/sh\n{text}"));
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Whether the program `name` runs on this machine. If not, prints that its tests are skipped.
fn program(name: &str, args: &[&str]) -> bool {
    let there = Command::new(name).args(args).output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: `{name}` is not on this machine");
    }
    there
}

/// Returns the program that `variable` names, which the setup installed, or else the program `name`
/// of the system.
fn tool(name: &str, variable: &str) -> Option<String> {
    std::env::var(variable).ok().or_else(|| program(name, &["--version"]).then(|| name.to_owned()))
}

/// The leaves of a tree as `name: status`.
fn leaves(tree: &Value) -> Vec<String> {
    match tree["items"].as_array() {
        Some(items) if !items.is_empty() => items.iter().flat_map(leaves).collect(),
        _ => vec![format!("{}: {}", tree["name"].as_str().unwrap(), tree["status"].as_str().unwrap())],
    }
}

const JUNIT_PASSED: &str = "<testsuites><testsuite name=\"s\"><testcase name=\"a\"/></testsuite></testsuites>";
const JUNIT_FAILED: &str = "<?xml version=\"1.0\"?><testsuite name=\"s\"><testcase name=\"a\"><failure message=\"broken\"/></testcase></testsuite>";

#[test]
fn a_script_starts_where_the_user_is_and_its_report_is_read() {
    let bed = Bed::new();
    bed.write("report.xml", JUNIT_FAILED);
    script(&bed, "check.sh", "cp report.xml \"$SONOBUOY_RESULTS_DIR/\"; echo working; exit 1\n");
    let done = run(&bed, &[], &["./check.sh", "--fast"]).expect(1);
    assert!(done.out.starts_with("detected: JUnit (report.xml, written by check)\n"), "{}", done.out);
    assert!(done.out.contains("failed: 1 of 1 check"), "{}", done.out);
    assert_eq!(leaves(&bed.tree("check")), ["a: failed"]);
    let log = bed.member("podlogs/local/check/logs/global.txt");
    assert_eq!(log, "working\n");
}

#[test]
fn the_exit_code_counts_in_addition_to_the_report() {
    for (report, code, verdict, shown) in [
        (JUNIT_PASSED, 0, 0, vec!["a: passed"]),
        (JUNIT_PASSED, 3, 1, vec!["a: passed", "process exited with code 3: failed"]),
        (JUNIT_FAILED, 0, 1, vec!["a: failed"]),
        (JUNIT_FAILED, 3, 1, vec!["a: failed"]),
    ] {
        let bed = Bed::new();
        bed.write("report.xml", report);
        let command = format!("cp report.xml $SONOBUOY_RESULTS_DIR/r.xml; exit {code}");
        let done = run(&bed, &[], &["sh", "-c", &command]).expect(verdict);
        assert_eq!(leaves(&bed.tree("sh")), shown, "{report} {code}: {}", done.out);
    }
}

#[test]
fn unrecognised_output_leaves_the_decision_to_the_exit_code() {
    for (command, code, leaf) in [
        ("echo all is well", 0, "exit code 0: passed"),
        ("true", 0, "exit code 0: passed"),
        ("echo bad; exit 7", 1, "process exited with code 7: failed"),
        ("exit 7", 1, "process exited with code 7: failed"),
        ("kill -9 $$", 1, "process was killed by signal 9: failed"),
    ] {
        let bed = Bed::new();
        let done = run(&bed, &["--name", "own"], &["sh", "-c", command]).expect(code);
        assert!(done.out.starts_with("unrecognised output: the exit code decides\n"), "{command}: {}", done.out);
        let shown = leaves(&bed.tree("own"));
        assert_eq!(shown, ["stdout.txt: not-read", leaf], "{command}");
    }
}

#[test]
fn every_built_in_format_is_detected() {
    let sarif = r#"{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":{"name":"lint"}},"results":[{"ruleId":"R1","level":"error","message":{"text":"bad"}}]}]}"#;
    let ctrf = r#"{"reportFormat":"CTRF","specVersion":"0.0.0","results":{"tool":{"name":"t"},"summary":{"tests":1,"passed":0,"failed":1},"tests":[{"name":"a","status":"failed","duration":2}]}}"#;
    let go = "{\"Action\":\"start\",\"Package\":\"p\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n";
    for (format, content, leaf) in [
        ("JUnit", JUNIT_FAILED, "a: failed"),
        ("Go test JSON", go, "TestA: failed"),
        ("TAP", "1..1\nnot ok 1 a\n", "a: failed"),
        ("CTRF", ctrf, "a: failed"),
        ("SARIF", sarif, "R1: failed"),
    ] {
        let bed = Bed::new();
        bed.write("content", content);
        // The format is detected by content, on standard output and in a file. The name of the file
        // does not help.
        run(&bed, &[], &["cat", "content"]).expect(1);
        assert_eq!(leaves(&bed.tree("cat")), [leaf], "{format}");
        let bed = Bed::new();
        bed.write("content", content);
        let done = run(&bed, &[], &["sh", "-c", "cp content $SONOBUOY_RESULTS_DIR/report"]).expect(1);
        assert!(done.out.starts_with(&format!("detected: {format} (report, written by sh)\n")), "{}", done.out);
        assert_eq!(leaves(&bed.tree("sh")), [leaf], "{format}");
    }
}

#[test]
fn files_are_detected_one_by_one_and_the_rest_is_shown_as_not_read() {
    let bed = Bed::new();
    bed.write("a.xml", JUNIT_PASSED);
    let copy = "cp a.xml $SONOBUOY_RESULTS_DIR/a.xml; printf '1..1\\nok 1 t\\n' > $SONOBUOY_RESULTS_DIR/b; echo x > $SONOBUOY_RESULTS_DIR/coverage";
    let done = run(&bed, &[], &["sh", "-c", copy]).expect(0);
    let lines: Vec<&str> = done.out.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "detected: JUnit (a.xml, written by sh)",
            "detected: TAP (b, written by sh)",
            "not read: 1 file of unknown format, written by sh"
        ]
    );
    assert_eq!(leaves(&bed.tree("sh")), ["a: passed", "t: passed", "coverage: not-read"]);
}

#[test]
fn an_empty_report_is_never_green() {
    for (content, code) in [("<testsuites/>", 5), ("1..0 # no tests\n", 5)] {
        let bed = Bed::new();
        bed.write("report", content);
        run(&bed, &[], &["sh", "-c", "cp report $SONOBUOY_RESULTS_DIR/"]).expect(code);
    }
    let bed = Bed::new();
    let done = run(&bed, &[], &["sh", "-c", ": > $SONOBUOY_RESULTS_DIR/report.xml"]);
    assert_ne!(done.code, 0, "{}", done.out);
}

#[test]
fn the_archive_is_that_of_a_normal_plugin() {
    let bed = Bed::new();
    bed.write("report.xml", JUNIT_FAILED);
    let copy = "cp report.xml $SONOBUOY_RESULTS_DIR/";
    run(&bed, &["--name", "own"], &["sh", "-c", copy]).expect(1);
    let definition: Value = serde_json::from_str(&bed.member("plugins/own/definition.json")).unwrap();
    let definition = &definition["Definition"];
    assert_eq!(definition["sonobuoy-config"]["result-format"], "auto");
    assert_eq!(definition["spec"]["command"], serde_json::json!(["sh", "-c", copy]));
    let before = leaves(&bed.tree("own"));
    let done = bed.plumbline(&["results", &bed.archive(), "--reprocess", "-p", "own", "-o", "json"]);
    let trees: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(leaves(&trees[0]), before);
    bed.plumbline(&["results", "diff", &bed.archive(), &bed.archive()]).expect(2);
}

#[test]
fn a_format_that_is_named_is_not_detected() {
    let bed = Bed::new();
    bed.write("report.xml", JUNIT_FAILED);
    let copy = ["sh", "-c", "cp report.xml $SONOBUOY_RESULTS_DIR/r.xml"];
    let done = run(&bed, &["--format", "junit"], &copy).expect(1);
    assert!(!done.out.contains("detected"), "{}", done.out);
    let done = run(&bed, &["--format", "junt"], &copy).expect(2);
    assert!(done.err.contains("junt") && done.err.contains("did you mean `junit`?"), "{}", done.err);
}

#[test]
fn mistakes_are_named_before_anything_runs() {
    let bed = Bed::new();
    bed.write("check.sh", "#!/bin/sh\n");
    for (args, error, hint) in [
        (&["run", "--", "pytest", "-q"][..], "`pytest` is a command", "plumbline run --local -- pytest -q"),
        (&["run", "--local", "--", "chek.sh"], "command not found: `chek.sh`", "install it"),
        (&["run", "--local", "--", "check.sh"], "command not found: `check.sh`", "write `./check.sh`"),
        (&["run", "--local", "--", "./check.sh"], "command is not executable: `./check.sh`", "chmod +x ./check.sh"),
        (&["run", "--local", "--", "./nothing"], "command not found: `./nothing`", "relative to the current directory"),
        (&["run", "--local", "--", "echo hello"], "command not found: `echo hello`", "`-- echo …`"),
        (&["run", "--local", "--", "ehco"], "command not found: `ehco`", "did you mean `echo`?"),
        (&["run", "--local", "--name", "A B", "--", "true"], "invalid plugin name `--name A B`", ""),
    ] {
        let done = bed.plumbline(args).expect(2);
        assert!(done.err.contains(error) && done.err.contains(hint), "{args:?}: {}", done.err);
    }
}

#[test]
fn pytest_writes_junit_without_options() {
    let Some(pytest) = tool("pytest", "PLUMBLINE_PYTEST") else { return };
    let bed = Bed::new();
    bed.write("tests/test_a.py", "def test_good():\n    pass\ndef test_bad():\n    assert 504 == 200\n");
    let done = run(&bed, &[], &[&pytest, "-q"]).expect(1);
    assert!(done.out.starts_with("detected: JUnit (test-results.xml, written by pytest)\n"), "{}", done.out);
    let mut shown = leaves(&bed.tree("pytest"));
    shown.sort();
    assert_eq!(shown, ["test_bad: failed", "test_good: passed"]);

    let bed = Bed::new();
    bed.write("tests/test_a.py", "def test_good():\n    pass\n");
    run(&bed, &[], &[&pytest, "-q"]).expect(0);

    let bed = Bed::new();
    bed.write("tests/nothing.py", "");
    let none = run(&bed, &[], &[&pytest, "-q"]).expect(5);
    assert!(none.out.contains("nothing to judge"), "{}", none.out);

    // A test file that cannot be imported.
    let bed = Bed::new();
    bed.write("tests/test_a.py", "import nothing_of_this_name\n");
    run(&bed, &[], &[&pytest, "-q"]).expect(1);
}

#[test]
fn go_prints_events() {
    if !program("go", &["version"]) {
        return;
    }
    let bed = Bed::new();
    bed.write("go.mod", "module example.com/m\n\ngo 1.21\n");
    bed.write(
        "m_test.go",
        "package m\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T) { t.Fatal(\"want 1\") }\n",
    );
    let cache = std::env::temp_dir().join("plumbline-test-go-cache");
    let mut command = bed.command(&["run", "--local", "--dir", "out", "--", "go", "test", "./..."]);
    command.env("GOCACHE", cache).env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    let done = Done::of(command).expect(1);
    assert!(done.out.starts_with("detected: Go test JSON (standard output of go-test)\n"), "{}", done.out);
    let mut shown = leaves(&bed.tree("go-test"));
    shown.sort();
    assert_eq!(shown, ["TestBad: failed", "TestGood: passed"]);
}

#[test]
fn bats_prints_tap() {
    let Some(bats) = tool("bats", "PLUMBLINE_BATS") else { return };
    let bed = Bed::new();
    bed.write("tests/a.bats", "@test \"good\" {\n  true\n}\n@test \"bad\" {\n  [ 1 -eq 2 ]\n}\n");
    let done = run(&bed, &[], &[&bats, "tests/"]).expect(1);
    assert!(done.out.starts_with("detected: TAP (standard output of bats)\n"), "{}", done.out);
    assert_eq!(leaves(&bed.tree("bats")), ["good: passed", "bad: failed"]);
}

/// Building nextest takes a long time. A stand-in for cargo writes the report of a real run to the
/// path in the configuration.
#[test]
fn nextest_writes_junit_where_its_configuration_says() {
    let bed = Bed::new();
    bed.write(
        "junit.xml",
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2" failures="1" errors="0" uuid="a" timestamp="2026-11-22T10:00:00.000+00:00" time="0.010">
    <testsuite name="demo" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="tests::good" classname="demo" timestamp="2026-11-22T10:00:00.000+00:00" time="0.005">
        </testcase>
        <testcase name="tests::bad" classname="demo" timestamp="2026-11-22T10:00:00.000+00:00" time="0.005">
            <failure message="thread 'tests::bad' (7) panicked at src/lib.rs:9:9" type="test failure with exit code 101">thread 'tests::bad' (7) panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: 504
 right: 200</failure>
        </testcase>
    </testsuite>
</testsuites>"#,
    );
    script(
        &bed,
        "bin/cargo",
        r#"[ "$1 $2 $3" = "nextest run --tool-config-file" ] || exit 96
config=${4#plumbline:}
path=$(sed -n 's/^path = "\(.*\)"$/\1/p' "$config")
cp junit.xml "$path"
exit 100
"#,
    );
    let path = format!("{}:{}", bed.path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = bed.command(&["run", "--local", "--dir", "out", "--", "cargo", "nextest", "run"]);
    command.env("PATH", path);
    let done = Done::of(command).expect(1);
    let first = "detected: JUnit (test-results.xml, written by cargo-nextest)\n";
    assert!(done.out.starts_with(first), "{}{}", done.out, done.err);
    assert!(done.out.contains("tests::bad   assertion `left == right` failed"), "{}", done.out);
    assert_eq!(leaves(&bed.tree("cargo-nextest")), ["tests::good: passed", "tests::bad: failed"]);
}

#[test]
fn formats_are_detected_by_the_end_and_the_name_of_a_file() {
    let ctrf = |padding: usize| {
        let tests = format!(r#"{{"name":"a","status":"failed","duration":2,"message":"{}"}}"#, "x".repeat(padding));
        let rest = r#""summary":{"tests":1,"passed":0,"failed":1},"tool":{"name":"t"}"#;
        format!(r#"{{"results":{{"tests":[{tests}],{rest}}},"reportFormat":"CTRF","specVersion":"0.0.0"}}"#)
    };
    let ctrf = ctrf(100_000);
    let sarif = format!(
        r#"{{"runs":[{{"tool":{{"driver":{{"name":"lint"}}}},"results":[{{"ruleId":"R1","level":"error","message":{{"text":"{}"}}}}]}}],"version":"2.1.0"}}"#,
        "x".repeat(100_000)
    );
    let long = format!(
        "<!-- {} --><TestSuite name='s'><TestCase name='a'><failure/></TestCase></TestSuite>",
        "x".repeat(100_000)
    );
    let go = "go test -json ./...\n{\"Action\":\"run\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\"}\n";
    for (format, name, content, leaf) in [
        ("JUnit", "r.xml", long.as_str(), "a: failed"),
        ("CTRF", "report.json", ctrf.as_str(), "a: failed"),
        ("SARIF", "report.json", sarif.as_str(), "R1: failed"),
        ("TAP", "report", "not ok - a\n1..1\n", "a: failed"),
        ("TAP", "r.tap", "not ok a\n1..1\n", "a: failed"),
        ("Go test JSON", "log", go, "TestA: failed"),
    ] {
        let bed = Bed::new();
        bed.write("content", content);
        let done = run(&bed, &[], &["sh", "-c", &format!("cp content $SONOBUOY_RESULTS_DIR/{name}")]).expect(1);
        assert!(done.out.starts_with(&format!("detected: {format} ({name}, written by sh)\n")), "{}", done.out);
        assert_eq!(leaves(&bed.tree("sh")), [leaf], "{format}");
    }
}
