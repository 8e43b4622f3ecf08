//! The rule that a submission comes from a run that passed.

use std::path::Path;

use plumbline_conformance::submission::{Finding, rules};
use serde_json::Value;

use crate::attest::{
    Accepted, AttestationTrust, FolderAttestation, ResourceDescriptor, SubmittedSuite, TestOutcome, verify_folder,
};
use crate::error::AppError;

/// The rule of all findings here.
const RULE: &str = rules::ATTESTATION;

/// Checks the attestation next to `folder`, which must be about all files, or about those with these
/// `names`, and about `suite`. `None` if it is missing and `trust` is empty.
pub(crate) fn attestation_finding(
    folder: &Path,
    names: Option<&[&str]>,
    suite: &SubmittedSuite,
    trust: &AttestationTrust,
) -> Result<Option<Finding>, AppError> {
    let finding = match verify_folder(folder, names, trust)? {
        FolderAttestation::Missing => return Ok(None),
        FolderAttestation::Unverified(path) => {
            Finding::not_checked(RULE, format!("`{}` was not verified", path.display()))
                .hint("name the public key of its signer with `--key FILE`")
        }
        FolderAttestation::Rejected(reasons) => {
            Finding::failed(RULE, format!("no attestation counts: {}", reasons.join("; ")))
                .hint("ask the vendor for the attestation of these files, and for the public key")
        }
        FolderAttestation::Accepted(accepted) => stated(&accepted, names, suite),
    };
    Ok(Some(finding.ours()))
}

/// Checks what the attestation states that counts.
fn stated(accepted: &Accepted, names: Option<&[&str]>, suite: &SubmittedSuite) -> Finding {
    let signer = &accepted.signer;
    let disputed =
        if accepted.is_disputed() { "; another attestation disagrees, and the worst result counts" } else { "" };
    match accepted.result.result {
        TestOutcome::Passed => {}
        TestOutcome::Failed => {
            return Finding::failed(RULE, format!("`{signer}` attests that the run did not pass{disputed}"));
        }
        // Only the programme may excuse failures.
        TestOutcome::Warned => {
            let excused = accepted.result.warned_tests.clone().unwrap_or_default();
            let what = format!("`{signer}` attests a run whose failures were excused{disputed}");
            return Finding::failed(RULE, what).names(excused);
        }
    }
    if !accepted.reruns().is_empty() {
        return Finding::failed(RULE, format!("`{signer}` attests a run of only the failed tests of another run"))
            .hint("ask the vendor for the results of a run of the whole suite");
    }
    let about = |one: &Accepted| Some((one.signer.clone(), suite.find_in(&one.result.configuration)?.clone()));
    let Some((signer, ran)) = accepted.all().find_map(about) else {
        return Finding::failed(RULE, format!("the statement of `{signer}` is about another profile"))
            .hint("check the submission with the profile that the vendor ran: `--profile PROFILE`");
    };
    let files = names.map_or_else(|| "all files".to_owned(), |names| names.join(", "));
    let settings = described(&ran);
    Finding::passed(RULE, format!("`{signer}` attests that a run that passed{settings} wrote: {files}"))
}

/// Describes the mode of a run, and the options that the user set: the reader decides whether they are
/// acceptable.
fn described(ran: &ResourceDescriptor) -> String {
    let text = |key: &str| ran.annotations.get(key).and_then(Value::as_str);
    let mode = text("mode").map(|mode| format!(" in mode `{mode}`")).unwrap_or_default();
    let set = text("set").map(|set| format!(" (options of the user: {set})")).unwrap_or_default();
    format!("{mode}{set}")
}
