//! Trees as JUnit XML, for CI systems.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use plumbline_core::failures::{CLASSNAME, message_and_body};
use plumbline_core::{Item, Status, reason};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::Value;

use crate::report::text::seconds_of;

/// Prints a `testsuite` for each tree. Every leaf is a test case, whose class name is its place in
/// the tree and its own class.
pub fn junit(roots: &[Item], out: &mut impl Write) -> io::Result<()> {
    let mut report = Report::new("plumbline");
    for root in roots {
        let mut suite = TestSuite::new(fit(&root.name));
        let mut walk = root.walk();
        while let Some(item) = walk.next() {
            if item.is_leaf() && walk.depth() > 0 {
                let class = item.meta.get(CLASSNAME).map(String::as_str);
                let place: Vec<&str> = walk.ancestors().map(|item| item.name.as_str()).chain(class).collect();
                suite.add_test_case(case(item, place.join("|")));
            }
        }
        if root.is_leaf() {
            // A plugin without a result must not look like a suite without failures.
            suite.add_test_case(case(root, String::new()));
        }
        report.add_test_suite(suite);
    }
    // Errors of `out` keep their kind, because a closed pipe is not reported.
    let text = report.to_string().map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

fn case(item: &Item, place: String) -> TestCase {
    let mut status = match &item.status {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped => TestCaseStatus::skipped(),
        Status::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Timeout | Status::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
        // The meaning of custom statuses is not known, so they are skipped with a message.
        other @ (Status::NotRead | Status::Custom(_)) => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(fit(&format!("status: {other}")));
            skipped
        }
    };
    match &item.status {
        Status::Failed => {
            if let Some(reason) = reason(&item.name, &item.details, &item.meta) {
                status.set_message(fit(&reason));
            }
            let body =
                |key: &str| message_and_body(key, &item.details).1.map(str::to_owned).or_else(|| detail(item, key));
            if let Some(text) = body("failure").or_else(|| body("error")) {
                status.set_description(fit(&text));
            }
        }
        Status::Timeout | Status::Unknown => {
            let reason = detail(item, "error").or_else(|| item.meta.get("error").cloned());
            status.set_message(fit(&reason.unwrap_or_else(|| item.status.to_string())));
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
    if let Some(time) = seconds_of(item).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
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

fn detail(item: &Item, key: &str) -> Option<String> {
    match item.details.get(key)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_xml_may_have_is_not_written() {
        let odd = "a\u{fffe}b\u{ffff}c\u{0}\u{1b}[31m";
        let details = ["failure", "system-out", "system-err"].map(|key| (key.to_owned(), odd.into()));
        let failed = Item {
            name: odd.into(),
            status: Status::Failed,
            details: details.into_iter().collect(),
            ..Item::default()
        };
        let own = Item { name: "s".into(), status: odd.into(), ..Item::default() };
        let suite = Item { name: odd.into(), items: vec![failed, own], ..Item::default() };
        let mut out = Vec::new();
        junit(&[Item { name: odd.into(), items: vec![suite], ..Item::default() }], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(['\u{fffe}', '\u{ffff}', '\u{0}', '\u{1b}']), "{text}");
        assert!(text.contains("name=\"a\u{fffd}b\u{fffd}c"), "{text}");
    }

    #[test]
    fn every_leaf_is_a_case_and_an_empty_plugin_an_error() {
        let leaf = |name: &str, status: &str| Item { name: name.into(), status: status.into(), ..Item::default() };
        let failed =
            Item { details: [("failure".to_owned(), "a < b".into())].into_iter().collect(), ..leaf("t1", "failed") };
        let root = Item { items: vec![failed, leaf("t2", "passed"), leaf("t3", "warning")], ..leaf("p", "failed") };
        let mut out = Vec::new();
        junit(&[root, leaf("empty", "unknown")], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(r#"<testsuite name="p" tests="3" skipped="1" errors="0" failures="1""#), "{text}");
        assert!(text.contains("a &lt; b") && text.contains(r#"message="status: warning""#), "{text}");
        assert!(text.contains(r#"<testsuite name="empty" tests="1" skipped="0" errors="1""#), "{text}");
    }
}
