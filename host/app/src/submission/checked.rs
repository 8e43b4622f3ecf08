//! Checks the folder of a submission against the rules of its programme.

use std::path::{Path, PathBuf};

use plumbline_conformance::submission::{self, Contents, Finding, Summary};

use super::attested::attestation_finding;
use super::read::Folder;
use super::{RequiredFrom, required};
use crate::attest::{AttestationTrust, SubmittedSuite};
use crate::context::Context;
use crate::error::AppError;
use crate::profiles::{self, BuiltInProfile};

/// The findings about the folder of a submission.
pub struct Checked {
    /// The folder, as the caller named it.
    pub folder: PathBuf,
    /// The version of the suite, if it is known.
    pub release: Option<String>,
    /// One for each rule.
    pub findings: Vec<Finding>,
    /// How many rules are broken.
    pub summary: Summary,
}

impl Checked {
    /// Checks the folder against the rules of the verifier.
    pub fn read(
        context: &Context,
        built_in: &BuiltInProfile,
        dir: &Path,
        source: Option<&RequiredFrom>,
        trust: &AttestationTrust,
    ) -> Result<Self, AppError> {
        let folder = Folder::read(dir)?;
        let mut contents = Contents {
            files: &folder.files,
            product: folder.product.as_deref(),
            log: &folder.log,
            cases: folder.cases.as_ref(),
            required: None,
        };
        let release = contents.release();
        let required = match release {
            Some(release) => required(context, source, release, folder.log.suite.as_deref())?,
            None => None,
        };
        contents.required = required.as_ref();
        let mut findings = submission::check(&contents);
        let suite = SubmittedSuite { profile: built_in.profile.name.to_string(), ..SubmittedSuite::default() };
        findings.extend(attestation_finding(&folder.root, None, &suite, trust)?);
        let summary = Summary::of(&findings);
        Ok(Self { folder: dir.to_owned(), release: release.map(|release| release.to_string()), findings, summary })
    }

    /// Checks the folder of another suite. Without an attestation, nothing says that the run passed.
    pub fn of_profile(
        context: &Context,
        dir: &Path,
        reference: &str,
        trust: &AttestationTrust,
    ) -> Result<Self, AppError> {
        let found = profiles::find(context, reference)?;
        let findings = profiles::check_submission(&found, dir, trust)?;
        let mut summary = Summary::of(&findings);
        summary.incomplete |= summary.not_checked > 0;
        let release = found.profile.shown_version().map(str::to_owned);
        Ok(Self { folder: dir.to_owned(), release, findings, summary })
    }
}
