//! The commands of the README and of the pages for a start, executed as printed, in the order in
//! which a reader meets them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::guide::path_with_this_program;

/// The pages, in the order in which they link to each other.
const PAGES: [&str; 5] = [
    "README.md",
    "docs/first-local-check.md",
    "docs/first-cluster-run.md",
    "docs/first-conformance-run.md",
    "docs/audit-a-fleet.md",
];

/// Commands that are not executed, by prefix, with the reason.
const SKIPPED: [(&str, &str); 26] = [
    ("git clone ", "downloads the sources that this test is in"),
    ("sudo install ", "installs the program on the system"),
    ("skopeo copy ", "needs the registry of a cluster"),
    ("cargo xtask ", "builds the workspace: a task of its own in CI"),
    ("plumbline run -p ", CLUSTER),
    ("plumbline status ", CLUSTER),
    ("plumbline logs ", CLUSTER),
    ("plumbline wait", CLUSTER),
    ("plumbline retrieve ", CLUSTER),
    ("plumbline delete ", CLUSTER),
    ("plumbline conformance run", CLUSTER),
    ("plumbline results audit/", "of a run in a cluster"),
    ("plumbline results diff audit-", "of runs in a cluster"),
    ("plumbline history archives/", "of runs in a cluster"),
    ("plumbline gen -p host-facts --schedule", "asks the cluster for its version"),
    ("kubectl ", "needs a cluster"),
    ("plumbline plugin new ", "executed by the test of the authors' guide, in every language"),
    ("cd my-format", "executed by the test of the authors' guide"),
    ("plumbline plugin build", "executed by the test of the authors' guide"),
    ("plumbline plugin test", "executed by the test of the authors' guide"),
    ("plumbline run --local -p .", "executed by the test of the authors' guide"),
    ("plumbline run --local -- pytest", PYTEST),
    ("plumbline run --local -p smoke.yaml", PYTEST),
    ("plumbline results smoke/", PYTEST),
    ("mkdir unpacked", PYTEST),
    ("plumbline plugin postprocess --definition smoke.yaml", PYTEST),
];

/// The end-to-end tests execute the pages for the first runs in a cluster.
const CLUSTER: &str = "needs a cluster";

/// Applies only if pytest is not installed.
const PYTEST: &str = "needs pytest";

/// Commands whose exit code is a verdict over this machine.
const MACHINE: [&str; 5] = [
    "plumbline run --local -p host-facts",
    "plumbline results first/",
    "plumbline results audit-one/",
    "plumbline results diff first/",
    "plumbline status --local",
];

fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

pub(crate) fn commands(pages: &str) -> Vec<&str> {
    blocks(pages, "console").into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).collect()
}

fn why_skipped(command: &str, has_pytest: bool) -> Option<&'static str> {
    // `status --local` does not need a cluster.
    let local = command.starts_with("plumbline status --local");
    let rule = SKIPPED.iter().filter(|_| !local).find(|(start, _)| command.starts_with(start))?;
    Some(rule.1).filter(|&why| why != PYTEST || !has_pytest)
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the text of all pages.
fn pages() -> String {
    PAGES.map(|page| fs::read_to_string(root().join(page)).unwrap()).join("\n")
}

#[test]
fn every_command_works_as_printed() {
    let (root, pages) = (root(), pages());
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root.join("examples"), dir.path().join("examples")).unwrap();
    let smoke = blocks(&pages, "yaml").into_iter().find(|block| block.contains("plugin-name: smoke")).unwrap();
    fs::write(dir.path().join("smoke.yaml"), smoke).unwrap();
    let path = path_with_this_program(dir.path());
    let bash = |command: &str| {
        let output = Command::new("bash")
            .args(["-c", command])
            .current_dir(dir.path())
            .env("PATH", &path)
            .envs(
                ["data", "config", "state"]
                    .map(|kind| (format!("XDG_{}_HOME", kind.to_uppercase()), dir.path().join(kind))),
            )
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    let has_pytest = bash("pytest --version").0 == Some(0);
    let mut executed = Vec::new();
    for command in commands(&pages) {
        if let Some(why) = why_skipped(command, has_pytest) {
            eprintln!("SKIPPED: `{command}`: {why}");
            continue;
        }
        let (code, text) = bash(command);
        let machine = MACHINE.iter().any(|start| command.starts_with(start));
        let fine = code == Some(0) || (machine && code == Some(1));
        assert!(fine, "`{command}` ended with {code:?}:\n{text}");
        executed.push((command, text));
    }
    let text = |start: &str| executed.iter().find(|(command, _)| command.starts_with(start)).map(|(_, text)| text);
    assert!(text("plumbline status --local").unwrap().contains("complete"), "{executed:?}");
    if has_pytest {
        let smoke = text("plumbline run --local -p smoke.yaml").unwrap();
        assert!(smoke.contains("passed: 1 check"), "{smoke}");
        let again = text("plumbline plugin postprocess --definition smoke.yaml").unwrap();
        assert!(again.contains("passed"), "{again}");
    }
}

#[test]
fn every_rule_for_skipping_has_a_command() {
    let pages = pages();
    let commands = commands(&pages);
    for (start, _) in SKIPPED.iter().filter(|(_, why)| *why != PYTEST) {
        assert!(commands.iter().any(|command| command.starts_with(start)), "`{start}` is on no page");
    }
}

/// Returns the rows of `docs/troubleshooting.md` about errors, each with the parts of its messages
/// between what they are about.
fn troubles() -> Vec<Vec<String>> {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let errors = page.split("## A result is `unknown`").next().unwrap();
    let cells = errors.lines().filter(|line| line.starts_with("| `")).filter_map(|row| row.split('|').nth(1));
    let messages = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    messages
        .map(|message| message.split('…').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
        .collect()
}

/// Each text of an error in `docs/troubleshooting.md` is one that the program has.
#[test]
fn the_errors_on_the_page_of_troubles_exist() {
    let program = text_of(&root().join("host"));
    let mut found = 0;
    for part in troubles().into_iter().flatten().filter(|part| part.len() > 8) {
        assert!(program.contains(&part), "no error contains `{part}`");
        found += 1;
    }
    assert!(found > 80, "{found}");
}

/// Types of errors that end a run, or replace a result of it.
const ERRORS_OF_RUNS: [&str; 8] = [
    "StatusError",
    "DriverError",
    "OverlapError",
    "ChunkError",
    "PlanError",
    "ModuleError",
    "GatherError",
    "WorkerError",
];

/// Errors that consist of a cause and names only, or that are failures of the operating system.
const WITHOUT_A_ROW: [&str; 5] = [
    "StatusError::Cluster",
    "OverlapError::Cluster",
    "DriverError::Type",
    "PlanError::Verdict",
    "WorkerError::Signals",
];

/// Returns the errors of runs, by name, as the catalogues of messages have them.
fn errors_of_runs() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for package in ["kubernetes", "aggregator", "worker"] {
        let file = format!("host/{package}/src/snapshots/plumbline_{package}__messages__messages.snap");
        let catalogue = fs::read_to_string(root().join(file)).unwrap();
        let mut name = "";
        for line in catalogue.lines() {
            let kind = line.split_once("::").map_or("", |(kind, _)| kind);
            if ERRORS_OF_RUNS.contains(&kind) && !line.contains(' ') {
                name = line;
            } else if line.is_empty() {
                name = "";
            } else if let Some(message) = line.strip_prefix("error: ").filter(|_| !name.is_empty()) {
                all.push((name.to_owned(), message.to_owned()));
            }
        }
    }
    // What delays a result, and then replaces it.
    let delays = root().join("host/kubernetes/src/monitor/assess/snapshots");
    for line in text_of(&delays).lines() {
        let reported = line.strip_prefix("  ").and_then(|line| line.split_once(": "));
        if let Some((kind, message)) = reported.filter(|(kind, _)| kind.chars().all(char::is_alphanumeric)) {
            all.push((kind.to_owned(), message.to_owned()));
        }
    }
    all
}

#[test]
fn the_errors_of_a_run_are_on_the_page_of_troubles() {
    let rows = troubles();
    let is_of = |message: &str, parts: &[String]| {
        let rest = parts.iter().try_fold(message, |rest, part| rest.split_once(part.as_str()).map(|(_, rest)| rest));
        rest.is_some()
    };
    let errors = errors_of_runs();
    assert!(errors.len() > 60, "{}", errors.len());
    let missing: Vec<_> = errors
        .iter()
        .filter(|(name, _)| !WITHOUT_A_ROW.contains(&name.as_str()))
        .filter(|(_, message)| !rows.iter().any(|parts| is_of(message, parts)))
        .collect();
    assert!(missing.is_empty(), "docs/troubleshooting.md has no row for {missing:#?}");
    for name in WITHOUT_A_ROW {
        assert!(errors.iter().any(|(known, _)| known == name), "there is no error `{name}`");
    }
}

/// Returns the code and the snapshots below `dir`.
fn text_of(dir: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            text.push_str(&text_of(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs" || extension == "snap") {
            text.push_str(&fs::read_to_string(entry).unwrap());
        }
    }
    text
}
