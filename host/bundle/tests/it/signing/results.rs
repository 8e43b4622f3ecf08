//! Tests of what a statement about the results of tests must be about.

use std::collections::BTreeMap;

use plumbline_bundle::signing::{
    Attestation, Envelope, PAYLOAD_TYPE, Policy, PrivateKey, ResultStatement, Signature, Subject, TEST_RESULT, Trusted,
    VerifiedResult, Wanted, archive_subjects, folder_subjects, pae, sign_statement, verify_result,
};
use serde_json::{Value, json};

use crate::signing::signed::{key, now};

const ARCHIVE: [u8; 32] = [1; 32];
/// The digest of the manifest that the archive has in a registry.
const MANIFEST: [u8; 32] = [2; 32];

fn archive() -> Subject {
    Subject { name: "run.tar.gz".to_owned(), sha256: ARCHIVE }
}

fn passed() -> Value {
    json!({"result": "PASSED"})
}

fn about(subjects: &[Subject], predicate: &Value, key: &PrivateKey) -> Attestation {
    sign_statement(subjects, TEST_RESULT, predicate, key).unwrap()
}

fn trusted(all: &[Attestation], key: &PrivateKey, wanted: Wanted<'_>) -> Result<VerifiedResult, Vec<String>> {
    let policy = Policy::of_key("release", key.public().clone());
    verify_result(all, wanted, &Trusted::Keys(policy.keys_for("x", None).unwrap()), now())
}

fn as_archive(all: &[Attestation], key: &PrivateKey, digest: [u8; 32]) -> Result<Vec<ResultStatement>, Vec<String>> {
    trusted(all, key, Wanted::Any(&[digest, MANIFEST]))?.about_archive(&digest, &MANIFEST)
}

fn folder(files: &[(&str, u8)]) -> BTreeMap<String, [u8; 32]> {
    files.iter().map(|(name, digest)| ((*name).to_owned(), [*digest; 32])).collect()
}

fn as_folder(
    all: &[Attestation],
    key: &PrivateKey,
    files: &BTreeMap<String, [u8; 32]>,
) -> Result<Vec<ResultStatement>, Vec<String>> {
    let digests: Vec<[u8; 32]> = files.values().copied().collect();
    trusted(all, key, Wanted::All(&digests))?.about_folder(files)
}

/// Signs a payload as it is.
fn over(key: &PrivateKey, payload: &str) -> Attestation {
    let bytes = key.sign(&pae(PAYLOAD_TYPE, payload.as_bytes())).unwrap();
    let signatures = vec![Signature { key_id: String::new(), bytes }];
    let envelope = Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload: payload.as_bytes().to_vec(), signatures };
    Attestation::of_key(envelope, &key.public().hint())
}

#[test]
fn a_statement_about_an_archive_is_about_nothing_else() {
    let key = key();
    let own = about(&archive_subjects(archive(), MANIFEST), &passed(), &key);
    assert_eq!(as_archive(&[own], &key, ARCHIVE).unwrap().len(), 1);
    // Other programs sign the archive alone, under any name.
    let alone = Subject { name: String::new(), ..archive() };
    assert!(as_archive(&[about(&[alone], &passed(), &key)], &key, ARCHIVE).is_ok());
    // In a registry, they sign its manifest alone.
    let pushed = Subject { name: "registry.example.com/results".to_owned(), sha256: MANIFEST };
    assert!(as_archive(&[about(&[pushed], &passed(), &key)], &key, ARCHIVE).is_ok());
    let other = Subject { name: "run.tar.gz (OCI manifest)".to_owned(), sha256: [5; 32] };
    let reasons = as_archive(&[about(&[other], &passed(), &key)], &key, ARCHIVE).unwrap_err();
    assert!(reasons[0].contains("about another file: sha256:0505"), "{reasons:?}");

    let others = [
        folder_subjects(&folder(&[("junit.xml", 3)]), &archive()),
        vec![archive(), Subject { name: "other.tar.gz".to_owned(), sha256: [4; 32] }],
        vec![archive(), Subject { name: "other.tar.gz (OCI manifest)".to_owned(), sha256: [4; 32] }],
    ];
    for subjects in others {
        let statement = about(&subjects, &passed(), &key);
        for digest in [ARCHIVE, subjects[0].sha256] {
            let reasons = as_archive(std::slice::from_ref(&statement), &key, digest).unwrap_err();
            assert!(reasons[0].contains("is not about this archive alone"), "{subjects:?}: {reasons:?}");
        }
    }
}

#[test]
fn a_file_of_a_folder_is_a_subject_with_its_name_and_its_digest() {
    let key = key();
    let files = folder(&[("junit.xml", 3), ("report.yaml", 4)]);
    let statement = [about(&folder_subjects(&files, &archive()), &passed(), &key)];
    assert_eq!(as_folder(&statement, &key, &files).unwrap().len(), 1);
    let reason = |files: &[(&str, u8)]| as_folder(&statement, &key, &folder(files)).unwrap_err().join("; ");
    for (files, why) in [
        (&[("junit.xml", 4), ("report.yaml", 3)][..], "about another file `junit.xml`: sha256:0303"),
        (&[("junit.xml", 4), ("report.yaml", 4)], "about another file `junit.xml`: sha256:0303"),
        (&[("junit.xml", 3)], "about `report.yaml`, which is missing"),
        (&[("junit.xml", 3), ("report.yaml", 4), ("copy.yaml", 4)], "that is not about `copy.yaml`"),
        (&[("junit.xml", 3), ("report.yaml", 4), ("more.yaml", 5)], "a statement about another file: sha256:0303"),
        (&[("junit.xml", 3), ("report.yaml", 4), ("run.tar.gz", 1)], "that is not about `run.tar.gz`"),
    ] {
        assert!(reason(files).contains(why), "{files:?}: {}", reason(files));
    }
    // A statement about an archive is not one about a folder that contains it.
    let other = [about(&archive_subjects(archive(), MANIFEST), &passed(), &key)];
    let reasons = as_folder(&other, &key, &folder(&[("run.tar.gz", 1)])).unwrap_err();
    assert!(reasons[0].contains("is not about a folder"), "{reasons:?}");
}

#[test]
fn a_subject_without_a_sha256_is_a_subject_too() {
    let key = key();
    let payload = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "run.tar.gz", "digest": {"sha256": "01".repeat(32)}}, {"name": "b", "digest": {"sha512": "00"}}],
        "predicateType": TEST_RESULT,
        "predicate": passed(),
    });
    let reasons = as_archive(&[over(&key, &payload.to_string())], &key, ARCHIVE).unwrap_err();
    assert!(reasons[0].ends_with("is not about this archive alone, but also about `b`"), "{reasons:?}");
}

#[test]
fn every_trusted_statement_about_the_archive_is_found() {
    let (key, stranger) = (key(), key());
    let sign = |result: &str, key: &PrivateKey| about(&[archive()], &json!({"result": result}), key);
    let all = [sign("PASSED", &key), sign("FAILED", &stranger), sign("FAILED", &key)];
    let found = as_archive(&all, &key, ARCHIVE).unwrap();
    let results: Vec<&Value> = found.iter().map(|one| &one.predicate["result"]).collect();
    assert_eq!(results, ["PASSED", "FAILED"]);
}

#[test]
fn a_payload_with_duplicate_keys_has_no_meaning() {
    let key = key();
    let payload = |predicate: &str, more: &str| {
        let subject = format!(r#"[{{"name":"a","digest":{{"sha256":"{}"}}}}]"#, "01".repeat(32));
        format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":{subject},"predicateType":"{TEST_RESULT}","predicate":{predicate}{more}}}"#
        )
    };
    let look = |payload: &str| as_archive(&[over(&key, payload)], &key, ARCHIVE);
    assert!(look(&payload(r#"{"result":"PASSED"}"#, "")).is_ok());
    for (payload, name) in [
        (payload(r#"{"result":"FAILED","result":"PASSED"}"#, ""), "result"),
        (payload(r#"{"result":"PASSED"}"#, r#","predicate":{"result":"PASSED"}"#), "predicate"),
        (payload(r#"{"result":"PASSED","configuration":[{"name":"a","name":"b"}]}"#, ""), "name"),
        (payload(r#"{"result":"PASSED"}"#, r#","x":{"y":1,"y":1}"#), "y"),
    ] {
        let reasons = look(&payload).unwrap_err();
        assert!(reasons[0].contains(&format!("duplicate key `{name}`")), "{reasons:?}");
    }
}
