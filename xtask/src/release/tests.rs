//! The files of a release, made from small inputs and read by the tools that users have.

use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::docs::Docs;
use super::provenance::Source;
use super::*;
use crate::program;

/// A program that prints its version, as the real one does.
fn script() -> Vec<u8> {
    format!("#!/bin/sh\necho v{VERSION}\n").into_bytes()
}

fn inputs() -> Inputs {
    let workspace = Workspace::find().unwrap();
    let files =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), b".TH T 1\n.SH NAME\nt\n".to_vec())).collect();
    Inputs {
        programs: Platform::ALL
            .map(|platform| Program { platform, path: PathBuf::new(), bytes: script() })
            .into_iter()
            .collect(),
        docs: Docs {
            license: b"licence".to_vec(),
            readme: b"readme".to_vec(),
            changelog: b"changes".to_vec(),
            completions: files(&["plumbline.bash", "_plumbline", "plumbline.fish"]),
            pages: files(&["plumbline.1", "plumbline-run.1"]),
        },
        chart: chart::read(workspace.root()).unwrap(),
        profiles: [("csi".to_owned(), b"bundle".to_vec())].into(),
        checks: [("node-ready".to_owned(), b"bundle".to_vec())].into(),
        sbom: b"{}\n".to_vec(),
        source: Source::of(workspace.root()).unwrap(),
    }
}

/// Packs `inputs` into a directory.
fn packed(inputs: &Inputs) -> (tempfile::TempDir, Artifacts) {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = pack(inputs).unwrap();
    write(&dir.path().join("out"), &artifacts).unwrap();
    (dir, artifacts)
}

/// A missing tool is a skipped check; anything else must pass.
fn passes(outcome: Result<Outcome, Error>) {
    match outcome {
        Ok(Outcome::Passed) => {}
        Ok(Outcome::Skipped(reason)) => report::line(format_args!("SKIPPED: {reason}")),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_file_is_listed_with_its_digest_and_packed_the_same_twice() {
    let inputs = inputs();
    let (dir, artifacts) = packed(&inputs);
    let names: Vec<&str> = artifacts.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "SHA256SUMS",
            "check-node-ready-v0.1.0.bundle.tar",
            "plumbline-0.1.0.tgz",
            "plumbline-v0.1.0-image.tar",
            "plumbline-v0.1.0-linux-amd64.tar.gz",
            "plumbline-v0.1.0-linux-arm64.tar.gz",
            "plumbline-v0.1.0.cdx.json",
            "plumbline-v0.1.0.intoto.json",
            "plumbline.rb",
            "plumbline.yaml",
            "plumbline_0.1.0-1_amd64.deb",
            "plumbline_0.1.0-1_arm64.deb",
            "profile-csi-v0.1.0.bundle.tar",
        ]
    );
    passes(check::same_bytes(&inputs, &artifacts));
    passes(check::checksums(&dir.path().join("out")));
    let statement: Value = serde_json::from_slice(&artifacts["plumbline-v0.1.0.intoto.json"]).unwrap();
    let subjects = statement["subject"].as_array().unwrap();
    assert_eq!(subjects.len(), artifacts.len() - 2, "all but the statement itself and the checksums");
    for subject in subjects {
        let bytes = &artifacts[subject["name"].as_str().unwrap()];
        assert_eq!(subject["digest"]["sha256"], sha256(bytes));
    }
}

#[test]
fn packages_install_and_remove_themselves() {
    let (dir, _) = packed(&inputs());
    let out = dir.path().join("out");
    // The script starts on any architecture, but without an emulator only where it is native.
    for platform in Platform::ALL.into_iter().filter(|platform| platform.is_native()) {
        passes(check::debian_package(&out, platform, &dir.path().join("root")));
    }
}

#[test]
fn tools_read_the_image_and_the_manifests() {
    let (dir, artifacts) = packed(&inputs());
    let out = dir.path().join("out");
    // Without the variable, skopeo would be downloaded here.
    if std::env::var_os("PLUMBLINE_SKOPEO").is_some() {
        passes(check::image_index(&out.join("plumbline-v0.1.0-image.tar"), &Platform::ALL));
    }
    if std::env::var_os("PLUMBLINE_KREW").is_some() {
        passes(check::krew(&out, &Platform::ALL, &dir.path().join("krew")));
    }
    passes(check::formula(&out));
    for (name, text) in [("plumbline.yaml", "      arch: arm64\n"), ("plumbline.rb", "  on_arm do\n")] {
        let manifest = String::from_utf8(artifacts[name].clone()).unwrap();
        let url = format!("{REPOSITORY}/releases/download/v0.1.0/plumbline-v0.1.0-linux-arm64.tar.gz");
        let digest = sha256(&artifacts["plumbline-v0.1.0-linux-arm64.tar.gz"]);
        assert!(manifest.contains(text) && manifest.contains(&url) && manifest.contains(&digest), "{manifest}");
    }
}

#[test]
fn archives_have_one_directory_with_a_program_that_starts() {
    let (_dir, artifacts) = packed(&inputs());
    let archive = &artifacts["plumbline-v0.1.0-linux-arm64.tar.gz"];
    let mut tar = tar::Archive::new(GzDecoder::new(archive.as_slice()));
    let mut modes = BTreeMap::new();
    for entry in tar.entries().unwrap() {
        let entry = entry.unwrap();
        assert_eq!((entry.header().uid().unwrap(), entry.header().mtime().unwrap()), (0, 0));
        modes.insert(entry.path().unwrap().display().to_string(), entry.header().mode().unwrap());
    }
    let top = "plumbline-v0.1.0-linux-arm64/";
    assert!(modes.keys().all(|path| path.starts_with(top)), "{modes:?}");
    assert_eq!(modes[&format!("{top}plumbline")], 0o755);
    assert_eq!(modes[&format!("{top}man/man1/plumbline-run.1")], 0o644);
}

#[test]
fn a_dynamic_program_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plumbline");
    fs::write(&path, script()).unwrap();
    let error = Program::read(Platform::ALL[0], path).unwrap_err().to_string();
    assert!(error.contains("not a static binary"), "{error}");
    assert!(!program::is_static(&script()));
}

#[test]
fn only_known_architectures_are_skipped() {
    let workspace = Workspace::find().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options { binaries: BTreeMap::from([("arm64", dir.path().join("none"))]), ..Options::default() };
    let [amd64, arm64] = Platform::ALL;
    let skipped = program(&workspace, amd64, &options).unwrap().unwrap_err();
    assert!(skipped.contains("linux/amd64"), "{skipped}");
    assert!(program(&workspace, arm64, &options).is_err(), "a named file must exist");
}
