//! Fuzzes the header with which a registry asks for credentials.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_registry::challenge::{Challenge, parse};

fuzz_target!(|text: &str| {
    for challenge in parse(text) {
        // Parameters consist only of what the server sent.
        if let Challenge::Bearer { realm, service } = challenge {
            assert!(realm.len() + service.map_or(0, |service| service.len()) <= text.len());
        }
    }
});
