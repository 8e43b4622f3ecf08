//! Focus and skip: what they select, and suggestions for a focus that selects nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use plumbline_core::{closest, go_quote};
use thiserror::Error;

use super::list::{ListError, TestList, is_suite_node, plain_name};
use super::regex::{GoRegex, GoRegexError};
use super::sources::Embedded;
use super::version::Version;

/// A selection of tests: those that the focus matches, except those that the skip matches. Both are
/// optional.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    focus: Option<GoRegex>,
    skip: Option<GoRegex>,
}

impl Selection {
    /// Creates a selection from strings. An empty string means no expression.
    ///
    /// # Errors
    /// When an expression is not a valid Go expression. The focus is checked first.
    pub fn parse(focus: Option<&str>, skip: Option<&str>) -> Result<Self, (&'static str, GoRegexError)> {
        let compiled = |what: &'static str, text: Option<&str>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(GoRegex::new).transpose().map_err(|error| (what, error))
        };
        Ok(Self { focus: compiled("focus", focus)?, skip: compiled("skip", skip)? })
    }

    /// Returns whether the selection matches `name` exactly as it is.
    pub fn matches(&self, name: &str) -> bool {
        self.focus.as_ref().is_none_or(|focus| focus.is_match(name))
            && !self.skip.as_ref().is_some_and(|skip| skip.is_match(name))
    }

    /// Returns whether a suite would run the test that matches the expressions against `prefix` and
    /// the test's name, so `^` matches before `prefix`. Setup and teardown nodes cannot be selected.
    pub fn runs(&self, prefix: &str, test: &str) -> bool {
        !is_suite_node(test) && self.matches(&format!("{prefix}{test}"))
    }

    /// Returns the `tests` that the selection matches, with each name exactly as it is.
    pub fn select<'a>(&self, tests: &'a [String]) -> impl Iterator<Item = &'a str> {
        tests.iter().map(String::as_str).filter(|name| self.matches(name))
    }
}

/// Returns a focus that matches the failed tests: their plain names, quoted, in the given order,
/// joined by `|`. Setup and teardown nodes are left out, because a focus cannot select them. `None`
/// if nothing remains.
pub fn rerun_focus<'a>(failed: impl Iterator<Item = &'a str>) -> Option<String> {
    let names = failed.map(plain_name).filter(|name| !name.is_empty() && !is_suite_node(name));
    let quoted: Vec<String> = names.map(go_quote).collect();
    (!quoted.is_empty()).then(|| quoted.join("|"))
}

/// Splits a focus into its alternatives, at bars that are not escaped.
pub fn alternatives(focus: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    focus.split(move |c| {
        let bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        bar
    })
}

/// Counts the tags in `tests`. A tag extends from a `[` to the next `]`, brackets included. As in
/// Sonobuoy, a tag that occurs twice in a name counts twice.
pub fn tags<'a>(tests: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for test in tests {
        let mut rest = test;
        while let Some(tag) = rest.find('[').and_then(|open| rest.get(open..)) {
            let Some(tag) = tag.find(']').and_then(|close| tag.get(..=close)) else { break };
            *counts.entry(tag.to_owned()).or_default() += 1;
            rest = rest.split_once(tag).map_or("", |(_, after)| after);
        }
    }
    counts
}

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
    #[error("the {what} is not a valid Go regular expression")]
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

/// Applies a focus and a skip to the closest list for `version`. The suite matches them against
/// `prefix` and a name. An empty expression is ignored. For a version that is newer than all lists,
/// the newest list is used. In that case, a selection without tests is only a warning.
///
/// # Errors
/// When an expression is invalid, or no test is selected and the list is of the same minor version.
pub fn check_selection(
    lists: &Embedded<'_>,
    version: Option<&str>,
    prefix: &str,
    focus: Option<&str>,
    skip: Option<&str>,
) -> Result<Checked, SelectionError> {
    let selection =
        Selection::parse(focus, skip).map_err(|(what, error)| SelectionError::Expression { what, error })?;
    let list = lists.closest(version)?;
    let certain =
        Version::parse(&list.version).zip(version.and_then(Version::parse)).is_some_and(|(a, b)| a.same_minor(&b));
    // Within a minor version, tests keep their names.
    let other = version.filter(|_| !certain).and_then(|version| list.replacement_note(version));
    let mut warnings: Vec<String> = other.into_iter().collect();
    match checked(&list, &selection, prefix, focus, skip) {
        Ok(checked) => Ok(Checked { warnings, ..checked }),
        Err(nothing) if certain => Err(nothing),
        Err(nothing) => {
            warnings.push(nothing.to_string());
            Ok(Checked { selected: 0, total: list.specs().count(), version: list.version, warnings })
        }
    }
}

/// Applies a focus and a skip to `list`. The suite matches them against `prefix` and a name.
pub fn check_list(
    list: &TestList,
    prefix: &str,
    focus: Option<&str>,
    skip: Option<&str>,
) -> Result<Checked, SelectionError> {
    let selection =
        Selection::parse(focus, skip).map_err(|(what, error)| SelectionError::Expression { what, error })?;
    checked(list, &selection, prefix, focus, skip)
}

/// Applies compiled expressions to `list`. The strings are for messages.
fn checked(
    list: &TestList,
    selection: &Selection,
    prefix: &str,
    focus: Option<&str>,
    skip: Option<&str>,
) -> Result<Checked, SelectionError> {
    let total = list.specs().count();
    let selected = list.specs().filter(|test| selection.runs(prefix, test)).count();
    if selected > 0 {
        return Ok(Checked { selected, total, version: list.version.clone(), warnings: Vec::new() });
    }
    let focus = focus.unwrap_or_default();
    // The expression is known to be valid.
    let alone = Selection::parse(Some(focus), None).unwrap_or_default();
    let focused = list.specs().filter(|test| alone.runs(prefix, test)).count();
    let what = match (focused, skip) {
        (0, _) => format!("the focus `{focus}` selects none"),
        (focused, Some(skip)) => {
            format!("the focus selects {focused}, but `{skip}` skips all of them: nothing remains")
        }
        (_, None) => "the selection matches none".to_owned(),
    };
    let near = if focused == 0 { near(focus, list.specs()) } else { Vec::new() };
    Err(SelectionError::Nothing { what, total, version: list.version.clone(), near })
}

/// Maximum number of suggestions.
const SHOWN: usize = 3;
/// Minimum length of a relevant word.
const LEAST: usize = 3;
/// Maximum number of words of a focus to use. A focus that selects nothing is rarely longer, but it
/// can be a whole list of names.
const MAX_WORDS: usize = 64;

/// Returns up to three of `tests` that share the most words with `focus`, ignoring case. Rare words
/// have a higher weight. A word that occurs in no name is replaced by the most similar word.
/// Returns nothing if no word matches.
pub fn near<'a>(focus: &str, tests: impl Iterator<Item = &'a str>) -> Vec<String> {
    let words = words(focus);
    let tests: Vec<(String, &str)> = tests.map(|test| (test.to_lowercase(), test)).collect();
    let with = |word: &str| tests.iter().filter(|(lower, _)| lower.contains(word)).count();
    let mut weighed: Vec<(String, usize)> = Vec::new();
    for word in words {
        let meant = match with(&word) {
            0 => closest(&word, tests.iter().flat_map(|(lower, _)| split(lower))).map(str::to_owned),
            _ => Some(word),
        };
        if let Some(meant) = meant {
            let weight = tests.len() / with(&meant).max(1);
            weighed.push((meant, weight));
        }
    }
    let mut found: Vec<(Reverse<usize>, usize, &str)> = Vec::new();
    for (lower, test) in &tests {
        let weights = weighed.iter().filter(|(word, _)| lower.contains(word.as_str())).map(|(_, weight)| weight);
        let weight: usize = weights.sum();
        if weight > 0 {
            found.push((Reverse(weight), test.len(), test));
            // With equal weights, prefer the shortest name.
            found.sort_unstable();
            found.truncate(SHOWN);
        }
    }
    found.into_iter().map(|(_, _, test)| test.to_owned()).collect()
}

/// Splits a text into its relevant words.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= LEAST)
}

/// Returns the words of an expression in lower case, without escapes and operators.
fn words(focus: &str) -> Vec<String> {
    let mut text = String::new();
    let mut chars = focus.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                // A letter after a backslash is a class. Other characters are literal.
                text.push(chars.next().filter(|c| !c.is_alphanumeric()).unwrap_or(' '));
            }
            c => text.push(c),
        }
    }
    let text = text.to_lowercase();
    let words: BTreeSet<&str> = split(&text).take(MAX_WORDS).collect();
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_joined() {
        let failed = ["[It] [sig-a] does a|b (c)", "x.y", "[SynchronizedAfterSuite]", " [It] "];
        let focus = rerun_focus(failed.into_iter()).unwrap();
        assert_eq!(focus, r"\[sig-a\] does a\|b \(c\)|x\.y");
        let focused = GoRegex::new(&focus).unwrap();
        assert!(focused.is_match("[sig-a] does a|b (c)") && focused.is_match("x.y"));
        assert!(!focused.is_match("xzy") && !focused.is_match("[sig-a] does a"));
        assert_eq!(alternatives(&focus).collect::<Vec<_>>(), [r"\[sig-a\] does a\|b \(c\)", r"x\.y"]);
        assert_eq!(rerun_focus(["[ReportAfterSuite] x"].into_iter()), None);
    }

    #[test]
    fn tags_are_the_parts_in_brackets() {
        let counts = tags(["[sig-a] x [Slow] [Driver: a b]", "[sig-a] y [[Slow]", "] z [open"].into_iter());
        let counts: Vec<(&str, usize)> = counts.iter().map(|(tag, count)| (tag.as_str(), *count)).collect();
        assert_eq!(counts, [("[Driver: a b]", 1), ("[Slow]", 1), ("[[Slow]", 1), ("[sig-a]", 2)]);
    }

    const TESTS: [&str; 5] = [
        "[sig-apps] CronJob should support timezone",
        "[sig-apps] Job should delete a job",
        "[sig-network] Services should serve a basic endpoint from pods",
        "[sig-node] Pods should be submitted and removed",
        "[sig-node] Pods should get a host IP",
    ];

    #[test]
    fn rare_words_say_more_and_misspelt_ones_are_understood() {
        let found = |focus| near(focus, TESTS.into_iter());
        assert_eq!(found("Podz should be submited")[0], TESTS[3]);
        assert_eq!(found(r"\[sig-apps\] Cronjobs should")[0], TESTS[0]);
        assert_eq!(found("should")[0], TESTS[1], "the shortest of those that are as near");
        assert!(found("xyzzy").is_empty() && found(".*").is_empty());
    }
}
