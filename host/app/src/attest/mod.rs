//! Attestations of results: signed statements about the outcome of a run, for programs that must
//! decide without reading the archive. This module makes, verifies, pushes and pulls them.

mod folder;
mod predicate;
mod transfer;

use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Keyless, PrivateKey, SignatureFile, Subject, TEST_RESULT, Trusted, TrustedRoot, VerifiedResult, sign_statement,
    verify_result,
};
use plumbline_core::{Digest, Verdict};
use plumbline_registry::ResultsArtifact;

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, registry_error};
use crate::signing::{PolicyFile, Trust, key_error, one_key, policy};
use crate::trees::{Reprocess, Trees};

pub use folder::{FolderAttestation, SubmittedSuite, attest_folder, verify_folder};
pub use predicate::{ResourceDescriptor, TestOutcome, TestResult};
pub(crate) use transfer::client;
pub use transfer::{PulledArchive, PushedArchive, pull, push};

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
    for (list, tests) in [("passed", &result.passed_tests), ("failed", &result.failed_tests)] {
        if tests.is_none() {
            context.reporter.note(&format!("too many {list} tests for a list: the attestation does not name them"));
        }
    }
    let artifact = archive.artifact(&archive.name)?;
    let subjects = [
        Subject { name: archive.name.clone(), sha256: *archive.digest.as_bytes() },
        Subject { name: format!("{} (OCI manifest)", archive.name), sha256: *artifact.digest().as_bytes() },
    ];
    let attestation = sign_statement(&subjects, TEST_RESULT, &result, key)
        .map_err(|error| AppError::system(format!("failed to sign `{}`", path.display())).because(&error))?;
    let file = SignatureFile::next_to(path);
    file.append(attestation).map_err(|error| key_error(&error))?;
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

/// An archive as a file.
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
        let (digest, bytes) = read().map_err(|error| {
            AppError::usage(format!("failed to read archive `{shown}`")).because(&error).hint(CHECK_FILE)
        })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, digest, bytes })
    }

    /// The artifact of the archive in a registry, under a file name.
    fn artifact(&self, name: &str) -> Result<ResultsArtifact, AppError> {
        ResultsArtifact::new(name, self.digest, self.bytes).map_err(|error| registry_error(&error))
    }
}

/// Whose attestations count.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AttestationTrust {
    /// Trust this public key, instead of a policy
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub key: Option<PathBuf>,
    /// The policy.
    #[command(flatten)]
    pub policy: PolicyFile,
    /// Trust attestations of this identity: the URL or email address in their certificate
    #[arg(long, value_name = "IDENTITY", conflicts_with_all = ["key", "policy"], requires_all = ["certificate_oidc_issuer", "trusted_root"])]
    pub certificate_identity: Option<String>,
    /// The OIDC issuer that has authenticated the identity
    #[arg(long, value_name = "URL", requires = "certificate_identity")]
    pub certificate_oidc_issuer: Option<String>,
    /// The trusted CAs and logs: `trusted_root.json`, as `cosign trusted-root create` writes it
    #[arg(long, value_name = "FILE", requires = "certificate_identity")]
    pub trusted_root: Option<PathBuf>,
}

enum Loaded {
    Keys(Trust),
    Identity(Keyless),
}

impl AttestationTrust {
    /// Whether an option says whose attestations count.
    pub fn is_given(&self) -> bool {
        self.key.is_some() || self.policy.policy.is_some() || self.certificate_identity.is_some()
    }

    fn load(&self) -> Result<Loaded, AppError> {
        if let (Some(identity), Some(issuer), Some(root)) =
            (&self.certificate_identity, &self.certificate_oidc_issuer, &self.trusted_root)
        {
            let root = TrustedRoot::load(root).map_err(|error| {
                key_error(&error)
                    .hint("pass a `trusted_root.json` of Sigstore, as `cosign trusted-root create` writes it")
            })?;
            return Ok(Loaded::Identity(Keyless { identity: identity.clone(), issuer: issuer.clone(), root }));
        }
        Ok(Loaded::Keys(match &self.key {
            Some(key) => one_key(key)?,
            None => policy(self.policy.policy.as_deref())?,
        }))
    }
}

/// The verification of an archive.
#[derive(Debug)]
pub struct Verification {
    /// The digest of the archive.
    pub archive: Digest,
    /// The attestation that counts, or why none does.
    pub accepted: Result<Accepted, Vec<String>>,
}

/// An attestation that counts.
#[derive(Debug)]
pub struct Accepted {
    /// Who signed it: the name of a key, or an identity.
    pub signer: String,
    /// The ID of the key. `None` for an identity.
    pub key_id: Option<String>,
    /// When it was signed, if a log or a timestamp authority vouches for that.
    pub signed: Option<Timestamp>,
    /// What it states.
    pub result: TestResult,
}

/// Verifies that there is an attestation of the archive at `path` that counts: in `file`, or else
/// next to the archive. Nothing is read from the archive but its bytes.
pub fn verify(path: &Path, file: Option<&Path>, trust: &AttestationTrust) -> Result<Verification, AppError> {
    let trust = trust.load()?;
    let archive = Archive::open(path)?;
    let file = match file {
        Some(file) if !file.is_file() => {
            return Err(AppError::usage(format!("found no attestation `{}`", file.display())).hint(CHECK_FILE));
        }
        Some(file) => SignatureFile::at(file.to_owned()),
        None => SignatureFile::next_to(path),
    };
    let attestations = file.read().map_err(|error| key_error(&error))?;
    let files = [*archive.digest.as_bytes()];
    let verified = match &trust {
        _ if attestations.is_empty() => Err(vec![format!("`{}` has no attestation", file.path().display())]),
        Loaded::Keys(trust) => trust.verify_result(&attestations, &archive.name, &files),
        Loaded::Identity(policy) => verify_result(&attestations, &files, &Trusted::Identity(policy), Timestamp::now()),
    };
    Ok(Verification { archive: archive.digest, accepted: verified.and_then(accepted) })
}

fn accepted(verified: VerifiedResult) -> Result<Accepted, Vec<String>> {
    let VerifiedResult { signer, key_id, signed, predicate } = verified;
    match serde_json::from_value(predicate) {
        Ok(result) => Ok(Accepted { signer, key_id, signed, result }),
        Err(error) => Err(vec![format!("the statement of `{signer}` is not the result of a test: {error}")]),
    }
}
