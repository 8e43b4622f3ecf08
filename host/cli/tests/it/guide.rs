//! The commands of the guides for authors, executed as printed, with a real registry. Those of the
//! authors' guide run once for each language whose tools are installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use plumbline_author::Language;
use plumbline_author::build::missing_tool;

use crate::bed::Bed;
use crate::registries::Registry;

/// The registry that the guide starts.
const REGISTRY: &str = "localhost:5000";

/// Returns the commands of the guide for one language, in order: those for every language, and
/// those for this one. What needs a cluster is not among them: an end-to-end test executes it.
fn commands(guide: &str, language: Language) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in guide.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ => {}
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| inside) else { continue };
        if command.starts_with("plumbline run -p ") {
            continue;
        }
        let named = command.split_once("--lang ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
        if named.is_none_or(|named| named == language.as_str()) {
            found.push(command.to_owned());
        }
    }
    found
}

fn guide(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

/// Returns a `PATH` in which `plumbline` is this binary, with the pytest that the setup installed.
pub(crate) fn path_with_this_program(dir: &Path) -> std::ffi::OsString {
    let bin = dir.join("bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("plumbline"), bin.join("plumbline")).unwrap();
    let mut paths = vec![bin];
    let pytest = std::env::var_os("PLUMBLINE_PYTEST").map(std::path::PathBuf::from);
    paths.extend(pytest.as_deref().and_then(Path::parent).map(Path::to_path_buf));
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(paths).unwrap()
}

/// Follows a guide in one language below `dir`, and returns what the commands printed. `None` if the
/// tools are missing.
fn follow(name: &str, language: Language, dir: &Path) -> Option<String> {
    let bed = Bed::new();
    if let Some(missing) = missing_tool(language, dir) {
        eprintln!("SKIPPED: the guide in {language}: {missing}");
        return None;
    }
    let registry = Registry::start(&bed, "storage")?;
    let mut script = String::from("set -eux\n");
    for command in commands(&guide(name), language) {
        script += &command.replace(REGISTRY, &registry.host);
        script.push('\n');
    }
    // A command that fails ends the script, so the last ones run only if all others succeeded.
    let xdg = |name: &str| dir.join(name);
    let output = Command::new("bash")
        .arg("-c")
        .arg(&script)
        .current_dir(dir)
        .env("PATH", path_with_this_program(dir))
        .env("XDG_DATA_HOME", xdg("data"))
        .env("XDG_CONFIG_HOME", xdg("config"))
        .env("XDG_STATE_HOME", xdg("state"))
        .env_remove("PLUMBLINE_INSECURE_REGISTRIES")
        // Shared, so that what all projects of a guide need is compiled once.
        .env("CARGO_TARGET_DIR", xdg("cargo-target"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let transcript = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} in {language} ended with {}:\n{transcript}", output.status);
    Some(transcript)
}

fn make_modules(language: Language) {
    let dir = tempfile::tempdir().unwrap();
    let Some(transcript) = follow("authors-guide.md", language, dir.path()) else { return };
    let clean = transcript.matches(": 0 errors, 0 warnings").count();
    assert_eq!(clean, 2, "a new project in {language} has findings:\n{transcript}");
    assert!(
        dir.path().join("my-judge/my-judge.wasm").is_file(),
        "the guide in {language} made no judge:\n{transcript}"
    );
    let project = dir.path().join("my-format");
    for made in ["my-format.wasm", "my-format.bundle.tar", "pulled.bundle.tar", "author.pub"] {
        assert!(project.join(made).is_file(), "the guide in {language} made no {made}:\n{transcript}");
    }
    assert_eq!(
        fs::read(project.join("my-format.bundle.tar")).unwrap(),
        fs::read(project.join("pulled.bundle.tar")).unwrap(),
        "what was pulled is what was pushed"
    );
    assert!(!dir.path().join("data/plumbline/bundles/my-format").exists(), "it was uninstalled");
}

#[test]
fn a_check_is_written_signed_and_run_from_a_registry() {
    let dir = tempfile::tempdir().unwrap();
    let Some(transcript) = follow("check-guide.md", Language::Rust, dir.path()) else { return };
    assert!(transcript.contains(": 0 errors, 0 warnings"), "a new check has findings:\n{transcript}");
    assert!(transcript.contains("verified: `my-check`"), "{transcript}");
    // Alone on this machine, and as a plugin from the registry.
    assert!(transcript.contains("runs the check `my-check.wasm` on this machine"), "{transcript}");
    assert_eq!(transcript.matches("my-check: result received").count(), 1, "{transcript}");
    assert!(transcript.contains("--require-signed --policy policy.yaml"), "{transcript}");
}

#[test]
fn a_suite_becomes_a_profile_with_a_signed_submission() {
    let dir = tempfile::tempdir().unwrap();
    // Its commands are the same for every language.
    let Some(transcript) = follow("profile-guide.md", Language::Rust, dir.path()) else { return };
    assert!(transcript.contains(": 0 errors, 0 warnings"), "a new profile has findings:\n{transcript}");
    assert!(transcript.contains("1 case passed") || transcript.contains("passed   example"), "{transcript}");
    assert!(transcript.contains("selected 1 of the 4 tests of 1.0"), "{transcript}");
    assert!(transcript.contains("3 rules passed, 0 failed, 0 not checked"), "{transcript}");
    assert!(dir.path().join("my-suite/submission/junit.xml").is_file(), "{transcript}");
    assert!(dir.path().join("data/plumbline/bundles/my-suite").exists(), "it was not installed");
}

#[test]
fn in_rust() {
    make_modules(Language::Rust);
}

#[test]
fn in_go() {
    make_modules(Language::Go);
}

#[test]
fn in_javascript() {
    make_modules(Language::JavaScript);
}

#[test]
fn in_typescript() {
    make_modules(Language::TypeScript);
}

#[test]
fn in_python() {
    make_modules(Language::Python);
}

#[test]
fn in_c() {
    make_modules(Language::C);
}

#[test]
fn every_language_has_its_line_and_the_steps_are_the_same() {
    let guide = guide("authors-guide.md");
    let mut steps: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for language in Language::ALL {
        let commands = commands(&guide, language);
        assert!(commands[0].ends_with(&format!("--lang {language}")), "{language}: {commands:?}");
        let same = commands.iter().map(|command| command.replace(&format!("--lang {language}"), "--lang LANGUAGE"));
        steps.insert(language.as_str(), same.collect());
    }
    let first = steps.values().next().unwrap().clone();
    assert!(steps.values().all(|steps| *steps == first));
    for part in [
        "--world judge-module",
        "plugin build",
        "plugin test",
        "run --local",
        "plugin pack",
        "plugin sign",
        "plugin push",
        "plugin pull",
        "plugin install",
    ] {
        assert!(first.iter().any(|command| command.contains(part)), "the guide does not {part}");
    }
}
