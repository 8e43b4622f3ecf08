//! Tests that `openssl` reads our keys and signatures, and that we read those of `openssl`.

use std::path::Path;
use std::process::Command;

use plumbline_bundle::signing::{
    Envelope, KeyError, PAYLOAD_TYPE, Signature, SigningError, pae, read_private, read_public, write_pair,
};

use crate::signing::signed::{envelope, key, look};

/// Returns whether `openssl` is installed, and prints a message if not.
fn is_there(test: &str) -> bool {
    let there = Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("SKIPPED {test}: `openssl` not found");
    }
    there
}

#[track_caller]
fn openssl(dir: &Path, args: &[&str]) {
    let output = Command::new("openssl").args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "openssl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_signature_by_openssl_is_verified_here() {
    if !is_there("a_signature_by_openssl_is_verified_here") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    openssl(dir.path(), &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "k.key"]);
    openssl(dir.path(), &["pkey", "-in", "k.key", "-pubout", "-out", "k.pub"]);
    let payload = envelope(&key()).payload;
    std::fs::write(at("pae"), pae(PAYLOAD_TYPE, &payload)).unwrap();
    openssl(dir.path(), &["dgst", "-sha256", "-sign", "k.key", "-out", "sig", "pae"]);

    let public = read_public(&at("k.pub")).unwrap();
    let bytes = std::fs::read(at("sig")).unwrap();
    let signatures = vec![Signature { key_id: String::new(), bytes }];
    let signed = Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures };
    look(&[signed], &public).unwrap();
    // Its private key is readable too.
    let private = read_private(&at("k.key")).unwrap();
    assert_eq!(private.public(), &public);
    look(&[envelope(&private)], &public).unwrap();
}

#[test]
fn our_signature_is_verified_by_openssl() {
    if !is_there("our_signature_is_verified_by_openssl") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pair = write_pair(&dir.path().join("k"), false).unwrap();
    let envelope = envelope(&read_private(&pair.private).unwrap());
    std::fs::write(dir.path().join("pae"), pae(&envelope.payload_type, &envelope.payload)).unwrap();
    std::fs::write(dir.path().join("sig"), &envelope.signatures[0].bytes).unwrap();
    openssl(dir.path(), &["dgst", "-sha256", "-verify", "k.pub", "-signature", "sig", "pae"]);
    openssl(dir.path(), &["pkey", "-in", "k.key", "-check", "-noout"]);
    // Anybody can compute the ID of the key.
    openssl(dir.path(), &["pkey", "-pubin", "-in", "k.pub", "-outform", "DER", "-out", "der"]);
    openssl(dir.path(), &["dgst", "-sha256", "-out", "id", "der"]);
    let id = std::fs::read_to_string(dir.path().join("id")).unwrap();
    let id = id.trim().rsplit(' ').next().unwrap();
    assert_eq!(pair.key.id(), format!("sha256:{id}"));
}

#[test]
fn keys_of_other_kinds_are_named() {
    if !is_there("keys_of_other_kinds_are_named") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let kinds: [(&[&str], &str); 6] = [
        (&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "RSA"),
        (&["-algorithm", "ED25519"], "Ed25519"),
        (&["-algorithm", "X25519"], "X25519"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "ECDSA over P-384"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"], "ECDSA over P-521"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], "ECDSA over secp256k1"),
    ];
    for (args, name) in kinds {
        openssl(dir.path(), &[&["genpkey", "-out", "k.key"], args].concat());
        openssl(dir.path(), &["pkey", "-in", "k.key", "-pubout", "-out", "k.pub"]);
        let source = |error| match error {
            SigningError::Key(_, source) => source,
            other => panic!("{other}"),
        };
        assert_eq!(source(read_public(&dir.path().join("k.pub")).unwrap_err()), KeyError::Algorithm(name));
        assert_eq!(source(read_private(&dir.path().join("k.key")).unwrap_err()), KeyError::Algorithm(name));
    }
}

#[test]
fn other_forms_of_the_right_key_say_how_to_turn_them() {
    if !is_there("other_forms_of_the_right_key_say_how_to_turn_them") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let cause_of = |name: &str| {
        let path = dir.path().join(name);
        let error =
            if name.ends_with(".pub") { read_public(&path).unwrap_err() } else { read_private(&path).unwrap_err() };
        std::error::Error::source(&error).unwrap().to_string()
    };
    write_pair(&dir.path().join("k"), false).unwrap();
    openssl(dir.path(), &["ecparam", "-name", "prime256v1", "-genkey", "-out", "sec1.key"]);
    assert!(cause_of("sec1.key").contains("openssl pkcs8 -topk8 -nocrypt"));
    openssl(dir.path(), &["pkcs8", "-topk8", "-nocrypt", "-in", "sec1.key", "-out", "turned.key"]);
    read_private(&dir.path().join("turned.key")).unwrap();
    openssl(dir.path(), &["pkcs8", "-topk8", "-passout", "pass:x", "-in", "k.key", "-out", "locked.key"]);
    assert!(cause_of("locked.key").contains("encrypted"), "{}", cause_of("locked.key"));
    openssl(dir.path(), &["pkey", "-in", "k.key", "-pubout", "-ec_conv_form", "compressed", "-out", "small.pub"]);
    assert!(cause_of("small.pub").contains("-ec_conv_form uncompressed"), "{}", cause_of("small.pub"));
}
