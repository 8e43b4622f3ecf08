//! The test cases of a `junit_01.xml`, as the verifier reads them.
//!
//! The verifier decodes the file with Go's `encoding/xml` into structures: `testsuites`, its
//! `testsuite` elements, and their `testcase` elements. Everything else in the file is only checked
//! for syntax.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::attempts::has_attempts;
use super::go::{Decoder, Start, Token};
use crate::lists::is_suite_node;

/// Tag of every test of the conformance suite. Other tests are ignored.
pub const CONFORMANCE: &str = "[Conformance]";

/// Prefix of names since Ginkgo 2.
const PREFIX: &str = "[It] ";

/// Escapes that remain after decoding XML, because reporters escape twice.
const LEFT_OVER: [(&str, &str); 3] = [("&#39;", "'"), ("&#34;", "\""), ("&gt;", ">")];

/// The list and the suite used different quotes in one name.
const OTHER_QUOTES: (&str, &str) = ("'cat /tmp/health'", "\"cat /tmp/health\"");

/// Returns the name that is compared with the required names.
pub fn cleaned(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    for (from, to) in LEFT_OVER.into_iter().chain([OTHER_QUOTES]) {
        if name.contains(from) {
            name = Cow::Owned(name.replace(from, to));
        }
    }
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix(PREFIX).unwrap_or(name)),
        Cow::Owned(name) => Cow::Owned(name.strip_prefix(PREFIX).map(str::to_owned).unwrap_or(name)),
    }
}

/// The outermost element that the verifier reads.
const ROOT: &str = "testsuites";
const SUITE: &str = "testsuite";
const CASE: &str = "testcase";

/// The settings of Ginkgo in a suite: whether no test really ran, and how often a failed test ran.
const PROPERTIES: &str = "properties";
const DRY_RUN: &str = "DryRun";
const FLAKE_ATTEMPTS: &str = "FlakeAttempts";

/// The conformance tests that ran, as the verifier finds them in a file of results. Names are those
/// that the verifier compares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cases {
    /// Conformance tests that ran at least once without an element `failure`. As in the verifier, an
    /// element `error` does not matter for this list.
    pub(super) without_failure: BTreeSet<String>,
    /// Conformance tests that passed at least once.
    pub passed: BTreeSet<String>,
    /// Conformance tests that failed at least once.
    pub failed: BTreeSet<String>,
    /// Number of tests that ran, conformance tests or not. The suite's setup counts if it failed.
    pub ran: u64,
    /// Number of skipped tests.
    pub skipped: u64,
    /// Whether it is the report of a dry run, in which Ginkgo reports every test as passed. The
    /// verifier does not look at that.
    pub dry_run: bool,
    /// Whether Ginkgo ran failed tests again: all of them, or a single one. It then reports a test as passed that failed before,
    /// and the verifier does not look at that either.
    pub retries: bool,
    /// Test cases that the verifier does not read: in nested suites, outside of suites, or after the
    /// outermost element.
    pub(super) unread: u64,
    /// Why the verifier cannot read the file, if it cannot. It then sees no test.
    pub problem: Option<String>,
}

impl Cases {
    /// Reads a file of results.
    pub fn read(document: &[u8]) -> Self {
        let mut reader = Reader { decoder: Decoder::new(document), cases: Self::default() };
        match reader.document() {
            Ok(()) => Self { retries: reader.cases.retries || has_attempts(document), ..reader.cases },
            Err(problem) => Self { problem: Some(problem), ..Self::default() },
        }
    }

    fn add(&mut self, case: &Case) {
        // The suite's setup is not a test, unless it failed.
        let is_test = !is_suite_node(&case.name) || case.failure || case.error;
        if case.skipped {
            self.skipped += u64::from(is_test);
            return;
        }
        self.ran += u64::from(is_test);
        if !case.name.contains(CONFORMANCE) {
            return;
        }
        let name = cleaned(&case.name);
        if !case.failure {
            self.without_failure.insert(name.clone().into_owned());
        }
        let set = if case.failure || case.error { &mut self.failed } else { &mut self.passed };
        set.insert(name.into_owned());
    }
}

/// A `testcase` while it is being read.
#[derive(Default)]
struct Case {
    name: String,
    skipped: bool,
    failure: bool,
    error: bool,
}

struct Reader<'a> {
    decoder: Decoder<'a>,
    cases: Cases,
}

impl<'a> Reader<'a> {
    /// Reads the outermost element, and counts test cases after it. The error is a sentence.
    fn document(&mut self) -> Result<(), String> {
        let root = loop {
            match self.decoder.token().map_err(|error| error.to_string())? {
                Some(Token::Start(root)) => break root,
                Some(_) => {}
                None => return Err("the file has no element".to_owned()),
            }
        };
        if root.local_name() != ROOT {
            return Err(format!("the outermost element is `{}`, not `{ROOT}`", root.local_name()));
        }
        self.suites()?;
        // The verifier stops here, even if the rest is not well-formed.
        while let Ok(Some(token)) = self.decoder.token() {
            self.count_unread(&token);
        }
        Ok(())
    }

    fn suites(&mut self) -> Result<(), String> {
        while let Some(child) = self.child()? {
            if child.local_name() == SUITE {
                check_suite(&child)?;
                self.suite()?;
            } else {
                self.skip(child)?;
            }
        }
        Ok(())
    }

    fn suite(&mut self) -> Result<(), String> {
        while let Some(child) = self.child()? {
            match child.local_name() {
                CASE => {
                    // The last attribute of several applies.
                    let name = child.values("name").next_back().unwrap_or_default().to_owned();
                    self.case(name)?;
                }
                PROPERTIES => self.properties()?,
                _ => self.skip(child)?,
            }
        }
        Ok(())
    }

    fn properties(&mut self) -> Result<(), String> {
        while let Some(child) = self.child()? {
            let has = |attribute: &str, wanted: &str| child.values(attribute).any(|value| value == wanted);
            self.cases.dry_run |= has("name", DRY_RUN) && has("value", "true");
            self.cases.retries |= has("name", FLAKE_ATTEMPTS) && child.values("value").any(is_several);
            self.skip(child)?;
        }
        Ok(())
    }

    fn case(&mut self, name: String) -> Result<(), String> {
        let mut case = Case { name, ..Case::default() };
        while let Some(child) = self.child()? {
            match child.local_name() {
                "skipped" => case.skipped = true,
                "failure" => case.failure = true,
                "error" => case.error = true,
                _ => {}
            }
            self.skip(child)?;
        }
        self.cases.add(&case);
        Ok(())
    }

    /// Returns the next child of the current element, or `None` at its end.
    fn child(&mut self) -> Result<Option<Start<'a>>, String> {
        loop {
            match self.decoder.token().map_err(|error| error.to_string())? {
                Some(Token::Start(start)) => return Ok(Some(start)),
                Some(Token::Other) => {}
                Some(Token::End) | None => return Ok(None),
            }
        }
    }

    /// Reads to the end of an element whose start tag has been read.
    fn skip(&mut self, start: Start<'a>) -> Result<(), String> {
        self.count_unread(&Token::Start(start));
        let mut depth = 1_usize;
        while depth > 0 {
            let Some(token) = self.decoder.token().map_err(|error| error.to_string())? else { break };
            match &token {
                Token::Start(_) => depth += 1,
                Token::End => depth -= 1,
                Token::Other => {}
            }
            self.count_unread(&token);
        }
        Ok(())
    }

    /// Counts a test case, also if its element name has different case.
    fn count_unread(&mut self, token: &Token<'_>) {
        if let Token::Start(start) = token
            && start.local_name().eq_ignore_ascii_case(CASE)
        {
            self.cases.unread += 1;
        }
    }
}

/// Returns whether a number of attempts is above one. Text that is not a number may be.
fn is_several(attempts: &str) -> bool {
    let attempts = attempts.trim();
    !attempts.is_empty() && !attempts.parse::<i64>().is_ok_and(|attempts| attempts <= 1)
}

/// Checks the attributes of a suite that must be numbers.
fn check_suite(suite: &Start<'_>) -> Result<(), String> {
    let is_integer = |text: &str| text.is_empty() || text.trim().parse::<i64>().is_ok();
    for (name, fits) in [("tests", is_integer as fn(&str) -> bool), ("failures", is_integer), ("time", is_float)] {
        if let Some(value) = suite.values(name).find(|value| !fits(value)) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(40).collect();
            let kind = if name == "time" { "a number" } else { "a whole number" };
            return Err(format!("attribute `{name}` of a suite is `{value}`, not {kind}"));
        }
    }
    Ok(())
}

/// Returns whether Go parses `text` as a decimal number. Go rejects numbers that overflow.
fn is_float(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let text = text.trim();
    // Go allows underscores between digits.
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let separates = |(at, _): (usize, &str)| {
        let (before, after) = text.split_at(at);
        digit(before.chars().next_back()) && digit(after.chars().nth(1))
    };
    if !text.match_indices('_').all(separates) {
        return false;
    }
    let text = &text.replace('_', "");
    let words = text.trim_start_matches(['+', '-']);
    match text.parse::<f64>() {
        Ok(number) if number.is_nan() => words == text,
        Ok(number) => number.is_finite() || words.starts_with(['i', 'I']),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cases: &str) -> Cases {
        Cases::read(format!("<testsuites><testsuite>{cases}</testsuite></testsuites>").as_bytes())
    }

    #[test]
    fn only_conformance_tests_that_ran_are_kept_under_their_cleaned_names() {
        let cases = read(
            "<testcase name='[It] a [Conformance]'/><testcase name='b &amp;#39;x&amp;#39; [Conformance]'><failure/></testcase>\
             <testcase name=\"[It] b 'x' [Conformance]\"/><testcase name='c [Conformance]'><skipped/></testcase>\
             <testcase name='[ReportAfterSuite] f'/>\
             <testcase name='d'><failure/></testcase><testcase name='e [Conformance]'><error/></testcase>",
        );
        assert_eq!(cases.problem, None);
        assert_eq!(cases.passed.iter().collect::<Vec<_>>(), ["a [Conformance]", "b 'x' [Conformance]"]);
        assert_eq!(cases.failed.iter().collect::<Vec<_>>(), ["b 'x' [Conformance]", "e [Conformance]"]);
        assert!(cases.without_failure.contains("e [Conformance]"));
        assert_eq!((cases.ran, cases.skipped, cases.unread), (5, 1, 0));
    }

    #[test]
    fn cases_in_other_places_are_counted() {
        let nested = read("<testsuite><testcase name='a [Conformance]'/></testsuite><testCase name='b'/>");
        assert_eq!((nested.ran, nested.unread), (0, 2));
        let behind = Cases::read(b"<testsuites/><testsuites><testsuite><testcase/></testsuite></testsuites> &");
        assert_eq!((behind.problem, behind.unread), (None, 1));
    }

    #[test]
    fn a_report_says_whether_it_is_of_a_dry_run() {
        let of = |value: &str| {
            read(&format!(
                "<properties><property name='FailFast' value='true'/><property name='DryRun' value='{value}'></property>\
                 </properties><testcase name='a [Conformance]'/>"
            ))
        };
        for (value, dry_run) in [("true", true), ("false", false), ("", false)] {
            let cases = of(value);
            assert_eq!((cases.dry_run, cases.passed.len(), &cases.problem), (dry_run, 1, &None), "{value}");
        }
        assert!(!read("<testcase name='a'/>").dry_run);
        // What is in other places is counted as before.
        let nested = read("<properties><property><testcase name='a'/></property><testCase/></properties>");
        assert_eq!((nested.ran, nested.unread), (0, 2));
    }

    #[test]
    fn a_report_says_whether_failed_tests_ran_again() {
        for (value, retries) in [
            ("0", false),
            ("1", false),
            ("", false),
            (" 1 ", false),
            ("-1", false),
            ("2", true),
            ("10", true),
            ("x", true),
        ] {
            let cases = read(&format!(
                "<properties><property name='FlakeAttempts' value='{value}'/></properties><testcase name='a [Conformance]'/>"
            ));
            assert_eq!((cases.retries, cases.passed.len(), &cases.problem), (retries, 1, &None), "{value}");
        }
        assert!(!read("<properties><property name='FlakeAttempts'/></properties><testcase name='a'/>").retries);
        assert!(!read("<properties><property name='ParallelTotal' value='25'/></properties>").retries);
        // A single test may have more attempts than the others.
        let timeline = |text: &str| format!("<testcase name='a'><system-err>{text}</system-err></testcase>");
        assert!(read(&timeline("Attempt #1 Failed.  Retrying ↺ @ 11/28/26 22:16:23.123")).retries);
        assert!(!read(&timeline("STEP: Retrying @ 11/28/26 22:16:23.123")).retries);
    }

    #[test]
    fn an_unreadable_report_has_a_reason() {
        for (document, part) in [
            ("<testsuite/>", "the outermost element is `testsuite`"),
            ("", "no element"),
            ("<testsuites><testsuite tests='7.0'/></testsuites>", "`tests` of a suite is `7.0`, not a whole number"),
            ("<testsuites><testsuite time='1,234.5'/></testsuites>", "`time` of a suite is `1,234.5`"),
            ("<testsuites><testsuite time='1e999'/></testsuites>", "`time`"),
            ("<testsuites><testsuite></testsuites>", "is closed by"),
        ] {
            let problem = Cases::read(document.as_bytes()).problem.unwrap();
            assert!(problem.contains(part), "{document}: {problem}");
        }
        for time in ["", " 1.5 ", "inf", "-Infinity", "nan", "1e3", ".5", "1_000.5"] {
            let document = format!("<testsuites><testsuite time='{time}' tests='+3'/></testsuites>");
            assert_eq!(Cases::read(document.as_bytes()).problem, None, "{time}");
        }
    }

    #[test]
    fn prefixes_entities_and_quotes_are_evened_out() {
        for (name, want) in [
            ("[It] [sig] a [Conformance]", "[sig] a [Conformance]"),
            ("[sig] a => b &gt; &#34;c&#34; &#39;d&#39;", "[sig] a => b > \"c\" 'd'"),
            ("[It] exec 'cat /tmp/health' probe", "exec \"cat /tmp/health\" probe"),
            ("[It] exec &#39;cat /tmp/health&#39; probe", "exec \"cat /tmp/health\" probe"),
            // Only once, and only at the start.
            ("[It] [It] a", "[It] a"),
            ("a [It] b &amp; &lt;", "a [It] b &amp; &lt;"),
            ("[It]a", "[It]a"),
        ] {
            assert_eq!(cleaned(name), want);
        }
    }
}
