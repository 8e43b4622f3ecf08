//! Tests of modules that violate the rules, in a run with others that do not.

use std::path::PathBuf;

use plumbline_core::{Item, Status, Verdict};

use crate::harness::{Archive, RunFixture, file, send, source, with_bundle};

/// Returns the bundle directory of a plugin with the misbehaving module.
pub(crate) fn bundle() -> tempfile::TempDir {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    let guest = modules.join("guests/misbehave.wasm");
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(&guest, dir.path().join("misbehave.wasm"))
        .unwrap_or_else(|error| panic!("guest {}: {error}; run `cargo xtask setup` first", guest.display()));
    dir
}

fn suspect(behaviour: &str, bundle: &tempfile::TempDir) -> plumbline_aggregator::Source {
    let rest = format!(
        "  result-format: misbehave\n  result-files: [a.txt]\nplumbline:\n  options:\n    behaviour: {behaviour}\n  limits:\n    wall: 1s\n    items: 1000"
    );
    with_bundle(source(behaviour, "Job", &rest), bundle.path())
}

#[tokio::test]
async fn a_module_that_breaks_a_limit_costs_its_own_plugin_only() {
    let fixture = RunFixture::new();
    let bundle = bundle();
    let mut sources: Vec<_> =
        ["endless-loop", "item-flood", "panic-halfway", "refuse-halfway"].map(|name| suspect(name, &bundle)).into();
    sources.push(source("good", "Job", ""));
    let mut live = fixture.live(sources, &[]).await;
    for launch in live.launches(5).await {
        let result = format!("{}/global", launch.definition.name);
        send(&launch.access, &result, &file("a.txt", "a")).await.unwrap();
    }
    let finished = live.finished().await;
    let archive = Archive::of(&finished);
    assert_eq!(archive.tree("good").status, Status::NotRead);
    assert_eq!(finished.verdict, Verdict::Incomplete, "some items passed before their module was ended");

    let failure = |plugin: &str| -> (Item, Item) {
        let mut tree = archive.tree(plugin);
        // The guest also fails as a summarizer, which another test checks.
        tree.items.retain(|item| item.meta.get("type").is_none_or(|kind| kind != "summary"));
        let last = tree.items.last().unwrap().clone();
        assert_eq!((&last.status, &last.meta["error"]), (&Status::Unknown, &last.name), "{plugin}");
        assert_eq!(tree.status, Status::Unknown, "{plugin}");
        (tree, last)
    };
    let (tree, last) = failure("endless-loop");
    assert_eq!(last.name, "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
    assert_eq!(tree.items.len(), 1);
    let (_, last) = failure("item-flood");
    assert!(last.name.starts_with("module `misbehave` exceeded its limit `items`: "), "{}", last.name);
    let (tree, last) = failure("panic-halfway");
    assert!(last.name.contains("module `misbehave`"), "{}", last.name);
    assert_eq!(tree.items.len(), 4, "what it emitted before stays");
    let (tree, last) = failure("refuse-halfway");
    assert!(last.name.contains("the files of this format end here"), "{}", last.name);
    assert_eq!(tree.items.len(), 4);
}

#[tokio::test]
async fn one_node_s_results_that_cannot_be_read_leave_those_of_the_others() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("p", "DaemonSet", "  result-format: junit")], &["n1", "n2"]).await;
    let launch = live.launch().await;
    send(&launch.access, "p/n1", &file("a.xml", "<testsuite><testcase")).await.unwrap();
    send(&launch.access, "p/n2", &file("a.xml", "<testsuite><testcase name=\"t\"/></testsuite>")).await.unwrap();
    let finished = live.finished().await;
    let entries = finished.status.plugins.as_deref().unwrap();
    let status = |at: usize| entries[at].result_status.as_ref().unwrap();
    assert_ne!(*status(0), Status::Passed);
    assert_eq!(*status(1), Status::Passed);
    assert_ne!(finished.verdict, Verdict::Passed);
}
