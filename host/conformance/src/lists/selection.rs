//! A focus and a skip.

use std::collections::BTreeMap;

use plumbline_core::go_quote;

use super::list::{SUITE, is_suite_node, plain_name};
use super::regex::{GoRegex, GoRegexError};

/// What is run of a list: what the focus matches, without what the skip matches. Either may be missing.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    focus: Option<GoRegex>,
    skip: Option<GoRegex>,
}

impl Selection {
    /// A selection by compiled expressions.
    #[must_use]
    pub fn new(focus: Option<GoRegex>, skip: Option<GoRegex>) -> Self {
        Self { focus, skip }
    }

    /// A selection by texts; an empty one is none.
    ///
    /// # Errors
    /// When the focus is no expression that Go would take, then when the skip is none.
    pub fn parse(focus: Option<&str>, skip: Option<&str>) -> Result<Self, (&'static str, GoRegexError)> {
        let compiled = |what: &'static str, text: Option<&str>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(GoRegex::new).transpose().map_err(|error| (what, error))
        };
        Ok(Self { focus: compiled("focus", focus)?, skip: compiled("skip", skip)? })
    }

    /// Whether it selects `name`, taken as it is.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.focus.as_ref().is_none_or(|focus| focus.is_match(name))
            && !self.skip.as_ref().is_some_and(|skip| skip.is_match(name))
    }

    /// Whether the suite would run the test: it holds its own name and that of the test against the expressions, so that `^` stands before
    /// [`SUITE`]; and what it does around its tests is not selected.
    #[must_use]
    pub fn runs(&self, test: &str) -> bool {
        !is_suite_node(test) && self.matches(&format!("{SUITE} {test}"))
    }

    /// The ones of `tests` that it selects, each name taken as it is.
    pub fn select<'a>(&self, tests: &'a [String]) -> impl Iterator<Item = &'a str> {
        tests.iter().map(String::as_str).filter(|name| self.matches(name))
    }
}

/// The focus that runs again what failed: plain names, quoted, in the order given, joined by `|`. What the suite does around its tests cannot be focused on and is left out; `None` if
/// nothing remains.
pub fn rerun_focus<'a>(failed: impl Iterator<Item = &'a str>) -> Option<String> {
    let names = failed.map(plain_name).filter(|name| !name.is_empty() && !is_suite_node(name));
    let quoted: Vec<String> = names.map(go_quote).collect();
    (!quoted.is_empty()).then(|| quoted.join("|"))
}

/// The alternatives of a focus: what stands between bars that no backslash is before.
pub fn alternatives(focus: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    focus.split(move |c| {
        let bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        bar
    })
}

/// How many of `tests` there are of each tag: everything from a `[` to the next `]`, brackets included. A tag that a name has twice counts twice, as users of Sonobuoy know it.
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
