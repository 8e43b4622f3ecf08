//! Attestations of results: signed statements about the outcome of a run, for programs that must
//! decide without reading the archive. This module makes, verifies, pushes and pulls them.

mod configuration;
mod folder;
mod predicate;
mod transfer;
mod verify;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_bundle::signing::{PrivateKey, SignatureFile, Subject, TEST_RESULT, archive_subjects, sign_statement};
use plumbline_core::{Digest, DigestWriter, Verdict};
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
    let (result, verdict) = predicate::predicate(&mut archive.trees(context)?, run, url)?;
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

/// An archive with its digest.
struct Archive {
    /// The open file, so that results come from the file with this digest, whatever its path leads to
    /// later.
    file: File,
    path: PathBuf,
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
        let read = || -> io::Result<(File, Digest, u64)> {
            let mut file = File::open(path)?;
            let mut writer = DigestWriter::new(io::sink());
            io::copy(&mut file, &mut writer)?;
            Ok((file, writer.digest(), writer.bytes()))
        };
        let (file, digest, bytes) =
            read().usage_error(format_args!("failed to read archive `{shown}`")).hint(CHECK_FILE)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { file, path: path.to_owned(), name, digest, bytes })
    }

    /// The result trees of the file with the digest.
    fn trees(&self, context: &Context) -> Result<Trees, AppError> {
        let shown = self.path.display();
        let file = self.file.try_clone().system_error(format_args!("failed to read archive `{shown}`"))?;
        Trees::of_file(context, file, &self.path)
    }

    /// The artifact of the archive in a registry, under a file name.
    fn artifact(&self, name: &str) -> Result<ResultsArtifact, AppError> {
        Ok(ResultsArtifact::new(name, self.digest, self.bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use plumbline_archive::pack::{PackOptions, write_archive};

    use super::*;
    use crate::context::Silent;

    /// Writes an archive in which one test has this status.
    fn pack(path: &Path, status: &str) {
        let dir = tempfile::tempdir().unwrap();
        let tree =
            format!("name: p\nstatus: {status}\nmeta: {{type: summary}}\nitems:\n- {{name: a, status: {status}}}\n");
        for (name, text) in
            [("meta/info.json", r#"{"plugins": ["p"]}"#), ("plugins/p/sonobuoy_results.yaml", tree.as_str())]
        {
            let file = dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        write_archive(dir.path(), path, &PackOptions::default()).unwrap();
    }

    #[test]
    fn results_are_those_of_the_file_with_the_digest() {
        let dir = tempfile::tempdir().unwrap();
        let [failed, passed, link] =
            ["failed.tar.gz", "passed.tar.gz", "newest.tar.gz"].map(|name| dir.path().join(name));
        pack(&failed, "failed");
        pack(&passed, "passed");
        symlink(&failed, &link).unwrap();
        let archive = Archive::open(&link).unwrap();
        fs::remove_file(&link).unwrap();
        symlink(&passed, &link).unwrap();
        let mut trees = archive.trees(&Context::new(Silent)).unwrap();
        let (result, verdict) = predicate::predicate(&mut trees, None, None).unwrap();
        assert_eq!((result.result, verdict), (TestOutcome::Failed, Verdict::Failed));
        assert_eq!(archive.digest, Digest::of(&fs::read(&failed).unwrap()));
        assert_eq!(outcome_of(&Context::new(Silent), &link).unwrap(), (TestOutcome::Passed, Verdict::Passed));
    }
}
