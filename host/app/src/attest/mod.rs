//! Attestations of results: signed statements about the outcome of a run, for programs that must
//! decide without reading the archive. This module makes, verifies, pushes and pulls them.

mod configuration;
mod folder;
mod predicate;
mod transfer;
mod verify;

use std::fs::File;
use std::path::{Path, PathBuf};

use plumbline_bundle::signing::{PrivateKey, SignatureFile, Subject, TEST_RESULT, archive_subjects, sign_statement};
use plumbline_core::{Digest, Verdict};
use plumbline_registry::ResultsArtifact;

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, Explain as _};
use crate::trees::{Reprocess, Trees};

pub use configuration::ResourceDescriptor;
pub use folder::{FolderAttestation, SubmittedSuite, attest_folder, verify_folder};
pub use predicate::{TestOutcome, TestResult};
pub(crate) use transfer::client;
pub use transfer::{PulledArchive, PushedArchive, pull, push};
pub use verify::{Accepted, AttestationTrust, Verification, verify};

/// An attestation that was written.
#[derive(Debug)]
pub struct WrittenAttestation {
    /// The file that it was written to.
    pub path: PathBuf,
    /// The digest of the archive.
    pub archive: Digest,
    /// The digest of the archive's manifest in a registry.
    pub manifest: Digest,
    /// The outcome that it states.
    pub outcome: TestOutcome,
    /// The verdict that the outcome was made from.
    pub verdict: Verdict,
}

/// Signs a statement about the archive at `path` with `key`, and writes it next to the archive.
/// `run` is the verdict of the run, if it is known from more than the archive. `url` is where
/// people find more about the run.
pub fn attest(
    context: &Context,
    path: &Path,
    key: &PrivateKey,
    run: Option<Verdict>,
    url: Option<&str>,
) -> Result<WrittenAttestation, AppError> {
    let archive = Archive::open(path)?;
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    let (result, verdict) = predicate::predicate(&mut trees, run, url)?;
    let lists = [("passed", &result.passed_tests), ("warned", &result.warned_tests), ("failed", &result.failed_tests)];
    for (list, tests) in lists {
        if tests.is_none() {
            context.reporter.note(&format!("too many {list} tests for a list: the attestation does not name them"));
        }
    }
    for plugin in result.reruns() {
        context
            .reporter
            .note(&format!("the attestation says that `{plugin}` ran only the failed tests of another run"));
    }
    let artifact = archive.artifact(&archive.name)?;
    let subject = Subject { name: archive.name.clone(), sha256: *archive.digest.as_bytes() };
    let subjects = archive_subjects(subject, *artifact.digest().as_bytes());
    let attestation = sign_statement(&subjects, TEST_RESULT, &result, key)
        .system_error(format_args!("failed to sign `{}`", path.display()))?;
    let file = SignatureFile::next_to(path);
    file.append(attestation)?;
    Ok(WrittenAttestation {
        path: file.path().to_owned(),
        archive: archive.digest,
        manifest: artifact.digest(),
        outcome: result.result,
        verdict,
    })
}

/// The outcome and the verdict of the run in the archive at `path`.
pub fn outcome_of(context: &Context, path: &Path) -> Result<(TestOutcome, Verdict), AppError> {
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    predicate::predicate(&mut trees, None, None).map(|(result, verdict)| (result.result, verdict))
}

struct Archive {
    name: String,
    digest: Digest,
    bytes: u64,
}

impl Archive {
    fn open(path: &Path) -> Result<Self, AppError> {
        let shown = path.display();
        if path.is_dir() {
            return Err(AppError::usage(format!("`{shown}` is a directory: an attestation is about one file"))
                .hint("pass the archive (`.tar.gz`) that the run has written"));
        }
        let read = || -> std::io::Result<(Digest, u64)> {
            let mut writer = plumbline_core::DigestWriter::new(std::io::sink());
            std::io::copy(&mut File::open(path)?, &mut writer)?;
            Ok((writer.digest(), writer.bytes()))
        };
        let (digest, bytes) = read().usage_error(format_args!("failed to read archive `{shown}`")).hint(CHECK_FILE)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, digest, bytes })
    }

    /// The artifact of the archive in a registry, under a file name.
    fn artifact(&self, name: &str) -> Result<ResultsArtifact, AppError> {
        Ok(ResultsArtifact::new(name, self.digest, self.bytes)?)
    }
}
