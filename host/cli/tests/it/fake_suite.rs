//! `plumbline-dev suite`: its results and its progress messages are those of the conformance
//! suite's image.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plumbline_app::profiles::suite_tests;
use plumbline_conformance::lists::rerun_focus;
use serde_json::Value;

use crate::bed::{Bed, Done, dev_program, wait_for};

/// A quick test: the only one of the mode `quick`.
const QUICK: &str = "Pods should be submitted and removed";

/// The version whose tests the stand-in has.
const LISTED: &str = "v1.30.14";

/// Returns the command of the stand-in with these variables. Its results go to `results`.
fn command(bed: &Bed, variables: &[(&str, &str)]) -> Command {
    let mut command = bed.dev(&["suite"]);
    for name in ["RESULTS_DIR", "SONOBUOY_K8S_VERSION", "E2E_FOCUS", "E2E_SKIP"] {
        command.env_remove(name);
    }
    command.env("FAKE_E2E_LIST_VERSION", LISTED);
    command.env("RESULTS_DIR", bed.path("results")).envs(variables.iter().copied());
    command
}

fn suite(bed: &Bed, variables: &[(&str, &str)]) -> Done {
    Done::of(command(bed, variables))
}

fn log(bed: &Bed) -> String {
    fs::read_to_string(bed.path("results/e2e.log")).unwrap()
}

fn junit(bed: &Bed) -> String {
    fs::read_to_string(bed.path("results/junit_01.xml")).unwrap()
}

/// The names of the test cases with this status, as in the report.
fn cases<'a>(junit: &'a str, status: &str) -> Vec<&'a str> {
    let status = format!(r#"status="{status}""#);
    let of = junit.lines().filter(|line| line.contains("<testcase") && line.contains(&status));
    of.map(|line| line.split('"').nth(1).unwrap()).collect()
}

/// Starts a stand-in for a worker, which receives progress messages until the suite has completed.
/// Returns its URL, and the thread that returns the messages.
fn worker() -> (String, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/progress", listener.local_addr().unwrap().port());
    let thread = thread::spawn(move || {
        let mut bodies: Vec<Value> = Vec::new();
        while bodies.last().is_none_or(|body| body["msg"] != "Test Suite completed") {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            bodies.push(serde_json::from_slice(&body).unwrap());
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
        bodies
    });
    (url, thread)
}

#[test]
fn a_whole_run_reports_logs_and_posts_every_test() {
    let bed = Bed::new();
    let (url, worker) = worker();
    let started = Instant::now();
    suite(
        &bed,
        &[
            ("E2E_EXTRA_ARGS", &format!("--disable-log-dump --progress-report-url={url}")),
            ("SONOBUOY_K8S_VERSION", "v1.30.7"),
            ("FAKE_E2E_FAIL", "should rollback without unnecessary restarts"),
            ("E2E_USE_GO_RUNNER", "true"),
        ],
    )
    .expect(1);
    eprintln!("a run of 402 tests took {:?}", started.elapsed());
    let log = log(&bed);
    for line in [
        "Will run 402 of 7203 specs",
        "  [FAIL] [sig-apps] Daemon set [Serial] should rollback without unnecessary restarts [Conformance]",
        "FAIL! -- 401 Passed | 1 Failed | 0 Pending | 6801 Skipped",
    ] {
        assert!(log.lines().any(|said| said == line), "{line}");
    }
    // Progress can be read from these lines if it is not posted.
    assert_eq!(log.lines().filter(|line| line.starts_with('•')).count(), 402);
    assert_eq!(log.lines().filter(|line| line.starts_with("• [FAILED] [")).count(), 1);
    assert_eq!(log.lines().filter(|line| line.starts_with("Ran 402 of 7203 Specs in ")).count(), 1);
    let junit = junit(&bed);
    assert_eq!(cases(&junit, "passed").len(), 401 + 4, "what stands around tests is reported too");
    assert_eq!(cases(&junit, "skipped").len(), 6801);
    assert_eq!(
        cases(&junit, "failed"),
        ["[It] [sig-apps] Daemon set [Serial] should rollback without unnecessary restarts [Conformance]"]
    );
    assert!(junit.contains(r#"<testsuite name="Kubernetes e2e suite" package="/usr/local/bin" tests="7207" disabled="0" skipped="6801" errors="0" failures="1""#));
    let bodies = worker.join().unwrap();
    assert_eq!(bodies.len(), 404);
    assert_eq!((&bodies[0]["msg"], &bodies[0]["total"]), (&"Test Suite starting".into(), &402.into()));
    let last = bodies.last().unwrap();
    assert_eq!((&last["completed"], &last["failed"], &last["skipped"]), (&401.into(), &1.into(), &6801.into()));
    assert_eq!(last["failures"].as_array().unwrap().len(), 1);
    assert!(bodies.iter().any(|body| body["msg"].as_str().unwrap().starts_with("FAILED [sig-apps] Daemon set")));
}

#[test]
fn the_archive_has_everything_and_the_done_file_names_it() {
    let bed = Bed::new();
    suite(&bed, &[("E2E_FOCUS", QUICK)]).expect(0);
    let archive = fs::read_to_string(bed.path("results/done")).unwrap();
    assert_eq!(archive, bed.path("results/e2e.tar.gz").to_str().unwrap());
    let listing = Command::new("tar").args(["-tzf", &archive]).output().unwrap();
    let mut names: Vec<String> = String::from_utf8(listing.stdout).unwrap().lines().map(str::to_owned).collect();
    names.sort();
    assert_eq!(names, ["e2e.log", "junit_01.xml"]);
    assert!(log(&bed).contains("SUCCESS! -- 1 Passed | 0 Failed | 0 Pending | 7202 Skipped\nPASS"));
}

#[test]
fn focus_skip_and_parallel_mean_what_they_mean_there() {
    let bed = Bed::new();
    let runs = |variables: &[(&str, &str)]| {
        suite(&bed, variables).expect(0);
        let log = log(&bed);
        let line = log.lines().find_map(|line| line.strip_prefix("Will run ")).unwrap();
        line.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(runs(&[("E2E_FOCUS", ""), ("E2E_SKIP", "")]), 402, "set to nothing is not set");
    assert!(runs(&[("E2E_SKIP", r"\[Disruptive\]|NoExecuteTaintManager")]) < 402);
    let parallel = runs(&[("E2E_PARALLEL", "y")]);
    assert!(parallel < 402, "what is serial is skipped: {parallel}");
    assert_eq!(runs(&[("E2E_PARALLEL", "true"), ("E2E_SKIP", r"\[Serial\]")]), parallel);
    assert_eq!(runs(&[("E2E_PARALLEL", "false")]), 402);
    assert_eq!(runs(&[("E2E_FOCUS", r"^\[sig-node\]")]), 0, "the suite's own name stands first");
    assert!(runs(&[("E2E_FOCUS", r"^Kubernetes e2e suite \[sig-node\]")]) > 0);
    assert_eq!(runs(&[("E2E_DRYRUN", "1"), ("FAKE_E2E_FAIL", ".")]), 402);
    assert!(junit(&bed).contains(r#"<property name="DryRun" value="true">"#));
    suite(&bed, &[("E2E_FOCUS", "a(?=b)")]).expect(2);
}

#[test]
fn without_a_test_nothing_is_set_up_that_could_pass() {
    let bed = Bed::new();
    suite(&bed, &[("E2E_FOCUS", r"\[SynchronizedBeforeSuite\]")]).expect(0);
    let junit = junit(&bed);
    let passed = cases(&junit, "passed");
    assert!(!passed.is_empty() && passed.iter().all(|name| name.starts_with("[Report")), "{passed:?}");
}

#[test]
fn a_flaky_test_passes_in_a_rerun() {
    let bed = Bed::new();
    let flaky =
        [("FAKE_E2E_FLAKY", r"Services should be able to (switch|change)"), ("FAKE_E2E_FAIL", "Daemon set.*rollback")];
    suite(&bed, &flaky).expect(1);
    let first = junit(&bed);
    let failed = cases(&first, "failed");
    assert!(failed.len() > 2, "{failed:?}");
    let focus = rerun_focus(failed.iter().copied()).unwrap();
    let again = [&flaky[..], &[("E2E_FOCUS", focus.as_str())]].concat();
    suite(&bed, &again).expect(1);
    let second = junit(&bed);
    assert_eq!(cases(&second, "passed").len(), failed.len() - 1 + 4, "all but the one that always fails");
    assert_eq!(cases(&second, "failed").len(), 1);
}

#[test]
fn a_crash_leaves_a_log_and_no_report() {
    let bed = Bed::new();
    suite(&bed, &[("FAKE_E2E_CRASH", "after:7")]).expect(2);
    assert_eq!(log(&bed).lines().filter(|line| line.starts_with('•')).count(), 7);
    assert!(log(&bed).contains("panic: "));
    for missing in ["junit_01.xml", "e2e.tar.gz", "done"] {
        assert!(!bed.path("results").join(missing).exists(), "{missing}");
    }
    let done = suite(&bed, &[("FAKE_E2E_CRASH", "soon")]).expect(2);
    assert!(done.err.contains("after:10"), "{}", done.err);
}

#[test]
fn silence_and_a_missing_worker_are_ignored() {
    let bed = Bed::new();
    let nobody = ("E2E_EXTRA_ARGS", "--progress-report-url=http://127.0.0.1:1/progress");
    let done = suite(&bed, &[nobody]).expect(0);
    assert_eq!(done.err.matches("failed to post progress").count(), 3, "then it gives up: {}", done.err);
    let done = suite(&bed, &[nobody, ("FAKE_E2E_NO_PROGRESS", "1")]).expect(0);
    assert!(!done.err.contains("posted"), "{}", done.err);
}

#[test]
fn tests_take_time_and_a_signal_ends_them() {
    let bed = Bed::new();
    let running = bed.start_command("slow", command(&bed, &[("FAKE_E2E_TEST_TIME", "1h")]));
    wait_for("the log", || bed.path("results/e2e.log").exists() && log(&bed).contains("Will run"));
    running.signal("TERM");
    running.wait().expect(143);
    assert!(!bed.path("results/done").exists());
    suite(&bed, &[("E2E_FOCUS", QUICK), ("FAKE_E2E_TEST_TIME", "20ms")]).expect(0);
    assert!(log(&bed).contains("• [0.020 seconds]"), "{}", log(&bed));
}

#[test]
fn a_list_of_ones_own_is_played() {
    let bed = Bed::new();
    bed.write("own.txt", "[It] a \"quoted\" & <marked> test\nb\n");
    let own = bed.path("own.txt");
    let mut command =
        command(&bed, &[("FAKE_E2E_LIST", own.to_str().unwrap()), ("E2E_FOCUS", "."), ("FAKE_E2E_FAIL", "^a")]);
    command.env_remove("FAKE_E2E_LIST_VERSION");
    Done::of(command).expect(1);
    assert_eq!(cases(&junit(&bed), "failed"), ["[It] a &#34;quoted&#34; &amp; &lt;marked&gt; test"]);
}

#[test]
fn a_run_judges_it_and_names_survive() {
    let bed = Bed::new();
    symlink(dev_program(), bed.path("run_e2e.sh")).unwrap();
    let program = bed.path("run_e2e.sh");
    let yaml = format!(
        "sonobuoy-config: {{driver: Process, plugin-name: e2e, result-format: junit}}\n\
         spec:\n  name: e2e\n  command: ['{}']\n  env:\n  - {{name: FAKE_E2E_FAIL, value: 'Daemon set.*rollback'}}\n  \
         - {{name: FAKE_E2E_LIST_VERSION, value: {LISTED}}}\n",
        program.display()
    );
    bed.write("e2e.yaml", &yaml);
    bed.run(&["e2e"], &[]).expect(1);
    let report = bed.plumbline(&["results", &bed.archive(), "-p", "e2e"]).expect(1).out;
    assert!(
        report.contains("Total: 7203\nPassed: 401\nFailed: 1\nSkipped: 6801\n"),
        "setup nodes are no tests: {report}"
    );
    assert!(report.contains("[sig-apps] Daemon set [Serial] should rollback without unnecessary restarts"), "{report}");
    // The names in the results are those of the list.
    let listed = bed.plumbline(&["e2e", "--input", &bed.archive()]).expect(0).out;
    let built_in = suite_tests().unwrap().exact(LISTED).unwrap().unwrap();
    assert_eq!(listed.lines().collect::<Vec<_>>(), built_in.specs().collect::<Vec<_>>());
}

#[test]
fn seven_thousand_cases_are_reported_at_once() {
    let bed = Bed::new();
    let started = Instant::now();
    suite(&bed, &[("E2E_FOCUS", "."), ("E2E_DRYRUN", "y")]).expect(0);
    assert!(log(&bed).contains("Will run 7203 of 7203 specs"));
    eprintln!("7,203 tests took {:?}", started.elapsed());
    // A generous limit: anything slower does not scale linearly.
    assert!(started.elapsed() < Duration::from_secs(60));
}
