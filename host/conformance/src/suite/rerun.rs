//! Rerunning failed tests.

use std::collections::BTreeSet;

use plumbline_core::size::Bytes;
use plumbline_core::{Item, Status};

use crate::lists;

/// Maximum size of a focus: 100 KiB. Linux allows 128 KiB for a variable with its name, and the
/// suite also passes it on as an argument.
pub const MAX_FOCUS_BYTES: usize = 100 << 10;

/// Reason why there is nothing to rerun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RerunError {
    /// No test failed.
    #[error("no test failed")]
    NothingFailed,
    /// The expression for the failed tests does not fit into a variable.
    #[error("{tests} tests failed: the expression for their names has {}, and a variable holds {}", Bytes(*.bytes as u64), Bytes(MAX_FOCUS_BYTES as u64))]
    TooLong {
        /// Number of failed tests.
        tests: usize,
        /// Size of the expression in bytes.
        bytes: usize,
    },
}

/// Returns the names of the tests in a result tree that failed or timed out, unique and in order,
/// without the framework's prefix. Items for files and for setup and teardown nodes are left out.
#[must_use]
pub fn failed_tests(root: &Item) -> Vec<&str> {
    let mut told = BTreeSet::new();
    let failed = root.leaves().filter(|leaf| matches!(leaf.status, Status::Failed | Status::Timeout));
    let tests = failed.filter(|leaf| !leaf.meta.contains_key("file")).map(|leaf| lists::plain_name(&leaf.name));
    tests.filter(|name| !lists::is_suite_node(name) && told.insert(*name)).collect()
}

/// Returns whether any test in a result tree ran. Otherwise the failures are not known: the suite
/// did not start, or its report is lost.
#[must_use]
pub fn any_test_ran(root: &Item) -> bool {
    root.leaves().any(|leaf| {
        let is_test = !leaf.meta.contains_key("file") && !leaf.meta.contains_key("error");
        is_test
            && matches!(leaf.status, Status::Passed | Status::Failed | Status::Timeout)
            && !lists::is_suite_node(&leaf.name)
            && !std::ptr::eq(leaf, root)
    })
}

/// Returns a focus that matches these tests.
///
/// # Errors
/// There are no tests, or the focus is too long.
pub fn rerun_focus(tests: &[&str]) -> Result<String, RerunError> {
    let focus = lists::rerun_focus(tests.iter().copied()).ok_or(RerunError::NothingFailed)?;
    match focus.len() {
        bytes if bytes > MAX_FOCUS_BYTES => Err(RerunError::TooLong { tests: tests.len(), bytes }),
        _ => Ok(focus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tests_that_failed_are_named_without_what_stands_around_them() {
        let leaf = |name: &str, status: &str| json!({"name": name, "status": status});
        let tree: Item = serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": [
            {"name": "junit_01.xml", "status": "failed", "meta": {"file": "results/global/junit_01.xml"}, "items": [
                leaf("[It] [sig-a] b (c)", "failed"), leaf("[sig-a] b (c)", "failed"), leaf("[It] d", "passed"),
                leaf("[SynchronizedBeforeSuite]", "failed"), leaf("e|f", "timeout"), leaf("g", "skipped"),
            ]},
            {"name": "broken.xml", "status": "failed", "meta": {"file": "results/global/broken.xml"}},
        ]}))
        .unwrap();
        let tests = failed_tests(&tree);
        assert_eq!(tests, ["[sig-a] b (c)", "e|f"]);
        assert_eq!(rerun_focus(&tests).unwrap(), r"\[sig-a\] b \(c\)|e\|f");
    }

    #[test]
    fn a_tree_without_a_test_that_ran_has_no_results() {
        let ran = |items: serde_json::Value| {
            let tree = json!({"name": "e2e", "status": "failed", "items": items});
            any_test_ran(&serde_json::from_value(tree).unwrap())
        };
        assert!(ran(json!([{"name": "[It] a", "status": "passed"}])));
        assert!(!ran(json!([])));
        assert!(!ran(json!([
            {"name": "error.json", "status": "timeout", "meta": {"file": "errors/global/error.json"}},
            {"name": "unreadable", "status": "unknown", "meta": {"error": "x"}},
            {"name": "[BeforeSuite]", "status": "failed"}, {"name": "a", "status": "skipped"},
        ])));
    }

    #[test]
    fn nothing_and_too_much_are_told() {
        assert_eq!(rerun_focus(&[]), Err(RerunError::NothingFailed));
        let long = "x".repeat(MAX_FOCUS_BYTES / 2);
        let told = rerun_focus(&[&long, &long]).unwrap_err().to_string();
        assert!(told.starts_with("2 tests failed") && told.contains("100 KiB"), "{told}");
    }
}
