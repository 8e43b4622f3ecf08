//! Checks whether a focus selects any test before anything is started.

use thiserror::Error;

use super::embedded::embedded_for;
use super::error::ListError;
use super::list::TestList;
use super::near::near;
use super::regex::GoRegexError;
use super::selection::Selection;
use super::version::Version;

/// Number of tests that a selection matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Number of tests in the list that the suite would run.
    pub selected: usize,
    /// Number of tests in the list.
    pub total: usize,
    /// Version of the list.
    pub version: String,
    /// Why the result may differ on the cluster, as sentences.
    pub warnings: Vec<String>,
}

/// Reason why a run with this selection should not be started.
#[derive(Debug, Error)]
pub enum SelectionError {
    /// The focus or the skip is not a valid expression.
    #[error("the {what} is not a valid regular expression of Go")]
    Expression {
        /// `focus` or `skip`.
        what: &'static str,
        /// The underlying error.
        #[source]
        error: GoRegexError,
    },
    /// No test is selected.
    #[error("{what} of the {total} tests of {version}")]
    Nothing {
        /// What was found, up to "none".
        what: String,
        /// Number of tests in the list.
        total: usize,
        /// Version of the list.
        version: String,
        /// Tests that the user may have meant.
        near: Vec<String>,
    },
    /// There is no list.
    #[error(transparent)]
    List(#[from] ListError),
}

/// Applies a focus and a skip to the embedded list for `version`. An empty expression is ignored.
/// For a version that is newer than all lists, the newest list is used. In that case, a selection
/// without tests is only a warning.
///
/// # Errors
/// When an expression is invalid, or no test is selected and the list is of the same minor version.
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

/// Applies a focus and a skip to `list`.
///
/// # Errors
/// When an expression is invalid, or no test is selected.
pub fn check_list(list: &TestList, focus: Option<&str>, skip: Option<&str>) -> Result<Checked, SelectionError> {
    let selection =
        Selection::parse(focus, skip).map_err(|(what, error)| SelectionError::Expression { what, error })?;
    checked(list, &selection, focus, skip)
}

/// Applies compiled expressions to `list`. The strings are for messages.
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
    // The expression is known to be valid.
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
