//! Tests with invalid results archives.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use plumbline_archive::extract::ExtractLimits;
use plumbline_archive::member::{Layer, NameFault, NameLimits, StreamError};
use plumbline_archive::results::{ReadError, ReadLimits, ResultsArchive};
use tempfile::TempDir;

use crate::make::*;

struct SavedArchive {
    dir: TempDir,
    file: PathBuf,
}

fn keep(archive: &[u8]) -> SavedArchive {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("archive.tar.gz");
    fs::write(&file, archive).unwrap();
    SavedArchive { dir, file }
}

fn open(tar: Tar) -> Result<ResultsArchive, ReadError> {
    ResultsArchive::open(&keep(&tar.gz()).file)
}

fn info(json: &str) -> Tar {
    Tar::new().dir("meta").file("meta/info.json", json.as_bytes())
}

fn failed(tar: Tar) -> ReadError {
    open(tar).err().unwrap()
}

#[test]
fn members_that_lead_elsewhere_refuse_the_archive() {
    for (name, fault) in [("../plugins/x", NameFault::Parent), ("/etc/passwd", NameFault::Absolute)] {
        let error = failed(info("{}").file(name, b""));
        assert!(matches!(error, ReadError::Hostile { why, .. } if why == fault), "{error}");
    }
    // Links, and names that this machine cannot represent, do not make the rest unreadable.
    let tar = info("{}").member(b"plugins/p/results/caf\xe9", FILE, b"x").link("plugins/p/link", SYMLINK, "/etc");
    let archive = open(tar.file("plugins/p/results/global/ok", b"")).unwrap();
    assert_eq!(archive.info().left_out, 2);
    assert_eq!(
        archive.files_below("plugins").map(|(name, _)| name).collect::<Vec<_>>(),
        ["plugins/p/results/global/ok"]
    );
}

#[test]
fn names_of_plugins_become_no_paths() {
    for bad in ["..", ".", "", "a/b", "../../etc", "a\\\\b", "a\\u0000b"] {
        let error = failed(info(&format!(r#"{{"plugins":["{bad}"]}}"#)));
        assert!(matches!(&error, ReadError::Meta { member, .. } if member == "meta/info.json"), "{bad}: {error}");
    }
    let archive = open(info(r#"{"plugins":["b","a_b","b"]}"#)).unwrap();
    assert_eq!(archive.info().plugins, ["b", "a_b"]);
    for none in ["{}", r#"{"plugins":null}"#, r#"{"plugins":[]}"#] {
        assert!(open(info(none)).unwrap().info().plugins.is_empty());
    }
    assert!(matches!(failed(info("{")), ReadError::Meta { .. }));
    assert!(matches!(failed(Tar::new().file("meta/config.json", b"[")), ReadError::Meta { .. }));
}

#[test]
fn without_a_list_the_directories_are_the_plugins() {
    let tar = Tar::new()
        .file("meta/run.log", b"")
        .file("plugins/a-b/results/global/x", b"")
        .file("plugins/a/results/global/x", b"")
        .file("plugins/a/results/global/y", b"")
        .dir("plugins/empty")
        .file("plugins/stray", b"");
    let archive = open(tar).unwrap();
    assert_eq!(archive.info().plugins, ["a", "a-b"]);
    assert_eq!(archive.info().version, None);
}

#[test]
fn our_own_archives_say_so() {
    let config = br#"{"UUID":"u","Version":"v0.57.0","PlumblineVersion":"0.1.0","PlumblineStarted":"2026-11-20T23:59:59Z","Server":{"timeoutseconds":1}}"#;
    let archive = open(Tar::new().file("meta/config.json", config)).unwrap();
    assert_eq!(archive.info().plumbline_version.as_deref(), Some("0.1.0"));
    assert_eq!(archive.info().run.as_deref(), Some("u"));
    assert_eq!(archive.info().started.map(|time| time.to_string()).as_deref(), Some("2026-11-20T23:59:59Z"));
    let config = br#"{"Version":"v0.57.0","PlumblineStarted":"yesterday"}"#;
    assert_eq!(open(Tar::new().file("meta/config.json", config)).unwrap().info().started, None);
}

#[test]
fn damage_is_found_when_it_is_opened() {
    let whole = info("{}").file("plugins/p/results/global/x", &[1; 5000]).gz();
    for cut in 1..whole.len() {
        let error = ResultsArchive::open(&keep(&whole[..cut]).file).err().unwrap();
        assert!(
            matches!(error, ReadError::Stream { source: StreamError::Truncated { .. }, .. }),
            "cut at {cut}: {error}"
        );
    }
    let mut damaged = whole.clone();
    let crc = damaged.len() - 6;
    damaged[crc] ^= 1;
    let error = ResultsArchive::open(&keep(&damaged).file).err().unwrap();
    assert!(matches!(error, ReadError::Stream { source: StreamError::Corrupt { .. }, .. }), "{error}");
    assert!(error.to_string().contains("archive.tar.gz"), "{error}");
    let appended = [whole, b"garbage".to_vec()].concat();
    assert_eq!(ResultsArchive::open(&keep(&appended).file).unwrap().info().trailing, 7);
}

#[test]
fn other_files_are_not_results_archives() {
    assert!(matches!(failed(Tar::new().file("some/file", b"")), ReadError::NotResults(_)));
    assert!(matches!(failed(Tar::new()), ReadError::NotResults(_)));
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(ResultsArchive::open(dir.path()).err(), Some(ReadError::NotResults(_))));
    assert!(matches!(ResultsArchive::open(&dir.path().join("x")).err(), Some(ReadError::Open(..))));
    assert!(matches!(ResultsArchive::open("/dev/null".as_ref()).err(), Some(ReadError::Special(_))));
    let text = keep(b"plain text");
    let error = ResultsArchive::open(&text.file).err().unwrap();
    assert_eq!(error.to_string(), format!("failed to read archive `{}`: not a gzip stream", text.file.display()));
}

#[test]
fn a_tar_archive_that_is_not_compressed_is_read() {
    let plain = info("{}").file("plugins/p/results/global/x", &[7; 5000]).end().0;
    let mut archive = ResultsArchive::open(&keep(&plain).file).unwrap();
    assert_eq!(archive.read("plugins/p/results/global/x", 5000).unwrap(), [7; 5000]);
    assert_eq!(archive.read("meta/info.json", 5000).unwrap(), b"{}");
    for cut in [600, 1024, plain.len() - 1024] {
        let error = ResultsArchive::open(&keep(&plain[..cut]).file).err().unwrap();
        assert!(
            matches!(error, ReadError::Stream { source: StreamError::Truncated { layer: Layer::Tar, .. }, .. }),
            "cut at {cut}: {error}"
        );
    }
}

#[test]
fn an_archive_with_more_plugins_than_any_run_has_is_refused() {
    let names = |n: usize| (0..n).map(|n| format!("\"p{n}\"")).collect::<Vec<_>>().join(",");
    let error = failed(info(&format!("{{\"plugins\":[{}]}}", names(500_000))));
    assert_eq!(
        error.to_string(),
        "invalid file `meta/info.json` in the archive: it names 500000 plugins, more than 10000"
    );
    assert_eq!(open(info(&format!("{{\"plugins\":[{}]}}", names(10_000)))).unwrap().info().plugins.len(), 10_000);
}

#[test]
fn limits_hold() {
    let tar = info("{}").file("plugins/p/results/global/x", &[0; 5000]);
    let kept = keep(&tar.gz());
    for limits in [
        ReadLimits { entries: 2, ..ReadLimits::default() },
        ReadLimits { unpacked_bytes: 5000, ..ReadLimits::default() },
    ] {
        let error = ResultsArchive::open_with(&kept.file, &limits).err().unwrap();
        assert!(matches!(error, ReadError::Stream { .. }), "{error}");
    }
    let mut archive = ResultsArchive::open(&kept.file).unwrap();
    let error = archive.read("plugins/p/results/global/x", 4999).unwrap_err();
    assert_eq!(error.to_string(), "`plugins/p/results/global/x` of the archive has 5000 bytes, more than 4999");
    assert!(matches!(archive.read("plugins/p/results/global/y", 1), Err(ReadError::Missing(_))));

    let dest = kept.dir.path().join("dest");
    fs::create_dir(&dest).unwrap();
    for limits in [
        ExtractLimits { unpacked_bytes: 4999, ..ExtractLimits::default() },
        ExtractLimits { entries: 0, ..ExtractLimits::default() },
        ExtractLimits { names: NameLimits { depth: 2, ..NameLimits::RESULT }, ..ExtractLimits::default() },
    ] {
        let error = archive.extract_plugin("p", &dest, &limits).unwrap_err();
        assert!(matches!(error, ReadError::Extract(..)), "{error}");
        assert!(tree(&dest).is_empty());
    }
    let meta = [b"{\"x\":\"".as_slice(), &vec![b'x'; 17 << 20], b"\"}"].concat();
    assert!(matches!(failed(Tar::new().file("meta/config.json", &meta)), ReadError::TooLarge { .. }));
}

#[test]
fn the_last_of_a_name_counts_and_reading_goes_any_way() {
    let tar = info("{}").file("plugins/p/a", b"first").file("plugins/p/b", b"b").file("./plugins/p/a", b"second");
    let mut archive = open(tar).unwrap();
    for name in ["a", "b", "a", "a", "b"] {
        let want = if name == "a" { b"second".as_slice() } else { b"b" };
        assert_eq!(archive.read(&format!("plugins/p/{name}"), 100).unwrap(), want);
    }
    // A partly read file does not disturb the next one.
    let mut one = [0];
    archive.file("plugins/p/b").unwrap().read_exact(&mut one).unwrap();
    archive.file("plugins/p/a").unwrap().read_exact(&mut one).unwrap();
    assert_eq!(archive.read("plugins/p/a", 100).unwrap(), b"second");
}

#[test]
fn only_attributes_of_macos_are_left_out() {
    let attributes = [b"\x00\x05\x16\x07\x00\x02\x00\x00".as_slice(), b"Mac OS X        "].concat();
    let tar = info("{}")
        .file("plugins/p/results/global/._x", &attributes)
        .file("plugins/p/results/global/._y", b"a plugin's own")
        .file("plugins/p/results/global/._", b"");
    let archive = open(tar).unwrap();
    let names: Vec<_> = archive.files_below("plugins/p").map(|(name, _)| name).collect();
    assert_eq!(names, ["plugins/p/results/global/._", "plugins/p/results/global/._y"]);
}

#[test]
fn errors_are_unpacked_with_the_results() {
    let tar = info("{}")
        .file("plugins/p/errors/error.json", b"launch")
        .file("plugins/p/errors/n1/error.json", b"n1")
        .file("plugins/p/results/n2/out", b"n2")
        .file("plugins/p/definition.json", b"{}")
        .file("plugins/pq/results/n2/out", b"another plugin's");
    let dir = tempfile::tempdir().unwrap();
    let extracted = open(tar).unwrap().extract_plugin("p", dir.path(), &ExtractLimits::default()).unwrap();
    assert_eq!((extracted.files, extracted.bytes), (3, 10));
    assert_eq!(
        files(&tree(dir.path())),
        [("errors/global/error.json", "launch"), ("errors/n1/error.json", "n1"), ("results/n2/out", "n2")]
    );
}

#[test]
fn results_that_cannot_be_read_are_listed() {
    let tar = info("{}")
        .file("plugins/p/results/global/junit.xml", b"a")
        .link("plugins/p/results/global/latest.xml", SYMLINK, "junit.xml")
        .link("plugins/p/results/all", SYMLINK, "global")
        .link("plugins/p/results/global/copy.xml", HARD_LINK, "plugins/p/results/global/junit.xml")
        .member(b"./plugins/p/results/global/caf\xe9", FILE, b"x")
        .link("plugins/p/results/n1/other.xml", SYMLINK, "../../../q/results/global/x.xml")
        .file("plugins/q/results/global/x.xml", b"q")
        .link("plugins/p/notes", SYMLINK, "/etc");
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(tar).unwrap();
    archive.extract_plugin("p", dir.path(), &ExtractLimits::default()).unwrap();
    let tree = tree(dir.path());
    let found = files(&tree);
    assert_eq!(found.len(), 3, "{found:?}");
    let ((list, global), (of_node, n1)) = (found[1], found[2]);
    assert_eq!(list, "results/global/plumbline-left-out.txt");
    assert!(global.starts_with("not in the results: `results/global/copy.xml` (a hard link), `results/global/caf"));
    assert!(global.ends_with(" (a name that is not UTF-8)\n"), "{global}");
    assert_eq!(of_node, "results/n1/plumbline-left-out.txt");
    assert_eq!(n1, "not in the results: `results/n1/other.xml` (a symbolic link)\n");
    let dir = tempfile::tempdir().unwrap();
    archive.extract_plugin("q", dir.path(), &ExtractLimits::default()).unwrap();
    assert_eq!(files(&self::tree(dir.path())), [("results/global/x.xml", "q")]);
    let two = [info("{}").file("plugins/p/results/global/x", b"1").gz(), info("{}").gz()].concat();
    let dir = tempfile::tempdir().unwrap();
    let mut archive = ResultsArchive::open(&keep(&two).file).unwrap();
    archive.extract_plugin("p", dir.path(), &ExtractLimits::default()).unwrap();
    let list = fs::read_to_string(dir.path().join("results/global/plumbline-left-out.txt")).unwrap();
    assert!(list.ends_with(" bytes after the end of the archive\n"), "{list}");
}

#[test]
fn a_result_whose_node_is_too_long_when_escaped_is_listed_without_it() {
    let name = [b"plugins/p/results/".as_slice(), &[1; 60], b"/\xff"].concat();
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(info("{}").member(&name, FILE, b"x")).unwrap();
    archive.extract_plugin("p", dir.path(), &ExtractLimits::default()).unwrap();
    let list = fs::read_to_string(dir.path().join("results/global/plumbline-left-out.txt")).unwrap();
    assert!(list.ends_with("\\u{1}/\u{fffd}` (a name that is not UTF-8)\n"), "{list}");
}

#[test]
fn links_in_unpacked_results_are_listed_if_they_lead_out_of_them() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let results = from.path().join("plugins/p/results/global");
    write_tree(&results, &Tree::from([("junit.xml".into(), Some(b"a".to_vec()))]));
    std::os::unix::fs::symlink("junit.xml", results.join("latest.xml")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", results.join("more.xml")).unwrap();
    let mut archive = ResultsArchive::open(from.path()).unwrap();
    archive.extract_plugin("p", to.path(), &ExtractLimits::default()).unwrap();
    let list = "not in the results: `results/global/more.xml` (a symbolic link)\n";
    let want = [("results/global/junit.xml", "a"), ("results/global/plumbline-left-out.txt", list)];
    assert_eq!(files(&tree(to.path())), want);
}

#[test]
fn links_in_the_way_are_not_followed() {
    let place = Destination::new();
    std::os::unix::fs::symlink("..", place.dest().join("results")).unwrap();
    let mut archive = open(info("{}").file("plugins/p/results/n/secret", b"changed")).unwrap();
    assert!(matches!(
        archive.extract_plugin("p", &place.dest(), &ExtractLimits::default()),
        Err(ReadError::Extract(..))
    ));
    assert_eq!(fs::read_dir(place.outside()).unwrap().count(), 2);
    // In a directory in place of an archive, a link is not one of its files.
    let dir = tempfile::tempdir().unwrap();
    write_tree(dir.path(), &Tree::from([("meta/info.json".into(), Some(b"{}".to_vec()))]));
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("meta/run.log")).unwrap();
    let mut archive = ResultsArchive::open(dir.path()).unwrap();
    assert!(matches!(archive.read("meta/run.log", 1 << 20), Err(ReadError::Missing(_))));
}
