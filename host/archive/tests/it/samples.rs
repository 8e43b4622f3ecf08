//! Tests with archives that Sonobuoy wrote on real clusters, in all of its layouts.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use plumbline_archive::extract::{ExtractLimits, extract_tar_gz};
use plumbline_archive::results::ResultsArchive;

use crate::make::*;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("results-{name}.tar.gz"))
}

fn open(name: &str) -> ResultsArchive {
    ResultsArchive::open(&path(name)).unwrap()
}

const ALL: [&str; 4] = ["0.8", "0.9", "0.10", "quick-no-failures"];

#[test]
fn they_say_what_they_are() {
    let said: Vec<_> = ALL
        .iter()
        .map(|name| {
            let info = open(name).info().clone();
            (info.version.unwrap(), info.plugins.join(" "), info.trailing)
        })
        .collect();
    let of = |version: &str, plugins: &str| (version.to_owned(), plugins.to_owned(), 0);
    assert_eq!(
        said,
        [
            of("v0.8.2", "e2e"),
            of("v0.9.0", "e2e systemd_logs"),
            of("v0.10.0-4-g8100397", "e2e systemd_logs"),
            of("v0.53.2", "systemd-logs e2e"),
        ]
    );
    assert_eq!(open("quick-no-failures").info().run.as_deref(), Some("ad132b06-741d-4f18-9abe-e143fea07ca9"));
}

#[test]
fn metadata_files_of_macos_are_not_results() {
    let archive = open("0.8");
    assert!(archive.info().left_out > 20);
    assert!(archive.files().all(|(name, _)| !name.contains("._")));
    assert_eq!(archive.size("plugins/e2e/results/junit_01.xml"), Some(159_434));
}

#[test]
fn files_are_found_under_today_s_names() {
    let mut archive = open("quick-no-failures");
    assert_eq!(archive.tree("e2e").as_deref(), Some("plugins/e2e/sonobuoy_results.yaml"));
    assert_eq!(archive.definition("e2e").as_deref(), Some("plugins/e2e/defintion.json"));
    assert_eq!(archive.tree("other"), None);
    let junit = archive.item_file("e2e", "results\\global\\junit_01.xml").unwrap();
    assert_eq!(junit, "plugins/e2e/results/global/junit_01.xml");
    assert_eq!(archive.item_file("e2e", "results/global/junit_02.xml"), None);
    let below: Vec<_> = archive.files_below("plugins/systemd-logs/results").collect();
    assert_eq!(below, [("plugins/systemd-logs/results/kind-control-plane/systemd_logs", 121_924)]);
    let tree = archive.tree("systemd-logs").unwrap();
    let mut text = String::new();
    archive.file(&tree).unwrap().read_to_string(&mut text).unwrap();
    assert!(text.starts_with("name: systemd-logs\nstatus: passed\n"), "{text}");
    assert_eq!(text.len() as u64, archive.size(&tree).unwrap());
    assert_eq!(open("0.10").tree("e2e"), None);
}

#[test]
fn files_of_an_old_layout_are_found_after_extraction() {
    for name in ALL {
        let mut archive = open(name);
        for plugin in archive.info().plugins.clone() {
            let dir = tempfile::tempdir().unwrap();
            archive.extract_plugin(&plugin, dir.path(), &ExtractLimits::default()).unwrap();
            for (file, content) in tree(dir.path()) {
                let Some(content) = content else { continue };
                let member = archive.item_file(&plugin, &file).unwrap_or_else(|| panic!("{name}: {plugin}: {file}"));
                assert!(archive.read(&member, u64::MAX).unwrap() == content, "{name}: {member}");
            }
        }
        assert_eq!(archive.item_file("e2e", "results/global/nobody"), None);
    }
}

#[test]
fn an_unpacked_archive_reads_the_same() {
    for name in ALL {
        let dir = tempfile::tempdir().unwrap();
        let extracted =
            extract_tar_gz(fs::File::open(path(name)).unwrap(), dir.path(), &ExtractLimits::default()).unwrap();
        assert_eq!(extracted.skipped_total, 0);
        let (mut packed, mut unpacked) = (open(name), ResultsArchive::open(dir.path()).unwrap());
        assert_eq!(packed.info(), unpacked.info(), "{name}");
        let files: Vec<_> = packed.files().map(|(name, size)| (name.to_owned(), size)).collect();
        assert_eq!(files, unpacked.files().map(|(name, size)| (name.to_owned(), size)).collect::<Vec<_>>());
        let mut compared = 0;
        packed
            .visit(&mut |_, _| true, &mut |name, reader| {
                let mut content = Vec::new();
                reader.read_to_end(&mut content)?;
                assert!(content == unpacked.read(name, u64::MAX).unwrap(), "{name}");
                compared += 1;
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        assert_eq!(compared, files.len());
        // Backwards, each from the beginning.
        let file = fs::read(dir.path().join("serverversion.json")).ok();
        for (last, _) in files.iter().rev().take(5) {
            assert!(packed.read(last, u64::MAX).unwrap() == fs::read(dir.path().join(last)).unwrap(), "{last}");
        }
        if let Some(file) = file {
            assert_eq!(packed.read("serverversion.json", u64::MAX).unwrap(), file);
        }
    }
}

#[test]
fn results_of_old_layouts_are_unpacked_as_today_s() {
    let nodes = ["ip-10-0-26-239", "ip-10-0-9-16", "ip-10-0-9-206"];
    let logs = nodes.map(|node| format!("results/{node}.us-west-2.compute.internal/systemd_logs"));
    for name in ["0.8", "0.9", "0.10"] {
        let mut archive = open(name);
        let dir = tempfile::tempdir().unwrap();
        let extracted = archive.extract_plugin("e2e", dir.path(), &ExtractLimits::default()).unwrap();
        let tree = tree(dir.path());
        let names: Vec<_> = tree.iter().filter(|(_, data)| data.is_some()).map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["e2e.log", "junit_01.xml", "nethealth.txt"].map(|file| format!("results/global/{file}")));
        assert_eq!(extracted.files, 3);
        if name != "0.8" {
            let dir = tempfile::tempdir().unwrap();
            archive.extract_plugin("systemd_logs", dir.path(), &ExtractLimits::default()).unwrap();
            let tree = self::tree(dir.path());
            let names: Vec<_> = tree.iter().filter(|(_, data)| data.is_some()).map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, logs);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    open("quick-no-failures").extract_plugin("systemd-logs", dir.path(), &ExtractLimits::default()).unwrap();
    assert!(dir.path().join("results/kind-control-plane/systemd_logs").is_file());
    assert!(!dir.path().join("sonobuoy_results.yaml").exists());
}
