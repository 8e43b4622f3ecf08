//! The tests that failed in an archive.

use std::path::Path;

use plumbline_conformance::suite::{self, RerunError, any_test_ran, failed_tests, rerun_focus};
use plumbline_core::shell_path;

use crate::error::CliError;
use crate::trees::{Reprocess, Trees};
use crate::ui::say;

/// The focus that runs the tests which failed in the archive at `path`.
pub(super) fn focus(path: &Path) -> Result<String, CliError> {
    let shown = path.display();
    let wrong = || CliError::usage(format!("failed tests of `{shown}` cannot be run again"));
    let mut trees = Trees::open(path, Reprocess::default())?;
    let plugins = trees.plugins();
    if !plugins.iter().any(|plugin| plugin == suite::PLUGIN) {
        let names: Vec<_> = plugins.iter().map(|plugin| format!("`{plugin}`")).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(CliError::usage(format!("archive `{shown}` has no plugin `{}`", suite::PLUGIN))
            .hint(format!("plugins in it: {there}")));
    }
    let tree = trees.item(suite::PLUGIN)?;
    if !any_test_ran(&tree) {
        return Err(CliError::usage(format!("archive `{shown}` has no {} results: no test in it ran", suite::PLUGIN))
            .hint(format!("`plumbline results {shown} --plugin {}` shows what it has", suite::PLUGIN)));
    }
    let tests = failed_tests(&tree);
    let focus = rerun_focus(&tests).map_err(|error| {
        let hint = match error {
            RerunError::NothingFailed => format!("`plumbline results {}` shows what is in it", shell_path(path)),
            RerunError::TooLong { .. } => "so much has failed: run all tests again, with `--mode`".to_owned(),
        };
        wrong().because(&error).hint(hint)
    })?;
    say(&format!("{} failed in `{shown}` and run again", counted(tests.len())));
    Ok(focus)
}

/// `1 test`, `12 tests`.
pub(super) fn counted(tests: usize) -> String {
    format!("{tests} test{}", if tests == 1 { "" } else { "s" })
}
