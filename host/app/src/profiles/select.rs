//! Checks before a run that the expressions of a user select tests.

use plumbline_bundle::Bundle;
use plumbline_bundle::profile::{MAX_TESTS, Settings};
use plumbline_conformance::lists::{Checked, SelectionError, TestList, check_list};

use super::lists::read_list;
use crate::context::Context;
use crate::error::AppError;

/// Checks focus and skip against the tests of the profile. Without effect if the profile has no list
/// of tests, or no option that selects them.
pub(super) fn check_selection(context: &Context, bundle: &Bundle, settings: &Settings<'_>) -> Result<(), AppError> {
    let profile = settings.profile();
    let Some((selection, file)) = profile.selection.as_ref().zip(profile.tests.as_deref()) else { return Ok(()) };
    let value = |name: &str| settings.value(name).filter(|value| !value.is_empty());
    let focus = value(&selection.focus);
    let skip = selection.skip.as_deref().and_then(value);
    if focus.is_none() && skip.is_none() {
        return Ok(());
    }
    let list = test_list(bundle, settings, file)?;
    match check_list(&list, &selection.prefix, focus, skip) {
        Ok(Checked { selected, total, version, .. }) => {
            context.reporter.progress(&format!("selected {selected} of the {total} tests of {version}"));
            Ok(())
        }
        Err(error) => {
            let all = format!("`plumbline conformance tests {}` lists all tests", profile.name);
            Err(no_selection(&error, &all))
        }
    }
}

/// Reads the tests of the version of the settings.
pub(super) fn test_list(bundle: &Bundle, settings: &Settings<'_>, file: &str) -> Result<TestList, AppError> {
    let names = read_list(bundle, settings, file, MAX_TESTS)?;
    let source = format!("profile `{}`", settings.profile().name);
    Ok(TestList::new(settings.version(), names.iter().map(String::as_str), &source))
}

/// The error for expressions that select no test. `all` says how to list all tests.
pub(crate) fn no_selection(error: &SelectionError, all: &str) -> AppError {
    match error {
        SelectionError::Expression { .. } => AppError::usage("failed to select the tests")
            .because(error)
            .hint("focus and skip are Go regular expressions; to match a special character, put a `\\` before it"),
        SelectionError::Nothing { near, .. } if !near.is_empty() => AppError::usage("no test selected")
            .because(error)
            .hint(format!("similar tests:\n{}\n{all}", near.join("\n"))),
        _ => AppError::usage("no test selected").because(error).hint(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_names_as_the_suite_does() {
        let list = TestList::new("1", ["kite flies", "kite sinks"], "profile `toy`");
        let selected =
            |prefix: &str, focus: &str| check_list(&list, prefix, Some(focus), None).map(|found| found.selected);
        assert_eq!(selected("", "^kite f").unwrap(), 1);
        assert!(selected("Toys ", "^kite f").is_err());
        assert_eq!(selected("Toys ", "^Toys kite").unwrap(), 2);
    }
}
