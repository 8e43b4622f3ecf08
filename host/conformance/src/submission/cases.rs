//! The test cases of a `junit_01.xml`, as a module has read them.

use std::collections::BTreeSet;

use super::names::{CONFORMANCE, cleaned};

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseStatus {
    /// It ran, and has neither an element `failure` nor `error`.
    Passed,
    /// It has one of them.
    Failed,
    /// It did not run.
    Skipped,
}

/// What the verifier looks at in a file of results: conformance tests that ran, under the names that it compares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cases {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    ran: u64,
    skipped: u64,
    nested: u64,
    /// The name of the file's outermost element, where it could be found ([`root_element`]).
    pub root: Option<String>,
    /// Why the verifier cannot read the file although it was read here: it takes UTF-8 only.
    pub encoding: Option<String>,
    /// Why the file could not be read to its end, if it could not.
    pub problem: Option<String>,
}

impl Cases {
    /// Takes a case. A name may come several times, as in results that were merged.
    pub fn add(&mut self, name: &str, status: CaseStatus) {
        if status == CaseStatus::Skipped {
            self.skipped = self.skipped.saturating_add(1);
            return;
        }
        self.ran = self.ran.saturating_add(1);
        if !name.contains(CONFORMANCE) {
            return;
        }
        let set = if status == CaseStatus::Passed { &mut self.passed } else { &mut self.failed };
        let name = cleaned(name);
        if !set.contains(name.as_ref()) {
            set.insert(name.into_owned());
        }
    }

    /// Counts a case of a suite within a suite: the verifier does not look there.
    pub fn add_nested(&mut self) {
        self.nested = self.nested.saturating_add(1);
    }

    /// Conformance tests that passed at least once.
    #[must_use]
    pub fn passed(&self) -> &BTreeSet<String> {
        &self.passed
    }

    /// Conformance tests that failed at least once.
    #[must_use]
    pub fn failed(&self) -> &BTreeSet<String> {
        &self.failed
    }

    /// Cases that ran, conformance tests or not.
    #[must_use]
    pub fn ran(&self) -> u64 {
        self.ran
    }

    /// Cases that did not.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Cases where the verifier does not look.
    #[must_use]
    pub fn nested(&self) -> u64 {
        self.nested
    }
}

/// The name of the outermost element of an XML document that begins with `head`; `None` if it does not show there.
///
/// This is all that is looked at in the file outside of a module: the verifier refuses a file whose outermost element is another, and a module
/// that reads all dialects does not say which it was.
#[must_use]
pub fn root_element(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let (opening, closing) = match rest {
            _ if rest.starts_with("<?") => ("<?", "?>"),
            _ if rest.starts_with("<!--") => ("<!--", "-->"),
            _ if rest.starts_with("<!") => ("<!", ">"),
            _ => break,
        };
        let inside = rest.strip_prefix(opening)?;
        rest = inside.split_once(closing)?.1.trim_start();
    }
    let name = rest.strip_prefix('<')?;
    let end = name.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
    name.get(..end).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The encoding that an XML document which begins with `head` says that it has, if it says one.
#[must_use]
pub fn declared_encoding(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let declaration = text.trim_start_matches('\u{feff}').strip_prefix("<?xml")?.split_once("?>")?.0;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split_once(quote).map(|(encoding, _)| encoding.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conformance_tests_that_ran_are_kept_under_their_cleaned_names() {
        let mut cases = Cases::default();
        cases.add("[It] a [Conformance]", CaseStatus::Passed);
        cases.add("b &#39;x&#39; [Conformance]", CaseStatus::Failed);
        cases.add("[It] b 'x' [Conformance]", CaseStatus::Passed);
        cases.add("c [Conformance]", CaseStatus::Skipped);
        cases.add("d", CaseStatus::Failed);
        assert_eq!(cases.passed().iter().collect::<Vec<_>>(), ["a [Conformance]", "b 'x' [Conformance]"]);
        assert_eq!(cases.failed().iter().collect::<Vec<_>>(), ["b 'x' [Conformance]"]);
        assert_eq!((cases.ran(), cases.skipped()), (4, 1));
    }

    #[test]
    fn encodings_are_found_where_they_are_declared() {
        for (head, encoding) in [
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", Some("ISO-8859-1")),
            ("\u{feff}<?xml version='1.0' encoding = 'utf-8' standalone='yes'?>", Some("utf-8")),
            ("<?xml version=\"1.0\"?><a encoding=\"x\"/>", None),
            ("<a encoding='x'/>", None),
            ("<?xml encoding=", None),
            ("<?xml encoding=x?>", None),
        ] {
            assert_eq!(declared_encoding(head.as_bytes()).as_deref(), encoding, "{head}");
        }
    }

    #[test]
    fn the_outermost_element_is_found_behind_what_may_stand_before_it() {
        for (head, root) in [
            ("<?xml version=\"1.0\"?>\n  <testsuites tests=\"1\">", Some("testsuites")),
            ("\u{feff}<!-- <a> --><!DOCTYPE x><testsuite>", Some("testsuite")),
            ("<testsuites/>", Some("testsuites")),
            ("<testsui", None),
            ("<!-- open", None),
            ("text <a>", None),
            ("<>", None),
            ("", None),
        ] {
            assert_eq!(root_element(head.as_bytes()).as_deref(), root, "{head}");
        }
    }
}
