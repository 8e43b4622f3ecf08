//! The commands of the README and of the pages for a start, executed as printed, in the order in
//! which a reader meets them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::guide::path_with_this_program;

/// The pages, in the order in which they link to each other.
const PAGES: [&str; 4] =
    ["README.md", "docs/first-local-check.md", "docs/first-cluster-run.md", "docs/first-conformance-run.md"];

/// Commands that are not executed, by prefix, with the reason.
const SKIPPED: [(&str, &str); 18] = [
    ("cargo xtask ", "builds the workspace: a task of its own in CI"),
    ("plumbline run -p ", "needs a cluster"),
    ("plumbline status ", "of a run in a cluster"),
    ("plumbline logs ", "needs a cluster"),
    ("plumbline wait", "needs a cluster"),
    ("plumbline retrieve ", "needs a cluster"),
    ("plumbline delete ", "needs a cluster"),
    ("plumbline conformance run", "needs a cluster"),
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

/// Applies only if pytest is not installed.
const PYTEST: &str = "needs pytest";

/// Commands whose exit code is a verdict over this machine.
const MACHINE: [&str; 4] = [
    "plumbline run --local -p host-facts",
    "plumbline results first/",
    "plumbline results diff first/",
    "plumbline status --local",
];

fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn commands(pages: &str) -> Vec<&str> {
    blocks(pages, "console").into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).collect()
}

fn why_skipped(command: &str, has_pytest: bool) -> Option<&'static str> {
    // `status --local` does not need a cluster.
    let local = command.starts_with("plumbline status --local");
    let rule = SKIPPED.iter().filter(|_| !local).find(|(start, _)| command.starts_with(start))?;
    Some(rule.1).filter(|&why| why != PYTEST || !has_pytest)
}

fn root() -> PathBuf {
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

/// Each text of an error in `docs/troubleshooting.md` is one that the program has.
#[test]
fn the_errors_on_the_page_of_troubles_exist() {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let program = text_of(&root().join("host"));
    let section = |title: &str| page.split(title).nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows = ["## A node or a pod gives no result", "## A worker cannot report"].map(section).join("\n");
    let mut found = 0;
    for row in rows.lines().filter(|line| line.starts_with("| `")) {
        let spans = row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2);
        for part in spans.flat_map(|span| span.split('…')).map(str::trim).filter(|part| part.len() > 8) {
            assert!(program.contains(part), "no error contains `{part}`");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
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
