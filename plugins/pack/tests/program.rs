//! The program, as the build calls it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Output};
use std::{fs, str};

fn pack(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plumbline-module-pack")).args(args).output().unwrap()
}

fn error(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn a_file_that_is_not_a_module_fails_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (core, out) = (dir.path().join("plumbline_module_x.wasm"), dir.path().join("out"));
    fs::write(&core, "not a module").unwrap();
    let packed = pack(&["--out", out.to_str().unwrap(), core.to_str().unwrap()]);
    assert_eq!(packed.status.code(), Some(1), "{}", error(&packed));
    assert!(error(&packed).starts_with("error: ") && error(&packed).contains("plumbline_module_x.wasm"));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn arguments_that_are_missing_or_unknown_are_a_usage_error() {
    for args in [&[][..], &["--unknown"], &["--out"]] {
        let packed = pack(args);
        assert_eq!(packed.status.code(), Some(2), "{args:?}: {}", error(&packed));
        assert!(error(&packed).contains("plumbline-module-pack --out DIR"), "{}", error(&packed));
    }
    let help = pack(&["--help"]);
    assert!(help.status.success() && help.stdout.starts_with(b"usage: plumbline-module-pack --out DIR"));
}
