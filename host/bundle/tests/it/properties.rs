//! Property tests: no input causes a panic or a write outside of the target.

use std::fs;

use plumbline_bundle::{Bundle, Digest, Lock, unpack};
use proptest::prelude::*;

use crate::make::{Bed, seal, tar_of};

/// Unpacks `tar` and checks the directory afterwards.
fn try_out(tar: &[u8]) {
    let bed = Bed::new();
    fs::create_dir_all(bed.path("a/b/c")).unwrap();
    let unpacked = unpack(tar, &bed.path("a/b/c/into"));
    let tree = bed.tree();
    let elsewhere: Vec<_> = tree.iter().filter(|name| !name.starts_with("a/b/c/into/")).collect();
    assert_eq!(elsewhere, ["a/", "a/b/", "a/b/c/"]);
    match unpacked {
        Err(error) => assert!(tree.len() == 3, "{error}: {tree:?}"),
        Ok(digest) => {
            assert_eq!(digest, Digest::of(tar));
            // An accepted tar is a bundle and packs to the same bytes, unless a module is invalid.
            if let Ok(bundle) = Bundle::open(bed.path("a/b/c/into")) {
                assert_eq!(bundle.digest(), digest);
                assert_eq!(tar_of(&bundle.dir), tar);
            }
        }
    }
}

fn good() -> Vec<u8> {
    let bed = Bed::new();
    tar_of(&bed.sample("b"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        try_out(&bytes);
    }

    #[test]
    fn a_tar_with_bytes_changed(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), seals: bool) {
        let mut tar = good();
        for (at, byte) in changes {
            let at = at.index(tar.len());
            tar[at] = byte;
            if seals {
                // Fix the checksum, so that the change is found after the checksum test.
                let block = at / 512 * 512;
                seal(&mut tar[block..block + 512]);
            }
        }
        try_out(&tar);
    }

    #[test]
    fn a_tar_with_blocks_moved(moves in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..3), 1..4)) {
        let mut blocks: Vec<Vec<u8>> = good().chunks(512).map(<[u8]>::to_vec).collect();
        for (from, to, what) in moves {
            let (from, to) = (from.index(blocks.len()), to.index(blocks.len()));
            match what {
                0 => blocks.swap(from, to),
                1 => { let block = blocks[from].clone(); blocks.insert(to, block) }
                _ if blocks.len() > 1 => { blocks.remove(from); }
                _ => {}
            }
        }
        try_out(&blocks.concat());
    }

    #[test]
    fn any_name_in_a_header(name in prop::collection::vec(prop_oneof![Just(b'/'), Just(b'.'), Just(b'\\'), any::<u8>()], 1..100)) {
        let mut tar = good();
        tar[..100].fill(0);
        tar[..name.len()].copy_from_slice(&name);
        seal(&mut tar);
        try_out(&tar);
    }

    #[test]
    fn any_text_as_a_lock(text in "(\\PC|[\n :-]){0,80}") {
        let _ = Lock::parse(&text);
        let _ = Lock::parse(&format!("version: 1\nplugins:\n{text}"));
    }
}
