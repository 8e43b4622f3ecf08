//! Verification of attestations about the results of tests. All statements of a trusted signer are
//! found, so that none of them hides another one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::attestation::Attestation;
use super::dsse::Signature;
use super::keyless::{self, Keyless};
use super::policy::TrustedKey;
use super::statement::{NO_SUBJECT, Statement, Subject, TEST_RESULT, first_digest, shown};
use super::verify::{all_that_count, invalid, signer, statement};

/// What follows the name of an archive in the name of its second subject: the manifest that it has
/// in a registry.
const MANIFEST_SUFFIX: &str = " (OCI manifest)";
/// What follows the name of the archive that the files of a folder come from. No file of a
/// submission has such a name.
const ARCHIVE_SUFFIX: &str = " (archive)";

/// Returns the subjects of a statement about an archive: the archive, and the manifest with the
/// digest `manifest` that it has in a registry.
pub fn archive_subjects(archive: Subject, manifest: [u8; 32]) -> [Subject; 2] {
    let name = format!("{}{MANIFEST_SUFFIX}", archive.name);
    [archive, Subject { name, sha256: manifest }]
}

/// Returns the subjects of a statement about a folder: its files, and the archive that they come
/// from.
pub fn folder_subjects(files: &BTreeMap<String, [u8; 32]>, archive: &Subject) -> Vec<Subject> {
    let files = files.iter().map(|(name, sha256)| Subject { name: name.clone(), sha256: *sha256 });
    let archive = Subject { name: format!("{}{ARCHIVE_SUFFIX}", archive.name), sha256: archive.sha256 };
    files.chain([archive]).collect()
}

/// Whose attestations about the results of tests count.
#[derive(Debug)]
pub enum Trusted<'a> {
    /// Those by these keys.
    Keys(Vec<&'a TrustedKey>),
    /// Those by the identity in a certificate.
    Identity(&'a Keyless),
}

/// The digests that the subjects of a statement must have.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// All of these: the files of a folder.
    All(&'a [[u8; 32]]),
    /// One of these: an archive, or the manifest that it has in a registry.
    Any(&'a [[u8; 32]]),
}

impl<'a> Wanted<'a> {
    fn digests(self) -> &'a [[u8; 32]] {
        match self {
            Self::All(digests) | Self::Any(digests) => digests,
        }
    }

    /// Returns the first digest that `subjects` lack.
    fn missing_in(self, subjects: &[(String, String)]) -> Option<&'a [u8; 32]> {
        let is_there = |digest: &[u8; 32]| {
            let wanted = hex::encode(digest);
            subjects.iter().any(|(_, digest)| *digest == wanted)
        };
        match self {
            Self::Any(digests) if digests.iter().any(is_there) => None,
            Self::Any(digests) => digests.first(),
            Self::All(digests) => digests.iter().find(|digest| !is_there(digest)),
        }
    }
}

/// A statement about the result of tests that a trusted signer has signed.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultStatement {
    /// Who signed it: the name of a key in the policy, or the identity in a certificate.
    pub signer: String,
    /// ID of the key. `None` for a certificate.
    pub key_id: Option<String>,
    /// When it was signed, if a trusted log or timestamp authority vouches for that.
    pub signed: Option<Timestamp>,
    /// The predicate.
    pub predicate: Value,
    by: String,
    /// Names and hexadecimal digests of the subjects.
    subjects: Vec<(String, String)>,
}

/// The trusted statements about some digests: at least one. [`VerifiedResult::about_archive`] or
/// [`VerifiedResult::about_folder`] says which of them are about an archive or a folder.
#[derive(Debug)]
pub struct VerifiedResult {
    statements: Vec<ResultStatement>,
    reasons: Vec<String>,
}

/// Searches `attestations` for statements about the result of tests whose subjects have the digests
/// `wanted`, by a `trusted` signer.
///
/// `now` decides which keys have expired.
///
/// # Errors
/// The reason why each attestation does not count, as sentences without duplicates.
pub fn verify_result(
    attestations: &[Attestation],
    wanted: Wanted<'_>,
    trusted: &Trusted<'_>,
    now: Timestamp,
) -> Result<VerifiedResult, Vec<String>> {
    if wanted.digests().is_empty() {
        return Err(vec!["no file to verify".to_owned()]);
    }
    let (statements, reasons) = all_that_count(attestations, |attestation, signature| {
        let found = signed_result(attestation, signature, trusted, now)?;
        let Some(wanted) = wanted.missing_in(&found.subjects).map(hex::encode) else { return Ok(found) };
        let Some(first) = first_digest(&found.subjects) else { return Err(invalid(&found.by, NO_SUBJECT)) };
        let (by, first) = (&found.by, shown(first));
        Err(format!("{by} signed a statement about another file: sha256:{first}, expected sha256:{wanted}"))
    });
    if statements.is_empty() { Err(reasons) } else { Ok(VerifiedResult { statements, reasons }) }
}

/// Returns the statement about the result of tests that a trusted signer made with `signature`.
fn signed_result(
    attestation: &Attestation,
    signature: &Signature,
    trusted: &Trusted<'_>,
    now: Timestamp,
) -> Result<ResultStatement, String> {
    let (by, name, key_id, signed) = match trusted {
        Trusted::Keys(keys) => {
            let key = signer(attestation, signature, keys, now)?;
            (format!("key `{}`", key.name), key.name.clone(), Some(key.key.id().to_owned()), None)
        }
        Trusted::Identity(policy) => {
            let signed = keyless::verify(attestation, signature, policy)?;
            (format!("`{}`", policy.identity), policy.identity.clone(), None, Some(signed))
        }
    };
    let Statement { subjects, predicate } = statement(attestation.envelope(), TEST_RESULT, &by)?;
    Ok(ResultStatement { signer: name, key_id, signed, predicate, by, subjects })
}

impl VerifiedResult {
    /// Returns the statements about the archive with this digest: all of their subjects are the
    /// archive, or a manifest of it in a registry. That is `manifest`, or has the name that a
    /// statement of [`archive_subjects`] gives it. Names of archives are not compared, because
    /// archives are renamed.
    ///
    /// # Errors
    /// The reason why each attestation does not count.
    pub fn about_archive(self, archive: &[u8; 32], manifest: &[u8; 32]) -> Result<Vec<ResultStatement>, Vec<String>> {
        let (archive, manifest) = (hex::encode(archive), hex::encode(manifest));
        self.only(|subjects| {
            let is_manifest = |name: &str| {
                let of = name.strip_suffix(MANIFEST_SUFFIX);
                of.is_some_and(|of| subjects.iter().any(|(other, digest)| other == of && *digest == archive))
            };
            let is_it = |name: &str, digest: &str| digest == archive || digest == manifest || is_manifest(name);
            let other = subjects.iter().find(|(name, digest)| !is_it(name, digest));
            match other {
                None => Ok(()),
                Some((name, _)) => {
                    Err(format!("that is not about this archive alone, but also about `{}`", shown(name)))
                }
            }
        })
    }

    /// Returns the statements about the folder with these `files`, by name: each file is a subject
    /// with its name and its digest, and each subject is a file. The one other subject is the
    /// archive that the files come from.
    ///
    /// # Errors
    /// The reason why each attestation does not count.
    pub fn about_folder(self, files: &BTreeMap<String, [u8; 32]>) -> Result<Vec<ResultStatement>, Vec<String>> {
        self.only(|subjects| check_folder(subjects, files))
    }

    /// Returns the statements whose subjects pass `check`. Its error continues the sentence
    /// "somebody signed a statement".
    fn only(
        self,
        check: impl Fn(&[(String, String)]) -> Result<(), String>,
    ) -> Result<Vec<ResultStatement>, Vec<String>> {
        let Self { statements, mut reasons } = self;
        let mut kept = Vec::new();
        for statement in statements {
            match check(&statement.subjects) {
                Ok(()) => kept.push(statement),
                Err(why) => {
                    let reason = format!("{} signed a statement {why}", statement.by);
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
            }
        }
        if kept.is_empty() { Err(reasons) } else { Ok(kept) }
    }
}

fn check_folder(subjects: &[(String, String)], files: &BTreeMap<String, [u8; 32]>) -> Result<(), String> {
    let (archives, listed): (Vec<_>, Vec<_>) = subjects.iter().partition(|(name, _)| name.ends_with(ARCHIVE_SUFFIX));
    if archives.len() != 1 {
        return Err("that is not about a folder: exactly one subject must be an archive".to_owned());
    }
    for (name, digest) in &listed {
        let Some(found) = files.get(name) else {
            return Err(format!("about `{}`, which is missing", shown(name)));
        };
        let found = hex::encode(found);
        if found != *digest {
            let (name, digest) = (shown(name), shown(digest));
            return Err(format!("about another file `{name}`: sha256:{digest}, expected sha256:{found}"));
        }
    }
    match files.keys().find(|name| !listed.iter().any(|(other, _)| other == *name)) {
        None => Ok(()),
        Some(name) => Err(format!("that is not about `{}`", shown(name))),
    }
}
