//! Runs the tests of JavaScript, TypeScript and Python projects as their authors do: natively, with
//! the tools of the language and only our SDK.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumbline_author::{Language, new_project};

use crate::bed::repository;

/// Returns the program that the variable names, or the one on the path. If it is missing, prints
/// what is skipped.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    let named = env::var_os(variable).filter(|named| !named.is_empty()).map(PathBuf::from);
    let found = named.or_else(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
    });
    if found.is_none() {
        eprintln!("SKIPPED: `{name}` not found");
    }
    found
}

/// Runs the command in `directory`, asserts that it succeeds, and returns its output.
fn passes(command: &mut Command, directory: &Path) -> String {
    let output = command.current_dir(directory).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{command:?} in {}:\n{said}", directory.display());
    said
}

fn tests_in(directory: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<PathBuf> = entries.filter(|path| path.to_str().is_some_and(|path| path.ends_with(suffix))).collect();
    assert!(!tests.is_empty(), "{} has no tests", directory.display());
    tests
}

/// Runs `node --test` on the tests in `directory/test`.
fn javascript(directory: &Path) {
    let Some(node) = program("PLUMBLINE_NODE", "node") else { return };
    let said = passes(Command::new(node).arg("--test").args(tests_in(&directory.join("test"), ".test.js")), directory);
    assert!(said.contains("fail 0") && !said.contains("pass 0"), "{said}");
}

/// Checks the types of TypeScript tests, bundles them and runs them.
fn typescript(directory: &Path) {
    if let Some(tsc) = program("PLUMBLINE_TSC", "tsc") {
        // The types are next to the program: `node_modules/.bin` and `node_modules/@types`.
        let types = tsc.with_file_name("../@types");
        passes(Command::new(&tsc).args(["--noEmit", "--project", ".", "--typeRoots"]).arg(types), directory);
    }
    let (Some(node), Some(esbuild)) = (program("PLUMBLINE_NODE", "node"), program("PLUMBLINE_ESBUILD", "esbuild"))
    else {
        return;
    };
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("package.json"), r#"{"type": "module"}"#).unwrap();
    let mut bundle = Command::new(esbuild);
    bundle.args(tests_in(&directory.join("test"), ".test.ts"));
    bundle.args(["--bundle", "--platform=node", "--format=esm", "--log-level=warning"]);
    passes(bundle.arg(format!("--outdir={}", out.path().display())), directory);
    let said = passes(Command::new(node).arg("--test").args(tests_in(out.path(), ".test.js")), directory);
    assert!(said.contains("fail 0") && !said.contains("pass 0"), "{said}");
}

/// Runs `python3 -m unittest`, with the SDK on the path.
fn python(directory: &Path, sdk: &Path, tests: &str) {
    let Some(python) = program("PLUMBLINE_PYTHON", "python3") else { return };
    let mut command = Command::new(python);
    // Compiled files next to the sources would count as changes.
    command.env("PYTHONPATH", sdk).env("PYTHONDONTWRITEBYTECODE", "1").args(["-m", "unittest", "discover", tests]);
    let said = passes(&mut command, directory);
    assert!(said.contains("OK") && !said.contains("Ran 0 tests"), "{said}");
}

#[test]
fn the_sdks_pass_their_own_tests() {
    let sdk = repository().join("plugin-sdk");
    javascript(&sdk.join("js"));
    python(&sdk.join("python"), &sdk.join("python"), "tests");
}

#[test]
fn the_examples_pass_their_native_tests() {
    let root = repository();
    javascript(&root.join("examples/gpu-nodes"));
    typescript(&root.join("examples/sarif"));
    python(&root.join("examples/kube-bench"), &root.join("plugin-sdk/python").canonicalize().unwrap(), "test");
}

#[test]
fn a_new_project_passes_its_native_tests() {
    let place = tempfile::tempdir().unwrap();
    for world in [None, Some("judge-module"), Some("check-module")] {
        let project = |language: Language| {
            let directory = place.path().join(world.unwrap_or("format")).join(language.as_str());
            new_project("my-format", language, world, &directory).unwrap();
            directory
        };
        javascript(&project(Language::JavaScript));
        typescript(&project(Language::TypeScript));
        let directory = project(Language::Python);
        python(&directory, &directory.join("sdk/python"), "test");
    }
}
