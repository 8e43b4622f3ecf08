//! Fuzzes profiles of suites, which are part of untrusted bundles.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_bundle::profile::Profile;

fuzz_target!(|yaml: &[u8]| {
    match Profile::parse(yaml) {
        Ok(profile) => assert_eq!(Profile::parse(yaml).ok().as_ref(), Some(&profile)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
