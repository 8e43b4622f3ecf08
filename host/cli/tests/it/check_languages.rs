//! A new check in every language: tested natively, built with the tools of its language, and run on
//! this machine, with the directory that it needs and without. Checks whose language has no way of
//! its own to wait do so as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use plumbline_author::Language;
use plumbline_author::build::missing_tool;
use serde_json::Value;

use crate::bed::{Bed, DEADLINE, Done};

/// Settings that pass, fail, do not exist, and are not in the granted directory.
const OPTIONS: &str =
    "  options: {settings: {kernel/ostype: Linux, kernel/osrelease: none, kernel/none: '1', ../version: '1'}}\n";
/// The lines of the templates that declare the right, and grant it.
const RIGHT: &str = "rights:\n  files: [/proc/sys]\n";
const GRANT: &str = "  grants:\n    files: [/proc/sys]\n";

/// Runs the binary with the caches of the user, where compilers keep their standard libraries. A
/// first build compiles them, and an interpreter takes long to compile on a busy machine.
pub(crate) fn plumbline(bed: &Bed, args: &[&str]) -> Done {
    let mut command = bed.command(args);
    for name in ["HOME", "XDG_CACHE_HOME"] {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = assert_cmd::Command::from_std(command).timeout(4 * DEADLINE).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Returns the items of the only archive by their names: the status, and the error if there is one.
fn items(bed: &Bed) -> BTreeMap<String, (String, String)> {
    fn leaves(item: &Value, found: &mut BTreeMap<String, (String, String)>) {
        match item["items"].as_array() {
            Some(items) => items.iter().for_each(|item| leaves(item, found)),
            None => {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                found.insert(text(&item["name"]), (text(&item["status"]), text(&item["meta"]["error"])));
            }
        }
    }
    let mut found = BTreeMap::new();
    leaves(&bed.tree("my-check"), &mut found);
    found
}

/// Replaces a part of a file of the project.
fn replace(project: &Path, file: &str, from: &str, to: &str) {
    let path = project.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no `{from}`");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// Runs the project's own tests, if no other test of the workspace does.
fn test_natively(project: &Path, language: Language) {
    let mut command = match language {
        Language::Go => Command::new("go"),
        Language::C => Command::new("tests/run.sh"),
        _ => return,
    };
    if language == Language::Go {
        command.args(["test", "."]).env("GOFLAGS", "").env("GOPROXY", "off");
    }
    let output = command.current_dir(project).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !text.contains("no test files"), "{language}: {text}");
}

/// Lets the check wait before it compares settings, in every way that its language knows.
fn wait(project: &Path, language: Language) {
    match language {
        Language::Python => {
            let by_name = "import time\nfrom time import sleep\nfrom plumbline_sdk import";
            replace(project, "app.py", "from plumbline_sdk import", by_name);
            let first = "    settings = read_options(plugin)\n";
            let waits = "    time.sleep(0.01)\n    sleep(0.01)\n    context.sleep(0.01)\n";
            replace(project, "app.py", first, &format!("{first}{waits}"));
        }
        Language::JavaScript => {
            let first = "  const settings = ";
            // Without the error that names the other way, the check fails as a whole.
            let waits = "  context.sleep(10);\n  let why = \"\";\n  try {\n    setTimeout(() => {}, 1);\n  } catch (error) {\n    why = error.message;\n  }\n  if (!why.includes(\"context.sleep\")) throw `no error: ${why}`;\n";
            replace(project, "src/index.js", first, &format!("{waits}{first}"));
        }
        Language::TypeScript => {
            replace(project, "src/index.ts", "  const settings = ", "  context.sleep(10);\n  const settings = ");
        }
        _ => {}
    }
}

fn reads_what_it_is_granted(language: Language) {
    let bed = Bed::new();
    if let Some(missing) = missing_tool(language, bed.root()) {
        eprintln!("SKIPPED: a check in {language}: {missing}");
        return;
    }
    let project = bed.path("my-check");
    let name = language.as_str();
    plumbline(&bed, &["plugin", "new", "my-check", "--world", "check", "--lang", name]).expect(0);
    test_natively(&project, language);
    // These builds are fast. The golden case is the same in every language.
    if matches!(language, Language::Go | Language::C) {
        plumbline(&bed, &["plugin", "build", "my-check"]).expect(0);
        let tested = plumbline(&bed, &["plugin", "test", "my-check"]).expect(0);
        assert!(tested.out.ends_with("1 passed\n"), "{language}: {}", tested.out);
    }
    wait(&project, language);
    // Without the declared right, the check starts with any grants.
    replace(&project, "module.yaml", RIGHT, "");
    replace(&project, "plugin.yaml", GRANT, &format!("{OPTIONS}{GRANT}"));
    plumbline(&bed, &["plugin", "build", "my-check"]).expect(0);
    let checked = plumbline(&bed, &["plugin", "lint", "my-check"]).expect(0);
    assert!(checked.out.ends_with(": 0 errors, 0 warnings\n"), "{language}: {}", checked.out);

    let run = |code: i32| {
        plumbline(&bed, &["run", "--local", "--dir", "out", "-p", "my-check"]).expect(code);
        let found = items(&bed);
        fs::remove_dir_all(bed.path("out")).unwrap();
        found
    };
    let found = run(1);
    let statuses: Vec<(&str, &str)> =
        found.iter().map(|(name, (status, _))| (name.as_str(), status.as_str())).collect();
    let expected = [
        ("../version", "unknown"),
        ("kernel/none", "skipped"),
        ("kernel/osrelease", "failed"),
        ("kernel/ostype", "passed"),
    ];
    assert_eq!(statuses, expected, "{language}: {found:?}");
    assert!(found["../version"].1.starts_with("failed to read `/proc/sys/../version`: "), "{language}: {found:?}");

    replace(&project, "plugin.yaml", GRANT, "");
    // Nothing was judged: there is neither a pass nor a failure.
    let found = run(5);
    assert_eq!(found.len(), expected.len(), "{language}: {found:?}");
    for (name, (status, error)) in &found {
        let expected = format!("failed to read `/proc/sys/{name}`: no granted directory contains it");
        assert_eq!((status.as_str(), error.as_str()), ("unknown", expected.as_str()), "{language}");
    }
}

#[test]
fn go() {
    reads_what_it_is_granted(Language::Go);
}

#[test]
fn javascript() {
    reads_what_it_is_granted(Language::JavaScript);
}

#[test]
fn typescript() {
    reads_what_it_is_granted(Language::TypeScript);
}

#[test]
fn python() {
    reads_what_it_is_granted(Language::Python);
}

#[test]
fn c() {
    reads_what_it_is_granted(Language::C);
}
