//! Runs the libraries of Go and C, and the examples that use them, natively: with Go's own tests,
//! and with the sanitizers of the C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::root;

/// Runs a tool. If it is missing, prints a note and returns `None`.
fn run(command: &mut Command, what: &str) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("SKIPPED: {what}: {}: {error}", command.get_program().display());
            None
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn go_tests_pass() {
    for directory in ["plugin-sdk/go", "examples/trivy"] {
        // No downloads are needed, and none are allowed.
        let mut go = Command::new("go");
        go.args(["test", "./..."]).current_dir(root().join(directory)).env("GOFLAGS", "").env("GOPROXY", "off");
        let Some(output) = run(&mut go, directory) else { return };
        assert!(output.status.success(), "{directory}: {}", text(&output));
    }
}

/// The library's own test: a check that reaches hosts and reads owners.
#[test]
fn the_tests_of_the_c_library_pass() {
    let script = root().join("plugin-sdk/c/tests/run.sh");
    let Some(output) = run(&mut Command::new(script), "tests of the C library") else { return };
    if !output.status.success() && (text(&output).contains("cannot find") || text(&output).contains("not found")) {
        eprintln!("SKIPPED: tests of the C library: no compiler with sanitizers: {}", text(&output));
        return;
    }
    assert!(output.status.success() && text(&output).starts_with("passed: "), "{}", text(&output));
}

fn with_ending(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    files.sort();
    files
}

/// Compiles these sources for `world` with the library and `native/HOST`, which simulates the host.
fn native(sources: &[PathBuf], world: &str, host: &str, program: &Path) -> Option<()> {
    let sdk = root().join("plugin-sdk/c");
    let bindings = sdk.join("bindings").join(world);
    let flags =
        ["-std=c11", "-g", "-O1", "-Wno-attributes", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let mut cc = Command::new("cc");
    cc.args(flags).arg("-I").arg(&sdk).arg("-I").arg(&bindings).arg("-o").arg(program);
    cc.args(sources).args(with_ending(&sdk, "c")).args(with_ending(&bindings, "c"));
    let output = run(cc.arg(sdk.join("native").join(host)), "C natively")?;
    if !output.status.success() && text(&output).contains("cannot find") {
        eprintln!("SKIPPED: C natively: the compiler has no sanitizers: {}", text(&output));
        return None;
    }
    assert!(output.status.success(), "{sources:?}: {}", text(&output));
    Some(())
}

#[test]
fn c_reads_the_same_however_the_host_cuts_and_no_sanitizer_complains() {
    let dir = tempfile::tempdir().unwrap();
    for (project, ending) in [("examples/tap", "tap"), ("host/dev/modules/c", "xml")] {
        let project = root().join(project);
        let program = dir.path().join(ending);
        if native(&with_ending(&project.join("src"), "c"), "post-processor-module", "run.c", &program).is_none() {
            return;
        }
        let cases = fs::read_dir(project.join("tests")).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<PathBuf> = cases.flat_map(|case| with_ending(&case.join("results/global"), ending)).collect();
        assert!(files.len() > 3, "{}", project.display());
        let outline = |chunk: &str| {
            let output = Command::new(&program).args(&files).env("PLUMBLINE_CHUNK", chunk).output().unwrap();
            assert!(output.status.success(), "{}: {}", project.display(), text(&output));
            output.stdout
        };
        let whole = outline("1000000");
        for chunk in ["1", "7"] {
            assert_eq!(
                String::from_utf8_lossy(&outline(chunk)),
                String::from_utf8_lossy(&whole),
                "{}",
                project.display()
            );
        }
    }
}

#[test]
fn a_judge_in_c_says_the_same_however_the_host_cuts_and_no_sanitizer_complains() {
    let dir = tempfile::tempdir().unwrap();
    let (program, tree, list) = (dir.path().join("judge"), dir.path().join("tree"), dir.path().join("list"));
    let source = root().join("plugin-sdk/bindings/tests/it/data/judge.c");
    if native(&[source], "judge-module", "judge.c", &program).is_none() {
        return;
    }
    fs::write(&list, "known a\nknown c\n").unwrap();
    // Two failures that are listed, one that is not, a passed test that is listed, and an item of a
    // summarizer.
    let few = "n1 0 failed suite\nn1 1 failed known a\nn1 1 timeout other\nn1 1 passed known a\n- 0 failed known c\n";
    let many = format!("{few}{}", "n2 0 failed known a\n".repeat(1000));
    let said = |options: &str, chunk: &str, text: &str| {
        fs::write(&tree, text).unwrap();
        let mut judge = Command::new(&program);
        judge.arg(&tree).arg(&list).env("PLUMBLINE_CHUNK", chunk).env("PLUMBLINE_OPTIONS", options);
        judge.output().unwrap()
    };
    // At most 4 KiB, without splitting a character.
    let source = "ü".repeat(2048);
    let wanted = format!(
        "1 known-failure excused n1 ({source})\n4 known-failure excused  ({source})\nREAD-1 failed name \u{fffd} 5 \n"
    );
    for chunk in ["1", "7", "1000000"] {
        let output = said("{}", chunk, few);
        assert_eq!(text(&output), format!("{wanted}\n"), "{chunk}");
        let output = said("{}", chunk, &many);
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!((output.status.success(), lines), (true, 1003), "{chunk}");
    }
    let refused = said(r#"{"a": 1}"#, "7", few);
    assert!(!refused.status.success() && text(&refused).contains("error: there are no options"), "{}", text(&refused));
}

#[test]
fn a_check_in_c_reads_what_is_granted_and_no_sanitizer_complains() {
    let dir = tempfile::tempdir().unwrap();
    let (program, etc, objects) = (dir.path().join("check"), dir.path().join("etc"), dir.path().join("objects"));
    let source = root().join("plugin-sdk/bindings/tests/it/data/check.c");
    if native(&[source], "check-module", "check.c", &program).is_none() {
        return;
    }
    for directory in ["app/sub/entry", "app-2"] {
        fs::create_dir_all(etc.join(directory)).unwrap();
    }
    fs::write(etc.join("app/file"), "one\ntwo").unwrap();
    fs::write(etc.join("app-2/file"), "secret").unwrap();
    std::os::unix::fs::symlink("../app-2/file", etc.join("app/link")).unwrap();
    assert!(Command::new("mkfifo").arg(etc.join("app/pipe")).status().unwrap().success());
    let pod = |name: &str, namespace: &str| {
        format!("v1 pods {{\"metadata\": {{\"name\": \"{name}\", \"namespace\": \"{namespace}\"}}}}\n")
    };
    let all = [pod("dns", "kube-system"), pod("web", "default"), pod("proxy", "kube-system")].concat();
    fs::write(&objects, all).unwrap();
    let said = |grants: &[&str], objects: &Path, chunk: &str, fail: Option<&str>| {
        let mut check = Command::new(&program);
        check.arg(dir.path()).args(grants).env("PLUMBLINE_OBJECTS", objects).env("PLUMBLINE_CHUNK", chunk);
        check.envs(fail.map(|fail| ("FAIL", fail)));
        check.output().unwrap()
    };
    let read = "/etc/app/file: passed\none: passed\ntwo: passed\n/etc/app/none: unknown\n/etc/app/link: unknown\n\
                /etc/app/pipe: unknown\n/etc/app/sub: unknown\n/etc/app-2/file: unknown\nentry: passed\n\
                /etc/app/file: unknown\nfew: unknown\n\"dns\": passed\n\"proxy\": passed\nfound: passed\n";
    for chunk in ["1", "100"] {
        let output = said(&["/etc/app"], &objects, chunk, None);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), read, "{}", text(&output));
        for (path, cause) in [
            ("/etc/app/none", "it does not exist"),
            ("/etc/app/link", "not permitted"),
            ("/etc/app/pipe", "not permitted"),
            ("/etc/app-2/file", "no granted directory contains it"),
            ("/etc/app/file", "it is larger than the buffer may become"),
        ] {
            assert!(text(&output).contains(&format!("error: failed to read `{path}`: {cause}\n")), "{}", text(&output));
        }
        assert!(text(&output).contains("progress: 0 of 2: files\n"));
    }
    let output = said(&[], &dir.path().join("none"), "1", Some("1"));
    assert!(!output.status.success() && text(&output).contains("error: it was asked to fail\n"), "{}", text(&output));
    let granted = String::from_utf8_lossy(&output.stdout).matches(": passed").count();
    assert_eq!((granted, text(&output).matches("so it is not granted").count()), (0, 1), "{}", text(&output));
}
