//! Key encodings of RFC 5480 and RFC 5958, limited to P-256. A fixed frame surrounds the point.

use super::error::KeyError;

/// Size of an uncompressed P-256 point, in bytes.
pub(super) const POINT: usize = 65;

/// Bytes before the uncompressed point in a SubjectPublicKeyInfo of P-256: sequence, algorithm
/// `id-ecPublicKey`, curve `secp256r1`, bit string.
const FRAME: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// First bytes of a SubjectPublicKeyInfo of P-256 with a compressed point.
const COMPRESSED: [u8; 4] = [0x30, 0x39, 0x30, 0x13];

/// Object identifiers (with tag and length) of the algorithms of keys. Curves come before the
/// algorithm that they belong to.
const NAMES: &[(&[u8], &str)] = &[
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA over P-384"),
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA over P-521"),
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a], "ECDSA over secp256k1"),
    (&[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01], "RSA"),
    (&[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a], "RSA-PSS"),
    (&[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01], "DSA"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x70], "Ed25519"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x71], "Ed448"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x6e], "X25519"),
];
/// Number of leading bytes that contain the object identifier in either encoding.
const HEAD: usize = 48;
/// Object identifier of `secp256r1`.
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// Returns the point in the DER form of a public key.
pub(super) fn point(der: &[u8]) -> Result<[u8; POINT], KeyError> {
    let point = der.strip_prefix(&FRAME).and_then(|point| <[u8; POINT]>::try_from(point).ok());
    match point {
        Some(point) if point.first() == Some(&4) => Ok(point),
        _ => Err(why(der)),
    }
}

/// Returns the DER form of a public key with this point.
pub(super) fn encode(point: &[u8; POINT]) -> Vec<u8> {
    [&FRAME[..], point].concat()
}

/// Returns the reason why a key could not be parsed.
pub(super) fn why(der: &[u8]) -> KeyError {
    let head = der.get(..HEAD).unwrap_or(der);
    let holds = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    if let Some((_, name)) = NAMES.iter().find(|(name, _)| holds(name)) {
        return KeyError::Algorithm(name);
    }
    if holds(P256) {
        return match der.starts_with(&COMPRESSED) {
            true => KeyError::Compressed,
            false => KeyError::Broken("it is not a complete key for P-256".to_owned()),
        };
    }
    KeyError::Algorithm("an algorithm that is not known here")
}
