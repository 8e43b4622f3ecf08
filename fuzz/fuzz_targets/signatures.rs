//! Fuzzes everything that is parsed before a signature is verified: attestations and keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_bundle::signing::{PrivateKey, PublicKey, parse_attestations, write_attestations};

fuzz_target!(|data: &[u8]| {
    if let Ok(attestations) = parse_attestations(data) {
        let text = write_attestations(&attestations);
        let again = parse_attestations(text.as_bytes()).unwrap_or_default();
        assert_eq!(write_attestations(&again), text);
    }
    for key in [PublicKey::from_pem(data), PublicKey::from_der(data)].into_iter().flatten() {
        assert_eq!(PublicKey::from_pem(key.to_pem().as_bytes()).as_ref(), Ok(&key));
    }
    let _ = PrivateKey::from_pem(data);
});
