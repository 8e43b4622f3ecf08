//! A result for `plumbline report`.

use std::fs;
use std::path::Path;

use plumbline_app::AppError;

use crate::args::AdapterResult;

const SUCCESS: &str =
    r#"{"status": "success", "reason": "ToldToSucceed", "message": "test-plugin was told to succeed"}"#;
const FAILURE: &str = r#"{"status": "failure", "reason": "ToldToFail", "message": "test-plugin was told to fail", "details": {"checks_run": 5}}"#;
const INVALID: &str = r#"{"status": "passed"}"#;

/// Writes it. Half of one is written in place; the rest appears whole, as that of a careful adapter does.
pub(crate) fn result(what: AdapterResult, path: &Path) -> Result<(), AppError> {
    let text = match what {
        AdapterResult::Success => SUCCESS,
        AdapterResult::Failure => FAILURE,
        AdapterResult::Invalid => INVALID,
        AdapterResult::Half => SUCCESS.split_at(SUCCESS.len() / 2).0,
    };
    let partial = path.with_extension("partial");
    let written = match what {
        AdapterResult::Half => fs::write(path, text),
        _ => fs::write(&partial, text).and_then(|()| fs::rename(&partial, path)),
    };
    written.map_err(|error| {
        AppError::system(format!("could not write `{}`", path.display()))
            .because(&error)
            .hint("mount a volume there, and give it a path with `--results-path` or RESULTS_PATH")
    })
}
