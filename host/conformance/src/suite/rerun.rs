//! Rerunning failed tests: by a focus for another run, or in the same run, as additional plugins with
//! a judge that compares the results.

use std::collections::BTreeSet;

use plumbline_core::definition::{Definition, MAX_JUDGES, Reruns, VerdictEntry};
use plumbline_core::rollup::{is_failure, meaning};
use plumbline_core::size::Bytes;
use plumbline_core::{Item, NameError, PluginName, Status};
use serde_json::Value;

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
    #[error("{tests} tests failed: the expression for their names has {}, more than the limit of a variable, {}", Bytes(*.bytes as u64), Bytes(MAX_FOCUS_BYTES as u64))]
    TooLong {
        /// Number of failed tests.
        tests: usize,
        /// Size of the expression in bytes.
        bytes: usize,
    },
}

/// Returns the names of the tests in a result tree that failed or timed out, unique and in order,
/// without the framework's prefix. Items for files and for setup and teardown nodes are left out.
pub fn failed_tests(root: &Item) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let failed = root.leaves().filter(|leaf| is_failure(&leaf.status));
    let tests = failed.filter(|leaf| !leaf.meta.contains_key("file")).map(|leaf| lists::plain_name(&leaf.name));
    tests.filter(|name| !lists::is_suite_node(name) && seen.insert(*name)).collect()
}

/// Returns whether any test in a result tree ran. Otherwise the failures are not known: the suite
/// did not start, or its report is lost.
pub fn any_test_ran(root: &Item) -> bool {
    root.leaves().any(|leaf| {
        let is_test = !leaf.meta.contains_key("file") && !leaf.meta.contains_key("error");
        is_test
            && matches!(meaning(&leaf.status), Status::Passed | Status::Failed | Status::Timeout)
            && !lists::is_suite_node(&leaf.name)
            && !std::ptr::eq(leaf, root)
    })
}

/// Returns a focus that matches these tests.
pub fn rerun_focus(tests: &[&str]) -> Result<String, RerunError> {
    let focus = lists::rerun_focus(tests.iter().copied()).ok_or(RerunError::NothingFailed)?;
    match focus.len() {
        bytes if bytes > MAX_FOCUS_BYTES => Err(RerunError::TooLong { tests: tests.len(), bytes }),
        _ => Ok(focus),
    }
}

/// Maximum number of reruns of a suite. A test that fails six times is not flaky.
pub const MAX_RETRIES: u32 = 5;

/// Judge that compares a suite with its reruns.
const RERUNS: &str = "reruns";

/// Judges that rule on single tests, which also apply to reruns. Others check the suite as a whole,
/// such as the number of passed or skipped tests. A rerun is not the whole suite.
const OF_TESTS: [&str; 3] = ["known-failures", "flaky", "baseline"];

/// Those of them at the start of a chain that run before the comparison. Known failures need no
/// explanation by a rerun.
const BEFORE: [&str; 2] = ["known-failures", "flaky"];

/// Judge of an earlier run. It also runs before the comparison: a failure of the earlier run is not
/// new just because the test fails again.
const BASELINE: &str = "baseline";

/// Error while adding reruns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetryError {
    /// Too many reruns are requested.
    #[error("failed tests can be rerun at most {MAX_RETRIES} times, not {0}")]
    TooMany(u32),
    /// The plugin runs on each node.
    #[error("plugin `{0}` runs on each node: only plugins that run once can be rerun")]
    PerNode(PluginName),
    /// The plugin is a rerun itself.
    #[error("plugin `{0}` reruns failures of another plugin: choose that one")]
    IsRerun(PluginName),
    /// The name of an additional plugin would be invalid.
    #[error("failed to rerun plugin `{plugin}`: {cause}")]
    Name {
        /// Name of the plugin.
        plugin: PluginName,
        /// What is wrong with the name.
        cause: NameError,
    },
    /// The plugin has the highest possible order.
    #[error("the order of plugin `{0}` is too high for plugins after it")]
    Order(PluginName),
    /// The chain of judges is full.
    #[error("plugin `{0}` has {MAX_JUDGES} judges already, and one more is needed")]
    Chain(PluginName),
}

/// Adds up to `retries` reruns of failed tests in `suite` to a run. `how` says how its tests are
/// selected.
///
/// It returns the additional plugins, each of which reruns the failures of the previous one. It
/// also adds a judge to the chain of `suite`, which distinguishes flaky tests from failures. The
/// run skips a rerun without failed tests.
///
/// Call it last, because reruns are derived from the definition as it is.
///
/// # Errors
/// [`RetryError`]. `suite` is then unchanged.
pub fn add_retries(suite: &mut Definition, retries: u32, how: &Reruns) -> Result<Vec<Definition>, RetryError> {
    if retries > MAX_RETRIES {
        return Err(RetryError::TooMany(retries));
    }
    if retries == 0 {
        return Ok(Vec::new());
    }
    if suite.driver.is_per_node() {
        return Err(RetryError::PerNode(suite.name.clone()));
    }
    if suite.plumbline.reruns.is_some() {
        return Err(RetryError::IsRerun(suite.name.clone()));
    }
    if suite.plumbline.verdict.len() >= MAX_JUDGES {
        return Err(RetryError::Chain(suite.name.clone()));
    }
    let names = (1..=retries).map(|n| name(&suite.name, n)).collect::<Result<Vec<_>, _>>()?;
    let of_tests: Vec<VerdictEntry> =
        suite.plumbline.verdict.iter().filter(|entry| OF_TESTS.contains(&entry.judge.as_str())).cloned().collect();
    let mut added = Vec::new();
    let mut before = suite.clone();
    let mut later = names.as_slice();
    while let [name, rest @ ..] = later {
        let mut rerun = suite.clone();
        rerun.name = name.clone();
        rerun.order = before.order.checked_add(1).ok_or_else(|| RetryError::Order(suite.name.clone()))?;
        rerun.description = Some(format!("reruns failed tests of {}", before.name));
        rerun.plumbline.reruns = Some(Reruns { plugin: before.name.clone(), ..how.clone() });
        rerun.plumbline.verdict = of_tests.clone();
        // A test that passes in a later rerun is not a failure of this one.
        compare(&mut rerun.plumbline.verdict, rest);
        before = rerun.clone();
        added.push(rerun);
        later = rest;
    }
    compare(&mut suite.plumbline.verdict, &names);
    Ok(added)
}

fn name(suite: &PluginName, n: u32) -> Result<PluginName, RetryError> {
    format!("{suite}-retry-{n}").parse().map_err(|cause| RetryError::Name { plugin: suite.clone(), cause })
}

/// Inserts the judge that compares with `reruns` into `chain`, if there are any. By default, a
/// baseline rules on every failure and would leave nothing to compare. Its option is changed so
/// that it leaves unknown failures to later judges.
fn compare(chain: &mut Vec<VerdictEntry>, reruns: &[PluginName]) {
    if reruns.is_empty() {
        return;
    }
    let evidence = reruns.iter().map(|name| format!("plugins/{name}/sonobuoy_results.yaml")).collect();
    let entry = VerdictEntry { judge: RERUNS.to_owned(), evidence, ..VerdictEntry::default() };
    let known = chain.iter().position(|entry| !BEFORE.contains(&entry.judge.as_str())).unwrap_or(chain.len());
    let baseline = chain.iter().rposition(|entry| entry.judge == BASELINE).map_or(0, |at| at + 1);
    for entry in chain.iter_mut().filter(|entry| entry.judge == BASELINE) {
        entry.options.insert("others".to_owned(), Value::from("leave"));
    }
    chain.insert(known.max(baseline), entry);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failed_tests_are_listed_by_their_plain_names() {
        let leaf = |name: &str, status: &str| json!({"name": name, "status": status});
        let tree: Item = serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": [
            {"name": "junit_01.xml", "status": "failed", "meta": {"file": "results/global/junit_01.xml"}, "items": [
                leaf("[It] [sig-a] b (c)", "failed"), leaf("[sig-a] b (c)", "failed"), leaf("[It] d", "passed"),
                leaf("[SynchronizedBeforeSuite]", "failed"), leaf("e|f", "timeout"), leaf("g", "skipped"),
                leaf("h", "ERROR"),
            ]},
            {"name": "broken.xml", "status": "failed", "meta": {"file": "results/global/broken.xml"}},
        ]}))
        .unwrap();
        let tests = failed_tests(&tree);
        assert_eq!(tests, ["[sig-a] b (c)", "e|f", "h"]);
        assert_eq!(rerun_focus(&tests).unwrap(), r"\[sig-a\] b \(c\)|e\|f|h");
    }

    #[test]
    fn a_tree_without_a_test_that_ran_has_no_results() {
        let ran = |items: Value| {
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
    fn reruns_of_no_test_and_of_too_many_are_rejected() {
        assert_eq!(rerun_focus(&[]), Err(RerunError::NothingFailed));
        let long = "x".repeat(MAX_FOCUS_BYTES / 2);
        let message = rerun_focus(&[&long, &long]).unwrap_err().to_string();
        assert!(message.starts_with("2 tests failed") && message.contains("100 KiB"), "{message}");
    }

    fn suite(verdict: Value) -> Definition {
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "e2e", "result-format": "junit"},
            "spec": {"image": "conformance", "env": [{"name": "E2E_FOCUS", "value": "\\[Conformance\\]"}]},
            "config-map": {"known.yaml": "[]"},
            "plumbline": {"verdict": verdict},
        });
        Definition::from_json(document).unwrap().definition
    }

    fn retry(suite: &mut Definition, retries: u32) -> Result<Vec<Definition>, RetryError> {
        let clear = ["E2E_SKIP", "E2E_PARALLEL"].map(str::to_owned).to_vec();
        let (focus, strip) = ("E2E_FOCUS".to_owned(), "[It] ".to_owned());
        let how = Reruns { plugin: suite.name.clone(), focus, clear, strip };
        add_retries(suite, retries, &how)
    }

    fn chain(definition: &Definition) -> Vec<(&str, Vec<&str>)> {
        let entries = definition.plumbline.verdict.iter();
        entries.map(|entry| (entry.judge.as_str(), entry.evidence.iter().map(String::as_str).collect())).collect()
    }

    const FIRST: &str = "plugins/e2e-retry-1/sonobuoy_results.yaml";
    const SECOND: &str = "plugins/e2e-retry-2/sonobuoy_results.yaml";

    #[test]
    fn each_rerun_follows_the_one_before_it() {
        let mut e2e = suite(json!([
            {"judge": "known-failures", "data": ["known.yaml"]}, {"judge": "allowed-skips", "data": ["known.yaml"]},
            {"judge": "baseline"}, {"judge": "checks"},
        ]));
        let reruns = retry(&mut e2e, 2).unwrap();
        let rows: Vec<_> = reruns
            .iter()
            .map(|rerun| {
                let again = rerun.plumbline.reruns.as_ref().unwrap();
                (rerun.name.as_str(), rerun.order, again.plugin.as_str(), again.focus.as_str())
            })
            .collect();
        assert_eq!(rows, [("e2e-retry-1", 1, "e2e", "E2E_FOCUS"), ("e2e-retry-2", 2, "e2e-retry-1", "E2E_FOCUS")]);
        assert_eq!(
            chain(&e2e),
            [
                ("known-failures", vec![]),
                ("allowed-skips", vec![]),
                ("baseline", vec![]),
                ("reruns", vec![FIRST, SECOND]),
                ("checks", vec![]),
            ]
        );
        assert_eq!(chain(&reruns[0]), [("known-failures", vec![]), ("baseline", vec![]), ("reruns", vec![SECOND])]);
        assert_eq!(chain(&reruns[1]), [("known-failures", vec![]), ("baseline", vec![])]);
        // Failures that the baseline does not know are left to the comparison. Without a
        // comparison, they are new.
        let others = |definition: &Definition| {
            let mut entries = definition.plumbline.verdict.iter();
            entries.find(|entry| entry.judge == BASELINE).unwrap().options.get("others").cloned()
        };
        assert_eq!([&e2e, &reruns[0]].map(others), [Some(json!("leave")), Some(json!("leave"))]);
        assert_eq!(others(&reruns[1]), None);
        let all: Vec<&Definition> = std::iter::once(&e2e).chain(&reruns).collect();
        assert_eq!(plumbline_core::definition::check_set(all), Ok(()));
        for definition in reruns {
            assert_eq!(Definition::from_json(definition.to_json()).unwrap().definition, definition);
        }
    }

    #[test]
    fn without_a_baseline_reruns_are_compared_after_the_flaky_list() {
        let mut e2e = suite(json!([{"judge": "flaky"}, {"judge": "mine"}, {"judge": "known-failures"}]));
        retry(&mut e2e, 1).unwrap();
        let names: Vec<_> = chain(&e2e).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["flaky", "reruns", "mine", "known-failures"]);
    }

    #[test]
    fn zero_retries_add_no_rerun() {
        let mut e2e = suite(json!([]));
        assert_eq!(retry(&mut e2e, 0), Ok(Vec::new()));
        assert_eq!(e2e, suite(json!([])));
    }

    #[test]
    fn a_definition_that_cannot_be_rerun_is_unchanged() {
        let mut full = suite(json!(vec![json!({"judge": "checks"}); MAX_JUDGES]));
        let mut nodes = suite(json!([]));
        nodes.driver = plumbline_core::Driver::DaemonSet;
        let mut last = suite(json!([]));
        last.order = i32::MAX;
        let mut rerun = retry(&mut suite(json!([])), 1).unwrap().remove(0);
        for (definition, retries) in
            [(&mut full, 1), (&mut nodes, 1), (&mut last, 1), (&mut rerun, 1), (&mut suite(json!([])), 6)]
        {
            let before = definition.clone();
            assert!(retry(definition, retries).is_err());
            assert_eq!(*definition, before);
        }
    }
}
