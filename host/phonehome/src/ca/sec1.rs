//! Converts private keys to the format that existing workers read.
//!
//! Keys are generated as PKCS#8 (RFC 5958), but Go workers only read SEC1 (`EC PRIVATE KEY`, RFC
//! 5915). Both contain the same structure. SEC1 names the curve inside it, and PKCS#8 next to it.

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const PARAMETERS: u8 = 0xa0;
const PUBLIC_KEY: u8 = 0xa1;

/// Returns the `ECPrivateKey` (RFC 5915, section 3) with its curve, from the `PrivateKeyInfo` of an
/// elliptic-curve key in DER.
pub(super) fn from_pkcs8(der: &[u8]) -> Option<Vec<u8>> {
    let (info, _) = take(SEQUENCE, der)?;
    let (_version, info) = take(INTEGER, info)?;
    let (algorithm, info) = take(SEQUENCE, info)?;
    let (_elliptic_curve, curve) = take(OBJECT_IDENTIFIER, algorithm)?;
    take(OBJECT_IDENTIFIER, curve)?;
    let (wrapped, _) = take(OCTET_STRING, info)?;

    let (key, _) = take(SEQUENCE, wrapped)?;
    let (version, key) = take(INTEGER, key)?;
    let (secret, key) = take(OCTET_STRING, key)?;
    let key = take(PARAMETERS, key).map_or(key, |(_, rest)| rest);
    let public = take(PUBLIC_KEY, key);

    let mut content = Vec::with_capacity(128);
    put(INTEGER, version, &mut content);
    put(OCTET_STRING, secret, &mut content);
    put(PARAMETERS, curve, &mut content);
    if let Some((public, _)) = public {
        put(PUBLIC_KEY, public, &mut content);
    }
    let mut sec1 = Vec::with_capacity(content.len() + 4);
    put(SEQUENCE, &content, &mut sec1);
    Some(sec1)
}

/// Splits `der` into the content of the first element, which must have `tag`, and the rest.
/// Supports lengths up to 65,535 bytes.
fn take(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => rest.split_first().map(|(&length, rest)| (usize::from(length), rest))?,
        0x82 => rest.split_first_chunk().map(|(&length, rest)| (usize::from(u16::from_be_bytes(length)), rest))?,
        _ => return None,
    };
    if found == tag { rest.split_at_checked(length) } else { None }
}

fn put(tag: u8, content: &[u8], der: &mut Vec<u8>) {
    der.push(tag);
    // No element is longer than a P-521 key, which is far below 65,535 bytes.
    let [high, low] = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    match (high, low) {
        (0, 0..=0x7f) => der.push(low),
        (0, _) => der.extend([0x81, low]),
        _ => der.extend([0x82, high, low]),
    }
    der.extend(content);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustls_pki_types::PrivateKeyDer;

    #[test]
    fn the_key_stays_the_same_key() {
        for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
            let pair = rcgen::KeyPair::generate_for(algorithm).unwrap();
            let sec1 = from_pkcs8(pair.serialized_der()).unwrap();
            let key = PrivateKeyDer::Sec1(sec1.into());
            let signer = rustls::crypto::ring::sign::any_ecdsa_type(&key).unwrap();
            let public = signer.public_key().unwrap();
            assert_eq!(public.as_ref(), rcgen::PublicKeyData::subject_public_key_info(&pair));
        }
    }

    #[test]
    fn a_key_of_another_kind_is_refused() {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        assert_eq!(from_pkcs8(pair.serialized_der()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_pkcs8(&bytes);
        }

        #[test]
        fn what_is_put_is_taken(content in proptest::collection::vec(any::<u8>(), 0..70_000_usize)) {
            prop_assume!(content.len() <= usize::from(u16::MAX));
            let mut der = Vec::new();
            put(SEQUENCE, &content, &mut der);
            der.push(7);
            prop_assert_eq!(take(SEQUENCE, &der), Some((content.as_slice(), &[7][..])));
        }
    }
}
