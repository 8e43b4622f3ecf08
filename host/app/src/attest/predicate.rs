//! What an attestation says about an archive: the predicate `test-result` of in-toto, version 0.1.

use plumbline_conformance::chain::Chain;
use plumbline_conformance::lists::is_suite_node;
use plumbline_core::judgement::{CheckOutcome, PluginVerdict};
use plumbline_core::rollup::{meaning, worst};
use plumbline_core::text::excerpt;
use plumbline_core::{GLOBAL, Item, Status, Verdict};
use serde::{Deserialize, Serialize};

use super::configuration::{MAX_NAME, ResourceDescriptor, configuration};
use crate::error::AppError;
use crate::results::ShownResults;
use crate::trees::{TreeFacts, Trees};

/// The most names in one list. A longer list is left out, because a part of it would mislead.
const MAX_TESTS: usize = 10_000;
/// The result of a run's tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    /// The outcome of the run.
    pub result: TestOutcome,
    /// What was tested, and with what.
    #[serde(default)]
    pub configuration: Vec<ResourceDescriptor>,
    /// Where people find more about the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The tests that passed. `None` if there are too many for a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_tests: Option<Vec<String>>,
    /// The tests whose failures a judge has excused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned_tests: Option<Vec<String>>,
    /// The tests and checks whose failures count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_tests: Option<Vec<String>>,
}

impl TestResult {
    /// The plugins that ran only the failed tests of another run.
    pub fn reruns(&self) -> Vec<&str> {
        self.configuration.iter().filter_map(ResourceDescriptor::rerun_of).collect()
    }
}

/// The outcome of a run in an attestation. A worse one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TestOutcome {
    /// The verdict is `passed`, and nothing failed.
    Passed,
    /// The verdict is `passed`, because judges have excused all failures.
    Warned,
    /// The verdict is anything else: failed, incomplete, interrupted, or nothing to judge.
    Failed,
}

impl TestOutcome {
    /// The outcome as the attestation has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Warned => "WARNED",
            Self::Failed => "FAILED",
        }
    }

    fn of(verdict: Verdict, excused: bool) -> Self {
        match (verdict, excused) {
            (Verdict::Passed, false) => Self::Passed,
            (Verdict::Passed, true) => Self::Warned,
            _ => Self::Failed,
        }
    }
}

/// Makes the predicate about the archive of `trees`. `run` is the verdict of the run itself, if it
/// is known: if that is not `passed`, the outcome is not either.
pub(super) fn predicate(
    trees: &mut Trees,
    run: Option<Verdict>,
    url: Option<&str>,
) -> Result<(TestResult, Verdict), AppError> {
    let (mut tests, mut seen) = (Tests::default(), ShownResults::default());
    let name = trees.name().to_owned();
    let plugins = trees.plugins();
    for plugin in &plugins {
        // The verdict is before the tree in the archive, which is read forward.
        let verdict = trees.verdict(plugin, &Chain::default())?;
        let mut item = trees.item(plugin)?;
        let facts = TreeFacts::of(&item);
        // Files that Sonobuoy did not read are no tests that passed, whatever the archive says.
        trees.mark_unread(plugin, &mut item);
        tests.add(plugin, &item, verdict.as_ref());
        let counts = trees.verdict_counts(plugin, &facts);
        seen.add(&name, plugin, &facts, verdict.as_ref(), counts);
        item.dismantle();
    }
    let verdict = match (run, seen.verdict()) {
        (Some(run), Verdict::Passed) => run,
        (_, archive) => archive,
    };
    let result = TestResult {
        result: TestOutcome::of(verdict, tests.is_excused || !tests.warned.is_empty()),
        configuration: configuration(trees, verdict)?,
        url: url.map(str::to_owned),
        passed_tests: listed(tests.passed, false),
        warned_tests: listed(tests.warned, tests.lacks_warned),
        failed_tests: listed(tests.failed, tests.lacks_failed),
    };
    Ok((result, verdict))
}

/// Returns the names, unless there are too many or some are not known.
fn listed(names: Vec<String>, lacks_names: bool) -> Option<Vec<String>> {
    (names.len() <= MAX_TESTS && !lacks_names).then_some(names)
}

#[derive(Default)]
struct Tests {
    passed: Vec<String>,
    warned: Vec<String>,
    failed: Vec<String>,
    /// Whether a judge has excused a failure, which a verdict with many items need not list.
    is_excused: bool,
    /// Whether a verdict does not list all items that do not count.
    lacks_warned: bool,
    /// Whether a verdict does not list all items that count.
    lacks_failed: bool,
}

impl Tests {
    /// Adds the tests of a plugin. Setup nodes of the suite are no tests, unless they failed.
    fn add(&mut self, plugin: &str, root: &Item, verdict: Option<&PluginVerdict>) {
        // With a verdict, its rulings say which failures count. Judges that left none have not ruled.
        let is_ruled = verdict.is_some_and(|verdict| verdict.failures > 0);
        let mut leaves = root.leaves();
        while let Some(leaf) = leaves.next() {
            let list = match meaning(&leaf.status) {
                Status::Passed if !is_suite_node(&leaf.name) => &mut self.passed,
                Status::Failed | Status::Timeout if !is_ruled => &mut self.failed,
                _ => continue,
            };
            let above = leaves.walk().ancestors().skip(1).map(|item| item.name.as_str());
            let path: Vec<&str> = above.filter(|name| *name != GLOBAL).chain([leaf.name.as_str()]).collect();
            list.push(test_name(plugin, &path));
        }
        let Some(verdict) = verdict else { return };
        self.is_excused |= verdict.excused > 0;
        let counting = verdict.items.iter().filter(|item| item.ruling.counts).count() as u64;
        let unlisted = verdict.counting.saturating_sub(counting);
        self.lacks_failed |= unlisted > 0;
        self.lacks_warned |= verdict.left_out > unlisted;
        // Nothing is excused by a ruling on a test that was skipped or passed.
        for item in verdict.items.iter().filter(|item| item.ruling.counts || worst(&item.status).is_some()) {
            let list = if item.ruling.counts { &mut self.failed } else { &mut self.warned };
            let set = Some(item.set.as_str()).filter(|set| !set.is_empty() && *set != GLOBAL);
            let path: Vec<&str> = set.into_iter().chain(item.path.iter().map(String::as_str)).collect();
            list.push(test_name(plugin, &path));
        }
        let checks = verdict.checks.iter().map(|judged| &judged.check);
        for check in checks.filter(|check| check.outcome != CheckOutcome::Passed) {
            self.failed.push(test_name(plugin, &["check", &check.id]));
        }
    }
}

fn test_name(plugin: &str, path: &[&str]) -> String {
    excerpt(&format!("{plugin} › {}", path.join(" › ")), MAX_NAME)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use plumbline_core::Ruling;
    use plumbline_core::judgement::RuledItem;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::{Context, Silent};
    use crate::trees::Reprocess;

    /// Writes an unpacked archive of a run in a cluster.
    fn archive(dir: &Path, info: &Value) -> Trees {
        let write = |name: &str, document: Value| {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, document.to_string()).unwrap();
        };
        write("meta/config.json", json!({"UUID": "u", "Namespace": "run", "PlumblineVersion": "9.9.9"}));
        write("meta/info.json", info.clone());
        write("serverversion.json", json!({"gitVersion": "v1.37.2"}));
        write(
            "resources/cluster/core_v1_namespaces.json",
            json!([{"metadata": {"name": "default", "uid": "0"}}, {"metadata": {"name": "kube-system", "uid": "from-survey"}}]),
        );
        write(
            "resources/ns/run/core_v1_pods.json",
            json!([{"status": {"containerStatuses": [
                {"image": "r.example/suite:1", "imageID": format!("r.example/suite@sha256:{}", "ab".repeat(32))},
                {"image": "other", "imageID": "not a digest"},
            ]}}]),
        );
        for (plugin, image) in
            [("e2e", "r.example/suite:1".to_owned()), ("pinned", format!("r/p@sha256:{}", "cd".repeat(32)))]
        {
            let definition =
                json!({"sonobuoy-config": {"plugin-name": plugin, "driver": "Job"}, "spec": {"image": image}});
            write(&format!("plugins/{plugin}/definition.json"), json!({"Definition": definition}));
            write(
                &format!("plugins/{plugin}/sonobuoy_results.yaml"),
                json!({"name": plugin, "status": "passed", "meta": {"type": "summary"}, "items": [{"name": "a", "status": "passed"}]}),
            );
        }
        open(dir)
    }

    fn open(dir: &Path) -> Trees {
        let context =
            Context { registries: plumbline_registry::Settings::default(), reporter: std::sync::Arc::new(Silent) };
        Trees::open(&context, dir, Reprocess::default()).unwrap()
    }

    fn found<'a>(result: &'a TestResult, name: &str) -> &'a ResourceDescriptor {
        result.configuration.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn the_cluster_and_the_images_are_identified() {
        let dir = tempfile::tempdir().unwrap();
        let info = json!({"plugins": ["e2e", "pinned"], "cluster": {"uid": "recorded", "server-version": "v1.37.1"}});
        let mut trees = archive(dir.path(), &info);
        let (result, verdict) = predicate(&mut trees, None, Some("https://ci.example")).unwrap();
        assert_eq!((result.result, verdict), (TestOutcome::Passed, Verdict::Passed));
        assert_eq!(result.url.as_deref(), Some("https://ci.example"));
        assert_eq!(result.passed_tests.as_deref().unwrap(), ["e2e › a", "pinned › a"]);
        let cluster = found(&result, "cluster");
        assert_eq!(cluster.uri.as_deref(), Some("urn:uuid:recorded"));
        assert_eq!(cluster.annotations["server-version"], "v1.37.2");
        assert_eq!(found(&result, "aggregator").uri.as_deref(), Some("pkg:generic/plumbline@9.9.9"));
        assert_eq!(found(&result, "image of e2e").digest["sha256"], "ab".repeat(32));
        assert_eq!(found(&result, "image of pinned").digest["sha256"], "cd".repeat(32));
    }

    #[test]
    fn an_image_that_was_not_the_same_on_every_node_has_no_digest() {
        let dir = tempfile::tempdir().unwrap();
        drop(archive(dir.path(), &json!({"plugins": ["e2e", "pinned"]})));
        let ran = |digits: &str| {
            json!({"status": {"containerStatuses": [
                {"image": "r.example/suite:1", "imageID": format!("r.example/suite@sha256:{}", digits.repeat(32))}]}})
        };
        for (pods, digest) in [
            (json!([ran("ab"), ran("ab")]), Some("ab".repeat(32))),
            (json!([ran("ab"), ran("cd")]), None),
            (json!([ran("ab"), ran("cd"), ran("ab")]), None),
        ] {
            fs::write(dir.path().join("resources/ns/run/core_v1_pods.json"), pods.to_string()).unwrap();
            let (result, _) = predicate(&mut open(dir.path()), None, None).unwrap();
            let image = found(&result, "image of e2e");
            assert_eq!(image.uri.as_deref(), Some("oci://r.example/suite:1"));
            assert_eq!(image.digest.get("sha256"), digest.as_ref(), "{pods}");
        }
    }

    #[test]
    fn a_cluster_that_only_the_survey_knows_is_identified_too() {
        let dir = tempfile::tempdir().unwrap();
        let mut trees = archive(dir.path(), &json!({"plugins": ["e2e"]}));
        let (result, _) = predicate(&mut trees, None, None).unwrap();
        assert_eq!(found(&result, "cluster").uri.as_deref(), Some("urn:uuid:from-survey"));
    }

    #[test]
    fn results_that_fail_or_that_no_judge_has_seen_have_not_passed() {
        let dir = tempfile::tempdir().unwrap();
        drop(archive(dir.path(), &json!({"plugins": ["e2e"]})));
        let plugin = dir.path().join("plugins/e2e");
        let tree = json!({"name": "e2e", "status": "ERROR: 1, passed: 1", "meta": {"type": "summary"},
            "items": [{"name": "a", "status": "passed"}, {"name": "b", "status": "ERROR"}]});
        fs::write(plugin.join("sonobuoy_results.yaml"), tree.to_string()).unwrap();
        let (result, verdict) = predicate(&mut open(dir.path()), None, None).unwrap();
        assert_eq!((result.result, verdict), (TestOutcome::Failed, Verdict::Failed));
        assert_eq!(result.failed_tests.as_deref().unwrap(), ["e2e › b"]);

        let tree = json!({"name": "e2e", "status": "passed", "meta": {"type": "summary"}, "items": [{"name": "a", "status": "passed"}]});
        fs::write(plugin.join("sonobuoy_results.yaml"), tree.to_string()).unwrap();
        let definition = json!({"sonobuoy-config": {"plugin-name": "e2e", "driver": "Job"}, "spec": {},
            "plumbline": {"verdict": [{"judge": "known-failures"}]}});
        fs::write(plugin.join("definition.json"), json!({"Definition": definition}).to_string()).unwrap();
        let (result, verdict) = predicate(&mut open(dir.path()), None, None).unwrap();
        assert_eq!((result.result, verdict), (TestOutcome::Failed, Verdict::Incomplete));
    }

    #[test]
    fn only_what_would_have_counted_was_excused() {
        let statuses = [("a", "skipped"), ("b", "failed"), ("c", "unknown"), ("d", "passed")];
        let leaves = statuses.map(|(name, status)| json!({"name": name, "status": status}));
        let root: Item = serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": leaves})).unwrap();
        let excused = |(name, status): (&str, &str)| RuledItem {
            set: GLOBAL.to_owned(),
            path: vec![name.to_owned()],
            status: Status::from(status),
            ruling: Ruling { class: "known".into(), counts: false, reason: String::new(), source: String::new() },
            judge: "mine".to_owned(),
        };
        let items = statuses.map(excused).to_vec();
        let verdict = PluginVerdict { failures: 1, items, ..PluginVerdict::default() };
        let mut tests = Tests::default();
        tests.add("e2e", &root, Some(&verdict));
        assert_eq!(tests.warned, ["e2e › b", "e2e › c"]);
        assert_eq!((tests.passed.as_slice(), tests.failed.len()), (&["e2e › d".to_owned()][..], 0));
    }

    #[test]
    fn an_excused_failure_that_the_verdict_does_not_list_was_excused() {
        let dir = tempfile::tempdir().unwrap();
        drop(archive(dir.path(), &json!({"plugins": ["e2e"]})));
        let plugin = dir.path().join("plugins/e2e");
        let tree = json!({"name": "e2e", "status": "failed", "meta": {"type": "summary"},
            "items": [{"name": "a", "status": "passed"}, {"name": "b", "status": "failed"}]});
        fs::write(plugin.join("sonobuoy_results.yaml"), tree.to_string()).unwrap();
        let write = |verdict: Value| {
            fs::write(plugin.join("plumbline_verdict.json"), verdict.to_string()).unwrap();
            predicate(&mut open(dir.path()), None, None).unwrap()
        };
        let (result, verdict) = write(json!({"version": 1, "plugin": "e2e", "status": "passed",
            "failures": 1, "excused": 1, "left_out": 1}));
        assert_eq!((result.result, verdict), (TestOutcome::Warned, Verdict::Passed));
        assert_eq!((result.warned_tests, result.failed_tests), (None, Some(Vec::new())));
        assert_eq!(result.passed_tests.as_deref().unwrap(), ["e2e › a"]);

        // A part of the failures that count would mislead, too.
        let (result, _) = write(json!({"version": 1, "plugin": "e2e", "status": "failed",
            "failures": 1, "counting": 1, "left_out": 1}));
        assert_eq!((result.result, result.failed_tests), (TestOutcome::Failed, None));
        assert_eq!(result.warned_tests, Some(Vec::new()));
    }

    #[test]
    fn the_verdict_of_the_run_counts_if_it_is_worse_than_that_of_the_archive() {
        for run in [
            Verdict::Failed,
            Verdict::Incomplete,
            Verdict::Interrupted,
            Verdict::SystemFailure,
            Verdict::NothingToJudge,
        ] {
            let dir = tempfile::tempdir().unwrap();
            let mut trees = archive(dir.path(), &json!({"plugins": ["e2e"]}));
            let (result, verdict) = predicate(&mut trees, Some(run), None).unwrap();
            assert_eq!((result.result, verdict), (TestOutcome::Failed, run));
        }
    }
}
