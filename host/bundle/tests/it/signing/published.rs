//! Tests with the example that the DSSE specification publishes (protocol.md, "Test Vectors").

use plumbline_bundle::signing::{PublicKey, pae, parse_attestations};

const TYPE: &str = "http://example.com/HelloWorld";
/// SubjectPublicKeyInfo of P-256, with the point whose coordinates the specification gives in
/// decimal.
const KEY: &str = "3059301306072a8648ce3d020106082a8648ce3d03010703420004\
67cd390f77aa359cb08c2235f652270493a9ed832b0abcc01f70954c0390d238\
0c782bd54e269125a44f4433aff1432ce94e12bca73aa67ac80cea12608ddf74";
/// The published signature, with `r` and `s` in DER instead of concatenated. DSSE does not specify
/// the encoding of signatures.
const ENVELOPE: &str = r#"{"payload": "aGVsbG8gd29ybGQ=",
 "payloadType": "http://example.com/HelloWorld",
 "signatures": [{"sig": "MEQCIANyarEBrVbCdjtsaqyOSHJ14qeRk6CdxfhZ2fjvPEo7AiBR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="}]}"#;

#[test]
fn the_published_signature_is_verified() {
    let attestations = parse_attestations(ENVELOPE.as_bytes()).unwrap();
    let [attestation] = attestations.as_slice() else { panic!("{attestations:?}") };
    let envelope = attestation.envelope();
    assert_eq!((envelope.payload_type.as_str(), envelope.payload.as_slice()), (TYPE, &b"hello world"[..]));
    let message = pae(&envelope.payload_type, &envelope.payload);
    assert_eq!(message, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    let key = PublicKey::from_der(&hex::decode(KEY).unwrap()).unwrap();
    assert!(key.verifies(&message, &envelope.signatures[0].bytes));
}
