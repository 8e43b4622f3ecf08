//! Attestations of submissions: signed statements that the files of a folder come from a run, and
//! what its outcome was.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use plumbline_bundle::signing::{
    PrivateKey, SignatureFile, Subject, TEST_RESULT, Wanted, folder_subjects, named_path, sign_statement,
};
use plumbline_core::{Digest, Verdict};

use super::verify::accepted;
use super::{Accepted, Archive, AttestationTrust, ResourceDescriptor, predicate};
use crate::context::Context;
use crate::error::{AppError, Explain as _};

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
            .options(&self.set)
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
    let (mut result, _) = predicate::predicate(&mut source.trees(context)?, run, None)?;
    result.configuration.push(suite.descriptor());
    let archive = Subject { name: source.name, sha256: *source.digest.as_bytes() };
    let subjects = folder_subjects(&digests(folder)?, &archive);
    let attestation = sign_statement(&subjects, TEST_RESULT, &result, key)
        .system_error(format_args!("failed to sign `{}`", folder.display()))?;
    let file = SignatureFile::next_to(folder);
    file.append(attestation)?;
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
/// those with these `names`, and about no other file. Names count as well as digests.
pub fn verify_folder(
    folder: &Path,
    names: Option<&[&str]>,
    trust: &AttestationTrust,
) -> Result<FolderAttestation, AppError> {
    let folder = named_path(folder);
    let file = SignatureFile::next_to(&folder);
    let attestations = file.read()?;
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
    let mut files = digests(&folder)?;
    files.retain(|name, _| names.is_none_or(|names| names.contains(&name.as_str())));
    let all: Vec<[u8; 32]> = files.values().copied().collect();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let verified =
        trust.statements(&attestations, &name, Wanted::All(&all)).and_then(|found| found.about_folder(&files));
    Ok(match verified.and_then(accepted) {
        Ok(accepted) => FolderAttestation::Accepted(Box::new(accepted)),
        Err(reasons) => FolderAttestation::Rejected(reasons),
    })
}

/// The digests of the files in `folder`, by name. Anything but a plain file is an error, and so is a
/// name that is not UTF-8, because a statement cannot have it.
fn digests(folder: &Path) -> Result<BTreeMap<String, [u8; 32]>, AppError> {
    let read = || -> io::Result<BTreeMap<String, [u8; 32]>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let not_utf8 = |name: OsString| format!("the name `{}` is not UTF-8", name.to_string_lossy());
            let name = entry.file_name().into_string().map_err(|name| io::Error::other(not_utf8(name)))?;
            if !entry.file_type()?.is_file() {
                return Err(io::Error::other(format!("`{name}` is not a file")));
            }
            if found.len() == MAX_FILES {
                return Err(io::Error::other(format!("it has more than {MAX_FILES} files")));
            }
            found.insert(name, *File::open(entry.path()).and_then(Digest::of_reader)?.as_bytes());
        }
        Ok(found)
    };
    read()
        .usage_error(format_args!("failed to read the submission in `{}`", folder.display()))
        .hint("pass the directory that contains the submitted files")
}
