//! Tests of signature files next to a tar.

use std::fs;
use std::sync::Arc;

use plumbline_bundle::signing::{MAX_ENVELOPES, SignatureFile, SigningError};

use crate::signing::signed::{envelope, key, look};

#[test]
fn signatures_are_added_beside_the_tar() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("tap.bundle.tar");
    let file = SignatureFile::beside(&tar);
    assert_eq!(file.path(), dir.path().join("tap.bundle.tar.dsse.json"));
    assert_eq!(file.read().unwrap(), []);
    let (one, two) = (key(), key());
    assert_eq!(file.append(envelope(&one)).unwrap(), 1);
    assert_eq!(file.append(envelope(&two)).unwrap(), 2);
    for key in [&one, &two] {
        assert!(look(&file.read().unwrap(), key.public()).is_ok());
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 1, "nothing temporary stays");
}

#[test]
fn two_who_sign_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = Arc::new(SignatureFile::at(dir.path().join("s.json")));
    let envelope = Arc::new(envelope(&key()));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (file, envelope) = (Arc::clone(&file), Arc::clone(&envelope));
            std::thread::spawn(move || file.append(envelope.as_ref().clone()).unwrap())
        })
        .collect();
    let mut counts: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=8).collect::<Vec<_>>());
    assert_eq!(file.read().unwrap().len(), 8);
}

#[test]
fn a_file_of_something_else_is_neither_read_nor_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = SignatureFile::at(dir.path().join("s.json"));
    fs::write(file.path(), "precious").unwrap();
    assert!(matches!(file.append(envelope(&key())), Err(SigningError::Envelopes(..))));
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "precious");
}

#[test]
fn a_full_file_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = SignatureFile::at(dir.path().join("s.json"));
    let envelope = envelope(&key());
    for _ in 0..MAX_ENVELOPES {
        file.append(envelope.clone()).unwrap();
    }
    assert!(matches!(file.append(envelope), Err(SigningError::Full(_))));
    assert_eq!(file.read().unwrap().len(), MAX_ENVELOPES);
}
