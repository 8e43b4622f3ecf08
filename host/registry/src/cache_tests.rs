//! Tests that the cache is valid, bounded and separate for each repository.

use super::*;

fn kept(dir: &Path, repository: &str) -> DownloadCache {
    let settings = Settings { downloads: Some(dir.join("downloads")), ..Settings::default() };
    DownloadCache::of(&settings, &format!("oci://localhost/{repository}").parse().unwrap()).unwrap()
}

fn write(kept: &DownloadCache, content: &[u8]) -> Descriptor {
    let wanted = Descriptor::of("", content);
    kept.write(wanted.digest, |to| to.write_all(content));
    wanted
}

fn read(kept: &DownloadCache, wanted: &Descriptor) -> Option<Vec<u8>> {
    kept.read(wanted).map(|file| fs::read(file.path()).unwrap())
}

#[test]
fn cached_blobs_are_available_to_their_repository_only() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (kept(dir.path(), "one"), kept(dir.path(), "other"));
    let wanted = write(&one, b"abc");
    assert_eq!(read(&one, &wanted).unwrap(), b"abc");
    assert_eq!(read(&other, &wanted), None);
    assert!(DownloadCache::of(&Settings::default(), &"oci://localhost/one".parse().unwrap()).is_none());
}

#[test]
fn a_damaged_one_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let kept = kept(dir.path(), "one");
    for damage in [&b"abd"[..], b"ab", b"abcd"] {
        let wanted = write(&kept, b"abc");
        fs::write(kept.path(wanted.digest), damage).unwrap();
        assert_eq!(read(&kept, &wanted), None);
        assert!(!kept.path(wanted.digest).exists());
    }
    // An entry that is not a file is ignored, and does not block.
    let wanted = Descriptor::of("", b"abc");
    fs::create_dir(kept.path(wanted.digest)).unwrap();
    assert_eq!(read(&kept, &wanted), None);
}

#[test]
fn the_least_recently_used_blob_is_removed_over_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let kept = kept(dir.path(), "one");
    let now = SystemTime::now();
    let aged = |wanted: &Descriptor, hours: u64| {
        let file = File::open(kept.path(wanted.digest)).unwrap();
        file.set_modified(now - Duration::from_hours(hours)).unwrap();
    };
    let (old, used) = (write(&kept, b"old"), write(&kept, b"used"));
    aged(&old, 2);
    aged(&used, 3);
    assert!(read(&kept, &used).is_some(), "which is a use");
    // A sparse file that is as large as the whole cache may be.
    let large = write(&kept, b"large");
    let file = fs::OpenOptions::new().write(true).open(kept.path(large.digest)).unwrap();
    file.set_len(MAX_CACHE_BYTES - 9).unwrap();
    aged(&large, 1);
    let abandoned = kept.dir.join(format!("{UNFINISHED}x"));
    fs::write(&abandoned, b"").unwrap();
    File::open(&abandoned).unwrap().set_modified(now - ABANDONED * 2).unwrap();
    let new = write(&kept, b"new");
    let there = |wanted: &Descriptor| kept.path(wanted.digest).exists();
    assert_eq!((there(&new), there(&used), there(&large), there(&old)), (true, true, true, false));
    assert!(!abandoned.exists());
}

#[test]
fn two_at_once_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let contents: Vec<Vec<u8>> = (0..4u8).map(|n| vec![n; 200_000]).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let kept = kept(dir.path(), "one");
                for _ in 0..8 {
                    for content in &contents {
                        let wanted = write(&kept, content);
                        // A reader never sees partial or different content.
                        assert_eq!(read(&kept, &wanted).as_ref(), Some(content));
                    }
                }
            });
        }
    });
}
