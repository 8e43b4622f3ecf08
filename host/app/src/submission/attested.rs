//! The rule that a submission comes from a run that passed.

use std::path::Path;

use plumbline_conformance::submission::{Finding, rules};
use serde_json::Value;

use crate::attest::{
    Accepted, AttestationTrust, FolderAttestation, ResourceDescriptor, SubmittedSuite, TestOutcome, verify_folder,
};
use crate::error::AppError;

/// Checks the attestation next to `folder`, which must be about all files, or about those with these
/// `names`, and about `suite`. `None` if it is missing and `trust` is empty.
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
        // Only the programme may excuse failures.
        FolderAttestation::Accepted(accepted) if accepted.result.result == TestOutcome::Warned => {
            let excused = accepted.result.warned_tests.unwrap_or_default();
            Finding::failed(rule, format!("`{}` attests a run whose failures were excused", accepted.signer))
                .names(excused)
        }
        FolderAttestation::Accepted(accepted) => {
            let Accepted { signer, result, .. } = *accepted;
            let files = names.map_or_else(|| "all files".to_owned(), |names| names.join(", "));
            match suite.map(|suite| suite.find_in(&result.configuration)) {
                Some(None) => Finding::failed(rule, format!("the statement of `{signer}` is about another profile"))
                    .hint("check the submission with the bundle of the profile that the vendor ran"),
                Some(Some(ran)) => {
                    let settings = described(ran);
                    Finding::passed(rule, format!("`{signer}` attests that a run that passed{settings} wrote: {files}"))
                }
                None => Finding::passed(rule, format!("`{signer}` attests that a run that passed wrote: {files}")),
            }
        }
    };
    Ok(Some(finding.ours()))
}

/// Describes the mode of a run, and the options that the user set: the reader decides whether they are
/// acceptable.
fn described(ran: &ResourceDescriptor) -> String {
    let text = |key: &str| ran.annotations.get(key).and_then(Value::as_str);
    let mode = text("mode").map(|mode| format!(" in mode `{mode}`")).unwrap_or_default();
    let set = text("set").map(|set| format!(" (options of the user: {set})")).unwrap_or_default();
    format!("{mode}{set}")
}
