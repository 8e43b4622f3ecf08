//! Tests for packing: reproducible bytes, readable by all users, and no partial files under the
//! final name.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use plumbline_archive::extract::{ExtractLimits, extract_tar_gz};
use plumbline_archive::layout::LEFT_OUT_FILE;
use plumbline_archive::member::NameFault;
use plumbline_archive::pack::{PackError, PackOptions, SkipReason, pack_directory, write_archive};
use plumbline_core::ReceiveLimits;
use plumbline_core::limits::{ARCHIVE_PATH_BYTES, RESULT_DEPTH, RESULT_PATH_BYTES};

use crate::make::*;

fn go_on() -> bool {
    false
}

/// Returns a directory with one of each kind that is packed.
fn sample() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_tree(
        dir.path(),
        &Tree::from([
            ("a-b".into(), Some(b"1".to_vec())),
            ("a/z".into(), Some(b"2".to_vec())),
            ("a/empty".into(), None),
            ("a.txt".into(), Some(vec![b'x'; 3 << 20])),
            (["long"; 40].join("/") + "/file", Some(b"deep".to_vec())),
            ("é".into(), Some(Vec::new())),
            ("Z".into(), Some(b"3".to_vec())),
        ]),
    );
    dir
}

fn pack(dir: &Path, options: &PackOptions) -> Result<Vec<u8>, PackError> {
    pack_directory(dir, Vec::new(), options, &mut go_on).map(|(packed, _)| packed)
}

/// Returns the names in the archive, as the `tar` crate reads them, with their headers.
fn members(packed: &[u8]) -> Vec<(String, tar::Header)> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed));
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        (String::from_utf8(entry.path_bytes().into_owned()).unwrap(), entry.header().clone())
    });
    entries.collect()
}

#[test]
fn names_are_in_order_without_dot_or_slash() {
    let dir = sample();
    let names: Vec<_> = members(&pack(dir.path(), &PackOptions::default()).unwrap()).into_iter().map(|m| m.0).collect();
    assert_eq!(names[..7], ["Z", "a", "a/empty", "a/z", "a-b", "a.txt", "long"]);
    assert_eq!(names.last().unwrap(), "é");
    assert_eq!(names.len(), 7 + 39 + 1 + 1);
    assert!(names.iter().all(|name| !name.starts_with('.') && !name.ends_with('/')));
}

#[test]
fn owners_and_modes_tell_nothing_of_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("private")).unwrap();
    for (name, mode) in [("private", 0o700), ("script", 0o4755), ("secret", 0o600)] {
        if name != "private" {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (name, header) in members(&pack(dir.path(), &PackOptions::default()).unwrap()) {
        let want = if name == "secret" { 0o644 } else { 0o755 };
        assert_eq!(header.mode().unwrap(), want, "{name}");
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
    }
}

#[test]
fn the_same_directory_is_the_same_bytes() {
    let (dir, out) = (sample(), tempfile::tempdir().unwrap());
    let options = |threads| PackOptions { threads: NonZeroUsize::new(threads).unwrap(), ..PackOptions::default() };
    let one = pack(dir.path(), &options(1)).unwrap();
    assert!(one == pack(dir.path(), &options(1)).unwrap());
    assert!(one == pack(dir.path(), &options(3)).unwrap());
    let file = out.path().join("x.tar.gz");
    write_archive(dir.path(), &file, &PackOptions::default()).unwrap();
    assert!(one == fs::read(&file).unwrap());
    // Another directory with the same content, created at another time and in another order.
    let copy = tempfile::tempdir().unwrap();
    for (name, data) in tree(dir.path()).into_iter().rev() {
        write_tree(copy.path(), &Tree::from([(name, data)]));
    }
    let aged = |dir: &Path| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        for name in tree(dir).into_keys() {
            File::open(dir.join(name)).unwrap().set_modified(at).unwrap();
        }
        pack(dir, &PackOptions::default()).unwrap()
    };
    assert!(aged(dir.path()) == aged(copy.path()));
    let old = File::options().append(true).open(dir.path().join("Z")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(86_400, 999)).unwrap();
    let times = members(&pack(dir.path(), &PackOptions::default()).unwrap());
    assert_eq!(times.iter().find(|m| m.0 == "Z").unwrap().1.mtime().unwrap(), 86_400);
}

#[test]
fn other_tools_read_it() {
    let (dir, out) = (sample(), tempfile::tempdir().unwrap());
    let file = out.path().join("x.tar.gz");
    let packed = write_archive(dir.path(), &file, &PackOptions::default()).unwrap();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(packed.digest.bytes, bytes.len() as u64);
    assert_eq!(packed.entries, tree(dir.path()).len() as u64);
    assert_eq!(extract(&bytes).unwrap().1, tree(dir.path()));
    let file = file.to_str().unwrap();
    let to = tempfile::tempdir().unwrap();
    let commands: [&[&str]; 3] =
        [&["gzip", "-t", file], &["tar", "-xzf", file, "-C", to.path().to_str().unwrap()], &["sha256sum", file]];
    for command in commands {
        let Ok(output) = Command::new(command[0]).args(&command[1..]).output() else {
            eprintln!("not tested: `{}` not found", command[0]);
            continue;
        };
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        match command[0] {
            "tar" => assert_eq!(tree(to.path()), tree(dir.path())),
            "sha256sum" => assert!(output.stdout.starts_with(packed.digest.sha256.as_bytes())),
            _ => {}
        }
    }
}

#[test]
fn files_that_cannot_be_packed_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "x").unwrap();
    symlink("file", at("link")).unwrap();
    symlink("/etc", at("out")).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
    let (packed, packing) = pack_directory(dir.path(), Vec::new(), &PackOptions::default(), &mut go_on).unwrap();
    assert_eq!(members(&packed).len(), 1);
    let skipped: Vec<_> = packing.skipped.iter().map(|s| (s.member.as_str(), s.why)).collect();
    assert_eq!(
        skipped,
        [
            ("caf\u{fffd}", SkipReason::Name(NameFault::NotUtf8)),
            ("link", SkipReason::Symlink),
            ("out", SkipReason::Symlink),
            ("pipe", SkipReason::Fifo),
            ("socket", SkipReason::Socket),
        ]
    );
    assert_eq!(packing.skipped_total, 5);
    assert_eq!(packing.skipped[1].to_string(), "`link`: a symbolic link");
}

#[test]
fn a_list_in_the_archive_says_what_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("a.xml"), "x").unwrap();
    symlink("a.xml", at("latest.xml")).unwrap();
    symlink(at("a.xml"), at("absolute.xml")).unwrap();
    symlink(".", at("here")).unwrap();
    let names = || {
        let (packed, _) = pack_directory(dir.path(), Vec::new(), &for_upload(), &mut go_on).unwrap();
        members(&packed).into_iter().map(|member| member.0).collect::<Vec<_>>()
    };
    // These links lead to content that the same formats read. A plugin's file with the list's name
    // is not a list.
    fs::write(at(LEFT_OUT_FILE), "nothing").unwrap();
    assert_eq!(names(), ["a.xml"]);
    // A format for JSON reads this link, but not the file.
    symlink("a.xml", at("report.json")).unwrap();
    assert_eq!(names(), ["a.xml", LEFT_OUT_FILE]);
    fs::remove_file(at("report.json")).unwrap();
    symlink("/etc/passwd", at("out")).unwrap();
    assert_eq!(names(), ["a.xml", LEFT_OUT_FILE]);
}

#[test]
fn directories_deeper_than_can_be_unpacked_are_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("d/".repeat(70))).unwrap();
    let (packed, packing) = pack_directory(dir.path(), Vec::new(), &PackOptions::default(), &mut go_on).unwrap();
    assert_eq!((packing.entries, packing.skipped_total), (64, 1));
    assert_eq!(packing.skipped[0].why, SkipReason::Name(NameFault::TooDeep(64)));
    assert!(extract(&packed).is_err(), "an upload may be less deep than an archive");
    let error = pack_directory(dir.path(), Vec::new(), &for_upload(), &mut go_on).unwrap_err();
    assert!(error.to_string().ends_with("a path with more than 60 components"), "{error}");
}

fn for_upload() -> PackOptions {
    PackOptions::for_upload(&ReceiveLimits::default())
}

/// What is packed for an upload is accepted, and fits into the archive below the longest names of
/// plugin and node.
#[test]
fn an_upload_at_its_limits_fits_into_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("d/".repeat(RESULT_DEPTH))).unwrap();
    let (packed, packing) = pack_directory(dir.path(), Vec::new(), &for_upload(), &mut go_on).unwrap();
    assert_eq!((packing.entries, packing.skipped_total), (RESULT_DEPTH as u64, 0));
    let prefix = format!("plugins/{}/results/{}/", "p".repeat(63), "n".repeat(253));
    let root = tempfile::tempdir().unwrap();
    let result = root.path().join(&prefix);
    fs::create_dir_all(&result).unwrap();
    extract_tar_gz(packed.as_slice(), &result, &ExtractLimits::default()).unwrap();
    let (_, packing) = pack_directory(root.path(), Vec::new(), &PackOptions::default(), &mut go_on).unwrap();
    assert_eq!((packing.entries, packing.skipped_total), (4 + RESULT_DEPTH as u64, 0));
    assert!(prefix.len() + RESULT_PATH_BYTES <= ARCHIVE_PATH_BYTES);
}

#[test]
fn the_archive_is_not_packed_into_itself_but_its_namesakes_are() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("results.tar.gz");
    fs::create_dir(dir.path().join("nested")).unwrap();
    fs::write(dir.path().join("nested/results.tar.gz"), "a plugin's own").unwrap();
    fs::write(dir.path().join("done"), "/tmp/results").unwrap();
    fs::write(&out, "of an attempt before").unwrap();
    let packed = write_archive(dir.path(), &out, &PackOptions::default()).unwrap();
    let names: Vec<_> = members(&fs::read(&out).unwrap()).into_iter().map(|m| m.0).collect();
    assert_eq!(names, ["done", "nested", "nested/results.tar.gz"]);
    assert_eq!((packed.entries, packed.skipped.len()), (3, 0));
}

#[test]
fn a_file_that_changes_while_it_is_packed_is_never_half_true() {
    let size = 200 << 10;
    // Called before the first entry, and then before every piece of the file.
    let packed_while = |change: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("log"), vec![b'a'; size]).unwrap();
        fs::write(dir.path().join("z"), "after").unwrap();
        let mut asked = 0;
        pack_directory(dir.path(), Vec::new(), &PackOptions::default(), &mut || {
            asked += 1;
            if asked == 3 {
                change(dir.path());
            }
            false
        })
    };
    let grown = |dir: &Path| {
        File::options().append(true).open(dir.join("log")).unwrap().write_all(&[b'b'; 100_000]).unwrap();
    };
    let tree = extract(&packed_while(&grown).unwrap().0).unwrap().1;
    assert!(tree["log"].as_ref().unwrap() == &vec![b'a'; size]);
    assert_eq!(tree["z"].as_deref(), Some(b"after".as_slice()));

    let shrunk = |dir: &Path| File::options().write(true).open(dir.join("log")).unwrap().set_len(20_000).unwrap();
    match packed_while(&shrunk).unwrap_err() {
        PackError::Shrunk { member, expected, got } => {
            assert_eq!((member.as_str(), expected, got), ("log", 204_800, 20_000))
        }
        other => panic!("{other}"),
    }

    let removed = |dir: &Path| fs::remove_file(dir.join("z")).unwrap();
    let packing = packed_while(&removed).unwrap().1;
    assert_eq!((packing.skipped[0].member.as_str(), packing.skipped[0].why), ("z", SkipReason::Vanished));
    // A link in place of the file is skipped.
    let replaced = |dir: &Path| {
        fs::remove_file(dir.join("z")).unwrap();
        symlink("/etc/passwd", dir.join("z")).unwrap();
    };
    assert_eq!(packed_while(&replaced).unwrap().1.skipped[0].why, SkipReason::Symlink);
}

#[test]
fn limits_hold_and_leave_nothing_behind() {
    let (dir, out) = (sample(), tempfile::tempdir().unwrap());
    let file = out.path().join("x.tar.gz");
    fs::write(&file, "before").unwrap();
    for (options, want) in [
        (PackOptions { max_bytes: Some(100), ..PackOptions::default() }, "more than 100 bytes packed"),
        (PackOptions { entries: 10, ..PackOptions::default() }, "more than 10 files and directories"),
    ] {
        assert_eq!(write_archive(dir.path(), &file, &options).unwrap_err().to_string(), want);
        assert_eq!(tree(out.path()), Tree::from([("x.tar.gz".into(), Some(b"before".to_vec()))]));
    }
    let exact = pack(dir.path(), &PackOptions::default()).unwrap().len() as u64;
    let max = |bytes| PackOptions { max_bytes: Some(bytes), ..PackOptions::default() };
    assert!(pack(dir.path(), &max(exact)).is_ok());
    assert!(matches!(pack(dir.path(), &max(exact - 1)), Err(PackError::TooManyBytes(_))));
}

#[test]
fn a_full_disk_is_called_by_its_name() {
    let dir = sample();
    for threads in [1, 2] {
        let options = PackOptions { threads: NonZeroUsize::new(threads).unwrap(), ..PackOptions::default() };
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = pack_directory(dir.path(), full, &options, &mut go_on).unwrap_err();
        assert!(matches!(error, PackError::Full(..)), "{error}");
        assert!(error.to_string().starts_with("no space left for the packed data: "), "{error}");
    }
    let error = write_archive(dir.path(), Path::new("/nowhere/x.tar.gz"), &PackOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("failed to write `/nowhere/x.tar.gz`: "), "{error}");
    let error =
        write_archive(Path::new("/nowhere"), &dir.path().join("x.tar.gz"), &PackOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("failed to open directory `/nowhere`: "), "{error}");
    assert!(!dir.path().join("x.tar.gz").exists());
}

#[test]
fn it_can_be_cancelled_between_two_pieces() {
    let dir = sample();
    for after in [0, 1, 10, 60] {
        let mut asked = 0;
        let mut cancelled = || {
            asked += 1;
            asked > after
        };
        let error = pack_directory(dir.path(), Vec::new(), &PackOptions::default(), &mut cancelled).unwrap_err();
        assert!(matches!(error, PackError::Cancelled), "after {after}: {error}");
    }
}

#[test]
fn an_empty_directory_is_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let packed = pack(dir.path(), &PackOptions::default()).unwrap();
    assert_eq!(extract(&packed).unwrap().1, Tree::new());
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut tar).unwrap();
    assert_eq!(tar, [0; 1024]);
}
