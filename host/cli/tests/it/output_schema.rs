//! Results as JSON have their published schema.

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::timeline::{archive, timeline};

/// Returns why the schema that `gen schema results` prints rejects the document.
fn violations(bed: &Bed, document: &Value) -> Option<String> {
    let schema: Value = serde_json::from_str(&bed.plumbline(&["gen", "schema", "results"]).expect(0).out).unwrap();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("results", schema).unwrap();
    let index = compiler.compile("results", &mut schemas).unwrap();
    schemas.validate(document, index).err().map(|error| error.to_string())
}

/// A run with failures of one cause and a verdict: every part of the document is there.
#[test]
fn trees_causes_and_verdicts_have_the_published_schema() {
    let bed = Bed::new();
    let case =
        |n: u32| format!("<testcase name='disk {n}' time='1'><failure>write /{n}: no space left</failure></testcase>");
    let cases: String = (0..6).map(case).collect();
    bed.write("report.xml", &format!("<testsuite name='s'><testcase name='fine'/>{cases}</testsuite>"));
    bed.write("known.yaml", "- {test: disk 1, reason: the disk is small}\n");
    let script = format!(
        "cp {}/report.xml $SONOBUOY_RESULTS_DIR/\nprintf %s $SONOBUOY_RESULTS_DIR/report.xml > $SONOBUOY_RESULTS_DIR/done",
        bed.root().display()
    );
    bed.plugin("suite", "result-format: junit", &script);
    bed.run(&["suite"], &["--known-failures", "known.yaml"]).expect(1);
    let printed = bed.plumbline(&["results", &bed.archive(), "-o", "json"]).expect(1).out;
    let trees: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(violations(&bed, &trees), None);
    assert_eq!(trees[0]["verdict"]["excused"], 1, "{trees:#}");
    assert!(trees[0]["causes"][0]["count"].is_u64(), "{trees:#}");
    for (pointer, wrong) in [
        ("/0/status", json!(1)),
        ("/0/items/0/name", json!(null)),
        ("/0/verdict/status", json!("fine")),
        ("/0/causes/0/count", json!("6")),
        ("/0/slowest/0/seconds", json!(0)),
        ("/0/slowest/0/status", json!(null)),
        ("/0/slowest/0/name", json!(null)),
        ("/0/run/verdict", json!("fine")),
        ("/0/run/id", json!(7)),
        ("/0/run/started", json!(7)),
    ] {
        let mut changed = trees.clone();
        *changed.pointer_mut(pointer).unwrap() = wrong;
        assert!(violations(&bed, &changed).is_some(), "{pointer}");
    }
}

#[test]
fn cluster_events_have_the_published_schema() {
    let bed = Bed::new();
    let run = archive(&bed, &timeline());
    let printed = bed.plumbline(&["results", &run, "-o", "json"]).expect(1).out;
    let trees: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(violations(&bed, &trees), None);
    for (key, wrong) in [
        ("kind", json!(null)),
        ("from", json!(7)),
        ("until", json!(7)),
        ("count", json!(0)),
        ("sentence", json!(null)),
        ("tests", json!([{}])),
    ] {
        let mut changed = trees.clone();
        let event = changed[0]["cluster-events"][0].as_object_mut().unwrap();
        assert!(event.insert(key.to_owned(), wrong).is_some(), "{key}");
        assert!(violations(&bed, &changed).is_some(), "{key}");
    }
}

#[test]
fn what_distinguishes_nodes_has_the_published_schema() {
    let bed = Bed::new();
    let node = |n: u32| {
        let status = if n == 1 { "failed" } else { "passed" };
        let item = json!({"name": format!("n{n}"), "status": status, "meta": {"type": "node"}, "items": [{"name": "check", "status": status}]});
        (item, json!({"metadata": {"name": format!("n{n}"), "labels": {"old": (n == 1).to_string()}}}))
    };
    let (items, nodes): (Vec<Value>, Vec<Value>) = (1..=3).map(node).unzip();
    bed.write("run/meta/info.json", r#"{"plugins": ["p"]}"#);
    let tree = json!({"name": "p", "status": "failed", "items": items});
    bed.write("run/plugins/p/sonobuoy_results.yaml", &tree.to_string());
    bed.write("run/resources/cluster/core_v1_nodes.json", &json!(nodes).to_string());
    let printed = bed.plumbline(&["results", "run", "-o", "json"]).expect(1).out;
    let trees: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(violations(&bed, &trees), None);
    let share = json!({"count": 1});
    for (key, wrong) in
        [("property", json!(7)), ("value", json!(null)), ("failed-nodes", share.clone()), ("other-nodes", share)]
    {
        let mut changed = trees.clone();
        let distinction = changed[0]["node-distinctions"][0].as_object_mut().unwrap();
        assert!(distinction.insert(key.to_owned(), wrong).is_some(), "{key}");
        assert!(violations(&bed, &changed).is_some(), "{key}");
    }
}
