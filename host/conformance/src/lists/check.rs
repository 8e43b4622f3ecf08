//! Before anything is started: does a focus select anything?

use thiserror::Error;

use super::embedded::embedded_for;
use super::error::ListError;
use super::list::TestList;
use super::near::near;
use super::regex::GoRegexError;
use super::selection::Selection;
use super::version::Version;

/// What a selection comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// How many tests of the list the suite would run.
    pub selected: usize,
    /// How many tests the list has.
    pub total: usize,
    /// The version that the list is of.
    pub version: String,
    /// Why this may not be so on the cluster: sentences for a person.
    pub warnings: Vec<String>,
}

/// Why nothing should be started.
#[derive(Debug, Error)]
pub enum SelectionError {
    /// The focus or the skip is no expression.
    #[error("the {what} is not a valid regular expression of Go")]
    Expression {
        /// `focus` or `skip`.
        what: &'static str,
        /// Why.
        #[source]
        error: GoRegexError,
    },
    /// No test is selected.
    #[error("{what} of the {total} tests of {version}")]
    Nothing {
        /// What was found out, up to "none".
        what: String,
        /// How many there are.
        total: usize,
        /// Of which version.
        version: String,
        /// Tests that may be meant.
        near: Vec<String>,
    },
    /// There is no list.
    #[error(transparent)]
    List(#[from] ListError),
}

/// Holds a focus and a skip against the tests of `version` that this program knows; empty expressions are none. For a version that is
/// newer than all lists, that of the newest stands in, and then a selection of nothing is only a warning.
///
/// # Errors
/// When an expression is none, or the list is of the same minor version and nothing is selected.
pub fn check_selection(
    version: Option<&str>,
    focus: Option<&str>,
    skip: Option<&str>,
) -> Result<Checked, SelectionError> {
    let selection =
        Selection::parse(focus, skip).map_err(|(what, error)| SelectionError::Expression { what, error })?;
    let list = embedded_for(version)?;
    let certain =
        Version::parse(&list.version).zip(version.and_then(Version::parse)).is_some_and(|(a, b)| a.same_minor(&b));
    // Within a minor version, tests keep their names.
    let other = version.filter(|_| !certain).and_then(|version| list.stands_in_for(version));
    let mut warnings: Vec<String> = other.into_iter().collect();
    match checked(&list, &selection, focus, skip) {
        Ok(checked) => Ok(Checked { warnings, ..checked }),
        Err(nothing) if certain => Err(nothing),
        Err(nothing) => {
            warnings.push(nothing.to_string());
            Ok(Checked { selected: 0, total: list.specs().count(), version: list.version, warnings })
        }
    }
}

/// The same for a list that somebody has.
///
/// # Errors
/// When an expression is none, or nothing is selected.
pub fn check_list(list: &TestList, focus: Option<&str>, skip: Option<&str>) -> Result<Checked, SelectionError> {
    let selection =
        Selection::parse(focus, skip).map_err(|(what, error)| SelectionError::Expression { what, error })?;
    checked(list, &selection, focus, skip)
}

/// The same for a list that is there.
fn checked(
    list: &TestList,
    selection: &Selection,
    focus: Option<&str>,
    skip: Option<&str>,
) -> Result<Checked, SelectionError> {
    let total = list.specs().count();
    let selected = list.specs().filter(|test| selection.runs(test)).count();
    if selected > 0 {
        return Ok(Checked { selected, total, version: list.version.clone(), warnings: Vec::new() });
    }
    let focus = focus.unwrap_or_default();
    // That it is an expression is known by now.
    let alone = Selection::parse(Some(focus), None).unwrap_or_default();
    let focused = list.specs().filter(|test| alone.runs(test)).count();
    let what = match (focused, skip) {
        (0, _) => format!("the focus `{focus}` selects none"),
        (focused, Some(skip)) => format!("the focus selects {focused}, and without what `{skip}` skips there are none"),
        (_, None) => "the selection is of none".to_owned(),
    };
    let near = if focused == 0 { near(focus, list.specs()) } else { Vec::new() };
    Err(SelectionError::Nothing { what, total, version: list.version.clone(), near })
}
