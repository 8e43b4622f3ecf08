//! Verifies attestations: which ones count, and what they state. Of several results, the worst counts.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::iter;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Attestation, Keyless, ResultStatement, SignatureFile, Trusted, TrustedRoot, VerifiedResult, Wanted, verify_result,
};
use plumbline_core::Digest;

use super::{Archive, TestResult};
use crate::error::{AppError, CHECK_FILE, Explain as _};
use crate::signing::{PolicyFile, Trust, one_key, policy};

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

/// Whose attestations count, with the keys or the trusted root.
pub(super) enum Loaded {
    Keys(Trust),
    Identity(Keyless),
}

impl AttestationTrust {
    /// Whether an option says whose attestations count.
    pub fn is_given(&self) -> bool {
        self.key.is_some() || self.policy.policy.is_some() || self.certificate_identity.is_some()
    }

    pub(super) fn load(&self) -> Result<Loaded, AppError> {
        if let (Some(identity), Some(issuer), Some(root)) =
            (&self.certificate_identity, &self.certificate_oidc_issuer, &self.trusted_root)
        {
            let root = TrustedRoot::load(root)
                .hint("pass a `trusted_root.json` of Sigstore, as `cosign trusted-root create` writes it")?;
            return Ok(Loaded::Identity(Keyless { identity: identity.clone(), issuer: issuer.clone(), root }));
        }
        Ok(Loaded::Keys(match &self.key {
            Some(key) => one_key(key)?,
            None => policy(self.policy.policy.as_deref())?,
        }))
    }
}

impl Loaded {
    /// Finds the trusted statements with the digests `wanted`. `name` is that of the archive or the
    /// folder, for a policy.
    pub(super) fn statements(
        &self,
        attestations: &[Attestation],
        name: &str,
        wanted: Wanted<'_>,
    ) -> Result<VerifiedResult, Vec<String>> {
        match self {
            Self::Keys(trust) => trust.verify_result(attestations, name, wanted),
            Self::Identity(policy) => verify_result(attestations, wanted, &Trusted::Identity(policy), Timestamp::now()),
        }
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

/// An attestation that counts. If several count, it is one with the worst result.
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
    /// The other attestations that count. None of them has a worse result.
    pub others: Vec<Accepted>,
}

impl Accepted {
    /// This attestation and the others that count, the worst result first.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(&self.others)
    }

    /// The plugins that ran only the failed tests of another run, as any of the attestations says.
    pub fn reruns(&self) -> BTreeSet<&str> {
        self.all().flat_map(|one| one.result.reruns()).collect()
    }

    /// Whether another attestation that counts has a better result.
    pub fn is_disputed(&self) -> bool {
        self.others.iter().any(|other| other.result.result != self.result.result)
    }
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
    let attestations = file.read()?;
    // Tools that know only registries sign the manifest that the archive has there.
    let (digest, manifest) = (*archive.digest.as_bytes(), *archive.artifact(&archive.name)?.digest().as_bytes());
    let verified = match attestations.is_empty() {
        true => Err(vec![format!("`{}` has no attestation", file.path().display())]),
        false => trust.statements(&attestations, &archive.name, Wanted::Any(&[digest, manifest])),
    };
    let accepted = verified.and_then(|found| found.about_archive(&digest, &manifest)).and_then(accepted);
    Ok(Verification { archive: archive.digest, accepted })
}

/// Reads the results that `statements` state, and returns the worst one. A result that is not valid
/// could be a worse one, so nothing is accepted then.
pub(super) fn accepted(statements: Vec<ResultStatement>) -> Result<Accepted, Vec<String>> {
    let (mut found, mut reasons) = (Vec::new(), Vec::new());
    for ResultStatement { signer, key_id, signed, predicate, .. } in statements {
        match serde_json::from_value::<TestResult>(predicate) {
            Ok(result) => found.push(Accepted { signer, key_id, signed, result, others: Vec::new() }),
            Err(error) => reasons.push(format!("the statement of `{signer}` is not the result of a test: {error}")),
        }
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    found.sort_by_key(|one| Reverse(one.result.result));
    let mut found = found.into_iter();
    let worst = found.next().ok_or_else(|| vec!["it is not signed".to_owned()])?;
    Ok(Accepted { others: found.collect(), ..worst })
}
