//! Focus and skip.

use std::collections::BTreeMap;

use plumbline_core::go_quote;

use super::list::{SUITE, is_suite_node, plain_name};
use super::regex::{GoRegex, GoRegexError};

/// A selection of tests: those that the focus matches, except those that the skip matches. Both are
/// optional.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    focus: Option<GoRegex>,
    skip: Option<GoRegex>,
}

impl Selection {
    /// Creates a selection from compiled expressions.
    #[must_use]
    pub fn new(focus: Option<GoRegex>, skip: Option<GoRegex>) -> Self {
        Self { focus, skip }
    }

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
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.focus.as_ref().is_none_or(|focus| focus.is_match(name))
            && !self.skip.as_ref().is_some_and(|skip| skip.is_match(name))
    }

    /// Returns whether the suite would run the test. The suite matches the expressions against
    /// [`SUITE`] and the test's name, so `^` matches before [`SUITE`]. Setup and teardown nodes
    /// cannot be selected.
    #[must_use]
    pub fn runs(&self, test: &str) -> bool {
        !is_suite_node(test) && self.matches(&format!("{SUITE} {test}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::GoRegex;

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
    fn tags_are_what_stands_in_brackets() {
        let counts = tags(["[sig-a] x [Slow] [Driver: a b]", "[sig-a] y [[Slow]", "] z [open"].into_iter());
        let counts: Vec<(&str, usize)> = counts.iter().map(|(tag, count)| (tag.as_str(), *count)).collect();
        assert_eq!(counts, [("[Driver: a b]", 1), ("[Slow]", 1), ("[[Slow]", 1), ("[sig-a]", 2)]);
    }
}
