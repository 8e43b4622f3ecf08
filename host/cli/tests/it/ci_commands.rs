//! Text from outside is not a command of the CI service that shows it in the log of a job.

use serde_json::{Value, json};

use crate::bed::{Bed, Done};

/// Names of tests that a service would run as commands.
const NAMES: [&str; 5] = [
    "::set-output name=approved::true",
    "  ::stop-commands::x",
    "a ##[add-mask]passed",
    "##vso[task.complete result=Succeeded;]done",
    "##teamcity[buildStatus status='SUCCESS']",
];

const GITHUB: (&str, &str) = ("GITHUB_ACTIONS", "true");
const AZURE: (&str, &str) = ("TF_BUILD", "True");
const TEAMCITY: (&str, &str) = ("TEAMCITY_VERSION", "2026.1");

fn in_ci(bed: &Bed, (name, value): (&str, &str), args: &[&str]) -> Done {
    let mut command = bed.command(args);
    command.env(name, value);
    Done::of(command)
}

/// The lines in which a service would read a command.
fn commands(done: &Done) -> Vec<String> {
    let lines = done.out.split(['\n', '\r']).chain(done.err.split(['\n', '\r']));
    let starts = ["##[", "##vso[", "##teamcity["];
    let is_command =
        |line: &&str| line.trim_start().starts_with("::") || starts.iter().any(|start| line.contains(start));
    lines.filter(is_command).map(str::to_owned).collect()
}

/// Writes an archive in which tests with these names have this status.
fn archive(bed: &Bed, dir: &str, status: &str) {
    let item = |name: &&str| json!({"name": name, "status": status, "details": {"failure": format!("x\n{name}")}});
    let items: Vec<Value> = NAMES.iter().map(item).collect();
    let tree = json!({"name": "p", "status": status, "items": items});
    bed.write(&format!("{dir}/meta/info.json"), r#"{"plugins": ["p"]}"#);
    bed.write(&format!("{dir}/plugins/p/sonobuoy_results.yaml"), &tree.to_string());
}

#[test]
fn names_of_tests_are_no_commands_in_text() {
    let bed = Bed::new();
    archive(&bed, "before", "passed");
    archive(&bed, "run", "failed");
    let texts: &[&[&str]] = &[
        &["results", "run"],
        &["results", "run", "-m", "detailed"],
        &["results", "run", "-m", "dump"],
        &["results", "run", "-m", "readable"],
        &["results", "run", "-o", "json"],
        &["results", "run", "-p", "x\n::add-mask::y ##[z]"],
        &["results", "diff", "before", "run"],
        &["history", "before", "run"],
    ];
    for args in texts {
        for service in [GITHUB, AZURE, TEAMCITY] {
            let done = in_ci(&bed, service, args);
            assert_eq!(commands(&done), [""; 0], "{args:?}: {}{}", done.out, done.err);
        }
    }
    let report = in_ci(&bed, GITHUB, &["results", "run"]).out;
    for shown in [": :set-output name=approved::true", "a ## [add-mask]passed", "##vso [task.complete"] {
        assert!(report.contains(shown), "{report}");
    }
    // Elsewhere, text stays as it is.
    let report = bed.plumbline(&["results", "run"]).out;
    assert!(NAMES.iter().all(|name| report.contains(name.trim())), "{report}");
}

#[test]
fn data_and_annotations_stay_as_they_are() {
    let bed = Bed::new();
    archive(&bed, "run", "failed");
    let trees: Value = serde_json::from_str(&in_ci(&bed, GITHUB, &["results", "run", "-o", "json"]).out).unwrap();
    let items = trees[0]["items"].as_array().unwrap();
    assert_eq!(items.iter().map(|item| item["name"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
    let lines = in_ci(&bed, GITHUB, &["results", "run", "-m", "detailed"]).out;
    let names = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), NAMES);
    let in_github = in_ci(&bed, GITHUB, &["results", "run", "-o", "github"]).out;
    assert!(in_github.starts_with("::error "), "{in_github}");
    assert_eq!(in_github, bed.plumbline(&["results", "run", "-o", "github"]).out);
}

#[test]
fn what_a_run_prints_has_no_command() {
    let bed = Bed::new();
    let cases: String =
        NAMES.iter().map(|name| format!(r#"<testcase name="{name}"><failure message="{name}"/></testcase>"#)).collect();
    bed.write("report.xml", &format!(r#"<testsuite name="s">{cases}</testsuite>"#));
    let script = format!("cp {}/report.xml $SONOBUOY_RESULTS_DIR/", bed.root().display());
    bed.plugin("hostile", "result-format: junit", &script);
    let done = in_ci(&bed, GITHUB, &["run", "--local", "--dir", "out", "-p", "hostile.yaml"]).expect(1);
    assert_eq!(commands(&done), [""; 0], "{}{}", done.out, done.err);
    assert!(format!("{}{}", done.out, done.err).contains("## [add-mask]passed"), "{}{}", done.out, done.err);
}
