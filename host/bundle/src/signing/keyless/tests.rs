//! Tests with bundles of the Sigstore project's conformance tests (tests/data/sigstore/README.md).

use std::fs;
use std::path::{Path, PathBuf};

use super::super::attestation::parse_attestations;
use super::super::results::{Trusted, Wanted, verify_result};
use super::*;

const IDENTITY: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sigstore").join(name)
}

fn policy(root: &str) -> Keyless {
    let root = TrustedRoot::load(&data(&format!("root-{root}.json"))).unwrap();
    Keyless { identity: IDENTITY.to_owned(), issuer: ISSUER.to_owned(), root }
}

fn attestation(name: &str) -> Attestation {
    let text = fs::read(data(&format!("{name}.json"))).unwrap();
    parse_attestations(&text).unwrap().remove(0)
}

/// Verifies the signature of a bundle. Returns the time of the signature, or the reason.
fn look(attestation: &Attestation, policy: &Keyless) -> String {
    match verify(attestation, &attestation.envelope().signatures[0], policy) {
        Ok(time) => format!("signed at {time}"),
        Err(reason) => reason,
    }
}

#[test]
fn published_bundles_count_or_have_their_reason() {
    let cases = [
        ("mock", "intoto-with-custom-trust-root"),
        ("mock", "intoto-expired-certificate_fail"),
        ("mock", "intoto-log-entry-mismatch_fail"),
        ("mock", "intoto-missing-inclusion-proof_fail"),
        ("mock", "intoto-set-outside-signing-cert-validity_fail"),
        ("mock", "intoto-tsa-timestamp-outside-cert-validity_fail"),
        ("staging", "rekor2-dsse-happy-path"),
        ("staging", "rekor2-dsse-invalid-sig_fail"),
        ("staging", "rekor2-dsse-mismatch-envelope_fail"),
        ("staging", "rekor2-dsse-mismatch-sig_fail"),
        ("public", "happy-path-intoto-in-dsse-v3"),
        ("public", "dsse-invalid-sig_fail"),
        ("public", "dsse-mismatch-envelope_fail"),
        ("public", "dsse-mismatch-sig_fail"),
    ];
    let lines = cases.map(|(root, name)| format!("{name}: {}", look(&attestation(name), &policy(root))));
    insta::assert_snapshot!(
        lines.join("\n"),
        @"
        intoto-with-custom-trust-root: signed at 2023-02-01T00:00:00Z
        intoto-expired-certificate_fail: its certificate does not count: it was not valid yet (at 2023-02-01T00:00:00Z)
        intoto-log-entry-mismatch_fail: its log entry is not valid: it is about another signature
        intoto-missing-inclusion-proof_fail: its log entry is not valid: it has no inclusion proof
        intoto-set-outside-signing-cert-validity_fail: its certificate does not count: it had expired (at 2023-02-02T00:00:00Z)
        intoto-tsa-timestamp-outside-cert-validity_fail: its certificate does not count: it had expired (at 2023-02-02T00:00:00Z)
        rekor2-dsse-happy-path: signed at 2026-05-13T19:23:33Z
        rekor2-dsse-invalid-sig_fail: its log entry is not valid: it is about another signature
        rekor2-dsse-mismatch-envelope_fail: its log entry is not valid: it is about another signature
        rekor2-dsse-mismatch-sig_fail: its log entry is not valid: it is about another signature
        happy-path-intoto-in-dsse-v3: signed at 2024-12-16T18:42:56Z
        dsse-invalid-sig_fail: its log entry is not valid: it is about another signature
        dsse-mismatch-envelope_fail: its log entry is not valid: it is about another signature
        dsse-mismatch-sig_fail: its log entry is not valid: it is about another signature
        "
    );
}

#[test]
fn another_identity_issuer_or_root_does_not_count() {
    let bundle = attestation("happy-path-intoto-in-dsse-v3");
    let policy = policy("public");
    let identity = Keyless { identity: "https://example.com".to_owned(), ..policy.clone() };
    assert_eq!(
        look(&bundle, &identity),
        format!("its certificate is for `{IDENTITY}`, expected `https://example.com`")
    );
    let issuer = Keyless { issuer: "https://example.com".to_owned(), ..policy.clone() };
    assert_eq!(
        look(&bundle, &issuer),
        format!("its certificate has the issuer `{ISSUER}`, expected `https://example.com`")
    );
    let root = Keyless { root: TrustedRoot::default(), ..policy };
    assert!(look(&bundle, &root).contains("the trusted root does not have the log"), "{}", look(&bundle, &root));
}

#[test]
fn a_certificate_without_a_proven_time_cannot_be_judged() {
    let mut bundle = attestation("happy-path-intoto-in-dsse-v3");
    bundle.log_entries.clear();
    let reason = look(&bundle, &policy("public"));
    assert!(reason.starts_with("nothing proves when it was signed"), "{reason}");
}

#[test]
fn any_change_of_a_log_entry_or_a_timestamp_is_noticed() {
    let bundle = attestation("happy-path-intoto-in-dsse-v3");
    let policy_public = policy("public");
    for (pointer, value) in [
        ("/integratedTime", "1734374577"),
        ("/logIndex", "155690851"),
        ("/inclusionProof/logIndex", "33786587"),
        ("/inclusionProof/treeSize", "33786590"),
        ("/inclusionProof/rootHash", "ZrYR297TJTi0oux1PnfYzacxRVBAkp5eW5lpw/qFYWU="),
        ("/inclusionProof/hashes/0", "mirSrj0ZHd+xKzQOjwYFt0W+rMr8jMj0y1mGYwGyE8A="),
        ("/logId/keyId", "AAAA"),
        ("/kindVersion/version", "0.0.2"),
        ("/inclusionProof/treeSize", "-1"),
    ] {
        let mut changed = bundle.clone();
        *changed.log_entries[0].pointer_mut(pointer).unwrap() = value.into();
        let reason = look(&changed, &policy_public);
        assert!(reason.starts_with("its log entry is not valid: "), "{pointer}: {reason}");
    }
    let bundle = attestation("rekor2-dsse-happy-path");
    let staging = policy("staging");
    let response = &bundle.timestamps[0];
    for at in 0..response.len() {
        let mut changed = bundle.clone();
        changed.timestamps[0][at] ^= 1;
        // Parts of the response that nobody signed, such as its status, may change. The time may
        // not.
        let reason = look(&changed, &staging);
        let same = look(&bundle, &staging);
        assert!(reason == same || reason.starts_with("its timestamp is not valid: "), "byte {at}: {reason}");
    }
    let mut short = bundle.clone();
    for length in 0..response.len() {
        short.timestamps[0] = response[..length].to_vec();
        assert!(look(&short, &staging).starts_with("its timestamp is not valid: "), "{length} bytes");
    }
}

#[test]
fn a_verified_statement_of_another_type_is_not_the_result_of_a_test() {
    let bundle = attestation("happy-path-intoto-in-dsse-v3");
    let policy = policy("public");
    let wanted = Wanted::All(&[[0; 32]]);
    let reasons = verify_result(&[bundle], wanted, &Trusted::Identity(&policy), Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(
        reasons,
        [format!(
            "the signature by `{IDENTITY}` is not valid: it is a statement of type `https://slsa.dev/provenance/v1`, expected `https://in-toto.io/attestation/test-result/v0.1`"
        )]
    );
}

#[test]
fn an_invalid_trusted_root_is_an_error() {
    let error = |text: &str| TrustedRoot::parse(text.as_bytes()).unwrap_err();
    assert!(error("{}").contains("mediaType"), "{}", error("{}"));
    assert!(error(r#"{"mediaType": "text/plain"}"#).contains("is not that of a trusted root"));
    let media_type = "application/vnd.dev.sigstore.trustedroot+json;version=0.1";
    let bad = format!(
        r#"{{"mediaType": "{media_type}", "certificateAuthorities": [{{"certChain": {{"certificates": [{{"rawBytes": "?"}}]}}}}]}}"#
    );
    assert_eq!(error(&bad), "`rawBytes` is not base64");
}
