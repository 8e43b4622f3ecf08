//! Small commands: version, completion, help, list, worker.

use std::fs::File;
use std::io;

use crate::bed::Bed;

#[test]
fn version() {
    let bed = Bed::new();
    let long = bed.plumbline(&["version"]).expect(0).out;
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    assert!(long.starts_with(&format!("Plumbline Version: {version}\n")), "{long}");
    assert_eq!(bed.plumbline(&["version", "--short"]).expect(0).out, format!("{version}\n"));
    assert!(bed.plumbline(&["--version"]).expect(0).out.contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_a_command_there_is_help() {
    let bed = Bed::new();
    let done = bed.plumbline(&[]).expect(2);
    assert!(done.err.contains("Usage: plumbline"), "{}", done.err);
}

#[test]
fn colour_only_where_it_is_wanted() {
    let bed = Bed::new();
    let coloured = |args: &[&str]| bed.plumbline(args).expect(2).err.contains('\u{1b}');
    assert!(!coloured(&["results", "nobody"]));
    assert!(coloured(&["results", "nobody", "--color", "always"]));
    assert!(!coloured(&["results", "nobody", "--color", "never"]));
}

#[test]
fn built_in_plugins_and_modules_are_listed() {
    let bed = Bed::new();
    insta::assert_snapshot!(bed.plumbline(&["plugin", "list"]).expect(0).out);
}

#[test]
fn workers_take_the_options_of_manifests_in_use() {
    let bed = Bed::new();
    let options = ["--level=trace", "-v=6", "--logtostderr"];
    for role in [&["worker", "global"][..], &["worker", "single-node", "--sleep=-1"]] {
        let args: Vec<&str> = role.iter().chain(&options).copied().collect();
        let done = bed.plumbline(&args).expect(1);
        assert!(done.err.contains("AGGREGATOR_URL"), "what is missing is named: {}", done.err);
    }
}

const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

#[test]
fn a_reader_that_stops_early_is_not_an_error() {
    let bed = Bed::new();
    let commands: &[&[&str]] = &[
        &["results", ARCHIVE, "-m", "detailed"],
        &["results", ARCHIVE, "-p", "e2e", "-m", "dump"],
        &["results", ARCHIVE, "-p", "e2e", "-o", "json"],
        &["results", ARCHIVE, "-p", "e2e", "-o", "junit"],
        &["completion", "bash"],
        &["version"],
        &["plugin", "list"],
        &["worker", "facts"],
    ];
    for args in commands {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = bed.command(args).stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()),
            (Some(141), ""),
            "{args:?}"
        );
    }
}

#[test]
fn a_full_disk_under_the_output_is_the_systems_fault() {
    let bed = Bed::new();
    for args in [&["results", ARCHIVE, "-m", "detailed"][..], &["results", ARCHIVE], &["completion", "zsh"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = bed.command(args).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{args:?}: {err}");
        assert!(err.contains("No space left on device"), "{err}");
    }
}
