//! Tests of archives, most of them malicious.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_core::ledger::KeyState;
use plumbline_core::limits::FAILED_UPLOADS;
use tar::{EntryType, Header};

use super::UploadFixture;

const GZIP: &str = "Content-Type: application/gzip";

/// A member whose name is written unchanged, even if it is invalid.
pub(super) struct Member<'a> {
    name: &'a str,
    kind: EntryType,
    link: &'a str,
    content: &'a [u8],
}

pub(super) fn file<'a>(name: &'a str, content: &'a [u8]) -> Member<'a> {
    Member { name, kind: EntryType::Regular, link: "", content }
}

fn other<'a>(name: &'a str, kind: EntryType, link: &'a str) -> Member<'a> {
    Member { name, kind, link, content: b"" }
}

pub(super) fn packed(members: &[Member<'_>]) -> Vec<u8> {
    let mut tar = Vec::new();
    for member in members {
        let mut header = Header::new_ustar();
        header.set_entry_type(member.kind);
        header.set_mode(0o644);
        header.set_size(member.content.len() as u64);
        let raw = header.as_ustar_mut().unwrap();
        raw.name[..member.name.len()].copy_from_slice(member.name.as_bytes());
        raw.linkname[..member.link.len()].copy_from_slice(member.link.as_bytes());
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(member.content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&tar).unwrap();
    gzip.finish().unwrap()
}

/// Returns every path with this word below the test's directory and the system's temporary
/// directory.
fn found(uploads: &UploadFixture, word: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![uploads.fixture.dir.path().to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                open.push(path.clone());
            }
            if path.file_name().unwrap().to_str().unwrap().contains(word) {
                found.push(path);
            }
        }
    }
    let outside = std::path::Path::new("/tmp/plumbline-evil");
    found.extend(outside.exists().then(|| outside.to_owned()));
    found
}

#[tokio::test]
async fn hostile_archives_are_rejected_completely() {
    let uploads = UploadFixture::new().await;
    let good = || file("good-evil.txt", b"x");
    let cases: [(&str, Vec<Member<'_>>); 6] = [
        ("absolute", vec![good(), file("/tmp/plumbline-evil", b"x")]),
        ("parent", vec![good(), file("../evil", b"x")]),
        ("hidden parent", vec![good(), file("a/../../../evil", b"x")]),
        ("parent directory", vec![good(), other("../evil/", EntryType::Directory, "")]),
        ("file in place of a directory", vec![good(), file("evil/a", b"x"), file("evil", b"x")]),
        ("file below a file", vec![good(), file("evil", b"x"), file("evil/a", b"x")]),
    ];
    for (what, members) in cases {
        let answer = uploads.put(&[GZIP], &packed(&members)).await;
        assert_eq!(answer.status, 400, "{what}: {answer:?}");
        assert!(answer.body.starts_with("result p/n1: member `"), "{what}: {answer:?}");
        assert!(matches!(uploads.state_of("p/n1"), KeyState::Broken { .. }), "{what}");
        assert_eq!(
            found(&uploads, "evil"),
            Vec::<std::path::PathBuf>::new(),
            "{what}: nothing stays, not even the good part"
        );
    }
    uploads.assert_nothing_is_left();
    assert_eq!(uploads.put(&[GZIP], &packed(&[good()])).await.status, 200, "a good one is still taken");
}

#[tokio::test]
async fn archives_that_are_damaged_or_none_are_refused() {
    let uploads = UploadFixture::new().await;
    let whole = packed(&[file("a.txt", &[b'a'; 5000])]);
    let mut wrong_sum = whole.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 0xff;
    for (what, bytes) in [
        ("nothing", &b""[..]),
        ("text", b"this is not an archive"),
        ("half", &whole[..whole.len() / 2]),
        ("no checksum", &whole[..whole.len() - 8]),
        ("wrong checksum", &wrong_sum),
    ] {
        let answer = uploads.put(&[GZIP], bytes).await;
        assert_eq!(answer.status, 400, "{what}: {answer:?}");
        assert!(!uploads.place().exists(), "{what}");
    }
    assert_eq!(uploads.put(&[GZIP], &whole).await.status, 200);
    assert_eq!(std::fs::read(uploads.place().join("a.txt")).unwrap().len(), 5000);
}

#[tokio::test]
async fn a_result_whose_uploads_fail_too_often_is_an_error() {
    let uploads = UploadFixture::new().await;
    for _ in 0..FAILED_UPLOADS {
        assert_eq!(uploads.put(&[GZIP], b"this is not an archive").await.status, 400);
    }
    let KeyState::Failed { error, .. } = uploads.state_of("p/n1") else { panic!("{:?}", uploads.state_of("p/n1")) };
    assert!(error.error.starts_with("100 uploads failed, the maximum for a result"), "{}", error.error);
    assert_eq!(uploads.put(&[GZIP], &packed(&[file("a.txt", b"a")])).await.status, 409);
}

#[tokio::test]
async fn links_and_devices_are_left_out_and_of_two_files_the_last_counts() {
    let uploads = UploadFixture::new().await;
    let members = [
        file("./dir/a.txt", b"first"),
        file("dir/a.txt", b"last"),
        other("soft", EntryType::Symlink, "/etc/passwd"),
        other("hard", EntryType::Link, "dir/a.txt"),
        other("pipe", EntryType::Fifo, ""),
        other("device", EntryType::Char, ""),
        other("disk", EntryType::Block, ""),
    ];
    assert_eq!(uploads.put(&[GZIP], &packed(&members)).await.status, 200);
    let mut names: Vec<_> = std::fs::read_dir(uploads.place())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["dir", "plumbline-left-out.txt"]);
    // A device has no content to lose.
    assert_eq!(
        std::fs::read_to_string(uploads.place().join("plumbline-left-out.txt")).unwrap(),
        "not in the results: `soft`: a symbolic link, `hard`: a hard link, `pipe`: a named pipe\n"
    );
    assert_eq!(std::fs::read_to_string(uploads.place().join("dir/a.txt")).unwrap(), "last");
}

#[tokio::test]
async fn a_link_to_a_file_that_no_reader_of_the_link_reads_is_lost() {
    let uploads = UploadFixture::new().await;
    let members = [
        file("runs/1.xml", b"<testsuites/>"),
        other("latest.xml", EntryType::Symlink, "runs/1.xml"),
        other("report.json", EntryType::Symlink, "runs/1.xml"),
        other("all", EntryType::Symlink, "runs"),
    ];
    assert_eq!(uploads.put(&[GZIP], &packed(&members)).await.status, 200);
    let list = std::fs::read_to_string(uploads.place().join("plumbline-left-out.txt")).unwrap();
    assert_eq!(list, "not in the results: `report.json`: a symbolic link\n");
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let uploads = UploadFixture::new().await;
    let members = [
        other("out", EntryType::Symlink, "/tmp"),
        file("out/plumbline-evil", b"x"),
        other("up", EntryType::Symlink, "../../../../.."),
        file("up/evil", b"x"),
    ];
    assert_eq!(uploads.put(&[GZIP], &packed(&members)).await.status, 200);
    let inside = ["out/plumbline-evil", "up/evil"].map(|name| uploads.place().join(name));
    let mut found = found(&uploads, "evil");
    found.sort();
    assert_eq!(found, inside, "the links were left out, and their names are those of directories like any other");
}

#[tokio::test]
async fn a_type_that_is_not_exactly_gzip_is_a_file() {
    let uploads = UploadFixture::new().await;
    let bytes = packed(&[file("a.txt", b"a")]);
    assert_eq!(uploads.put(&["Content-Type: application/x-gzip"], &bytes).await.status, 200);
    assert_eq!(std::fs::read(uploads.place().join("result")).unwrap(), bytes);
}

#[tokio::test]
async fn an_archive_that_unpacks_to_more_than_the_limits_is_too_large() {
    let mut fixture = crate::harness::RunFixture::new();
    fixture.settings.receive.unpacked_bytes = 100_000;
    fixture.settings.receive.entries = 10;
    let uploads = UploadFixture::on(fixture).await;
    let bomb = packed(&[file("zeros", &vec![0; 1 << 20])]);
    assert!(bomb.len() < 20_000);
    assert_eq!(uploads.put(&[GZIP], &bomb).await.status, 413);
    let names: Vec<String> = (0..11).map(|n| format!("f{n}")).collect();
    let many: Vec<_> = names.iter().map(|name| file(name, b"x")).collect();
    assert_eq!(uploads.put(&[GZIP], &packed(&many)).await.status, 413);
    assert!(!uploads.place().exists());
    uploads.assert_nothing_is_left();
    assert_eq!(uploads.put(&[GZIP], &packed(&many[..10])).await.status, 200);
}
