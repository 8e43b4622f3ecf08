//! Fuzzes tars of bundles: only tars as the packer writes them are unpacked, and each bundle has
//! one digest.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use plumbline_bundle::{Digest, unpack, unpack_verified};

fuzz_target!(|tar: &[u8]| {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let into = outside.path().join("bundle");
    match unpack(tar, &into) {
        Ok(digest) => {
            assert_eq!(digest, Digest::of(tar), "the digest is that of the tar");
            unpack_verified(tar, &outside.path().join("again"), &digest).expect("the same tar again");
        }
        Err(_) => {
            let left = fs::read_dir(outside.path()).expect("reads the directory").count();
            assert_eq!(left, 0, "a refused bundle leaves nothing behind");
        }
    }
});
