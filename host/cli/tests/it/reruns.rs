//! Runs in which a plugin reruns the failed tests of another one.

use std::fs;

use serde_json::{Value, json};

use crate::bed::{Bed, dev_program, entries, wait_for};
use crate::generate::{documents, of_kind};

/// A suite of three tests with a JUnit report. It records the regular expression for names that it
/// gets, and skips tests that do not match. A test fails if the shell condition `$BAD` holds.
const SUITE: &str = r#"
echo "$NAME: $FOCUS" >> "$ROOT/focus"
{
echo '<testsuite name="suite">'
for test in 'good (one)' 'flaky [two]' 'bad + three'; do
  if ! printf %s "$test" | grep -Eq "$FOCUS"; then echo "<testcase name=\"[It] $test\"><skipped/></testcase>"
  elif eval "$BAD"; then echo "<testcase name=\"[It] $test\"><failure message=\"no\"/></testcase>"
  else echo "<testcase name=\"[It] $test\"/>"; fi
done
echo '</testsuite>'
} > "$SONOBUOY_RESULTS_DIR/junit.xml"
printf %s "$SONOBUOY_RESULTS_DIR/junit.xml" > "$SONOBUOY_RESULTS_DIR/done"
"#;

/// Writes `NAME.yaml`: the suite, whose tests fail if `bad` holds. The script `before` runs first,
/// and `own` is the section `plumbline`.
fn suite(bed: &Bed, name: &str, order: u32, bad: &str, before: &str, own: &str) {
    let script: String = format!("{before}\n{SUITE}").lines().map(|line| format!("    {line}\n")).collect();
    let root = bed.root().display();
    bed.write(
        &format!("{name}.yaml"),
        &format!(
            "sonobuoy-config:\n  plugin-name: {name}\n  driver: Job\n  result-format: junit\n  order: {order}\nspec:\n  name: plugin\n  \
             env:\n  - {{name: FOCUS, value: .}}\n  - {{name: NAME, value: {name}}}\n  - {{name: ROOT, value: '{root}'}}\n  \
             - {{name: BAD, value: '{bad}'}}\n  command: [sh, -euc]\n  args:\n  - |\n{script}{own}"
        ),
    );
}

fn again(other: &str) -> String {
    format!("plumbline:\n  reruns: {{plugin: {other}, focus: FOCUS, strip: '[It] '}}\n")
}

/// The condition that holds for tests whose names start with `names`, a regular expression.
fn fails(names: &str) -> String {
    format!("printf %s \"$test\" | grep -Eq \"^({names})\"")
}

fn statuses(tree: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    let mut open = vec![tree];
    while let Some(item) = open.pop() {
        match item["items"].as_array() {
            Some(items) => open.extend(items.iter().rev()),
            None => found.push((text(&item["name"]), text(&item["status"]))),
        }
    }
    found
}

#[test]
fn a_flaky_test_passes_the_second_time_and_both_outcomes_are_kept() {
    let bed = Bed::new();
    suite(&bed, "suite", 0, &fails("flaky|bad"), "", "");
    suite(&bed, "retry", 1, &fails("bad"), "", &again("suite"));
    let done = bed.run(&["retry", "suite"], &[]).expect(1);
    assert!(done.err.contains("reruns failed tests") || done.out.contains("retry"), "{}\n{}", done.out, done.err);
    let focus = fs::read_to_string(bed.path("focus")).unwrap();
    assert_eq!(focus, "suite: .\nretry: bad \\+ three|flaky \\[two\\]\n");
    let of = |name: &str, status: &str| (format!("[It] {name}"), status.to_owned());
    assert_eq!(
        statuses(&bed.tree("suite")),
        [of("good (one)", "passed"), of("flaky [two]", "failed"), of("bad + three", "failed")]
    );
    assert_eq!(
        statuses(&bed.tree("retry")),
        [of("good (one)", "skipped"), of("flaky [two]", "passed"), of("bad + three", "failed")]
    );
}

#[test]
fn without_failures_the_rerun_is_skipped_with_a_reason() {
    let bed = Bed::new();
    suite(&bed, "suite", 0, "false", "", "");
    suite(&bed, "retry", 1, "false", "", &again("suite"));
    let done = bed.run(&["suite", "retry"], &[]).expect(0);
    assert!(done.err.contains("retry: skipped: no test failed in `suite`"), "{}", done.err);
    assert!(done.out.contains("retry          skipped   no test failed in `suite`"), "{}", done.out);
    assert!(done.out.contains("passed: 3 checks"), "{}", done.out);
    assert_eq!(fs::read_to_string(bed.path("focus")).unwrap(), "suite: .\n");
    assert!(bed.members().iter().all(|name| !name.contains("retry")), "{:?}", bed.members());
    assert!(bed.member("meta/run.log").contains("skipped: no test failed in `suite`"));
    let status = bed.plumbline(&["status", "--local"]).expect(0);
    assert!(status.out.contains("retry: skipped: no test failed in `suite`"), "{}", status.out);
}

#[test]
fn a_killed_run_runs_the_same_tests_again() {
    let bed = Bed::new();
    suite(&bed, "suite", 0, &fails("flaky"), "", "");
    // The first time, it waits for ten minutes.
    let wait = "if ! test -e \"$ROOT/again\"; then echo $$ > \"$ROOT/pid\"; sleep 600; fi";
    suite(&bed, "retry", 1, "false", wait, &again("suite"));
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "suite.yaml", "-p", "retry.yaml"]);
    wait_for("the rerun", || fs::read_to_string(bed.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    run.signal("KILL");
    run.wait();
    bed.write("again", "");
    let work = entries(&bed.path("out")).pop().unwrap();
    bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]).expect(1);
    assert_eq!(
        fs::read_to_string(bed.path("focus")).unwrap(),
        "suite: .\nretry: flaky \\[two\\]\n",
        "the suite is not run twice"
    );
    assert_eq!(bed.tree("retry")["status"], "passed");
}

#[test]
fn a_rerun_without_its_plugin_is_an_error() {
    let bed = Bed::new();
    suite(&bed, "retry", 1, "false", "", &again("suite"));
    let done = bed.run(&["retry"], &[]).expect(2);
    assert!(done.err.contains("there is no plugin of that name in this run"), "{}", done.err);
    suite(&bed, "suite", 1, "false", "", "");
    let done = bed.run(&["retry", "suite"], &[]).expect(2);
    assert!(done.err.contains("give it a lower `sonobuoy-config.order`"), "{}", done.err);
}

/// Writes the definitions of a run of the suite with `--retry-failed 2`, as a cluster gets them.
/// The command of each is the stand-in for the suite's image. Returns their names.
fn suite_with_retries(bed: &Bed, variables: &[(&str, &str)], options: &[&str]) -> Vec<String> {
    let mut args: Vec<String> =
        ["gen", "-p", "e2e", "--mode", "quick", "--retry-failed", "2", "--kubernetes-version", "v1.30.2"]
            .iter()
            .chain(options)
            .map(|option| (*option).to_owned())
            .collect();
    for (name, value) in variables {
        args.extend(["--plugin-env".to_owned(), format!("e2e.{name}={value}")]);
    }
    let made = bed.plumbline(&args.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    let documents = documents(&made.out);
    let mut files = Vec::new();
    for yaml in of_kind(&documents, "ConfigMap")[1]["data"].as_object().unwrap().values() {
        let mut definition: Value = serde_saphyr::from_str(yaml.as_str().unwrap()).unwrap();
        definition["spec"]["command"] = json!([dev_program(), "suite"]);
        let name = definition["sonobuoy-config"]["plugin-name"].as_str().unwrap().to_owned();
        bed.write(&format!("{name}.yaml"), &definition.to_string());
        files.push(name);
    }
    files
}

/// The only test of the mode `quick`.
const QUICK: &str = "Pods should be submitted and removed";

#[test]
fn a_flake_of_the_suite_does_not_fail_the_run() {
    let bed = Bed::new();
    let plugins = suite_with_retries(&bed, &[("FAKE_E2E_FLAKY", QUICK), ("FAKE_E2E_NO_PROGRESS", "1")], &[]);
    assert_eq!(plugins, ["e2e", "e2e-retry-1", "e2e-retry-2"]);
    let done = bed.run(&["e2e", "e2e-retry-1", "e2e-retry-2"], &[]).expect(0);
    assert!(done.err.contains("e2e-retry-2: skipped: no test failed in `e2e-retry-1`"), "{}", done.err);
    let verdict: Value = serde_json::from_str(&bed.member("plugins/e2e/plumbline_verdict.json")).unwrap();
    assert_eq!((&verdict["status"], &verdict["classes"]["flaky"]["items"]), (&json!("passed"), &json!(1)), "{verdict}");
    assert_eq!(bed.tree("e2e")["status"], "failed", "what happened is kept");
    assert_eq!(bed.tree("e2e-retry-1")["status"], "passed");
}

#[test]
fn a_test_that_fails_every_time_fails_the_run() {
    let bed = Bed::new();
    let fails = [("FAKE_E2E_FAIL", QUICK), ("FAKE_E2E_NO_PROGRESS", "1")];
    suite_with_retries(&bed, &fails, &[]);
    bed.run(&["e2e", "e2e-retry-1", "e2e-retry-2"], &[]).expect(1);
    let verdict: Value = serde_json::from_str(&bed.member("plugins/e2e/plumbline_verdict.json")).unwrap();
    assert_eq!(verdict["classes"]["failed-again"]["counting"], 1, "{verdict}");
    assert_eq!(bed.tree("e2e-retry-2")["status"], "failed");

    // With that run as the baseline, the test fails again and is excused.
    let baseline = bed.archive();
    let later = Bed::new();
    suite_with_retries(&later, &fails, &["--baseline", &baseline]);
    later.run(&["e2e", "e2e-retry-1", "e2e-retry-2"], &[]).expect(0);
    let verdict: Value = serde_json::from_str(&later.member("plugins/e2e/plumbline_verdict.json")).unwrap();
    assert_eq!(verdict["classes"]["baseline-failure"]["failures"], 1, "{verdict}");
}

#[test]
fn reruns_are_for_runs_and_not_for_a_definition() {
    let bed = Bed::new();
    let done = bed.plumbline(&["gen", "plugin", "e2e", "--retry-failed", "1"]).expect(2);
    assert!(done.err.contains("`--retry-failed` adds plugins to a run"), "{}", done.err);
    bed.plumbline(&["gen", "--retry-failed", "6"]).expect(2);
}
