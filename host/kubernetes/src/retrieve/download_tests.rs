//! Downloads from an in-memory source that drops connections as configured.

use std::cell::RefCell;
use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::retrieve::Stage;

/// The bytes, and how many of them each connection transfers before it drops. Further connections
/// do not drop.
struct Memory {
    bytes: Vec<u8>,
    drops: RefCell<Vec<u64>>,
    asked: RefCell<Vec<u64>>,
}

impl Memory {
    fn new(bytes: Vec<u8>, drops: &[u64]) -> Self {
        Self { bytes, drops: RefCell::new(drops.iter().rev().copied().collect()), asked: RefCell::default() }
    }

    fn archive(&self) -> FinishedArchive {
        let digest = Digest::of_reader(&self.bytes[..]).unwrap();
        FinishedArchive { name: "a.tar.gz".into(), size: digest.bytes, sha256: digest.sha256 }
    }
}

impl Source for Memory {
    async fn fetch(
        &self,
        archive: &FinishedArchive,
        part: &mut Part,
        tell: &mut Tell<'_>,
    ) -> Result<Option<String>, RetrieveError> {
        self.asked.borrow_mut().push(part.have());
        let drop = self.drops.borrow_mut().pop();
        let missing = archive.size - part.have();
        let length = drop.unwrap_or(missing).min(missing);
        let from = usize::try_from(part.have()).unwrap();
        let data = &self.bytes[from..from + usize::try_from(length).unwrap()];
        for chunk in data.chunks(50_000) {
            part.append(chunk).await?;
            tell(Progress::Bytes(part.have()));
        }
        Ok((length < missing).then(|| "dropped".to_owned()))
    }
}

fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

const QUICK: Retries = Retries { times: 5, pause: Duration::from_millis(1) };

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn bring(source: &Memory, dir: &Path, named: &TarInfo) -> Result<Retrieved, RetrieveError> {
    let archive = source.archive();
    run(download(source, &archive, named, &dir.join("a.tar.gz"), QUICK, &mut |_| {}))
}

#[test]
fn a_line_that_brings_nothing_is_given_up_and_gone_on_with_later() {
    let dir = tempfile::tempdir().unwrap();
    let source = Memory::new(pattern(100_000), &[30_000, 0, 0, 0, 0, 0]);
    let error = bring(&source, dir.path(), &TarInfo::default()).unwrap_err();
    assert!(matches!(&error, RetrieveError::Interrupted { have: 30_000, size: 100_000, .. }), "{error}");
    assert_eq!(error.stage(), Stage::Transfer);
    assert!(error.hint().unwrap().contains("a.tar.gz.part"), "the hint names the partial file");

    let retrieved = bring(&source, dir.path(), &TarInfo::default()).unwrap();
    assert_eq!(fs::read(&retrieved.path).unwrap(), source.bytes);
    assert_eq!(source.asked.borrow().last(), Some(&30_000), "what was here is not asked for again");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_line_that_drops_often_but_brings_something_wins() {
    let dir = tempfile::tempdir().unwrap();
    let source = Memory::new(pattern(3_000_000), &[100_000; 25]);
    bring(&source, dir.path(), &TarInfo::default()).unwrap();
}

#[test]
fn another_digest_than_the_status_names_is_refused_and_kept_aside() {
    let dir = tempfile::tempdir().unwrap();
    let source = Memory::new(pattern(5000), &[]);
    let named = TarInfo { name: "a.tar.gz".into(), sha256: "00".repeat(32), size: 5000, ..TarInfo::default() };
    let error = bring(&source, dir.path(), &named).unwrap_err();
    let RetrieveError::Wrong { aside: Some(aside), .. } = &error else { panic!("{error}") };
    assert_eq!(fs::read(aside).unwrap(), source.bytes);
    assert!(!dir.path().join("a.tar.gz").exists());
    // The entry of another archive says nothing about this one.
    let other = TarInfo { name: "b.tar.gz".into(), ..named };
    assert!(!bring(&source, dir.path(), &other).unwrap().as_status_says);
}

#[test]
fn an_archive_that_is_here_is_not_fetched_again() {
    let dir = tempfile::tempdir().unwrap();
    let source = Memory::new(pattern(5000), &[]);
    bring(&source, dir.path(), &TarInfo::default()).unwrap();
    bring(&source, dir.path(), &TarInfo::default()).unwrap();
    assert_eq!(source.asked.borrow().len(), 1);
    fs::write(dir.path().join("a.tar.gz"), vec![0; 5000]).unwrap();
    bring(&source, dir.path(), &TarInfo::default()).unwrap();
    assert_eq!(fs::read(dir.path().join("a.tar.gz")).unwrap(), source.bytes, "one that only looks so is replaced");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_download_equals_the_source(
        size in 0_usize..300_000,
        drops in proptest::collection::vec(0_u64..120_000, 0..12),
        interruptions in 0_usize..3,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let source = Memory::new(pattern(size), &drops);
        // After a failure the next attempt resumes. Each attempt uses at least six connections.
        let mut result = bring(&source, dir.path(), &TarInfo::default());
        for _ in 0..3 + interruptions {
            if result.is_ok() { break }
            result = bring(&source, dir.path(), &TarInfo::default());
        }
        prop_assert_eq!(fs::read(result.unwrap().path).unwrap(), source.bytes);
    }
}

#[test]
fn a_list_is_believed_only_as_far_as_it_makes_sense() {
    let sha = "ab".repeat(32);
    let list = |archives: serde_json::Value| parse_list(json!({ "archives": archives }).to_string().as_bytes());
    let good = json!({"name": "a.tar.gz", "size": 1, "sha256": sha, "new": "key"});
    assert_eq!(list(json!([good])).unwrap()[0].name, "a.tar.gz");
    assert!(list(json!([])).unwrap().is_empty());
    for (bad, why) in [
        (json!([good, good]), "twice"),
        (json!([{"name": "../a.tar.gz", "size": 1, "sha256": sha}]), "not the name"),
        (json!([{"name": "a.tar.gz", "size": 1, "sha256": "AB"}]), "digest"),
        (json!([{"name": "a.tar.gz", "size": -1, "sha256": sha}]), "invalid"),
        (json!("x"), "invalid"),
    ] {
        let error = list(bad).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn images_that_do_not_know_pieces_are_recognised() {
    let exit = |code, stderr: &str| Exit { code, stderr: stderr.into() };
    assert!(is_unknown(&exit(1, "Error: unknown command \"archive-piece\" for \"sonobuoy\""), b""));
    assert!(is_unknown(&exit(2, "error: unrecognized subcommand 'archive-piece'"), b""));
    assert!(is_unknown(&exit(1, ""), b"Usage:\n  sonobuoy [command]"));
    assert!(!is_unknown(&exit(0, "usage:"), b""));
    assert!(!is_unknown(&exit(4, "error: failed to read `/tmp/x`: no such directory"), b""));
}
