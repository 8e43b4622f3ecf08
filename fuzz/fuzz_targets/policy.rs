//! Fuzzes signature policies, which define the trusted signers.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use plumbline_bundle::signing::Policy;

fuzz_target!(|text: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("policy.yaml");
    fs::write(&path, text).expect("writes the policy");
    if let Err(error) = Policy::load(&path) {
        assert!(!error.to_string().is_empty());
    }
});
