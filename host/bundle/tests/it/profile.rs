//! Tests of bundles with a profile.

use std::fs;

use plumbline_bundle::profile::ProfileError;
use plumbline_bundle::{Bundle, BundleError, BundleWarning, Digest, UnpackError, unpack};

use crate::make::{Bed, executable, tar_of};

const PLUGIN: &str =
    "sonobuoy-config: {driver: Job, plugin-name: suite, result-format: junit}\nspec: {image: r.example/suite:1}\n";
const PROFILE: &str = "\
name: suite
title: Suite
version: {option: spec}
local: {command: [./run.sh]}
options: [{name: spec, help: Version, type: enum, values: ['1', '2'], default: '2', env: SPEC}]
modes: [{name: full, description: All tests, default: true, required: 'required/{version}.txt'}]
tests: tests.txt
";

fn suite(bed: &Bed) -> std::path::PathBuf {
    for (name, content) in [
        ("plugin.yaml", PLUGIN),
        ("profile.yaml", PROFILE),
        ("run.sh", "#!/bin/sh\n"),
        ("tests.txt", "a\n"),
        ("required/1.txt", "a\n"),
        ("required/2.txt", "a\n"),
        ("required/notes.md", "not a list\n"),
        ("other.sh", "#!/bin/sh\n"),
    ] {
        bed.write(&format!("suite/{name}"), content);
    }
    executable(&bed.path("suite/run.sh"), 0o755);
    bed.path("suite")
}

fn profile_error(dir: &std::path::Path) -> ProfileError {
    match Bundle::open(dir) {
        Err(BundleError::Profile { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_that_a_profile_names_are_packed_and_unpacked() {
    let bed = Bed::new();
    let bundle = Bundle::open(suite(&bed)).unwrap();
    let names: Vec<&str> = bundle.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["plugin.yaml", "profile.yaml", "required/1.txt", "required/2.txt", "run.sh", "tests.txt"]);
    assert!(bundle.warnings.is_empty(), "{:?}", bundle.warnings);
    assert_eq!(bundle.profile.as_ref().unwrap().title, "Suite");

    let tar = tar_of(&bundle.dir);
    let digest = unpack(tar.as_slice(), &bed.path("copy")).unwrap();
    assert_eq!(digest, bundle.digest());
    assert_eq!(Bundle::open(bed.path("copy")).unwrap().digest(), Digest::of(&tar));
}

#[test]
fn the_digest_covers_the_profile() {
    let bed = Bed::new();
    let dir = suite(&bed);
    let before = Bundle::open(&dir).unwrap().digest();
    fs::write(dir.join("profile.yaml"), PROFILE.replace("All tests", "Some tests")).unwrap();
    assert_ne!(Bundle::open(&dir).unwrap().digest(), before);
}

#[test]
fn a_bundle_with_an_invalid_profile_is_rejected() {
    let bed = Bed::new();
    let dir = suite(&bed);
    let write = |text: &str| fs::write(dir.join("profile.yaml"), text).unwrap();
    write(&PROFILE.replace("options", "optoins"));
    assert!(matches!(profile_error(&dir), ProfileError::UnknownKey { line: 5, .. }));
    write(&PROFILE.replace("name: suite", "name: other"));
    assert!(matches!(profile_error(&dir), ProfileError::OtherPlugin { .. }));
    write(PROFILE);
    fs::remove_file(dir.join("tests.txt")).unwrap();
    assert!(matches!(profile_error(&dir), ProfileError::NoFile { key: "tests", .. }));
}

#[test]
fn a_program_that_cannot_be_executed_is_a_warning() {
    let bed = Bed::new();
    let dir = suite(&bed);
    executable(&dir.join("run.sh"), 0o644);
    assert_eq!(Bundle::open(&dir).unwrap().warnings, [BundleWarning::NotExecutable("run.sh".to_owned())]);
}

#[test]
fn a_tar_with_an_invalid_profile_is_rejected() {
    let bed = Bed::new();
    let dir = suite(&bed);
    let tar = tar_of(&dir);
    // The same length, so that the tar stays whole. Its checksums cover headers only.
    let text = String::from_utf8(tar).unwrap().replace("title: Suite", "titel: Suite");
    let error = unpack(text.as_bytes(), &bed.path("copy")).unwrap_err();
    assert!(matches!(error, UnpackError::Profile(ProfileError::UnknownKey { .. })), "{error}");
    assert!(!bed.path("copy").exists());
}
