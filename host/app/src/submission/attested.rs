//! The rule that a submission comes from a run that passed.

use std::path::Path;

use plumbline_conformance::submission::{Finding, rules};

use crate::attest::{AttestationTrust, FolderAttestation, SubmittedSuite, TestOutcome, verify_folder};
use crate::error::AppError;

/// Checks the attestation next to `folder`, which must be about all files, or about those with these
/// `names`, and about `suite`. `None` if there is none and nobody asked for one.
pub fn attestation_finding(
    folder: &Path,
    names: Option<&[&str]>,
    suite: Option<&SubmittedSuite>,
    trust: &AttestationTrust,
) -> Result<Option<Finding>, AppError> {
    let rule = rules::ATTESTATION;
    let finding = match verify_folder(folder, names, trust)? {
        FolderAttestation::Missing => return Ok(None),
        FolderAttestation::Unverified(path) => {
            Finding::not_checked(rule, format!("`{}` was not verified", path.display()))
                .hint("name the public key of its signer with `--key FILE`")
        }
        FolderAttestation::Rejected(reasons) => {
            Finding::failed(rule, format!("no attestation counts: {}", reasons.join("; ")))
                .hint("ask the vendor for the attestation of these files, and for the public key")
        }
        FolderAttestation::Accepted(accepted) if accepted.result.result == TestOutcome::Failed => {
            Finding::failed(rule, format!("`{}` attests that the run did not pass", accepted.signer))
        }
        FolderAttestation::Accepted(accepted)
            if suite.is_some_and(|suite| !suite.is_in(&accepted.result.configuration)) =>
        {
            Finding::failed(rule, format!("the statement of `{}` is about another profile", accepted.signer))
                .hint("check the submission with the bundle of the profile that the vendor ran")
        }
        FolderAttestation::Accepted(accepted) => {
            let files = names.map_or_else(|| "all files".to_owned(), |names| names.join(", "));
            Finding::passed(rule, format!("`{}` attests that a run that passed wrote: {files}", accepted.signer))
        }
    };
    Ok(Some(finding.ours()))
}
