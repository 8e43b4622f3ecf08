//! `plumbline submission check`

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_conformance::submission::{self, Contents, Summary};

use super::folder::Folder;
use super::print;
use super::required::required;
use crate::args::{DataFormat, ExitCodes, Global, SubmissionCheckArgs};
use crate::error::{FAILED, INCOMPLETE};

/// Checks the folder and prints the findings. Exits with 0 if no rule is broken, 1 if one is, and 3 if the
/// required tests are not known.
pub(crate) fn check(args: &SubmissionCheckArgs, global: &Global) -> Result<ExitCode, AppError> {
    let folder = Folder::read(&args.dir)?;
    let mut contents = Contents {
        files: &folder.files,
        product: folder.product.as_deref(),
        log: &folder.log,
        cases: folder.cases.as_ref(),
        required: None,
    };
    let release = contents.release();
    let required = match release {
        Some(release) => required(&args.required, release, folder.log.suite.as_deref())?,
        None => None,
    };
    contents.required = required.as_ref();
    let findings = submission::check(&contents);
    let summary = Summary::of(&findings);
    let mut out = anstream::stdout().lock();
    let printed = match args.format {
        DataFormat::Text => print::text(&findings, summary, &mut out),
        DataFormat::Json => print_json(&print::document(&args.dir, release, &findings, summary), &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the findings", &error))?;
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if summary.failed > 0 => ExitCode::from(FAILED),
        ExitCodes::Strict if summary.incomplete => ExitCode::from(INCOMPLETE),
        ExitCodes::Strict => ExitCode::SUCCESS,
    })
}
