//! JUnit XML, for CI systems.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use plumbline_core::failures::{CLASSNAME, message_and_body};
use plumbline_core::item::seconds;
use plumbline_core::rollup::meaning;
use plumbline_core::{Item, Status, reason};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::report::renderers::leaf::detail;
use crate::report::renderers::{Leaf, Plugin, Renderer};

/// Collects a test suite for each plugin. Every leaf is a test case, whose class name is its place
/// in the tree and its own class. The counts of a suite are before its cases, so the report is in
/// memory until the end.
pub(super) struct Junit<'a> {
    out: &'a mut dyn Write,
    report: Report,
    /// The suite of the plugin whose leaves come now.
    open: Option<TestSuite>,
}

impl<'a> Junit<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, report: Report::new("plumbline"), open: None }
    }

    /// Adds the open suite to the report, which counts the cases that the suite has then.
    fn close(&mut self) {
        if let Some(suite) = self.open.take() {
            self.report.add_test_suite(suite);
        }
    }
}

impl Renderer for Junit<'_> {
    fn plugin(&mut self, plugin: &Plugin<'_>) -> io::Result<()> {
        self.close();
        self.open = Some(TestSuite::new(fit(plugin.title)));
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let class = leaf.meta(CLASSNAME);
        let place: Vec<&str> = leaf.above.iter().map(|item| item.name.as_str()).chain(class).collect();
        // A plugin without a result is a leaf, and must not look like a suite without failures.
        let place = if leaf.above.is_empty() { String::new() } else { place.join("|") };
        if let Some(suite) = &mut self.open {
            suite.add_test_case(case(&leaf.item, place));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.close();
        // Errors of `out` keep their kind, because a closed pipe is not reported.
        let text = self.report.to_string().map_err(io::Error::other)?;
        self.out.write_all(text.as_bytes())
    }
}

fn case(item: &Item, place: String) -> TestCase {
    let counted = meaning(&item.status);
    let mut status = match &counted {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped => TestCaseStatus::skipped(),
        Status::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Timeout | Status::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
        // The meaning of other statuses is not known, so they are skipped with a message.
        Status::NotRead | Status::Custom(_) => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(fit(&format!("status: {}", item.status)));
            skipped
        }
    };
    match &counted {
        Status::Failed => {
            if let Some(reason) = reason(&item.name, &item.details, &item.meta) {
                status.set_message(fit(&reason));
            }
            let body =
                |key: &str| message_and_body(key, &item.details).1.map(Cow::Borrowed).or_else(|| detail(item, key));
            if let Some(text) = body("failure").or_else(|| body("error")) {
                status.set_description(fit(&text));
            }
        }
        Status::Timeout | Status::Unknown => {
            let reason = detail(item, "error").or_else(|| item.meta.get("error").map(Cow::from));
            status.set_message(fit(reason.as_deref().unwrap_or(item.status.as_str())));
        }
        Status::Skipped => {
            if let Some(text) = detail(item, "skipped") {
                status.set_message(fit(&text));
            }
        }
        Status::Passed | Status::NotRead | Status::Custom(_) => {}
    }
    let mut case = TestCase::new(fit(&item.name), status);
    if !place.is_empty() {
        case.set_classname(fit(&place));
    }
    if let Some(time) = seconds(&item.meta).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        case.set_time(time);
    }
    if let Some(text) = detail(item, "system-out") {
        case.set_system_out(fit(&text));
    }
    if let Some(text) = detail(item, "system-err") {
        case.set_system_err(fit(&text));
    }
    case
}

/// The text without two characters that XML excludes. The writer keeps them, and readers reject the
/// whole document.
fn fit(text: &str) -> Cow<'_, str> {
    const EXCLUDED: [char; 2] = ['\u{fffe}', '\u{ffff}'];
    if text.contains(EXCLUDED) { Cow::Owned(text.replace(EXCLUDED, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use crate::report::renderers::Format;
    use crate::report::renderers::tests::{item, rendered};
    use crate::report::testing::leaf;

    use super::*;

    #[test]
    fn characters_that_xml_does_not_allow_are_replaced() {
        let odd = "a\u{fffe}b\u{ffff}c\u{0}\u{1b}[31m";
        let details = ["failure", "system-out", "system-err"].map(|key| (key.to_owned(), odd.into()));
        let failed = Item { details: details.into_iter().collect(), ..leaf(odd, "failed") };
        let suite = item(odd, vec![failed, leaf("s", odd)]);
        let text = rendered(&Format::Junit, &[item(odd, vec![suite])]);
        assert!(!text.contains(['\u{fffe}', '\u{ffff}', '\u{0}', '\u{1b}']), "{text}");
        assert!(text.contains("name=\"a\u{fffd}b\u{fffd}c"), "{text}");
    }

    #[test]
    fn every_leaf_is_a_case_and_an_empty_plugin_an_error() {
        let failed =
            Item { details: [("failure".to_owned(), "a < b".into())].into_iter().collect(), ..leaf("t1", "failed") };
        let root = item("p", vec![failed, leaf("t2", "passed"), leaf("t3", "warning")]);
        let text = rendered(&Format::Junit, &[root, leaf("empty", "unknown")]);
        assert!(text.contains(r#"<testsuite name="p" tests="3" skipped="1" errors="0" failures="1""#), "{text}");
        assert!(text.contains("a &lt; b") && text.contains(r#"message="status: warning""#), "{text}");
        assert!(text.contains(r#"<testsuite name="empty" tests="1" skipped="0" errors="1""#), "{text}");
    }
}
