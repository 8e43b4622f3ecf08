//! Attestations of archives: `run --sign`, `results attest`, `verify`, `push` and `pull`; with
//! `openssl` and the Python package `in-toto-attestation`, if they are installed. With cosign, see
//! [`crate::interop`].

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use plumbline_bundle::signing::{
    Attestation, Envelope, PAYLOAD_TYPE, Signature, TEST_RESULT, pae, parse_attestations, read_private,
};
use serde_json::{Value, json};

use crate::bed::{Bed, Done, entries};
use crate::registries::Registry;
use crate::signing::keygen;

const SONOBUOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
/// Bundles that others have published, with their trusted roots.
const SIGSTORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundle/tests/data/sigstore");

/// Makes an archive with a run of tests: two that pass, and with `fails` one that fails.
pub(crate) fn archive(bed: &Bed, fails: bool) -> String {
    let failure = if fails { "<testcase name='c'><failure/></testcase>" } else { "" };
    let report = format!("<testsuite name='s'><testcase name='a'/><testcase name='b'/>{failure}</testsuite>");
    bed.write("report.xml", &report);
    bed.plugin("unit", "result-format: junit", "cp report.xml $SONOBUOY_RESULTS_DIR/");
    bed.run(&["unit"], &[]).expect(i32::from(fails));
    let archive = PathBuf::from(bed.archive());
    let name = archive.file_name().unwrap().to_str().unwrap().to_owned();
    fs::rename(&archive, bed.path(&name)).unwrap();
    name
}

pub(crate) fn attest(bed: &Bed, archive: &str, key: &str) -> Done {
    bed.plumbline(&["results", "attest", archive, "--key", &format!("{key}.key"), "-o", "json"])
}

pub(crate) fn verify(bed: &Bed, archive: &str, more: &[&str]) -> Done {
    bed.plumbline(&[&["results", "verify", archive, "-o", "json"], more].concat())
}

pub(crate) fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

/// The statement in the attestation of `archive`.
pub(crate) fn statement(bed: &Bed, archive: &str) -> Value {
    let text = fs::read(bed.path(&format!("{archive}.sigstore.json"))).unwrap();
    serde_json::from_slice(&parse_attestations(&text).unwrap()[0].envelope().payload).unwrap()
}

fn resource<'a>(statement: &'a Value, name: &str) -> &'a Value {
    let all = statement["predicate"]["configuration"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {all:#?}"))
}

#[test]
fn an_archive_is_attested_and_verified() {
    let bed = Bed::new();
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    let written = json(&attest(&bed, &archive, "release").expect(0));
    assert_eq!((&written["result"], &written["verdict"]), (&json!("PASSED"), &json!("passed")));

    let statement = statement(&bed, &archive);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
    let digest = written["digest"].as_str().unwrap();
    assert_eq!(statement["subject"][0], json!({"name": archive, "digest": {"sha256": &digest["sha256:".len()..]}}));
    let predicate = &statement["predicate"];
    assert_eq!(predicate["passedTests"], json!(["unit › report.xml › s › a", "unit › report.xml › s › b"]));
    assert_eq!((&predicate["warnedTests"], &predicate["failedTests"]), (&json!([]), &json!([])));
    assert_eq!(resource(&statement, "run")["annotations"]["verdict"], "passed");
    assert!(resource(&statement, "run")["uri"].as_str().unwrap().starts_with("urn:uuid:"));
    assert_eq!(resource(&statement, "attester")["digest"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(resource(&statement, "module junit of unit")["annotations"]["role"], "post-processor");
    assert_eq!(resource(&statement, "module junit of unit")["digest"]["sha256"].as_str().unwrap().len(), 64);

    let verified = json(&verify(&bed, &archive, &["--key", "release.pub"]).expect(0));
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("PASSED")));
    assert_eq!(verified["key-id"], written["key-id"]);
    let shown = bed.plumbline(&["results", "verify", &archive, "--key", "release.pub"]).expect(0).out;
    assert!(shown.contains("result:   PASSED") && shown.contains("2 passed"), "{shown}");
    // The file may have another name, and another place.
    fs::rename(bed.path(&archive), bed.path("renamed.tar.gz")).unwrap();
    let file = format!("{archive}.sigstore.json");
    verify(&bed, "renamed.tar.gz", &["--key", "release.pub", "--attestation", &file]).expect(0);
}

#[test]
fn an_archive_of_sonobuoy_is_attested_and_verified() {
    let bed = Bed::new();
    keygen(&bed, "release");
    let archive = "sonobuoy.tar.gz";
    fs::copy(SONOBUOY, bed.path(archive)).unwrap();
    let written = json(&attest(&bed, archive, "release").expect(0));
    assert_eq!((&written["result"], &written["verdict"]), (&json!("FAILED"), &json!("failed")));
    let statement = statement(&bed, archive);
    let failed = statement["predicate"]["failedTests"].as_array().unwrap();
    assert_eq!(failed.len(), 4, "{failed:?}");
    // The files of the other plugin were not read, so they are no tests that passed.
    let passed = statement["predicate"]["passedTests"].as_array().unwrap();
    assert!(!passed.is_empty());
    assert!(failed.iter().chain(passed).all(|name| name.as_str().unwrap().starts_with("e2e › ")), "{passed:?}");
    let cluster = resource(&statement, "cluster");
    assert_eq!(cluster["uri"], "urn:uuid:ff8861ac-3c94-48fb-8fbf-f4b2fa1c2120");
    assert_eq!(cluster["annotations"]["server-version"], "v1.21.1");
    assert_eq!(resource(&statement, "run")["uri"], "urn:uuid:fbc8bfe2-e77b-4aec-9ad8-07ed99f93167");
    let verified = json(&verify(&bed, archive, &["--key", "release.pub"]).expect(1));
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("FAILED")));
    // It travels through a registry like an archive of Plumbline.
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    let name = format!("oci://{}/team/results:sonobuoy", registry.host);
    registry.plumbline(&bed, &["results", "push", &name, archive]).expect(0);
    fs::remove_file(bed.path(archive)).unwrap();
    fs::remove_file(bed.path("sonobuoy.tar.gz.sigstore.json")).unwrap();
    registry.plumbline(&bed, &["results", "pull", &name, "--file", archive]).expect(0);
    assert!(fs::read(bed.path(archive)).unwrap() == fs::read(SONOBUOY).unwrap());
    verify(&bed, archive, &["--key", "release.pub"]).expect(1);
}

#[test]
fn a_run_that_did_not_pass_is_never_attested_as_passed() {
    let bed = Bed::new();
    keygen(&bed, "release");
    let failed = archive(&bed, true);
    assert_eq!(json(&attest(&bed, &failed, "release").expect(0))["result"], "FAILED");
    assert_eq!(statement(&bed, &failed)["predicate"]["failedTests"], json!(["unit › report.xml › s › c"]));
    let verified = json(&verify(&bed, &failed, &["--key", "release.pub"]).expect(1));
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("FAILED")));

    // Nothing to judge, and a missing result.
    for (name, script) in [("none", "true"), ("missing", "exit 3")] {
        let bed = Bed::new();
        keygen(&bed, "release");
        bed.write("none.xml", "<testsuite name='s'/>");
        let script = if name == "none" { "cp none.xml $SONOBUOY_RESULTS_DIR/" } else { script };
        bed.plugin(name, "result-format: junit", script);
        let done = bed.run(&[name], &["--sign", "release.key"]);
        assert_ne!(done.code, 0, "{}", done.err);
        let archive = bed.archive();
        assert_eq!(statement(&bed, &archive)["predicate"]["result"], "FAILED", "{name}");
        verify(&bed, &archive, &["--key", "release.pub"]).expect(1);
    }
}

#[test]
fn excused_failures_are_warnings() {
    let bed = Bed::new();
    keygen(&bed, "release");
    bed.write("known.yaml", "- {pattern: c, reason: known}\n");
    let report = "<testsuite name='s'><testcase name='a'/><testcase name='c'><failure/></testcase></testsuite>";
    bed.write("report.xml", report);
    bed.plugin("unit", "result-format: junit", "cp report.xml $SONOBUOY_RESULTS_DIR/");
    let done = bed.run(&["unit"], &["--known-failures", "known.yaml", "--sign", "release.key"]).expect(0);
    assert!(done.err.contains("attested: ") && done.err.contains("(WARNED), verdict passed"), "{}", done.err);
    let archive = bed.archive();
    let predicate = &statement(&bed, &archive)["predicate"];
    assert_eq!(predicate["result"], "WARNED");
    assert_eq!(predicate["warnedTests"].as_array().unwrap().len(), 1, "{predicate:#}");
    assert_eq!(predicate["failedTests"], json!([]));
    verify(&bed, &archive, &["--key", "release.pub"]).expect(0);
}

#[test]
fn an_unusable_key_fails_before_the_run() {
    let bed = Bed::new();
    bed.plugin("unit", "", "echo 1 > $SONOBUOY_RESULTS_DIR/out");
    let done = bed.run(&["unit"], &["--sign", "nothing.key"]).expect(2);
    assert!(done.err.contains("failed to read key `nothing.key`"), "{}", done.err);
    assert!(bed.archives().is_empty());
    keygen(&bed, "release");
    let done = bed.plumbline(&["run", "-p", "unit.yaml", "--sign", "release.key"]).expect(2);
    assert!(done.err.contains("add `--retrieve`"), "{}", done.err);
}

/// Replaces the attestation of `archive` with one by `release.key` over a changed statement.
pub(crate) fn forge(bed: &Bed, archive: &str, change: impl FnOnce(&mut Value)) {
    let mut changed = statement(bed, archive);
    change(&mut changed);
    let payload = changed.to_string().into_bytes();
    write(bed, archive, payload.clone(), &payload, "release");
}

/// Writes an attestation with `payload` and a signature of `key` over `signed`.
pub(crate) fn write(bed: &Bed, archive: &str, payload: Vec<u8>, signed: &[u8], key: &str) {
    let key = read_private(&bed.path(&format!("{key}.key"))).unwrap();
    let bytes = key.sign(&pae(PAYLOAD_TYPE, signed)).unwrap();
    let signatures = vec![Signature { key_id: String::new(), bytes }];
    let envelope = Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures };
    let attestation = Attestation::of_key(envelope, &key.public().hint());
    fs::write(bed.path(&format!("{archive}.sigstore.json")), attestation.json()).unwrap();
}

#[test]
fn an_attestation_that_does_not_count_has_its_reason() {
    let bed = Bed::new();
    keygen(&bed, "release");
    keygen(&bed, "stranger");
    let archive = archive(&bed, false);
    let reason = || {
        let document = json(&verify(&bed, &archive, &["--key", "release.pub"]).expect(1));
        assert_eq!(document["verified"], false);
        document["reasons"][0].as_str().unwrap().to_owned()
    };
    assert!(reason().ends_with("has no attestation"), "{}", reason());

    attest(&bed, &archive, "release").expect(0);
    let good = fs::read(bed.path(&format!("{archive}.sigstore.json"))).unwrap();
    let original = statement(&bed, &archive);
    let restore = || fs::write(bed.path(&format!("{archive}.sigstore.json")), &good).unwrap();

    // The statement was changed after it was signed.
    let payload = original.to_string().into_bytes();
    let mut better = original.clone();
    better["predicate"]["passedTests"] = json!(["everything"]);
    write(&bed, &archive, better.to_string().into_bytes(), &payload, "release");
    assert!(reason().starts_with("the signature does not match: the signed data was changed"), "{}", reason());

    write(&bed, &archive, payload.clone(), &payload, "stranger");
    assert!(reason().contains("which is not trusted for this name"), "{}", reason());
    forge(&bed, &archive, |statement| {
        for subject in 0..2 {
            statement["subject"][subject]["digest"]["sha256"] = json!("00".repeat(32));
        }
    });
    assert!(reason().contains("signed a statement about another file: sha256:0000"), "{}", reason());
    restore();
    // The manifest in a registry alone does not make it a statement about this archive.
    forge(&bed, &archive, |statement| statement["subject"][0]["digest"]["sha256"] = json!("00".repeat(32)));
    assert!(reason().contains("a statement that is not about this archive alone"), "{}", reason());
    restore();
    forge(&bed, &archive, |statement| statement["predicateType"] = json!("https://slsa.dev/provenance/v1"));
    assert!(
        reason().contains("it is a statement of type `https://slsa.dev/provenance/v1`, expected `https://in-toto.io/"),
        "{}",
        reason()
    );
    restore();
    forge(&bed, &archive, |statement| statement["subject"] = json!([]));
    assert!(reason().contains("its statement has no SHA-256 digest"), "{}", reason());
    restore();
    forge(&bed, &archive, |statement| statement["predicate"]["result"] = json!("EXCELLENT"));
    assert!(reason().contains("is not the result of a test: unknown variant `EXCELLENT`"), "{}", reason());

    // The archive was changed.
    restore();
    verify(&bed, &archive, &["--key", "release.pub"]).expect(0);
    let mut bytes = fs::read(bed.path(&archive)).unwrap();
    bytes.push(0);
    fs::write(bed.path(&archive), bytes).unwrap();
    assert!(reason().contains("signed a statement about another file"), "{}", reason());

    // A policy decides by the name of the file.
    let rule = |names: &str| {
        let policy = format!(
            "version: 1\nkeys: {{release: {{file: release.pub}}}}\nrules: [{{names: ['{names}'], keys: [release]}}]\n"
        );
        bed.write("policy.yaml", &policy);
    };
    fs::write(bed.path(&archive), "other").unwrap();
    rule("other-*");
    let document = json(&verify(&bed, &archive, &["--policy", "policy.yaml"]).expect(1));
    assert_eq!(document["reasons"][0], "no rule of policy `policy.yaml` matches this name, so no signature is trusted");
}

#[test]
fn invalid_files_and_options_are_errors() {
    let bed = Bed::new();
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    let error = |args: &[&str]| bed.plumbline(&[&["results"], args].concat()).expect(2).err;
    assert!(error(&["attest", "gone.tar.gz", "--key", "release.key"]).contains("failed to read archive `gone.tar.gz`"));
    assert!(error(&["attest", ".", "--key", "release.key"]).contains("is a directory"));
    assert!(error(&["attest", &archive]).contains("PLUMBLINE_SIGNING_KEY"));
    bed.write("text.tar.gz", "no archive");
    assert!(error(&["attest", "text.tar.gz", "--key", "release.key"]).contains("`text.tar.gz` is not an archive"));
    assert!(error(&["verify", &archive]).contains("found no policy"));
    let args = ["verify", &archive, "--key", "release.pub", "--attestation", "gone.json"];
    assert!(error(&args).contains("found no attestation `gone.json`"));
    bed.write("bad.json", "{\"mediaType\": \"text/plain\"}");
    let args = ["verify", &archive, "--key", "release.pub", "--attestation", "bad.json"];
    assert!(error(&args).contains("invalid signatures `bad.json`"), "{}", error(&args));
    let identity = ["verify", &archive, "--certificate-identity", "me@example.com"];
    assert!(error(&identity).contains("--trusted-root"), "{}", error(&identity));
    bed.write("root.json", "{}");
    let identity =
        [&identity[..], &["--certificate-oidc-issuer", "https://i.example", "--trusted-root", "root.json"]].concat();
    assert!(error(&identity).contains("invalid trusted root `root.json`"), "{}", error(&identity));
}

const IDENTITY: &str = "https://ci.example.com/team";
const ISSUER: &str = "https://issuer.example.com";
/// A CA, a certificate as Sigstore's CA issues it, and a timestamp authority, for `openssl`.
const AUTHORITIES: &str = "\
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[signer]
keyUsage = critical,digitalSignature
extendedKeyUsage = codeSigning
subjectAltName = URI:https://ci.example.com/team
1.3.6.1.4.1.57264.1.8 = ASN1:UTF8String:https://issuer.example.com
[clock]
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[timestamps]
serial = serial
default_policy = 1.2.3
digests = sha256
signer_digest = sha256
";

#[track_caller]
fn openssl(bed: &Bed, args: &[&str]) -> Vec<u8> {
    let output = Command::new("openssl").args(args).current_dir(bed.root()).output().unwrap();
    assert!(output.status.success(), "openssl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The base64 in a PEM file.
fn pem_body(bed: &Bed, file: &str) -> String {
    fs::read_to_string(bed.path(file)).unwrap().lines().filter(|line| !line.starts_with("-----")).collect()
}

/// Creates the keys and certificates of a CA, a signer and a timestamp authority, and the trusted root.
fn authorities(bed: &Bed) {
    bed.write("openssl.cnf", AUTHORITIES);
    let new = ["req", "-x509", "-config", "openssl.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    for name in ["ca", "signer", "clock"] {
        let (subject, key, file) = (format!("/CN={name}"), format!("{name}.key"), format!("{name}.pem"));
        let own = ["-nodes", "-days", "2", "-subj", &subject, "-extensions", name, "-keyout", &key, "-out", &file];
        let issuer: &[&str] = if name == "ca" { &[] } else { &["-CA", "ca.pem", "-CAkey", "ca.key"] };
        openssl(bed, &[&new[..], &own, issuer].concat());
    }
    let authority = json!({"certChain": {"certificates": [{"rawBytes": pem_body(bed, "ca.pem")}]},
        "validFor": {"start": "2020-01-01T00:00:00Z"}});
    let root = json!({"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        "certificateAuthorities": [authority], "timestampAuthorities": [authority]});
    bed.write("root.json", &root.to_string());
}

/// Signs `payload` as an identity, with a timestamp. Returns the Sigstore bundle.
fn signed_by_identity(bed: &Bed, payload: Vec<u8>) -> Value {
    let key = read_private(&bed.path("signer.key")).unwrap();
    let bytes = key.sign(&pae(PAYLOAD_TYPE, &payload)).unwrap();
    fs::write(bed.path("signature"), &bytes).unwrap();
    let query = ["ts", "-query", "-config", "openssl.cnf", "-data", "signature", "-sha256", "-cert", "-out", "query"];
    openssl(bed, &query);
    let reply = ["ts", "-reply", "-config", "openssl.cnf", "-section", "timestamps", "-queryfile", "query"];
    openssl(bed, &[&reply[..], &["-signer", "clock.pem", "-inkey", "clock.key", "-out", "reply"]].concat());
    let timestamp = String::from_utf8(openssl(bed, &["base64", "-A", "-in", "reply"])).unwrap();
    let signatures = vec![Signature { key_id: String::new(), bytes }];
    let envelope = Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures };
    let mut bundle: Value = serde_json::from_str(Attestation::of_key(envelope, "").json()).unwrap();
    bundle["verificationMaterial"] = json!({
        "certificate": {"rawBytes": pem_body(bed, "signer.pem")},
        "timestampVerificationData": {"rfc3161Timestamps": [{"signedTimestamp": timestamp.trim()}]},
    });
    bundle
}

#[test]
fn an_archive_is_verified_by_the_identity_of_its_signer() {
    if !Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: `openssl` not found");
        return;
    }
    let bed = Bed::new();
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    attest(&bed, &archive, "release").expect(0);
    authorities(&bed);
    let bundle = signed_by_identity(&bed, statement(&bed, &archive).to_string().into_bytes());
    let look = |bundle: &Value, identity: &str, issuer: &str, code: i32| {
        bed.write("identity.json", &bundle.to_string());
        let trust = ["--certificate-identity", identity, "--certificate-oidc-issuer", issuer];
        let files = ["--trusted-root", "root.json", "--attestation", "identity.json"];
        json(&verify(&bed, &archive, &[trust, files].concat()).expect(code))
    };
    let verified = look(&bundle, IDENTITY, ISSUER, 0);
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("PASSED")), "{verified}");
    assert_eq!(verified["signer"], IDENTITY);
    assert!(verified["signed"].is_string(), "{verified}");

    let reason = |bundle: &Value, identity: &str, issuer: &str| {
        let document = look(bundle, identity, issuer, 1);
        assert_eq!(document["verified"], false);
        document["reasons"][0].as_str().unwrap().to_owned()
    };
    let other = reason(&bundle, "https://ci.example.com/other", ISSUER);
    assert!(other.contains("its certificate is for `https://ci.example.com/team`, expected"), "{other}");
    let other = reason(&bundle, IDENTITY, "https://other.example.com");
    assert!(other.contains("its certificate has the issuer `https://issuer.example.com`, expected"), "{other}");
    let mut untimed = bundle.clone();
    untimed["verificationMaterial"]["timestampVerificationData"] = json!({});
    let other = reason(&untimed, IDENTITY, ISSUER);
    assert!(other.contains("nothing proves when it was signed"), "{other}");
    let changed = statement(&bed, &archive).to_string().replace("PASSED", "WARNED").into_bytes();
    let mut forged = bundle.clone();
    forged["dsseEnvelope"]["payload"] = signed_by_identity(&bed, changed)["dsseEnvelope"]["payload"].take();
    let other = reason(&forged, IDENTITY, ISSUER);
    assert!(other.contains("the signature does not match"), "{other}");
    // A CA that the root does not have.
    fs::copy(format!("{SIGSTORE}/root-public.json"), bed.path("root.json")).unwrap();
    let other = reason(&bundle, IDENTITY, ISSUER);
    assert!(other.contains("its timestamp is not valid"), "{other}");
}

/// What others have published are statements about builds. Their signers are verified, and no archive
/// counts as tested because of them.
#[test]
fn a_published_attestation_of_another_type_does_not_count() {
    let bed = Bed::new();
    bed.write("a.tar.gz", "an artifact");
    let identity = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
    let (bundle, root) =
        (format!("{SIGSTORE}/happy-path-intoto-in-dsse-v3.json"), format!("{SIGSTORE}/root-public.json"));
    let trust = ["--certificate-identity", identity, "--trusted-root", &root];
    let issuer = ["--certificate-oidc-issuer", "https://token.actions.githubusercontent.com", "--attestation", &bundle];
    let document = json(&verify(&bed, "a.tar.gz", &[trust, issuer].concat()).expect(1));
    let reason = document["reasons"][0].as_str().unwrap();
    assert!(reason.contains("it is a statement of type `https://slsa.dev/provenance/v1`, expected"), "{reason}");
}

/// What cosign looks for in a registry, as its version 3 writes it.
#[test]
fn an_attestation_in_a_registry_has_the_form_of_cosign() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    let written = json(&attest(&bed, &archive, "release").expect(0));
    let name = format!("oci://{}/team/results:run-1", registry.host);
    registry.plumbline(&bed, &["results", "push", &name, &archive]).expect(0);
    let mut manifests: Vec<Value> = Vec::new();
    for prefix in entries(&bed.path("registry/docker/registry/v2/blobs/sha256")) {
        let blobs = entries(&prefix).into_iter().map(|blob| fs::read(blob.join("data")).unwrap());
        manifests.extend(blobs.filter_map(|blob| serde_json::from_slice::<Value>(&blob).ok()));
    }
    let bundle_type = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let referrer = manifests.iter().find(|one| one["subject"]["digest"] == written["manifest"]).unwrap();
    assert_eq!(referrer["artifactType"], bundle_type, "{referrer:#}");
    let annotations = referrer["annotations"].as_object().unwrap();
    assert_eq!(annotations["dev.sigstore.bundle.content"], "dsse-envelope");
    assert_eq!(annotations["dev.sigstore.bundle.predicateType"], TEST_RESULT);
    assert!(annotations.contains_key("org.opencontainers.image.created"), "{annotations:?}");
    let layers = referrer["layers"].as_array().unwrap();
    assert_eq!((layers.len(), &layers[0]["mediaType"]), (1, &json!(bundle_type)));
    // Where a registry has no API for referrers, the list under the tag has the same annotations.
    let lists = manifests.iter().filter_map(|one| one["manifests"].as_array());
    for listed in lists.flatten().filter(|one| one["artifactType"] == bundle_type) {
        assert_eq!(listed["annotations"]["dev.sigstore.bundle.predicateType"], TEST_RESULT, "{listed:#}");
    }
}

#[test]
fn an_archive_and_its_attestations_travel_through_a_registry() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    let written = json(&attest(&bed, &archive, "release").expect(0));
    let name = format!("oci://{}/team/results:run-1", registry.host);
    // The manifest keeps the signed name, whatever the file is called.
    fs::rename(bed.path(&archive), bed.path("renamed.tar.gz")).unwrap();
    fs::rename(bed.path(&format!("{archive}.sigstore.json")), bed.path("renamed.tar.gz.sigstore.json")).unwrap();
    let pushed = json(&registry.plumbline(&bed, &["results", "push", &name, "renamed.tar.gz", "-o", "json"]).expect(0));
    assert_eq!((&pushed["manifest"], &pushed["attestations"]), (&written["manifest"], &json!(1)));

    let pulled = json(&registry.plumbline(&bed, &["results", "pull", &name, "-o", "json"]).expect(0));
    assert_eq!((&pulled["path"], &pulled["digest"]), (&json!(archive), &written["digest"]));
    verify(&bed, &archive, &["--key", "release.pub"]).expect(0);
    registry.plumbline(&bed, &["results", "pull", &name, "--file", "copy.tar.gz"]).expect(0);
    verify(&bed, "copy.tar.gz", &["--key", "release.pub"]).expect(0);
    // An attestation that was made here is kept.
    keygen(&bed, "second");
    attest(&bed, "copy.tar.gz", "second").expect(0);
    registry.plumbline(&bed, &["results", "pull", &name, "--file", "copy.tar.gz"]).expect(0);
    for key in ["release.pub", "second.pub"] {
        verify(&bed, "copy.tar.gz", &["--key", key]).expect(0);
    }

    let plugin = format!("oci://{}/team/tap:1", registry.host);
    let tar = crate::signing::packed(&bed, "tap", "hello");
    registry.plumbline(&bed, &["plugin", "push", &tar, &plugin]).expect(0);
    let done = registry.plumbline(&bed, &["results", "pull", &plugin]).expect(2);
    assert!(done.err.contains("it is not the archive of a run"), "{}", done.err);
    bed.write("text.tar.gz", "no archive");
    let done = registry.plumbline(&bed, &["results", "push", &name, "text.tar.gz"]).expect(2);
    assert!(done.err.contains("failed to read archive `text.tar.gz`"), "{}", done.err);
}

#[track_caller]
pub(crate) fn accepted(output: &std::process::Output) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
}

#[test]
fn the_reference_implementation_of_in_toto_reads_our_statements() {
    let bed = Bed::new();
    keygen(&bed, "release");
    let archive = archive(&bed, false);
    attest(&bed, &archive, "release").expect(0);
    let Some(python) = std::env::var_os("PLUMBLINE_IN_TOTO_PYTHON").filter(|named| !named.is_empty()) else {
        eprintln!("SKIPPED: PLUMBLINE_IN_TOTO_PYTHON names no Python with the package `in-toto-attestation`");
        return;
    };
    bed.write("statement.json", &statement(&bed, &archive).to_string());
    let script = "
import json, sys
from google.protobuf.json_format import ParseDict
import in_toto_attestation.v1.statement_pb2 as statement_pb2
import in_toto_attestation.predicates.test_result.v0.test_result_pb2 as test_result_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
document = json.load(open('statement.json'))
statement = Statement.copy_from_pb(ParseDict(document, statement_pb2.Statement()))
statement.validate()
result = ParseDict(document['predicate'], test_result_pb2.TestResult())
assert result.result == 'PASSED' and len(result.passed_tests) == 2, result
for resource in result.configuration:
    ResourceDescriptor.copy_from_pb(resource).validate()
";
    let output = Command::new(python).args(["-c", script]).current_dir(bed.root()).output().unwrap();
    accepted(&output);
}
