//! The real suite with three faults at the same time, and what everything that reads its results says
//! about them.
//!
//! The API server rejects some Secrets, the server of a webhook does not exist, and a node shuts down
//! twice. Each fault makes two tests fail.

use std::collections::BTreeSet;
use std::fs;
use std::future::ready;
use std::path::PathBuf;
use std::pin::pin;
use std::thread;
use std::time::Instant;

use futures_util::TryStreamExt as _;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};

use super::{FAILS, ITS_SECRETS, Refused};
use crate::bed::{Bed, Done, phase};
use crate::nodes::{has_nodes, is_ready};
use crate::place::NodeAccess;
use crate::settings::loudly;
use crate::volume::{has_kubectl, kubectl};

/// Tests whose Secrets the API server rejects. Like all names here, they are the starts of names in
/// every version.
const REJECTED: [&str; 2] =
    [FAILS, "[sig-storage] Secrets should be consumable from pods in volume with mappings and Item Mode set"];

/// Tests that create a ResourceQuota, for which the API server calls the webhook.
const UNANSWERED: [&str; 2] = [
    "[sig-api-machinery] ResourceQuota should be able to update and delete ResourceQuota",
    "[sig-api-machinery] ResourceQuota should apply changes to a resourcequota status",
];

/// Tests that start a pod on each node.
const ON_NODES: [&str; 2] = [
    "[sig-network] Networking Granular Checks: Pods should function for intra-pod communication: http",
    "[sig-network] Networking Granular Checks: Pods should function for intra-pod communication: udp",
];

/// The start of the names of these pods.
const ITS_PODS: &str = "netserver-";

/// Tests that pass, because no fault is about what they use.
const PASSED: [&str; 3] = [
    "[sig-api-machinery] Discovery should locate the groupVersion",
    "[sig-auth] SubjectReview should support",
    "[sig-node] ConfigMap should update",
];

/// The directory of the archives.
const HISTORY: &str = "runs";

/// The variable with a directory to which the archive of the run with all faults is copied.
const COPIES: &str = "PLUMBLINE_E2E_ARCHIVES";

/// A webhook for ResourceQuotas whose server does not exist. It is removed when dropped.
struct DeadWebhook<'a>(&'a Bed);

impl<'a> DeadWebhook<'a> {
    fn new(bed: &'a Bed) -> Self {
        let name = bed.namespace();
        let webhook = json!({
            "name": "quotas.plumbline.example",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": name, "name": "no-such-service"}},
            "failurePolicy": "Fail",
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["resourcequotas"],
            }],
            "sideEffects": "None",
            "timeoutSeconds": 5,
        });
        let configuration: ValidatingWebhookConfiguration =
            serde_json::from_value(json!({"metadata": {"name": name}, "webhooks": [webhook]})).unwrap();
        bed.ask(bed.cluster_api().create(&PostParams::default(), &configuration));
        Self(bed)
    }
}

impl Drop for DeadWebhook<'_> {
    fn drop(&mut self) {
        let configurations = self.0.cluster_api::<ValidatingWebhookConfiguration>();
        self.0.ask(configurations.delete(self.0.namespace(), &DeleteParams::default()));
    }
}

/// Runs these tests one after the other, with the aggregator on the first node. Some of them fail.
fn run(bed: &Bed, first_node: &str, tests: &[&str]) -> Done {
    let names: Vec<String> = tests.iter().map(|name| name.replace('[', r"\[").replace(']', r"\]")).collect();
    let (focus, here) = (names.join("|"), format!("kubernetes.io/hostname:{first_node}"));
    let place = ["conformance", "run", "-n", bed.namespace(), "--aggregator-node-selector", &here];
    let images = ["--image", bed.image(), "--image-pull-policy", "IfNotPresent"];
    let chosen = ["--e2e-focus", &focus, "--e2e-skip", "there is no such test", "--e2e-parallel", "false"];
    let kept = ["--history", HISTORY, "--sign", "run.key", "--metrics", "--timeout", "10m"];
    bed.plumbline(&[&place[..], &images, &chosen, &kept].concat()).expect(1)
}

/// Returns the names of the archives.
fn archives(bed: &Bed) -> BTreeSet<String> {
    let names = fs::read_dir(bed.path(HISTORY)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".tar.gz")).collect()
}

/// A node that shut down, and the reason that its kubelet reported.
struct Shutdown {
    node: String,
    reason: String,
}

/// Waits for a pod in any namespace.
fn wait_for(bed: &Bed, config: watcher::Config, is_it: impl Fn(&Pod) -> bool) -> Pod {
    let pods: Api<Pod> = bed.api_in_all();
    let found = bed.ask(async {
        let mut found = pin!(watcher(pods, config).applied_objects().try_filter(|pod| ready(is_it(pod))));
        found.try_next().await
    });
    found.unwrap()
}

/// Shuts a node down whenever a test of [`ON_NODES`] has started its pod there, until the pod has
/// failed. The node has no pod of the run.
fn shut_down_under_tests(bed: &Bed, places: &NodeAccess) -> Shutdown {
    let of_run = watcher::Config::default().labels("sonobuoy-plugin=e2e");
    let node_of = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    wait_for(bed, of_run, |pod| pod.metadata.namespace.as_deref() == Some(bed.namespace()) && node_of(pod).is_some());
    let pods = bed.ask(bed.api::<Pod>().list(&ListParams::default()));
    let (used, nodes): (Vec<String>, _) = (pods.items.iter().filter_map(node_of).collect(), bed.nodes());
    // Not the first node, which has the cluster's DNS.
    let number = (2..=nodes.len()).find(|number| !used.contains(&nodes[number - 1])).unwrap();
    let mut shutdown = Shutdown { node: nodes[number - 1].clone(), reason: String::new() };
    let mut seen: BTreeSet<Option<String>> = BTreeSet::new();
    for _ in ON_NODES {
        let here = watcher::Config::default().fields(&format!("spec.nodeName={}", shutdown.node));
        let is_new = |pod: &Pod| {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            name.starts_with(ITS_PODS) && !seen.contains(&pod.metadata.namespace)
        };
        let pod = wait_for(bed, here, is_new);
        let (namespace, name) = (pod.metadata.namespace, pod.metadata.name.unwrap());
        let down = places.shut_down(number);
        let nodes: Api<Node> = bed.cluster_api();
        let is_down = |node: Option<&Node>| node.is_some() && !is_ready(node);
        let node = bed.ask(await_condition(nodes.clone(), &shutdown.node, is_down)).unwrap();
        let conditions = node.status.unwrap().conditions.unwrap();
        let condition = conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
        shutdown.reason = condition.reason.unwrap();
        let has_failed = |pod: Option<&Pod>| pod.is_none_or(|pod| phase(pod) == "Failed");
        bed.ask(await_condition(bed.api_in::<Pod>(namespace.as_deref().unwrap()), &name, has_failed));
        drop(down);
        // The suite waits for this too, before it starts the next test.
        bed.ask(await_condition(nodes, &shutdown.node, is_ready));
        seen.insert(namespace);
    }
    shutdown
}

/// Returns all tests that fail.
fn failed() -> BTreeSet<&'static str> {
    [REJECTED, UNANSWERED, ON_NODES].concat().into_iter().collect()
}

/// Returns which tests these are: names, or objects with a name.
#[track_caller]
fn named(tests: &Value) -> BTreeSet<&'static str> {
    let all = tests.as_array().unwrap_or_else(|| panic!("no tests: {tests}"));
    let known = |test: &Value| {
        let name = test.as_str().or(test["name"].as_str()).unwrap_or_default();
        let mut of_run = failed().into_iter().chain(PASSED);
        of_run.find(|start| name.contains(start)).unwrap_or_else(|| panic!("an unexpected test: {test}"))
    };
    all.iter().map(known).collect()
}

/// Returns the result tree of the suite. With an option, `results` is run with it.
fn tree(bed: &Bed, archive: &str, option: Option<&str>) -> Value {
    let args: Vec<&str> = ["results", archive, "-p", "e2e", "-o", "json"].into_iter().chain(option).collect();
    bed.plumbline(&args).expect(1).json()[0].clone()
}

/// Returns the ids of the causes in a tree, each with its tests.
fn causes(tree: &Value) -> BTreeSet<(String, BTreeSet<&'static str>)> {
    let causes = tree["causes"].as_array().unwrap_or_else(|| panic!("no causes: {tree:#}"));
    causes.iter().map(|cause| (cause["id"].as_str().unwrap().to_owned(), named(&cause["tests"]))).collect()
}

#[test]
fn three_faults_at_once_have_three_causes_in_every_report() {
    let test = "suite-faults";
    let Some((bed, _)) = super::bed_alone(test) else { return };
    let Some(bed) = has_nodes(bed, test, 3) else { return };
    let Some(places) = NodeAccess::of(&bed, test) else { return };
    if !has_kubectl(test) {
        return;
    }
    let (began, first_node) = (Instant::now(), bed.nodes().remove(0));
    bed.plumbline(&["plugin", "keygen", "--file", "run"]).expect(0);

    // One fault first, so that the history has an earlier run.
    let rejected = Refused::secrets(&bed, ITS_SECRETS);
    let quick = [&REJECTED[..], &UNANSWERED, &PASSED].concat();
    run(&bed, &first_node, &quick);
    let first = archives(&bed).pop_first().unwrap();
    bed.command("delete", &["--wait", "--yes"]).expect(0);

    let webhook = DeadWebhook::new(&bed);
    let every = [&quick[..], &ON_NODES].concat();
    let shutdown = thread::scope(|scope| {
        let run = scope.spawn(|| run(&bed, &first_node, &every));
        let shutdown = shut_down_under_tests(&bed, &places);
        run.join().unwrap();
        shutdown
    });
    drop((webhook, rejected));
    let second = archives(&bed).into_iter().find(|archive| *archive != first).unwrap();
    loudly(&format!("suite-faults: two runs took {} s", began.elapsed().as_secs()));

    let [before, after] = [&first, &second].map(|archive| format!("{HISTORY}/{archive}"));
    if let Some(dir) = std::env::var_os(COPIES).filter(|named| !named.is_empty()).map(PathBuf::from) {
        fs::copy(bed.path(&after), dir.join(&second)).unwrap();
    }
    let tree_before = tree(&bed, &before, None);
    let tree_after = tree(&bed, &after, None);
    assert_causes(&bed, &after, &tree_before, &tree_after);
    assert_events(&tree_after, &shutdown);
    assert_reports(&bed, &after, &tree_after, &shutdown);
    assert_history(&bed, &first, &second);
    assert_attestation(&bed, &after);
    assert_metrics(&bed);
    assert_described(&bed, &second);
    loudly(&format!("suite-faults: it took {} s", began.elapsed().as_secs()));
}

/// Fails unless each fault is one cause, with the same id in the earlier run and when the archive is
/// processed again.
fn assert_causes(bed: &Bed, archive: &str, before: &Value, after: &Value) {
    let found = causes(after);
    let tests: BTreeSet<_> = found.iter().map(|(_, tests)| tests.clone()).collect();
    let expected = BTreeSet::from([REJECTED, UNANSWERED, ON_NODES].map(BTreeSet::from));
    assert_eq!((found.len(), &tests), (expected.len(), &expected), "{:#}", after["causes"]);
    assert_eq!(causes(&tree(bed, archive, Some("--reprocess"))), found, "the ids stay");
    let before = causes(before);
    assert!(before.len() == 1 && before.is_subset(&found), "{before:?} {found:?}");
}

/// Fails unless the tests that failed on the node, and no others, are next to its condition. The
/// place is in the log that the suite wrote.
fn assert_events(tree: &Value, shutdown: &Shutdown) {
    let events = tree["cluster-events"].as_array().unwrap_or_else(|| panic!("no events: {tree:#}"));
    let is_condition = |event: &&Value| event["kind"] == "node-condition" && event["name"] == "Ready";
    let conditions: Vec<&Value> = events.iter().filter(is_condition).collect();
    let related: BTreeSet<&str> = conditions.iter().flat_map(|event| named(&event["tests"])).collect();
    assert_eq!(related, BTreeSet::from(ON_NODES), "{events:#?}");
    let Shutdown { node, reason } = shutdown;
    for event in conditions {
        let sentence = event["sentence"].as_str().unwrap();
        loudly(&format!("suite-faults: {sentence}"));
        assert!(sentence.starts_with(&format!("node {node} was not ready from ")), "{sentence}");
        assert!(sentence.contains(reason), "{sentence}: {reason}");
    }
}

/// Fails unless text, Markdown and HTML have the numbers, the causes and the events.
fn assert_reports(bed: &Bed, archive: &str, tree: &Value, shutdown: &Shutdown) {
    let report = |format: &[&str]| bed.plumbline(&[&["results", archive, "-p", "e2e"], format].concat()).expect(1).out;
    let (text, markdown, html) = (report(&[]), report(&["-o", "markdown"]), report(&["-o", "html"]));
    let counts = format!("Passed: {}\nFailed: {}\n", PASSED.len(), failed().len());
    assert!(text.contains(&counts), "{text}");
    let headline = format!("{} failures, 3 causes", failed().len());
    for (title, report) in [("Cluster events near failures:", &text), ("### e2e: cluster events near", &markdown)] {
        assert!(report.contains(&headline) && report.contains(title), "{report}");
    }
    for (id, _) in causes(tree) {
        let by_name = format!("(cause {id})");
        assert!(text.contains(&by_name) && markdown.contains(&by_name), "{by_name}\n{text}\n{markdown}");
        assert!(html.contains(&format!("id=\"cause-{id}\"")), "the page has cause {id}");
    }
    let event = format!("node {} was not ready from ", shutdown.node);
    for report in [&text, &markdown, &html] {
        assert!(report.contains(&event), "{event}");
    }
}

/// Fails unless the history has the numbers of both runs, and the first bad run of each test.
fn assert_history(bed: &Bed, first: &str, second: &str) {
    let history = bed.plumbline(&["history", HISTORY, "-p", "e2e", "-o", "json"]).expect(0).json();
    let runs = history["runs"].as_array().unwrap().iter();
    let counts: Vec<Value> = runs.map(|run| json!([run["archive"], run["passed"], run["failed"]])).collect();
    let passed = PASSED.len();
    let expected = [json!([first, passed + UNANSWERED.len(), REJECTED.len()]), json!([second, passed, failed().len()])];
    assert_eq!(counts, expected, "{history:#}");
    let (first, second) = (json!(first), json!(second));
    for (tests, ran, passed, first_bad, last_good) in [
        (&REJECTED[..], 2, 0, &first, &Value::Null),
        (&UNANSWERED, 2, 1, &second, &first),
        (&ON_NODES, 1, 0, &second, &Value::Null),
        (&PASSED, 2, 2, &Value::Null, &Value::Null),
    ] {
        for name in tests {
            let all = history["tests"].as_array().unwrap();
            let test = all.iter().find(|test| test["name"].as_str().unwrap().contains(name));
            let test = test.unwrap_or_else(|| panic!("{name}: {history:#}"));
            assert_eq!((&test["ran"], &test["passed"]), (&json!(ran), &json!(passed)), "{test:#}");
            assert_eq!((&test["first-bad"], &test["last-good"]), (first_bad, last_good), "{test:#}");
        }
    }
}

/// Fails unless the signed statement is about this cluster, and has the failed tests.
fn assert_attestation(bed: &Bed, archive: &str) {
    let verify = ["results", "verify", archive, "--key", "run.pub", "-o", "json"];
    let verified = bed.plumbline(&verify).expect(1).json();
    assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!("FAILED")), "{verified:#}");
    let statement = &verified["statement"];
    assert_eq!(named(&statement["failedTests"]), failed());
    let configuration = statement["configuration"].as_array().unwrap();
    let cluster = configuration.iter().find(|one| one["name"] == "cluster").unwrap();
    let system = bed.ask(bed.cluster_api::<Namespace>().get("kube-system"));
    assert_eq!(cluster["uri"], format!("urn:uuid:{}", system.metadata.uid.unwrap()));
    assert_eq!(cluster["annotations"]["server-version"], bed.version());
}

/// Fails unless the aggregator serves the numbers of the run.
fn assert_metrics(bed: &Bed) {
    let path = format!("/api/v1/namespaces/{}/pods/sonobuoy:9464/proxy/metrics", bed.namespace());
    let metrics = kubectl(bed, &["get", "--raw", &path]);
    let tests = |status: &str, number: usize| format!("plumbline_tests{{plugin=\"e2e\",status=\"{status}\"}} {number}");
    for line in [
        tests("passed", PASSED.len()),
        tests("failed", failed().len()),
        "plumbline_run_phase{phase=\"complete\"} 1".to_owned(),
        "plumbline_run_verdict{verdict=\"failed\"} 1".to_owned(),
        "plumbline_results{plugin=\"e2e\",state=\"received\"} 1".to_owned(),
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
}

/// Fails unless the description of the aggregator's pod has the events of the run.
fn assert_described(bed: &Bed, archive: &str) {
    let description = kubectl(bed, &["describe", "pod", "sonobuoy", "-n", bed.namespace()]);
    let events = description.split("Events:").nth(1).unwrap_or_default();
    for (reason, message) in [
        ("RunStarted", "The run started: plugins 1, expected results 1"),
        ("PluginLaunched", "Plugin `e2e` was launched"),
        ("PluginFinished", "Plugin `e2e` finished after"),
        ("RunFinished", &format!("The run finished: verdict failed; archive {archive}")),
    ] {
        let line = events.lines().find(|line| line.contains(reason));
        assert!(line.is_some_and(|line| line.contains(message)), "{reason}: {message}\n{description}");
    }
}
