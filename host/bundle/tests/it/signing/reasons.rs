//! Tests that every signature that does not count has its reason.

use plumbline_bundle::signing::{Attestation, Envelope, PAYLOAD_TYPE, PrivateKey, Signature, Subject, pae, verify};
use serde_json::{Value, json};

use crate::signing::signed::{attestation, envelope, key, look, look_at, now, subject, trusted};

/// Returns an envelope over `payload` with a valid signature by `key`.
fn over(key: &PrivateKey, payload_type: &str, payload: &[u8]) -> Envelope {
    let bytes = key.sign(&pae(payload_type, payload)).unwrap();
    let signatures = vec![Signature { key_id: key.public().id().to_string(), bytes }];
    Envelope { payload_type: payload_type.to_owned(), payload: payload.to_vec(), signatures }
}

/// Returns the statement of [`envelope`] with changes.
fn changed(key: &PrivateKey, change: impl FnOnce(&mut Value)) -> Envelope {
    let mut statement: Value = serde_json::from_slice(&envelope(key).payload).unwrap();
    change(&mut statement);
    over(key, PAYLOAD_TYPE, statement.to_string().as_bytes())
}

#[test]
fn a_signature_of_a_trusted_key_is_accepted() {
    let key = key();
    let verified = look(&[envelope(&key)], key.public()).unwrap();
    assert_eq!((verified.key.as_str(), verified.key_id.as_str()), ("release", key.public().id()));
    assert_eq!(verified.predicate.version.as_deref(), Some("1.2.0"));
}

#[test]
fn the_payload_is_an_in_toto_statement() {
    let statement: Value = serde_json::from_slice(&envelope(&key()).payload).unwrap();
    assert_eq!(
        statement,
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "tap", "digest": {"sha256": "07".repeat(32)}}],
            "predicateType": "https://plumbline.dev/attestations/bundle/v1",
            "predicate": {"version": "1.2.0", "modules": []},
        })
    );
}

#[test]
fn every_reason_is_reported() {
    let (key, stranger) = (key(), key());
    let reasons_of = |envelopes: &[Envelope]| {
        let reasons = look(envelopes, key.public()).unwrap_err().join("; ");
        reasons.replace(stranger.public().id(), "STRANGER")
    };
    let nameless = |mut envelope: Envelope| {
        envelope.signatures[0].key_id.clear();
        envelope
    };
    let mut forged = envelope(&stranger);
    forged.signatures[0].key_id = key.public().id().to_string();
    let digest =
        |digest: &str| changed(&key, |statement| statement["subject"][0]["digest"] = json!({"sha256": digest}));
    insta::assert_snapshot!(
        [
            reasons_of(&[]),
            reasons_of(&[Envelope { signatures: vec![], ..envelope(&key) }]),
            reasons_of(&[envelope(&stranger)]),
            reasons_of(&[nameless(envelope(&stranger))]),
            reasons_of(&[forged]),
            reasons_of(&[digest(&"08".repeat(32))]),
            reasons_of(&[changed(&key, |statement| statement["subject"][0]["digest"] = json!({"sha512": "08"}))]),
            reasons_of(&[changed(&key, |statement| statement["subject"][0]["name"] = json!("top"))]),
            reasons_of(&[changed(&key, |statement| statement["predicateType"] = json!("https://example.com/found-wanting/v1"))]),
            reasons_of(&[changed(&key, |statement| statement["_type"] = json!("https://in-toto.io/Statement/v7"))]),
            reasons_of(&[changed(&key, |statement| statement["subject"] = json!([]))]),
            reasons_of(&[over(&key, "text/plain", &envelope(&key).payload)]),
            reasons_of(&[over(&key, PAYLOAD_TYPE, b"7")]),
            reasons_of(&[envelope(&stranger), digest("ff"), digest("ff"), over(&key, "a", b""), over(&key, "b", b""), over(&key, "c", b"")]),
        ]
        .join("\n"),
        @"
        it is not signed
        it is not signed
        it is signed by the key `STRANGER`, which is not trusted for this name
        it has a signature, but none by a trusted key
        the signature does not match: the signed data was changed, or key `release` did not sign it
        key `release` signed another bundle: sha256:0808080808080808080808080808080808080808080808080808080808080808, expected sha256:0707070707070707070707070707070707070707070707070707070707070707
        the signature by key `release` is not valid: its statement has no SHA-256 digest
        key `release` signed this as `top`, expected `tap`
        the signature by key `release` is not valid: it is a statement of type `https://example.com/found-wanting/v1`, expected `https://plumbline.dev/attestations/bundle/v1`
        the signature by key `release` is not valid: its payload is of type `https://in-toto.io/Statement/v7`, not `https://in-toto.io/Statement/v1`
        the signature by key `release` is not valid: its statement has no SHA-256 digest
        key `release` signed a payload of type `text/plain`, expected `application/vnd.in-toto+json`
        the signature by key `release` is not valid: its payload is not an in-toto statement: invalid type: integer `7`, expected struct Document at line 1 column 1
        it is signed by the key `STRANGER`, which is not trusted for this name; key `release` signed another bundle: sha256:ff, expected sha256:0707070707070707070707070707070707070707070707070707070707070707; key `release` signed a payload of type `a`, expected `application/vnd.in-toto+json`; key `release` signed a payload of type `b`, expected `application/vnd.in-toto+json`; key `release` signed a payload of type `c`, expected `application/vnd.in-toto+json`
        "
    );
}

#[test]
fn an_upper_case_digest_is_another_digest() {
    let key = key();
    let subject = Subject { sha256: [0xab; 32], ..subject() };
    let upper = changed(&key, |statement| statement["subject"][0]["digest"]["sha256"] = json!("AB".repeat(32)));
    let release = trusted("release", key.public());
    let reasons = verify(&[Attestation::of_key(upper, "")], &subject, &[&release], now()).unwrap_err();
    assert!(matches!(&reasons[..], [reason] if reason.contains("signed another bundle: sha256:ABAB")), "{reasons:?}");
}

#[test]
fn the_hint_of_a_bundle_says_whose_signature_does_not_count() {
    let (key, stranger) = (key(), key());
    let reason = look_at(&[attestation(&stranger)], key.public()).unwrap_err().join("; ");
    assert_eq!(
        reason,
        format!("it is signed by the key `{}`, which is not trusted for this name", stranger.public().id())
    );
    assert!(look_at(&[attestation(&key)], key.public()).is_ok());
    // Cosign writes statements of the version before.
    let old = changed(&key, |statement| statement["_type"] = json!("https://in-toto.io/Statement/v0.1"));
    assert!(look(&[old], key.public()).is_ok());
}

#[test]
fn one_good_signature_among_bad_ones_is_enough() {
    let (key, stranger) = (key(), key());
    let mut envelopes =
        vec![Envelope { signatures: vec![], ..envelope(&stranger) }, envelope(&stranger), envelope(&key)];
    assert!(look(&envelopes, key.public()).is_ok());
    // Two signatures in one envelope, of which only the second counts.
    let second = envelopes[2].signatures[0].clone();
    let first = Signature { key_id: String::new(), bytes: vec![0; 70] };
    envelopes = vec![Envelope { signatures: vec![first, second], ..envelope(&key) }];
    envelopes[0].payload = envelope(&key).payload;
    assert!(look(&envelopes, key.public()).is_ok());
}

#[test]
fn a_signature_need_not_name_its_key_and_others_name_it_otherwise() {
    let (key, other) = (key(), key());
    let mut envelope = envelope(&key);
    let (one, two) = (trusted("other", other.public()), trusted("release", key.public()));
    let bare = key.public().id().replace("sha256:", "");
    for hint in [String::new(), bare.clone(), bare.to_uppercase(), format!("SHA256:{bare}")] {
        envelope.signatures[0].key_id = hint;
        let verified = verify(&[Attestation::of_key(envelope.clone(), "")], &subject(), &[&one, &two], now()).unwrap();
        assert_eq!(verified.key, "release");
    }
}

#[test]
fn a_key_counts_until_its_time_is_over() {
    let key = key();
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let mut release = trusted("release", key.public());
    release.not_after = Some(at("2026-12-31T00:00:00Z"));
    let look = |now| verify(&[attestation(&key)], &subject(), &[&release], now);
    assert!(look(at("2026-12-31T00:00:00Z")).is_ok());
    let reasons = look(at("2026-12-31T00:00:01Z")).unwrap_err().join("; ");
    assert_eq!(reasons, "it is signed by key `release`, which was trusted until 2026-12-31T00:00:00Z");
}
