//! Every error of this crate, with its cause, hint and exit code.

use plumbline_archive::member::NameFault;
use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::Digest;
use plumbline_core::definition::{DefinitionError, Warning};
use plumbline_sandbox::InspectError;

use crate::name::EntryFault;
use crate::profile::ProfileError;
use crate::signing::{EnvelopeError, KeyError, SigningError};
use crate::{BundleError, BundleWarning, CacheError, LockError, StoreError, UnpackError};

#[test]
fn every_error_is_in_the_catalogue() {
    let hint = |hint: Option<&str>| hint.map(str::to_owned);
    let mut all = Catalogue::default();
    all.add_with_code(
        samples!(BundleError {
            Read { path, source }, NoDefinition { 0 }, Definition { path, source = DefinitionError::Empty },
            Pattern { path, why }, Profile { path, source = ProfileError::NotUtf8(6) }, Refused { file = "example".into(), why = EntryFault::Symlink }, Module { file, source = InspectError::CoreModule },
            FileTooLarge { file, bytes }, TooManyBytes { 0 }, TooManyFiles { 0 }, TooManyModules { 0 },
            TooMuchToWalk { 0 }, Changed { 0 }, Write { 0 },
        }),
        |error| !error.is_systems(),
        |error| hint(error.hint()),
    );
    all.add_with_code(
        samples!(UnpackError {
            Source { 0 }, Compressed { 0 = "gzip" }, NotATar {}, Truncated { 0 }, Damaged { 0 }, Trailing {},
            TooManyEntries {}, TooManyBytes {}, EntryTooLarge { entry = "example".into(), bytes },
            Refused { entry = "example".into(), why = EntryFault::Order },
            NoDefinition {}, Definition { 0 = DefinitionError::Empty }, Profile { 0 = ProfileError::NotUtf8(6) }, Pattern { 0 },
            Digest { expected = Digest::of(b"a"), actual = Digest::of(b"b") }, Exists { 0 }, Write { path, source },
        }),
        |error| !error.is_systems(),
        |error| hint(error.hint()),
    );
    all.add_with_code(
        samples!(StoreError {
            NoHome {}, Io { path, source }, Busy { 0 }, Reserved { 0 }, NotInstalled { 0 }, Name { 0 },
            Bundle { 0 = BundleError::NoDefinition("dir".into()) }, Unpack { 0 = UnpackError::NotATar }, Signatures {},
            Damaged { name, why }, Changed { name, installed = Digest::of(b"a"), actual = Digest::of(b"b") },
        }),
        |error| !error.is_systems(),
        StoreError::hint,
    );
    all.add(
        samples!(SigningError {
            Read { what = "key", path, source }, Write { what = "key", path, source }, Key { 0, 1 = KeyError::Sec1 },
            Exists { 0 }, Generate { 0 = KeyError::Random }, Envelopes { 0, 1 = EnvelopeError::Base64("sig") }, Full { 0 },
            Policy { 0, 1 }, TrustedRoot { 0, 1 }, Sign { 0 = KeyError::Random }, Statement { 0 = serde_json::from_str::<u8>("x").unwrap_err() },
        }),
        |_| None,
    );
    all.add(
        samples!(CacheError {
            NoHome {}, Io { path, source }, Unpack { 0 = UnpackError::NotATar },
            Bundle { 0 = BundleError::NoDefinition("dir".into()) },
        }),
        |_| None,
    );
    all.add(
        samples!(KeyError {
            TooLong { 0 }, Pem { 0 }, Tag { 0, 1 }, Many { 0 }, Encrypted { 0 }, Sec1 {}, Algorithm { 0 }, Compressed {},
            Point {}, Broken { 0 }, Random {},
        }),
        |_| None,
    );
    all.add(
        samples!(EnvelopeError { TooMuch { 0, 1 }, Json { 0 }, MediaType { 0 }, NoEnvelope {}, Signer {}, Base64 { 0 } }),
        |_| None,
    );
    all.add(
        samples!(LockError { TooLarge {}, Malformed { 0 }, Version { 0 }, OneDigest { 0 }, Twice { 0 }, Write { 0 } }),
        |_| None,
    );
    all.add(
        samples!(EntryFault {
            Name { 0 = NameFault::Parent }, NotPlain {}, Character {}, DoesNotFit {}, Symlink {}, HardLink {}, Device {}, Fifo {},
            Socket {}, Sparse {}, Directory {}, Extended { 0 }, Type { 0 = b'V' }, Header {}, Order {}, BelowFile {}, Padding {},
            NotSelected {},
        }),
        |_| None,
    );
    all.add(
        samples!(BundleWarning {
            Definition { 0 = Warning { path: "a".to_owned(), text: "`a` is ignored".to_owned() } }, Case { 0, 1 }, ModuleName { 0 }, Idle { 0 }, NoCommand { 0 }, NoCheck { 0 }, NotExecutable { 0 },
            NotPacked { 0 }, More {},
        }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
    assert!(all.without_hint().is_empty(), "{:?}", all.without_hint());
}
