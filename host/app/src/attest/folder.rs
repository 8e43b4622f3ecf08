//! Attestations of submissions: signed statements that the files of a folder come from a run, and
//! what its outcome was.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_bundle::signing::{
    PrivateKey, SignatureFile, Subject, TEST_RESULT, Trusted, sign_statement, verify_result,
};
use plumbline_core::{Digest, DigestWriter, Verdict};

use super::{Accepted, Archive, AttestationTrust, Loaded, ResourceDescriptor, accepted, predicate};
use crate::context::Context;
use crate::error::AppError;
use crate::signing::key_error;
use crate::trees::{Reprocess, Trees};

/// The most files of a folder.
const MAX_FILES: usize = 1000;

/// The suite whose results are submitted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubmittedSuite {
    /// The name of its profile.
    pub profile: String,
    /// The version of the suite.
    pub version: Option<String>,
    /// The digest of the profile's bundle. `None` for a built-in profile.
    pub bundle: Option<Digest>,
    /// The mode of the run, if it is known.
    pub mode: Option<String>,
    /// The options whose values come from the user, and not from the mode or the profile.
    pub set: Vec<String>,
}

impl SubmittedSuite {
    /// Returns what a statement says about this suite: the profile of this name, with the same
    /// bundle. `None` if it says nothing about it.
    pub(crate) fn find_in<'a>(&self, configuration: &'a [ResourceDescriptor]) -> Option<&'a ResourceDescriptor> {
        let own = self.descriptor();
        configuration.iter().find(|other| other.name == own.name && other.digest == own.digest)
    }

    fn descriptor(&self) -> ResourceDescriptor {
        let bundle = self.bundle.map(|digest| digest.to_string());
        ResourceDescriptor::new(&format!("profile {}", self.profile))
            .digest(bundle.as_deref())
            .annotation("version", self.version.as_deref())
            .annotation("mode", self.mode.as_deref())
            .annotation("set", Some(&self.set.join(", ")))
    }
}

/// Signs a statement that the files in `folder` come from the run in `archive`, and writes it next to
/// the folder, because programmes accept no other files in it. `run` is the verdict of the run, if it
/// is known from more than the archive.
pub fn attest_folder(
    context: &Context,
    archive: &Path,
    run: Option<Verdict>,
    folder: &Path,
    suite: &SubmittedSuite,
    key: &PrivateKey,
) -> Result<PathBuf, AppError> {
    let source = Archive::open(archive)?;
    let mut trees = Trees::open(context, archive, Reprocess::default())?;
    let (mut result, _) = predicate::predicate(&mut trees, run, None)?;
    result.configuration.push(suite.descriptor());
    let archive = Subject { name: source.name, sha256: *source.digest.as_bytes() };
    let files = digests(folder)?.into_iter().map(|(name, digest)| Subject { name, sha256: *digest.as_bytes() });
    let subjects: Vec<Subject> = files.chain([archive]).collect();
    let attestation = sign_statement(&subjects, TEST_RESULT, &result, key)
        .map_err(|error| AppError::system(format!("failed to sign `{}`", folder.display())).because(&error))?;
    let file = SignatureFile::next_to(folder);
    file.append(attestation).map_err(|error| key_error(&error))?;
    Ok(file.path().to_owned())
}

/// The attestation of a submission.
#[derive(Debug)]
pub enum FolderAttestation {
    /// The folder has no attestation.
    Missing,
    /// This file has one, and no key or identity was given to verify it.
    Unverified(PathBuf),
    /// It counts, and is about all files.
    Accepted(Box<Accepted>),
    /// None counts, for these reasons.
    Rejected(Vec<String>),
}

/// Verifies the attestation next to `folder`: one statement must be about all of its files, or about
/// those with these `names`.
pub fn verify_folder(
    folder: &Path,
    names: Option<&[&str]>,
    trust: &AttestationTrust,
) -> Result<FolderAttestation, AppError> {
    let file = SignatureFile::next_to(folder);
    let attestations = file.read().map_err(|error| key_error(&error))?;
    if attestations.is_empty() && !trust.is_given() {
        return Ok(FolderAttestation::Missing);
    }
    if !trust.is_given() {
        return Ok(FolderAttestation::Unverified(file.path().to_owned()));
    }
    let trust = trust.load()?;
    if attestations.is_empty() {
        return Ok(FolderAttestation::Rejected(vec![format!("`{}` does not exist", file.path().display())]));
    }
    let is_meant = |name: &str| names.is_none_or(|names| names.contains(&name));
    let all = digests(folder)?;
    let files: Vec<[u8; 32]> =
        all.iter().filter(|(name, _)| is_meant(name)).map(|(_, digest)| *digest.as_bytes()).collect();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let verified = match &trust {
        Loaded::Keys(trust) => trust.verify_result(&attestations, &name, &files),
        Loaded::Identity(policy) => verify_result(&attestations, &files, &Trusted::Identity(policy), Timestamp::now()),
    };
    Ok(match verified.and_then(accepted) {
        Ok(accepted) => FolderAttestation::Accepted(Box::new(accepted)),
        Err(reasons) => FolderAttestation::Rejected(reasons),
    })
}

/// The digests of the files in `folder`, by name. Anything but a plain file is an error.
fn digests(folder: &Path) -> Result<BTreeMap<String, Digest>, AppError> {
    let wrong = |error: &io::Error| {
        AppError::usage(format!("failed to read the submission in `{}`", folder.display()))
            .because(error)
            .hint("pass the directory that contains the submitted files")
    };
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| wrong(&error))? {
        let entry = entry.map_err(|error| wrong(&error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().map_err(|error| wrong(&error))?.is_file() {
            return Err(wrong(&io::Error::other(format!("`{name}` is not a file"))));
        }
        if found.len() == MAX_FILES {
            return Err(wrong(&io::Error::other(format!("it has more than {MAX_FILES} files"))));
        }
        let digest = digest(&entry.path()).map_err(|error| wrong(&error))?;
        found.insert(name, digest);
    }
    Ok(found)
}

fn digest(path: &Path) -> io::Result<Digest> {
    let mut writer = DigestWriter::new(io::sink());
    io::copy(&mut File::open(path)?, &mut writer)?;
    Ok(writer.digest())
}
