//! Tests that any change to the signed bytes or the signature is detected.

use std::sync::OnceLock;

use plumbline_bundle::signing::{Attestation, Envelope, PrivateKey, parse_attestations, write_attestations};
use proptest::prelude::*;

use crate::signing::signed::{envelope, key, look, look_at};

/// Returns one key and its envelope, created once for all tests.
fn made() -> &'static (PrivateKey, Envelope) {
    static MADE: OnceLock<(PrivateKey, Envelope)> = OnceLock::new();
    MADE.get_or_init(|| {
        let key = key();
        let envelope = envelope(&key);
        (key, envelope)
    })
}

fn flip(bytes: &mut [u8], at: usize, bit: u8) {
    let at = at % bytes.len();
    bytes[at] ^= 1 << bit;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_flipped_bit_is_refused(at in any::<usize>(), bit in 0_u8..8, part in 0..3, named in any::<bool>()) {
        let (key, good) = made();
        let mut bad = good.clone();
        if !named {
            bad.signatures[0].key_id.clear();
        }
        prop_assert!(look(std::slice::from_ref(&bad), key.public()).is_ok());
        match part {
            0 => flip(&mut bad.payload, at, bit),
            1 => flip(&mut bad.signatures[0].bytes, at, bit),
            _ => {
                // Flip only the lower seven bits, so that the type stays a valid string.
                let mut bytes = bad.payload_type.clone().into_bytes();
                flip(&mut bytes, at, bit % 7);
                bad.payload_type = String::from_utf8(bytes).unwrap();
            }
        }
        prop_assert!(look(&[bad], key.public()).is_err());
    }

    #[test]
    fn a_signature_that_is_cut_or_longer_is_refused(cut in 0_usize..72, more in prop::collection::vec(any::<u8>(), 1..8)) {
        let (key, good) = made();
        let mut bad = good.clone();
        let bytes = &mut bad.signatures[0].bytes;
        bytes.truncate(cut.min(bytes.len() - 1));
        prop_assert!(look(std::slice::from_ref(&bad), key.public()).is_err());
        bad.signatures[0].bytes = [good.signatures[0].bytes.as_slice(), &more].concat();
        prop_assert!(look(&[bad], key.public()).is_err());
    }

    #[test]
    fn a_damaged_file_never_says_more_than_was_signed(at in any::<usize>(), bit in 0_u8..8) {
        let (key, good) = made();
        let mut text = Attestation::of_key(good.clone(), &key.public().hint()).json().to_owned().into_bytes();
        flip(&mut text, at, bit);
        // The key ID and the hint are not protected. Everything else that still verifies must be
        // what was signed.
        if let Ok(attestations) = parse_attestations(&text) && look_at(&attestations, key.public()).is_ok() {
            prop_assert_eq!(&attestations[0].envelope().payload, &good.payload);
            prop_assert_eq!(&attestations[0].envelope().payload_type, &good.payload_type);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = parse_attestations(&text);
        let _ = plumbline_bundle::signing::PublicKey::from_pem(&text);
        let _ = plumbline_bundle::signing::PublicKey::from_der(&text);
        let _ = PrivateKey::from_pem(&text);
    }

    #[test]
    fn written_attestations_read_back_equal(
        payload in prop::collection::vec(any::<u8>(), 0..64),
        payload_type in "\\PC{0,40}",
        count in 0_usize..4,
    ) {
        let envelope = Envelope { payload, payload_type, signatures: vec![made().1.signatures[0].clone(); count] };
        let attestations = vec![Attestation::of_key(envelope.clone(), "hint"), Attestation::of_key(envelope, "")];
        let text = write_attestations(&attestations);
        let again = parse_attestations(text.as_bytes()).unwrap();
        prop_assert_eq!(write_attestations(&again), text);
        prop_assert_eq!(again[0].envelope(), attestations[0].envelope());
        prop_assert_eq!(again[1].envelope(), attestations[1].envelope());
    }
}
