//! Tests of signature files next to a tar.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use plumbline_bundle::signing::{
    Attestation, MAX_ENVELOPES, Predicate, SignatureFile, SigningError, Subject, named_path, sign,
};

use crate::signing::signed::{attestation, envelope, key, look_at, subject};

#[test]
fn signatures_are_added_to_the_file_next_to_the_tar() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("tap.bundle.tar");
    let file = SignatureFile::next_to(&tar);
    assert_eq!(file.path(), dir.path().join("tap.bundle.tar.sigstore.json"));
    assert_eq!(file.read().unwrap(), []);
    let (one, two) = (key(), key());
    assert_eq!(file.append(attestation(&one)).unwrap(), 1);
    assert_eq!(file.append(attestation(&two)).unwrap(), 2);
    for key in [&one, &two] {
        assert!(look_at(&file.read().unwrap(), key.public()).is_ok());
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 1, "nothing temporary stays");
}

#[test]
fn two_who_sign_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = Arc::new(SignatureFile::at(dir.path().join("s.json")));
    let attestation = Arc::new(attestation(&key()));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (file, attestation) = (Arc::clone(&file), Arc::clone(&attestation));
            std::thread::spawn(move || file.append(attestation.as_ref().clone()).unwrap())
        })
        .collect();
    let mut counts: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=8).collect::<Vec<_>>());
    assert_eq!(file.read().unwrap().len(), 8);
}

#[test]
fn what_was_signed_here_stays_with_what_is_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let file = SignatureFile::at(dir.path().join("s.json"));
    let (one, two, fetched) = (attestation(&key()), attestation(&key()), attestation(&key()));
    assert_eq!(file.merge(vec![fetched.clone()], &subject().sha256).unwrap(), 1);
    let of_another_file = Subject { sha256: [8; 32], ..subject() };
    let other = sign(&of_another_file, &Predicate::default(), &key()).unwrap();
    for own in [&one, &other, &two] {
        file.append(own.clone()).unwrap();
    }
    assert_eq!(file.merge(vec![fetched.clone()], &subject().sha256).unwrap(), 3);
    assert_eq!(file.read().unwrap(), [fetched.clone(), one.clone(), two]);
    // Something that cannot be read hides nothing.
    fs::write(file.path(), format!("{{\"payload\": 1}}\n{}\n", one.json())).unwrap();
    assert_eq!(file.merge(vec![fetched.clone()], &subject().sha256).unwrap(), 2);
    assert_eq!(file.read().unwrap(), [fetched, one]);
}

#[test]
fn a_file_of_something_else_is_neither_read_nor_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = SignatureFile::at(dir.path().join("s.json"));
    fs::write(file.path(), "precious").unwrap();
    assert!(matches!(file.append(attestation(&key())), Err(SigningError::Envelopes(..))));
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "precious");
}

#[test]
fn a_full_file_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = SignatureFile::at(dir.path().join("s.json"));
    let attestation = attestation(&key());
    for _ in 0..MAX_ENVELOPES {
        file.append(attestation.clone()).unwrap();
    }
    assert!(matches!(file.append(attestation), Err(SigningError::Full(_))));
    assert_eq!(file.read().unwrap().len(), MAX_ENVELOPES);
}

#[test]
fn signatures_of_older_versions_are_read_and_stay() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("tap.bundle.tar");
    let (old, new) = (key(), key());
    let bundle: serde_json::Value = serde_json::from_str(Attestation::of_key(envelope(&old), "").json()).unwrap();
    let text = &bundle["dsseEnvelope"];
    fs::write(dir.path().join("tap.bundle.tar.dsse.json"), format!("[\n{text}\n]\n")).unwrap();
    let file = SignatureFile::next_to(&tar);
    assert!(look_at(&file.read().unwrap(), old.public()).is_ok());
    assert_eq!(file.append(attestation(&new)).unwrap(), 1, "the new file has the new signature only");
    let all = file.read().unwrap();
    assert!(look_at(&all, old.public()).is_ok() && look_at(&all, new.public()).is_ok());
}

#[test]
fn the_file_of_a_directory_is_next_to_it_however_its_path_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let sub = dir.path().canonicalize().unwrap().join("sub");
    fs::create_dir_all(sub.join("deep")).unwrap();
    let wanted = dir.path().canonicalize().unwrap().join("sub.sigstore.json");
    for ending in ["", "/", "//", "/.", "/./", "/deep/.."] {
        let path = format!("{}{ending}", sub.display());
        assert_eq!(SignatureFile::next_to(Path::new(&path)).path(), wanted, "{path}");
    }
    for (path, name) in [("sub", "sub"), ("sub/", "sub"), ("sub/.", "sub"), ("./sub/", "./sub"), ("a/b/.", "a/b")] {
        assert_eq!(named_path(Path::new(path)), Path::new(name), "{path}");
    }
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    assert_eq!(named_path(Path::new(".")), here);
}

#[test]
fn only_a_regular_file_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = SignatureFile::at(dir.path().join("s.json"));
    let why = || file.read().unwrap_err().source().unwrap().to_string();
    fs::create_dir(file.path()).unwrap();
    assert_eq!(why(), "it is a directory, not a regular file");
    fs::remove_dir(file.path()).unwrap();
    if !Command::new("mkfifo").arg(file.path()).status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: `mkfifo` not found");
        return;
    }
    assert_eq!(why(), "it is a named pipe, not a regular file");
    assert!(matches!(file.append(attestation(&key())), Err(SigningError::Read { .. })));
}
