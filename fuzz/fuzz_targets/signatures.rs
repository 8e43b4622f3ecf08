//! Fuzzes everything that is parsed before a signature is verified: envelopes and keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_bundle::signing::{PrivateKey, PublicKey, parse_envelopes, write_envelopes};

fuzz_target!(|data: &[u8]| {
    if let Ok(envelopes) = parse_envelopes(data) {
        assert_eq!(parse_envelopes(write_envelopes(&envelopes).as_bytes()).as_ref(), Ok(&envelopes));
    }
    for key in [PublicKey::from_pem(data), PublicKey::from_der(data)].into_iter().flatten() {
        assert_eq!(PublicKey::from_pem(key.to_pem().as_bytes()).as_ref(), Ok(&key));
    }
    let _ = PrivateKey::from_pem(data);
});
