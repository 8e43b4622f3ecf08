//! Every error of this crate, with its hint and exit code.

use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::{Digest, DigestError};

use crate::error::CredentialError;
use crate::{Cause, ReferenceError};

#[test]
fn every_error_is_in_the_catalogue() {
    let credentials = CredentialError { message: "example".to_owned(), hint: "example".to_owned() };
    let causes = samples!(Cause {
        Reference { 0 = ReferenceError::Long }, Digest { 0 = DigestError::Malformed("a".to_owned()) }, Credentials { 0 = credentials },
        Unauthorized { credentials, message = ": no".to_owned() }, Denied { 0 = ": no".to_owned() }, NotFound { 0 = ": no".to_owned() },
        Status { status, message = ": no".to_owned() }, Connection { 0 }, Tls { 0 }, Slow { 0 }, Redirect { to, why }, TokenServer { registry, host },
        TooLarge { 0 }, Size { said, got, more = false }, Mismatch { wanted = Digest::of(b"a"), got = Digest::of(b"b") },
        Malformed { 0 }, Kind { 0 }, Setting { 0 }, File { path, error },
    });
    let mut all = Catalogue::default();
    let errors = causes.into_iter().map(|(name, cause)| (name, cause.of("pull `example`"))).collect();
    all.add_with_code(errors, crate::RegistryError::is_usage, crate::RegistryError::hint);
    all.add(
        samples!(ReferenceError {
            NoRegistry { 0 }, Registry { 0 }, Repository { 0 }, Long {}, Tag { 0 }, Digest { 0 = DigestError::Malformed("a".to_owned()) },
        }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
    // Their messages say what is expected.
    assert_eq!(all.without_hint(), ["Cause::Digest", "Cause::Kind", "Cause::Setting"]);
}
