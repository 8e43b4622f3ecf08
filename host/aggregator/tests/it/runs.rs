//! Tests of runs from their plugins to their archive.

use std::path::Path;
use std::time::Duration;

use plumbline_aggregator::{ModuleError, PlanError, Report, RunError, RunLogLayer, StartKind};
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::{Item, Status, Verdict};
use plumbline_phonehome::{Outcome, Upload};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing_subscriber::layer::SubscriberExt;

use crate::harness::{Archive, RunFixture, TestDispatcher, file, key, send, source, until, with_bundle};

const JUNIT: &str = r#"<testsuites><testsuite name="suite"><testcase name="good"/><testcase name="bad"><failure message="no"/></testcase></testsuite></testsuites>"#;

fn leaves(tree: &Item) -> Vec<(String, Status)> {
    tree.leaves().map(|leaf| (leaf.name.clone(), leaf.status.clone())).collect()
}

#[tokio::test]
async fn two_plugins_to_the_archive() {
    let fixture = RunFixture::new();
    let log = fixture.root().join("tree/meta/run.log");
    let subscriber = tracing_subscriber::registry().with(RunLogLayer::create(&log).unwrap());
    // With a single subscriber in the process, call sites that other tests' threads reach first
    // would be disabled.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);

    let sources = vec![source("zeta", "Job", "  result-format: junit"), source("alpha", "DaemonSet", "")];
    let mut live = fixture.live(sources, &["n1", "n2", "n3"]).await;
    assert_eq!(live.begun, StartKind::New);
    let [alpha, zeta] = live.launches(2).await.try_into().unwrap();
    assert_eq!(alpha.missing, ["alpha/n1", "alpha/n2", "alpha/n3"].map(key));
    assert_eq!(zeta.missing, [key("zeta/global")]);
    for node in ["n2", "n3", "n1"] {
        let upload = file("facts.txt", format!("facts of {node}"));
        assert_eq!(send(&alpha.access, &format!("alpha/{node}"), &upload).await.unwrap(), Outcome::Stored);
    }
    send(&zeta.access, "zeta/global", &file("junit.xml", JUNIT)).await.unwrap();
    let finished = live.finished().await;

    assert_eq!(finished.verdict, Verdict::Failed);
    let order: Vec<&str> = finished.plugins.iter().map(|plugin| plugin.plugin.as_str()).collect();
    assert_eq!(order, ["zeta", "alpha"], "the order of the command line");
    let bytes = std::fs::read(&finished.archive).unwrap();
    assert_eq!(finished.sha256, hex::encode(Sha256::digest(&bytes)));
    assert_eq!(finished.bytes, bytes.len() as u64);
    let name = finished.archive.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, plumbline_archive::layout::archive_name(finished.started, &finished.run));
    assert_eq!((finished.status.tar_info.name.as_str(), &finished.status.tar_info.sha256), (name, &finished.sha256));
    assert!(!fixture.root().exists(), "the working directory is gone");

    let archive = Archive::of(&finished);
    let names: Vec<&str> = archive.0.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "meta/config.json",
            "meta/info.json",
            "meta/modules.json",
            "meta/run.log",
            "plugins/alpha/definition.json",
            "plugins/alpha/results/n1/facts.txt",
            "plugins/alpha/results/n2/facts.txt",
            "plugins/alpha/results/n3/facts.txt",
            "plugins/alpha/sonobuoy_results.yaml",
            "plugins/zeta/definition.json",
            "plugins/zeta/results/global/junit.xml",
            "plugins/zeta/sonobuoy_results.yaml",
        ]
    );
    assert_eq!(archive.text("plugins/alpha/results/n2/facts.txt"), "facts of n2");
    assert_eq!(archive.json("meta/info.json"), json!({"plugins": ["alpha", "zeta"]}));
    assert_eq!(archive.json("meta/config.json")["UUID"], finished.run.to_string());
    let definition = archive.json("plugins/zeta/definition.json");
    assert_eq!(definition["Definition"]["sonobuoy-config"]["plugin-name"], "zeta");
    assert_eq!(definition["SessionID"], plumbline_core::session_id(&finished.run, &"zeta".parse().unwrap()));

    let alpha = archive.tree("alpha");
    assert_eq!(alpha.status, Status::NotRead);
    let nodes: Vec<(&str, &str)> =
        alpha.items.iter().map(|node| (node.name.as_str(), node.meta["type"].as_str())).collect();
    assert_eq!(nodes, [("n1", "node"), ("n2", "node"), ("n3", "node")]);
    assert_eq!(alpha.items[0].items[0].meta["file"], "results/n1/facts.txt");
    let zeta = archive.tree("zeta");
    assert_eq!(leaves(&zeta), [("good".to_owned(), Status::Passed), ("bad".to_owned(), Status::Failed)]);

    let lines: Vec<Value> =
        archive.text("meta/run.log").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |msg: &str| lines.iter().filter(|line| line["msg"] == msg).count();
    assert_eq!((said("launched"), said("result received"), said("post-processed")), (2, 4, 2), "{lines:#?}");
}

#[tokio::test]
async fn a_plugin_without_results_is_unknown_with_a_reason() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("lonely", "DaemonSet", "")], &[]).await;
    assert_eq!(live.launched.calls_to_cleanup().await, ["lonely", ""], "it is post-processed once");
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::NothingToJudge);
    let tree = Archive::of(&finished).tree("lonely");
    assert_eq!((tree.status, tree.items.len()), (Status::Unknown, 0));
    assert_eq!(tree.meta["reason"], "there are no nodes (module `daemonset`)");
}

#[tokio::test]
async fn a_launch_that_fails_is_a_failed_result() {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&["n1", "n2"]);
    let dispatcher = dispatcher.refuse("broken", "the image is not there");
    let sources = vec![source("broken", "DaemonSet", ""), source("good", "Job", "")];
    let live = fixture.live_with(sources, dispatcher, launched).await;
    let finished = live.finished_with("good/global", &file("a.txt", "a")).await;
    let archive = Archive::of(&finished);
    assert_eq!(finished.verdict, Verdict::Incomplete, "an error stands in place of results");
    for node in ["n1", "n2"] {
        let error = archive.json(&format!("plugins/broken/errors/{node}/error.json"));
        assert!(error["error"].as_str().unwrap().contains("the image is not there"), "{error}");
    }
    assert_eq!(archive.tree("broken").status, Status::Failed);
    assert_eq!(archive.tree("good").status, Status::NotRead);
}

#[tokio::test]
async fn an_error_from_the_dispatcher_replaces_the_result() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2"]).await;
    let (launch, reports) = live.launched.next().await;
    let error = ErrorRecord::new("the pod is gone").with("pod", json!({"kind": "Pod"}));
    reports.send(Report::Failed { key: key("p/n1"), error }).await.unwrap();
    until(&live.state, |ledger| ledger.error(&key("p/n1")).is_some()).await;
    send(&launch.access, "p/n2", &file("a.txt", "a")).await.unwrap();
    let finished = live.finished().await;
    let archive = Archive::of(&finished);
    let error = archive.json("plugins/p/errors/n1/error.json");
    assert_eq!(error, json!({"error": "the pod is gone", "pod": {"kind": "Pod"}}));
    let tree = archive.tree("p");
    assert_eq!(tree.status, Status::Failed);
    let failed = tree.find("the pod is gone").unwrap();
    assert_eq!((&failed.status, failed.meta["file"].as_str()), (&Status::Failed, "errors/n1/error.json"));
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let entries = finished.status.plugins.as_deref().unwrap();
    assert_eq!((entries[0].node.as_str(), &entries[0].result_status), ("n1", &Some(Status::Failed)));
}

#[tokio::test]
async fn the_reason_for_a_missing_result_is_in_the_status_until_it_arrives() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("p", "Job", "")], &["n1"]).await;
    let (launch, reports) = live.launched.next().await;
    let reason = |state: &plumbline_aggregator::State| state.status().plugins.unwrap()[0].reason.clone();
    for expected in [Some("the worker is silent".to_owned()), None, Some("the node is not ready".to_owned())] {
        reports.send(Report::Problem { key: key("p/global"), reason: expected.clone() }).await.unwrap();
        let mut changes = live.state.changes();
        while reason(&live.state) != expected {
            changes.changed().await.unwrap();
        }
    }
    send(&launch.access, "p/global", &file("a.txt", "a")).await.unwrap();
    assert_eq!(reason(&live.state), None);
    live.finished().await;
}

#[tokio::test]
async fn a_report_about_an_unexpected_result_changes_nothing() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("p", "Job", "")], &["n1"]).await;
    let (launch, reports) = live.launched.next().await;
    for stranger in ["p/n1", "other/global"] {
        let error = ErrorRecord::new("of no concern");
        reports.send(Report::Failed { key: key(stranger), error }).await.unwrap();
    }
    send(&launch.access, "p/global", &file("a.txt", "a")).await.unwrap();
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::NothingToJudge);
    assert!(Archive::of(&finished).0.keys().all(|name| !name.contains("errors/")));
}

#[tokio::test]
async fn a_plugin_whose_time_is_over_has_timed_out() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("slow", "Job", "plumbline:\n  timeout: 1s")], &[]).await;
    live.launch().await;
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let tree = Archive::of(&finished).tree("slow");
    assert_eq!(leaves(&tree), [("timeout waiting for results".to_owned(), Status::Timeout)]);
    assert_eq!(tree.status, Status::Failed);
}

#[tokio::test]
async fn a_failed_exit_after_the_results_is_an_additional_failed_leaf() {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let dispatcher = dispatcher.exit("p/global", "exited with code 3");
    let live = fixture.live_with(vec![source("p", "Job", "")], dispatcher, launched).await;
    let finished = live.finished_with("p/global", &file("a.txt", "a")).await;
    let archive = Archive::of(&finished);
    assert_eq!(archive.json("plugins/p/errors/global/exit.json"), json!({"exit": "exited with code 3"}));
    let tree = archive.tree("p");
    assert_eq!(
        leaves(&tree),
        [("a.txt".to_owned(), Status::NotRead), ("exited with code 3".to_owned(), Status::Failed)]
    );
    assert_eq!((tree.status, finished.verdict), (Status::Failed, Verdict::Failed));
}

/// Suites exit with a nonzero code if a test failed, which is not an additional failure.
#[tokio::test]
async fn an_exit_after_results_with_a_failure_says_nothing_new() {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&["n1", "n2"]);
    let dispatcher = dispatcher.exit("p/n1", "exited with code 1").exit("p/n2", "exited with code 1");
    let source = source("p", "DaemonSet", "  result-format: junit");
    let mut live = fixture.live_with(vec![source], dispatcher, launched).await;
    let launch = live.launch().await;
    let report =
        |case: &str| file("r.xml", format!("<testsuite name='s'><testcase name='t'>{case}</testcase></testsuite>"));
    send(&launch.access, "p/n1", &report("<failure>broken</failure>")).await.unwrap();
    send(&launch.access, "p/n2", &report("")).await.unwrap();
    let finished = live.finished().await;
    let archive = Archive::of(&finished);
    assert_eq!(archive.json("plugins/p/errors/n1/exit.json"), json!({"exit": "exited with code 1"}));
    let found = leaves(&archive.tree("p"));
    let found: Vec<_> = found.iter().map(|(name, status)| (name.as_str(), status.clone())).collect();
    let (failed, passed) = (Status::Failed, Status::Passed);
    assert_eq!(found, [("t", failed.clone()), ("t", passed), ("exited with code 1", failed)]);
}

#[tokio::test]
async fn an_interrupted_run_keeps_what_it_has() {
    let fixture = RunFixture::new();
    let sources = vec![source("half", "DaemonSet", ""), source("later", "Job", "  order: 1")];
    let mut live = fixture.live(sources, &["n1", "n2"]).await;
    let launch = live.launch().await;
    send(&launch.access, "half/n1", &file("a.txt", "kept")).await.unwrap();
    let finished = live.interrupt().await;
    assert_eq!(finished.verdict, Verdict::Interrupted);
    assert!(finished.status.interrupted);
    let archive = Archive::of(&finished);
    assert_eq!(archive.text("plugins/half/results/n1/a.txt"), "kept");
    assert!(archive.json("plugins/half/errors/n2/error.json")["error"].as_str().unwrap().contains("interrupted"));
    assert!(archive.has("plugins/later/errors/global/error.json"), "what was never launched is accounted for");
}

#[tokio::test]
async fn a_failure_that_a_dispatcher_reports_as_the_run_ends_is_archived() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("early", "DaemonSet", "")], &["n1", "n2"]).await;
    let (_, reports) = live.launched.next().await;
    let failed = Report::Failed { key: key("early/n1"), error: ErrorRecord::new("nobody answers") };
    // Both happen at the same time, as with fail-fast.
    reports.try_send(failed).unwrap();
    let finished = live.interrupt().await;
    assert_eq!(finished.verdict, Verdict::Interrupted);
    let archive = Archive::of(&finished);
    let error = |node: &str| archive.json(&format!("plugins/early/errors/{node}/error.json"))["error"].clone();
    assert_eq!(error("n1"), "nobody answers");
    assert!(error("n2").as_str().unwrap().contains("interrupted"));
}

#[tokio::test]
async fn groups_are_launched_one_after_the_other_and_the_end_is_cleaned_up_once() {
    let fixture = RunFixture::new();
    let sources =
        vec![source("last", "Job", "  order: 7"), source("a", "Job", "  order: -1"), source("b", "Job", "  order: -1")];
    let mut live = fixture.live(sources, &[]).await;
    let first = live.launches(2).await;
    assert_eq!(first.iter().map(|launch| launch.definition.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    send(&first[0].access, "a/global", &file("a.txt", "a")).await.unwrap();
    until(&live.state, |ledger| ledger.plugin_result(&"a".parse().unwrap()).is_some()).await;
    assert!(live.launched.is_empty(), "`b` is not complete");
    send(&first[1].access, "b/global", &file("a.txt", "a")).await.unwrap();
    let last = live.launch().await;
    assert_eq!(last.definition.name.as_str(), "last");
    send(&last.access, "last/global", &file("a.txt", "a")).await.unwrap();
    until(&live.state, |ledger| ledger.plugin_result(&"last".parse().unwrap()).is_some()).await;
    assert_eq!(live.launched.calls_to_cleanup().await, ["a", "b", "last", ""]);
    assert!(live.launched.calls().is_empty());
    assert_eq!(live.finished().await.verdict, Verdict::NothingToJudge);
}

#[tokio::test]
async fn an_unknown_format_or_summarizer_ends_the_run_before_it_starts() {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("module.yaml"), "").unwrap();
    for (rest, bundle, error, hint) in [
        (
            "  result-format: junt",
            None,
            "plugin `p`: unknown result format `junt`: ",
            "did you mean `junit`? (built-in: ",
        ),
        ("  result-format: cobol", None, "plugin `p`: unknown result format `cobol`: ", "built-in: "),
        (
            "  result-format: cobol",
            Some(&project),
            "plugin `p`: unknown result format `cobol`: ",
            "the module of this project is not built yet",
        ),
        (
            "plumbline:\n  summarizer: host-fact",
            None,
            "plugin `p`: unknown summarizer `host-fact`: ",
            "did you mean `host-facts`?",
        ),
    ] {
        let fixture = RunFixture::new();
        let (dispatcher, launched) = TestDispatcher::new(&[]);
        let mut source = source("p", "Job", rest);
        source.bundle = bundle.map(|bundle| bundle.path().to_owned());
        let Err(failure) = fixture.begin(vec![source], dispatcher).await else { panic!("it started: {rest}") };
        assert!(failure.to_string().starts_with(error), "{failure}");
        assert!(failure.hint().unwrap().starts_with(hint), "{:?}", failure.hint());
        assert!(launched.is_empty());
        assert!(!fixture.root().join("run.json").exists(), "nothing was started");
    }
}

#[tokio::test]
async fn unknown_expectations_fail_before_the_run_starts() {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let sources = vec![source("p", "Job", "plumbline:\n  expectations: nobody")];
    let Err(error) = fixture.begin(sources, dispatcher).await else { panic!("it began") };
    assert!(matches!(error, RunError::Plan(PlanError::Module { source: ModuleError::Unknown { .. }, .. })), "{error}");
    assert!(error.to_string().starts_with("plugin `p`: unknown expectations `nobody`"), "{error}");
    assert!(launched.is_empty());
    assert!(!fixture.root().join("run.json").exists(), "nothing was begun");
}

#[tokio::test]
async fn after_an_invalid_plan_a_run_with_other_plugins_can_use_the_same_directory() {
    let fixture = RunFixture::new();
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let sources = vec![source("first", "Job", ""), source("second", "Job", "plumbline:\n  expectations: nobody")];
    assert!(fixture.begin(sources, dispatcher).await.is_err());
    let live = fixture.live(vec![source("third", "Job", "")], &[]).await;
    assert_eq!(live.begun, StartKind::New);
    let finished = live.finished_with("third/global", &file("a.txt", "a")).await;
    let entries: Vec<_> = finished.status.plugins.unwrap().into_iter().map(|entry| entry.plugin).collect();
    assert_eq!(entries, ["third"], "nothing is left of the attempt before");
    assert_eq!(finished.verdict, Verdict::NothingToJudge);
}

#[tokio::test]
async fn a_run_without_plugins_does_not_begin() {
    let fixture = RunFixture::new();
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    assert!(matches!(fixture.begin(Vec::new(), dispatcher).await, Err(RunError::NoPlugins)));
}

/// Writes the built-in module named `module` to `file` in `dir`.
fn bundle(dir: &Path, module: &str, file: &str) {
    let built_in = plumbline_bundle::built_in::embedded().iter().find(|built_in| built_in.name == module).unwrap();
    std::fs::write(dir.join(file), built_in.wasm()).unwrap();
}

#[tokio::test]
async fn a_module_of_the_bundle_is_taken_before_one_that_is_built_in() {
    let fixture = RunFixture::new();
    let dir = tempfile::tempdir().unwrap();
    // The module has the name of another one: it lists files and does not read them.
    bundle(dir.path(), "raw", "junit.wasm");
    let sources = vec![
        with_bundle(source("own", "Job", "  result-format: junit"), dir.path()),
        source("without", "Job", "  result-format: junit"),
    ];
    let mut live = fixture.live(sources, &[]).await;
    let [own, built_in] = live.launches(2).await.try_into().unwrap();
    assert_eq!(own.bundle.as_deref(), Some(dir.path()));
    send(&own.access, "own/global", &file("junit.xml", JUNIT)).await.unwrap();
    send(&built_in.access, "without/global", &file("junit.xml", JUNIT)).await.unwrap();
    let finished = live.finished().await;
    let archive = Archive::of(&finished);
    assert_eq!(leaves(&archive.tree("own")), [("junit.xml".to_owned(), Status::NotRead)]);
    assert_eq!(leaves(&archive.tree("without")).len(), 2);
}

#[tokio::test]
async fn an_invalid_module_of_the_bundle_is_reported_by_file() {
    let fixture = RunFixture::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.wasm"), "not a component").unwrap();
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let sources = vec![with_bundle(source("p", "Job", "  result-format: mine"), dir.path())];
    let Err(error) = fixture.begin(sources, dispatcher).await else { panic!("it began") };
    assert!(matches!(error, RunError::Plan(PlanError::Module { source: ModuleError::Load { .. }, .. })), "{error}");
    assert!(error.to_string().contains("mine.wasm"), "{error}");
}

#[tokio::test]
async fn an_error_document_of_a_worker_replaces_the_result() {
    let fixture = RunFixture::new();
    let live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let finished = live.finished_with("p/global", &Upload::failure("the disk is full")).await;
    let archive = Archive::of(&finished);
    assert_eq!(archive.json("plugins/p/errors/global/error.json"), json!({"error": "the disk is full"}));
    assert_eq!(leaves(&archive.tree("p")), [("the disk is full".to_owned(), Status::Failed)]);
    assert!(!archive.has("plugins/p/results/global/error.json"));
}

#[tokio::test]
async fn a_plugin_without_a_limit_of_time_is_not_ended_by_that_of_the_run() {
    let mut fixture = RunFixture::new();
    fixture.settings.timeout = Some(Duration::from_secs(1));
    let sources = vec![source("endless", "Job", "plumbline:\n  timeout: 0s"), source("timed", "Job", "")];
    let mut live = fixture.live(sources, &[]).await;
    let [endless, _timed] = live.launches(2).await.try_into().unwrap();
    until(&live.state, |ledger| ledger.error(&key("timed/global")).is_some()).await;
    assert!(live.state.read(|ledger| ledger.error(&key("endless/global")).is_none()));
    send(&endless.access, "endless/global", &file("a.txt", "a")).await.unwrap();
    let finished = live.finished().await;
    assert_eq!(Archive::of(&finished).tree("endless").status, Status::NotRead);
}
