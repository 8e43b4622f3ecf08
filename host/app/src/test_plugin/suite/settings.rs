//! Reads the variables of the suite's image.

use plumbline_conformance::lists::{GoRegex, Selection, TestList, embedded_for, read_file};

use super::super::FakeSuiteOptions;
use crate::context::Context;
use crate::error::AppError;

/// The default skip of parallel runs.
const SERIAL: &str = r"\[Serial\]";
/// The argument of the suite with the URL for progress.
const PROGRESS_URL: &str = "--progress-report-url=";

/// The settings of the stand-in.
pub(super) struct Settings {
    /// All tests.
    pub(super) list: TestList,
    /// The focus.
    pub(super) focus: String,
    /// The skip.
    pub(super) skip: String,
    /// The tests that run.
    pub(super) selection: Selection,
    /// The tests that fail.
    pub(super) fail: Option<GoRegex>,
    /// The tests that fail until they run again.
    pub(super) flaky: Option<GoRegex>,
    /// Whether tests run in parallel.
    pub(super) parallel: bool,
    /// Whether no test runs.
    pub(super) dry_run: bool,
    /// The URL for progress.
    pub(super) progress_url: Option<String>,
}

impl Settings {
    pub(super) fn of(context: &Context, options: &FakeSuiteOptions) -> Result<Self, AppError> {
        let parallel = matches!(options.parallel.as_str(), "y" | "Y" | "true");
        let skip = if parallel && options.skip.is_empty() { SERIAL.to_owned() } else { options.skip.clone() };
        // Like the image, an empty variable is not set.
        let focus = if options.focus.is_empty() { r"\[Conformance\]".to_owned() } else { options.focus.clone() };
        let selection = Selection::parse(Some(&focus), Some(&skip)).map_err(|(what, error)| {
            AppError::usage(format!("the {what} is not a valid regular expression of Go")).because(&error)
        })?;
        let expression = |variable: &str, text: &str| {
            let compiled = (!text.is_empty()).then(|| GoRegex::new(text)).transpose();
            compiled
                .map_err(|error| AppError::usage(format!("`{variable}` is not a regular expression")).because(&error))
        };
        let separator = if options.extra_args_sep.is_empty() { " " } else { &options.extra_args_sep };
        let progress_url = options.extra_args.split(separator).find_map(|arg| arg.trim().strip_prefix(PROGRESS_URL));
        let silent = !options.no_progress.is_empty();
        Ok(Self {
            list: list(context, options)?,
            selection,
            fail: expression("FAKE_E2E_FAIL", &options.fail)?,
            flaky: expression("FAKE_E2E_FLAKY", &options.flaky)?,
            parallel,
            dry_run: !options.dry_run.is_empty(),
            progress_url: progress_url.filter(|_| !silent).map(str::to_owned),
            focus,
            skip,
        })
    }
}

/// The list of the options, or that of the cluster's version, or the latest one.
fn list(context: &Context, options: &FakeSuiteOptions) -> Result<TestList, AppError> {
    let failed = |error| AppError::usage("there are no tests to play").because(&error);
    if let Some(path) = &options.list {
        return read_file(path).map_err(failed);
    }
    if let Some(version) = &options.list_version {
        return embedded_for(Some(version)).map_err(failed);
    }
    let cluster = Some(options.cluster_version.as_str()).filter(|version| !version.is_empty());
    match embedded_for(cluster) {
        Ok(list) => Ok(list),
        // The names of another version suffice, because the cluster does not run them.
        Err(error) => {
            context.reporter.progress(&format!("test-plugin: {error}: the latest stands in for it"));
            embedded_for(None).map_err(failed)
        }
    }
}
