//! Tests of the cache for bundles of single runs.

use std::fs::{self, File};
use std::io::Cursor;
use std::os::unix::fs::MetadataExt;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, SystemTime};

use plumbline_bundle::{Cache, CacheError, Digest};

use crate::make::{Bed, DEFINITION, Raw, executable, tar, tar_of};

#[test]
fn a_tar_is_unpacked_once_and_verified_when_it_is_used() {
    let bed = Bed::new();
    let bytes = tar_of(&bed.sample("b"));
    let cache = Cache::at(bed.path("cache"));
    let first = cache.unpacked(Cursor::new(&bytes)).unwrap();
    assert_eq!(first.dir, bed.path("cache").join(Digest::of(&bytes).hex()));
    let written = fs::metadata(first.dir.join("check.sh")).unwrap().modified().unwrap();
    let second = cache.unpacked(Cursor::new(&bytes)).unwrap();
    assert_eq!(
        fs::metadata(second.dir.join("check.sh")).unwrap().modified().unwrap(),
        written,
        "it is not unpacked again"
    );

    executable(&first.dir.join("check.sh"), 0o755);
    fs::write(first.dir.join("check.sh"), "#!/bin/sh\nrm -rf /\n").unwrap();
    let third = cache.unpacked(Cursor::new(&bytes)).unwrap();
    assert_eq!(third.digest(), Digest::of(&bytes));
    assert_eq!(fs::read_to_string(third.dir.join("check.sh")).unwrap(), "#!/bin/sh\necho ok\n");
    assert_eq!(fs::read_dir(bed.path("cache")).unwrap().count(), 1);
}

#[test]
fn a_bundle_in_use_is_not_unpacked_again_by_others() {
    let bed = Bed::new();
    let bytes = tar_of(&bed.sample("b"));
    for round in 0..20 {
        let cache = Cache::at(bed.path(&format!("cache{round}")));
        let begin = Barrier::new(8);
        let of_directory = || {
            begin.wait();
            let bundle = cache.unpacked(Cursor::new(&bytes)).unwrap();
            fs::metadata(bundle.dir).unwrap().ino()
        };
        let all: Vec<u64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(of_directory)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|one| *one == all[0]), "the directory was replaced: {all:?}");
    }
}

#[test]
fn an_invalid_bundle_is_rejected() {
    let bed = Bed::new();
    let cache = Cache::at(bed.path("cache"));
    assert!(matches!(cache.unpacked(Cursor::new(b"junk")), Err(CacheError::Unpack(_))));
    let broken = tar(&[Raw::file("bad.wasm", "junk"), Raw::file("plugin.yaml", DEFINITION)]);
    assert!(matches!(cache.unpacked(Cursor::new(&broken)), Err(CacheError::Bundle(_))));
}

#[test]
fn entries_that_were_not_used_for_a_long_time_are_removed() {
    let bed = Bed::new();
    let month = SystemTime::now() - Duration::from_hours(30 * 24);
    for i in 0..40 {
        let file = bed.write(&format!("cache/{i:064}/plugin.yaml"), DEFINITION);
        // Mark some of them as used today.
        if i % 4 != 0 {
            File::open(file.parent().unwrap()).unwrap().set_modified(month).unwrap();
        }
    }
    let bytes = tar_of(&bed.sample("b"));
    let kept = Cache::at(bed.path("cache")).unpacked(Cursor::new(&bytes)).unwrap();
    assert!(kept.dir.exists());
    assert_eq!(fs::read_dir(bed.path("cache")).unwrap().count(), 32);
    for i in (0..40).step_by(4) {
        assert!(bed.path(&format!("cache/{i:064}")).exists(), "{i}");
    }
}
