//! Trees above the limits on trees that are held in memory. The limits are lowered.

use std::fs;
use std::sync::{Arc, Mutex};

use plumbline_core::Verdict;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::context::Reporter;
use crate::report::Format;

/// An unpacked archive of Plumbline with these trees.
fn archive(trees: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("meta")).unwrap();
    fs::write(dir.path().join("meta/config.json"), r#"{"UUID": "x", "PlumblineVersion": "0.1.0"}"#).unwrap();
    for (plugin, tree) in trees {
        let plugin = dir.path().join("plugins").join(plugin);
        fs::create_dir_all(&plugin).unwrap();
        fs::write(plugin.join("sonobuoy_results.yaml"), tree).unwrap();
    }
    dir
}

const LARGE: &str = "name: large\nstatus: failed\nmeta:\n  type: summary\nitems:\n- name: n1\n  status: failed\n  meta:\n    \
                     type: node\n  items:\n  - name: \"first: 1\"\n    status: passed\n    details:\n      stdout: \"one\\ntwo\"\n  \
                     - name: second\n    status: failed\n    details:\n      list: [1,{\"a\":null}]\n- name: n2\n  status: passed\n";
const SMALL: &str = "name: small\nstatus: passed\nitems:\n- name: only\n  status: passed\n";

/// Collects the errors with their hints, and the warnings, that are reported.
#[derive(Default)]
struct Reports {
    errors: Mutex<Vec<String>>,
    warnings: Mutex<Vec<String>>,
}

impl Reporter for Arc<Reports> {
    fn error(&self, error: &AppError) {
        let hint = error.hint_text().unwrap_or_default();
        self.errors.lock().unwrap().push(format!("{error}; {hint}"));
    }

    fn warning(&self, text: &str) {
        self.warnings.lock().unwrap().push(text.to_owned());
    }

    fn hint(&self, _: &str) {}

    fn note(&self, _: &str) {}

    fn progress(&self, _: &str) {}
}

/// Sends the results in `dir` to `view`. Trees with more than `items` items, and more bytes than the
/// small tree, cannot be held in memory. Returns the verdict and the reported errors.
fn fill(dir: &TempDir, items: usize, view: &mut dyn View) -> (Verdict, Vec<String>) {
    let reports = Arc::new(Reports::default());
    let verdict = fill_with(dir, items, &ResultsOptions::default(), &reports, view);
    let errors = reports.errors.lock().unwrap().clone();
    (verdict, errors)
}

fn fill_with(
    dir: &TempDir,
    items: usize,
    options: &ResultsOptions,
    reports: &Arc<Reports>,
    view: &mut dyn View,
) -> Verdict {
    let context = Context::new(Arc::clone(reports));
    let mut trees = open(&context, options, dir.path()).unwrap();
    trees.hold_at_most(SMALL.len() as u64, items);
    let mut seen = ShownResults::default();
    show_input(&context, options, &mut trees, false, &mut seen, view).unwrap();
    seen.verdict()
}

/// The names of the roots that a view got as a whole.
#[derive(Default)]
struct Whole(Vec<String>);

impl View for Whole {
    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.0.push(format!("{} {}", tree.item.name, tree.item.status.as_str()));
        Ok(())
    }
}

#[test]
fn a_tree_that_is_too_large_names_a_format_that_works_and_hides_no_other() {
    let large = LARGE.replace("failed", "passed");
    let dir = archive(&[("large", &large), ("small", SMALL)]);
    let mut whole = Whole::default();
    let (verdict, errors) = fill(&dir, 1, &mut whole);
    assert_eq!(whole.0, ["large unknown", "small passed"]);
    assert_eq!(verdict, Verdict::Incomplete);
    let [error] = errors.as_slice() else { panic!("{errors:?}") };
    assert!(error.contains("it has more than 1 items") && error.contains("`--output json`"), "{error}");

    let mut out = Vec::new();
    Documents::print(DataFormat::Json, &mut out, |view| {
        let (verdict, errors) = fill(&dir, 1, view);
        assert_eq!(errors, Vec::<String>::new());
        Ok(verdict)
    })
    .unwrap();
    let trees: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(trees[0]["items"][0]["items"][0]["details"]["stdout"], "one\ntwo");
    assert_eq!(trees[1]["items"][0]["name"], "only");
    assert_eq!(trees[0]["run"]["verdict"], Verdict::Passed.as_str());
}

#[test]
fn a_large_tree_that_is_processed_again_is_written_item_by_item() {
    let dir = archive(&[("p", SMALL)]);
    let plugin = dir.path().join("plugins/p");
    fs::write(
        plugin.join("definition.json"),
        r#"{"sonobuoy-config": {"plugin-name": "p", "driver": "Job", "result-format": "raw"}, "spec": {}}"#,
    )
    .unwrap();
    fs::create_dir_all(plugin.join("results/global")).unwrap();
    for name in ["a.txt", "b.txt"] {
        fs::write(plugin.join("results/global").join(name), name).unwrap();
    }
    let mut out = Vec::new();
    Documents::print(DataFormat::Json, &mut out, |view| {
        let options = ResultsOptions { reprocess: true, ..ResultsOptions::default() };
        Ok(fill_with(&dir, 1, &options, &Arc::default(), view))
    })
    .unwrap();
    let tree = serde_json::from_slice::<Value>(&out).unwrap()[0].to_string();
    assert!(tree.contains("a.txt") && tree.contains("b.txt"), "{tree}");
}

#[test]
fn junit_reports_the_texts_that_it_omits_from_a_large_tree() {
    let long = "x".repeat((1 << 20) + 1);
    let tree = format!("{SMALL}  details:\n    system-out: \"{long}\"\n- name: other\n  status: passed\n");
    let dir = archive(&[("large", &tree)]);
    let (mut out, reports): (Vec<u8>, _) = (Vec::new(), Arc::new(Reports::default()));
    Rendered::print(&Format::Junit, &mut out, |view| {
        Ok(fill_with(&dir, 1, &ResultsOptions::default(), &reports, view))
    })
    .unwrap();
    assert!(String::from_utf8(out).unwrap().contains("name=\"other\""));
    let warnings = reports.warnings.lock().unwrap();
    let is_it = |warning: &&String| warning.contains("plugin `large`") && warning.contains("1 details are omitted");
    assert_eq!(warnings.iter().filter(is_it).count(), 1, "{warnings:?}");
}

#[test]
fn an_archive_that_fails_after_its_element_has_begun_is_not_skipped() {
    let dir = archive(&[("large", LARGE)]);
    let mut trees = Trees::open(&Context::new(crate::context::Silent), dir.path(), Reprocess::default()).unwrap();
    fs::remove_file(dir.path().join("plugins/large/sonobuoy_results.yaml")).unwrap();
    let mut out = Vec::new();
    let error = Documents::print(DataFormat::Json, &mut out, |view| {
        view.begin(None, &mut trees)?;
        view.tree(&mut trees, ResultTree { is_streamed: true, ..ResultTree::new(None, "large", Item::default()) })?;
        Ok(Verdict::Passed)
    });
    // A usage error would only skip this input.
    assert!(!error.unwrap_err().is_usage());
    assert!(out.is_empty());
}

/// Returns the data that `view` makes of the large tree, as a whole or item by item.
fn data(trees: &mut Trees, view: &mut dyn View, is_streamed: bool) -> Result<Verdict, AppError> {
    let item = trees.item("large")?;
    let verdict = Some(PluginVerdict { plugin: "large".to_owned(), ..PluginVerdict::default() });
    let cause = Cause { id: "c1".to_owned(), template: "why <*>".to_owned(), count: 1, items: vec![1] };
    let (causes, input, plugin) = (vec![cause], Some("monday"), "large");
    view.begin(input, trees)?;
    for _ in 0..2 {
        let item = if is_streamed { bare(&item) } else { item.clone() };
        let (verdict, causes) = (verdict.clone(), causes.clone());
        view.tree(trees, ResultTree { verdict, causes, is_streamed, ..ResultTree::new(input, plugin, item) })?;
    }
    Ok(Verdict::Passed)
}

/// Adds a list of three nodes, of which the first has another kernel, to an archive.
fn add_nodes(dir: &TempDir) {
    let node = |n: u32| {
        let kernel = if n == 1 { "old" } else { "new" };
        json!({"metadata": {"name": format!("n{n}")}, "status": {"nodeInfo": {"kernelVersion": kernel}}})
    };
    let resources = dir.path().join("resources/cluster");
    fs::create_dir_all(&resources).unwrap();
    fs::write(resources.join("core_v1_nodes.json"), json!([node(1), node(2), node(3)]).to_string()).unwrap();
}

#[test]
fn data_that_is_written_item_by_item_is_that_of_the_whole_tree() {
    let third =
        "  meta:\n    type: node\n- name: n3\n  status: passed\n  meta:\n    duration: \"2.5\"\n    type: node\n";
    let dir = archive(&[("large", &format!("{LARGE}{third}"))]);
    add_nodes(&dir);
    let mut trees = Trees::open(&Context::new(crate::context::Silent), dir.path(), Reprocess::default()).unwrap();
    let mut json = |is_streamed| {
        let mut out = Vec::new();
        Documents::print(DataFormat::Json, &mut out, |view| data(&mut trees, view, is_streamed)).unwrap();
        String::from_utf8(out).unwrap()
    };
    let whole = json(false);
    assert!(whole.contains("\"template\": \"why <*>\"") && whole.contains("\"name\": \"second\""), "{whole}");
    assert!(whole.contains("\"seconds\": 2.5") && whole.contains("\"property\": \"kernelVersion\""), "{whole}");
    assert_eq!(json(true), whole);
    let mut yaml = |is_streamed| {
        let mut out = Vec::new();
        Documents::print(DataFormat::Yaml, &mut out, |view| data(&mut trees, view, is_streamed)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let documents = text.split("---\n").filter(|text| !text.is_empty());
        documents.map(|text| serde_saphyr::from_str(text).unwrap()).collect::<Vec<Value>>()
    };
    let whole = yaml(false);
    assert_eq!(whole.len(), 2);
    assert_eq!(whole[0]["node-distinctions"][0]["value"], "old", "{whole:#?}");
    assert_eq!(yaml(true), whole);
}

#[test]
fn facts_of_a_later_tree_distinguish_the_nodes_of_an_earlier_one() {
    let tree = |plugin: &str, status: &str, node: &dyn Fn(u32) -> String| {
        format!("name: {plugin}\nstatus: {status}\nitems:\n{}{}{}", node(1), node(2), node(3))
    };
    let status = |n: u32| if n == 1 { "failed" } else { "passed" };
    let checks = tree("checks", "failed", &|n| {
        let status = status(n);
        format!(
            "- name: n{n}\n  status: {status}\n  meta:\n    type: node\n  items:\n  - name: check\n    status: {status}\n"
        )
    });
    let facts = tree("facts", "passed", &|n| {
        let kernel = if n == 1 { "old" } else { "new" };
        format!(
            "- name: n{n}\n  status: passed\n  meta:\n    type: node\n  items:\n  - name: host-facts.json\n    status: passed\n    \
             meta:\n      type: file\n    items:\n    - name: kernel\n      status: passed\n      details:\n        release: \"{kernel}\"\n"
        )
    });
    let dir = archive(&[("checks", &checks), ("facts", &facts)]);
    let mut trees = Trees::open(&Context::new(crate::context::Silent), dir.path(), Reprocess::default()).unwrap();
    let mut out = Vec::new();
    Documents::print(DataFormat::Json, &mut out, |view| {
        // The facts of a run say nothing about the nodes of the next one.
        for plugins in [&["checks", "facts"][..], &["checks"]] {
            view.begin(None, &mut trees)?;
            for plugin in plugins {
                let root = Item::default();
                view.tree(&mut trees, ResultTree { is_streamed: true, ..ResultTree::new(None, plugin, root) })?;
            }
        }
        Ok(Verdict::Failed)
    })
    .unwrap();
    let found: Value = serde_json::from_slice(&out).unwrap();
    let release = json!([{"property": "kernel: release", "value": "old", "failed-nodes": {"count": 1, "of": 1},
        "other-nodes": {"count": 0, "of": 2}}]);
    let distinctions: Vec<Option<&Value>> =
        found.as_array().unwrap().iter().map(|tree| tree.get("node-distinctions")).collect();
    assert_eq!(distinctions, [Some(&release), None, None]);
}
