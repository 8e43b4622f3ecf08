//! Tests that modules that compile slowly, or cannot be compiled, affect only their own plugin.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_aggregator::{Job, LazyModule, Modules, Run, RunError, Settings, WorkDir};
use plumbline_core::{Status, Verdict};
use plumbline_sandbox::{Sandbox, SandboxConfig};
use tokio_util::sync::CancellationToken;

use crate::harness::{Archive, PATIENCE, RunFixture, TestDispatcher, file, send, source, with_bundle};
use crate::modules_fail::bundle;

/// Holds compilation jobs back.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Vec<Job>>>);

impl Held {
    fn modules(&self) -> Modules {
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let built_in = plumbline_bundle::built_in::load(&sandbox).unwrap();
        let held = self.0.clone();
        let hold = move |job| held.lock().unwrap_or_else(PoisonError::into_inner).push(job);
        Modules::compiling_with(sandbox, built_in, Arc::new(hold))
    }

    fn take(&self) -> Vec<Job> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn reader(modules: &Modules, bundle: &Path) -> LazyModule {
    modules.post_processor(Some(bundle), "misbehave").unwrap()
}

/// Returns a component that passes every check except for the compiler's.
fn invalid() -> Vec<u8> {
    let role = "plumbline:plugin/post-processor@0.1.0";
    let wat = format!(
        r#"(component
            (core module $m (func (export "f") (result i32) (i64.const 1)))
            (core instance $i (instantiate $m))
            (instance $role)
            (export "{role}" (instance $role)))"#
    );
    wat::parse_str(wat).unwrap()
}

async fn begin(
    fixture: &RunFixture,
    modules: &Modules,
    sources: Vec<plumbline_aggregator::Source>,
) -> Result<(Run, crate::harness::Launched), RunError> {
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let settings: Settings = fixture.settings.clone();
    let work = WorkDir::open(fixture.root()).unwrap();
    Run::begin(work, sources, settings, modules, Arc::new(dispatcher)).await.map(|(run, _)| (run, launched))
}

#[tokio::test]
async fn nothing_that_is_launched_waits_for_a_module_that_is_being_compiled() {
    let (fixture, bundle, held) = (RunFixture::new(), bundle(), Held::default());
    let modules = held.modules();
    let slow = |name: &str| {
        with_bundle(
            source(
                name,
                "Job",
                "  result-format: misbehave\n  result-files: [a.txt]\nplumbline:\n  options: {behaviour: behave}",
            ),
            bundle.path(),
        )
    };
    let sources = vec![slow("slow"), slow("slower"), source("quick", "Job", "")];
    let (run, mut launched) = begin(&fixture, &modules, sources).await.unwrap();
    let state = run.state();
    let task = tokio::spawn(Box::pin(run.execute(CancellationToken::new())));
    let mut launches = Vec::new();
    for _ in 0..3 {
        launches.push(launched.next().await.0);
    }
    for launch in launches.iter().filter(|launch| launch.definition.name.as_str() == "quick") {
        send(&launch.access, "quick/global", &file("a.txt", "a")).await.unwrap();
    }
    // All plugins are launched, and the quick one is complete, although nothing was compiled.
    let done = |plugin: &str| {
        let status = state.status();
        status.plugins.unwrap_or_default().iter().any(|entry| entry.plugin == plugin && entry.result_status.is_some())
    };
    let mut changes = state.changes();
    tokio::time::timeout(PATIENCE, async {
        while !done("quick") {
            changes.changed().await.unwrap();
        }
    })
    .await
    .expect("the quick plugin waits for another one's module");
    assert!(!reader(&modules, bundle.path()).is_ready());
    let jobs = held.take();
    assert_eq!(jobs.len(), 1, "two plugins, one file: it is compiled once");
    tokio::task::spawn_blocking(|| jobs.into_iter().for_each(|job| job())).await.unwrap();
    assert!(reader(&modules, bundle.path()).is_ready());

    for launch in launches.iter().filter(|launch| launch.definition.name.as_str() != "quick") {
        send(&launch.access, &format!("{}/global", launch.definition.name), &file("a.txt", "a")).await.unwrap();
    }
    let finished = tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap().unwrap();
    assert_eq!(finished.plugins[0].outcome.usage.calls, 2, "it reads, and it summarises");
    assert!(finished.plugins[0].outcome.usage.memory > 0);
    assert_eq!(finished.plugins.len(), 3);
}

#[tokio::test]
async fn a_module_that_is_not_yet_being_compiled_is_compiled_on_demand() {
    let (fixture, bundle, held) = (RunFixture::new(), bundle(), Held::default());
    let modules = held.modules();
    let plugin = source(
        "p",
        "Job",
        "  result-format: misbehave\n  result-files: [a.txt]\nplumbline:\n  expectations: misbehave\n  options: {behaviour: behave}\n",
    );
    let (run, _) = begin(&fixture, &modules, vec![with_bundle(plugin, bundle.path())]).await.unwrap();
    assert!(reader(&modules, bundle.path()).is_ready(), "its expectations were asked");
    assert_eq!(run.plugins()[0].expected.len(), 1);
}

#[tokio::test]
async fn a_module_that_cannot_be_compiled_costs_the_items_and_not_the_results() {
    let (fixture, bundle) = (RunFixture::new(), tempfile::tempdir().unwrap());
    std::fs::write(bundle.path().join("broken.wasm"), invalid()).unwrap();
    let broken = source("broken", "Job", "  result-format: broken");
    let mut live = fixture.live(vec![with_bundle(broken.clone(), bundle.path()), source("good", "Job", "")], &[]).await;
    for launch in live.launches(2).await {
        send(&launch.access, &format!("{}/global", launch.definition.name), &file("a.txt", "kept")).await.unwrap();
    }
    let finished = live.finished().await;
    let archive = Archive::of(&finished);
    let tree = archive.tree("broken");
    assert_eq!((tree.status, tree.items.len()), (Status::Unknown, 1));
    assert_eq!(tree.items[0].status, Status::Unknown);
    assert!(tree.items[0].name.contains("module `broken`"), "{}", tree.items[0].name);
    assert!(tree.items[0].details["hint"].as_str().unwrap().contains("--reprocess"));
    assert!(!tree.items[0].name.contains(bundle.path().to_str().unwrap()), "no path of this machine in an archive");
    assert_eq!(archive.tree("good").status, Status::NotRead);
    assert_ne!(finished.verdict, Verdict::Passed);
    let outcome = &finished.plugins.iter().find(|plugin| plugin.plugin.as_str() == "broken").unwrap().outcome;
    assert_eq!((outcome.usage.calls, outcome.usage.broken.len()), (0, 1));

    // A caller that waits for the module before the run gets the error earlier.
    let modules = crate::harness::modules();
    let planned =
        plumbline_aggregator::prepare(&modules, &Default::default(), with_bundle(broken, bundle.path())).unwrap();
    let error = planned.ready().unwrap_err().to_string();
    assert!(error.contains("plugin `broken`") && error.contains("broken.wasm"), "{error}");
}

#[tokio::test]
async fn expectations_that_do_not_compile_fail_before_the_run() {
    let (fixture, bundle) = (RunFixture::new(), tempfile::tempdir().unwrap());
    let wat = r#"(component
        (core module $m (func (export "f") (result i32) (i64.const 1)))
        (core instance $i (instantiate $m))
        (instance $role)
        (export "plumbline:plugin/expectations@0.1.0" (instance $role)))"#;
    std::fs::write(bundle.path().join("who.wasm"), wat::parse_str(wat).unwrap()).unwrap();
    let plugin = with_bundle(source("p", "Job", "plumbline:\n  expectations: who"), bundle.path());
    let error = begin(&fixture, &crate::harness::modules(), vec![plugin]).await.err().unwrap();
    assert!(error.to_string().contains("who.wasm"), "{error}");
    assert!(!fixture.root().join("run.json").exists(), "nothing of the run has happened");
}

#[test]
fn an_invalid_module_is_rejected_without_compiling() {
    let bundle = tempfile::tempdir().unwrap();
    std::fs::write(bundle.path().join("p.wasm"), "no module").unwrap();
    let error = Held::default().modules().post_processor(Some(bundle.path()), "p").err().unwrap();
    assert!(error.to_string().contains("it is not WebAssembly"), "{error}");
}
