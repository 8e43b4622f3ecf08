//! Tests of judges at the end of whole runs. The guest `misbehave` acts as the judge.

use std::sync::Arc;

use plumbline_aggregator::{Finished, LimitPolicy, RunError, Source, prepare};
use plumbline_core::judgement::{PluginVerdict, VerdictStatus};
use plumbline_core::{Status, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::harness::{Archive, RunFixture, TestDispatcher, file, key, modules, send, source, with_bundle};
use crate::modules_fail::bundle;

const FAILED: &str =
    r#"<testsuite name="s"><testcase name="a"><failure message="broken"/></testcase><testcase name="b"/></testsuite>"#;
const PASSED: &str = r#"<testsuite name="s"><testcase name="a"/></testsuite>"#;

/// Returns a plugin with JUnit results that the guest judges with each of these behaviors.
fn judged(driver: &str, behaviours: &[&str], bundle: &TempDir) -> Source {
    let entry = |behaviour: &&str| format!("  - {{judge: misbehave, options: {{behaviour: {behaviour}}}}}\n");
    let chain: String = behaviours.iter().map(entry).collect();
    let rest = format!("  result-format: junit\nplumbline:\n  limits: {{wall: 2s}}\n  verdict:\n{chain}");
    with_bundle(source("p", driver, &rest), bundle.path())
}

async fn run(source: Source, results: &str) -> (Finished, Archive) {
    let fixture = RunFixture::new();
    let live = fixture.live(vec![source], &[]).await;
    let finished = live.finished_with("p/global", &file("junit.xml", results)).await;
    let archive = Archive::of(&finished);
    (finished, archive)
}

fn verdict(archive: &Archive) -> PluginVerdict {
    serde_json::from_value(archive.json("plugins/p/plumbline_verdict.json")).unwrap()
}

#[tokio::test]
async fn the_verdict_is_in_the_archive_in_the_status_and_in_the_outcome() {
    let bundle = bundle();
    let (finished, archive) = run(judged("Job", &["behave"], &bundle), FAILED).await;
    assert_eq!(finished.verdict, Verdict::Failed);
    let document = verdict(&archive);
    assert_eq!((document.status, document.failures, document.counting), (VerdictStatus::Failed, 1, 1));
    let items: Vec<String> = document
        .items
        .iter()
        .map(|item| {
            let said = &item.ruling;
            format!(
                "[{}] {}: {} {} ({}; {})",
                item.set,
                item.path.join("|"),
                item.status,
                said.class,
                said.reason,
                said.source
            )
        })
        .collect();
    assert_eq!(
        items,
        [
            "[global] junit.xml|s|a: failed read (global/2/a; failed, by nobody)",
            "[global] junit.xml|s|b: passed read (global/2/b; passed, by nobody)",
        ],
        "{document:?}"
    );
    assert_eq!((document.chain[0].judge.as_str(), &document.chain[0].error), ("misbehave", &None));
    let modules = archive.json("meta/modules.json");
    let used = modules["plugins"][0]["modules"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&used["role"], &used["digest"]), (&json!("judge"), &json!(document.chain[0].digest)));
    assert_eq!(finished.status.verdicts.unwrap()["p"], document.summary());
    // The results themselves are unchanged.
    assert_eq!(finished.plugins[0].outcome.total.status, Status::Failed);
    assert_eq!(archive.tree("p").status, Status::Failed);
    assert_eq!(finished.plugins[0].outcome.failures.len(), 1);
}

#[tokio::test]
async fn a_failure_that_does_not_count_does_not_fail_the_run() {
    // The only failure is excused before the judge fails. The rest was not judged, so it has not
    // passed.
    let bundle = bundle();
    let (finished, archive) = run(judged("Job", &["panic-halfway", "behave"], &bundle), FAILED).await;
    let document = verdict(&archive);
    let error = document.chain[0].error.as_deref().unwrap();
    assert!(error.contains("module `misbehave` crashed"), "{error}");
    assert_eq!(document.chain[1].error, None, "the chain goes on");
    assert_eq!(document.items[0].ruling.source, "failed, by first", "the second judge saw what the first had said");
    // Its check and the ruling of the second judge count.
    assert_eq!((document.checks.len(), document.checks[0].judge.as_str()), (1, "misbehave"));
    assert_eq!(finished.verdict, Verdict::Failed);
}

#[tokio::test]
async fn a_failed_check_fails_a_run_in_which_everything_passed() {
    let bundle = bundle();
    let (finished, archive) = run(judged("Job", &["read-nothing"], &bundle), PASSED).await;
    assert_eq!(archive.tree("p").status, Status::Passed);
    assert_eq!(finished.verdict, Verdict::Failed);
    let failure = &finished.plugins[0].outcome.failures[0];
    assert_eq!((failure.name.as_str(), failure.reason.as_deref()), ("UNREAD a check", Some("want 1, got 0")));
}

#[tokio::test]
async fn a_judge_that_fails_leaves_nothing_passed() {
    let bundle = bundle();
    for behaviour in ["endless-loop", "rule-unread", "rule-flood", "bad-class", "emit-out-of-role"] {
        let (finished, archive) = run(judged("Job", &[behaviour], &bundle), PASSED).await;
        let document = verdict(&archive);
        assert!(document.chain[0].error.is_some(), "{behaviour}: {document:?}");
        assert_eq!(document.status, VerdictStatus::Unknown, "{behaviour}");
        assert_eq!(finished.verdict, Verdict::Incomplete, "{behaviour}");
        assert_eq!(finished.plugins[0].outcome.failures[0].name, "judge misbehave", "{behaviour}");
    }
}

#[tokio::test]
async fn a_result_that_is_missing_stays_missing() {
    let (fixture, bundle) = (RunFixture::new(), bundle());
    let mut live = fixture.live(vec![judged("DaemonSet", &["behave"], &bundle)], &["n1", "n2"]).await;
    let (launch, reports) = live.launched.next().await;
    send(&launch.access, "p/n1", &file("junit.xml", PASSED)).await.unwrap();
    let error = plumbline_core::ledger::ErrorRecord::new("the node is gone");
    reports.send(plumbline_aggregator::Report::Failed { key: key("p/n2"), error }).await.unwrap();
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let document = verdict(&Archive::of(&finished));
    let sets: Vec<_> = document.items.iter().map(|item| (item.set.as_str(), item.name())).collect();
    assert_eq!(sets, [("n1", "a"), ("n2", "the node is gone")]);
}

#[tokio::test]
async fn judges_read_their_data_and_the_files_that_their_patterns_match() {
    let bundle = bundle();
    let rest = "  result-format: junit\nconfig-map: {b.txt: second, a.txt: first, other.txt: unseen}\nplumbline:\n  verdict:\n  \
                - judge: misbehave\n    options: {behaviour: behave}\n    data: [b.txt, a.txt]\n    \
                evidence: [\"meta/in*.json\", \"plugins/*/results/**\", \"plugins/p/plumbline*\", \"secrets/*\"]\n";
    let source = with_bundle(source("p", "Job", rest), bundle.path());
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source], &[]).await;
    let access = live.launch().await.access;
    // A link in the tree is not followed.
    let secrets = fixture.root().join("tree/secrets");
    std::fs::create_dir_all(&secrets).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", secrets.join("link")).unwrap();
    send(&access, "p/global", &file("junit.xml", PASSED)).await.unwrap();
    let finished = live.finished().await;
    let document = verdict(&Archive::of(&finished));
    let seen: Vec<_> = document.checks.iter().map(|it| (it.check.id.as_str(), it.check.got.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("data/a.txt", "first"),
            ("data/b.txt", "second"),
            ("meta/info.json", r#"{"plugins":["p"]}"#),
            ("plugins/p/results/global/junit.xml", PASSED),
        ]
    );
    assert_eq!(finished.verdict, Verdict::Passed);
}

#[tokio::test]
async fn judges_of_the_survey_see_what_it_lacks() {
    let bundle = bundle();
    for pattern in ["podlogs/**", "**/etcd.txt"] {
        let rest = format!(
            "  result-format: junit\nplumbline:\n  verdict:\n  \
                - {{judge: misbehave, options: {{behaviour: behave}}, evidence: [\"{pattern}\"]}}\n"
        );
        let fixture = RunFixture::new();
        let mut live = fixture.live(vec![with_bundle(source("p", "Job", &rest), bundle.path())], &[]).await;
        let access = live.launch().await.access;
        let log = "podlogs/kube-system/etcd/logs/etcd.txt";
        for (path, text) in [(log, "a line"), ("meta/query-time.json", "[]"), ("meta/other.json", "{}")] {
            let path = fixture.root().join("tree").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        send(&access, "p/global", &file("junit.xml", PASSED)).await.unwrap();
        let document = verdict(&Archive::of(&live.finished().await));
        let seen: Vec<_> = document.checks.iter().map(|it| (it.check.id.as_str(), it.check.got.as_str())).collect();
        assert_eq!(seen, [("meta/query-time.json", "[]"), (log, "a line")], "{pattern}");
    }
}

#[tokio::test]
async fn a_killed_aggregator_judges_in_its_second_life() {
    let (fixture, bundle) = (RunFixture::new(), bundle());
    let hold = CancellationToken::new();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let plugins = vec![judged("Job", &["read-nothing"], &bundle)];
    let mut first = fixture.live_with(plugins, dispatcher.hold(hold.clone()), launched).await;
    let access = first.launch().await.access;
    send(&access, "p/global", &file("junit.xml", PASSED)).await.unwrap();
    let crashed = fixture.crashed();
    let second = crashed.live(Vec::new(), &[]).await;
    let finished = second.finished().await;
    assert_eq!(finished.verdict, Verdict::Failed);
    assert_eq!(verdict(&Archive::of(&finished)).checks[0].check.id, "UNREAD");
    hold.cancel();
    first.finished().await;
}

#[tokio::test]
async fn an_interrupted_run_is_not_judged() {
    let (fixture, bundle) = (RunFixture::new(), bundle());
    let mut live = fixture.live(vec![judged("Job", &["behave"], &bundle)], &[]).await;
    live.launch().await;
    let finished = live.interrupt().await;
    assert_eq!(finished.verdict, Verdict::Interrupted);
    assert_eq!(finished.status.verdicts, None);
    assert!(!Archive::of(&finished).has("plugins/p/plumbline_verdict.json"));
}

#[tokio::test]
async fn a_run_with_an_unknown_judge_does_not_start() {
    let fixture = RunFixture::new();
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let source = source("p", "Job", "plumbline:\n  verdict: [{judge: nobody}]");
    let Err(RunError::Plan(error)) = fixture.begin(vec![source], dispatcher).await else { panic!("it is begun") };
    let message = error.to_string();
    assert!(message.starts_with("plugin `p`: unknown judge `nobody`"), "{message}");
}

#[test]
fn the_inputs_of_a_judge_are_checked_before_anything_runs() {
    let bundle = bundle();
    let check = |entry: Value| {
        let mut source = with_bundle(source("p", "Job", "config-map: {known.yaml: \"[]\"}"), bundle.path());
        let definition = Arc::make_mut(&mut source.definition);
        let mut json = definition.to_json();
        json["plumbline"] = json!({"verdict": [entry]});
        *definition = plumbline_core::Definition::from_json(json).unwrap().definition;
        prepare(&modules(), &LimitPolicy::default(), source).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(check(json!({"judge": "misbehave", "data": ["known.yaml"]})), Ok(()));
    assert_eq!(
        check(json!({"judge": "misbehave", "data": ["unknown.yaml"]})).unwrap_err(),
        "plugin `p`: `plumbline.verdict[0].data`: `unknown.yaml` is not a key of `config-map` (known.yaml)"
    );
    let bad = check(json!({"judge": "misbehave", "evidence": ["a/{b"]})).unwrap_err();
    assert!(bad.starts_with("plugin `p`: `plumbline.verdict[0].evidence`: "), "{bad}");
    // A built-in module with another role is not a judge.
    assert!(check(json!({"judge": "junit"})).unwrap_err().contains("unknown judge `junit`"));
}
