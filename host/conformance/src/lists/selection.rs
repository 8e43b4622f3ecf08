//! A focus and a skip.

use super::list::{SUITE, is_suite_node};
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
