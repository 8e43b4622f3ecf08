//! Results that exceed a limit affect only their own plugin, which gets the reason.

use serde_json::Value;

use crate::bed::Bed;

const PASSES: &str = "echo '<testsuite><testcase name=\"t\"/></testsuite>' > $SONOBUOY_RESULTS_DIR/r.xml";

/// Runs the plugin `hostile` and a good one. Returns the tree of the hostile one and what the run
/// printed.
fn run(config: &str, script: &str, limits: &str) -> (Value, String) {
    let bed = Bed::new();
    bed.plugin("hostile", config, script);
    bed.plugin("good", "result-format: junit", PASSES);
    let limits = bed.write("limits.yaml", limits);
    let done = bed.run(&["hostile", "good"], &["--limits", limits.to_str().unwrap()]);
    assert!([1, 3].contains(&done.code), "{}", done.shown(&bed));
    assert_eq!(bed.tree("good")["status"], "passed", "{}", done.shown(&bed));
    (bed.tree("hostile"), done.shown(&bed))
}

/// The name of the only item that failed, which is the reason why there are no results. Collected
/// files may be next to it.
fn reason(tree: &Value) -> &str {
    let failed: Vec<_> = tree["items"].as_array().unwrap().iter().filter(|item| item["status"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{tree}");
    failed[0]["name"].as_str().unwrap()
}

#[test]
fn too_many_different_statuses() {
    let script = "{ echo 'items:'; i=0; while [ $i -le 10000 ]; do echo \"- {name: a, status: s$i}\"; i=$((i+1)); done; } > $SONOBUOY_RESULTS_DIR/r.yaml";
    let (tree, shown) = run("result-format: manual\n  result-files: [r.yaml]", script, "{}");
    let last = tree["items"].as_array().unwrap().last().unwrap();
    assert_eq!(last["name"], "module `manual` exceeded its limit `statuses`: 1000 different statuses", "{shown}");
    assert_eq!(last["status"], "unknown");
}

/// 60 levels are accepted and in the archive. One more is an error that names the directory.
#[test]
fn directories_that_are_too_deep() {
    let nested = |levels: usize, last: &str| {
        format!("cd $SONOBUOY_RESULTS_DIR; i=0; while [ $i -lt {levels} ]; do mkdir d; cd d; i=$((i+1)); done; {last}")
    };
    for levels in [61, 64, 100] {
        let (tree, shown) = run("result-format: junit", &nested(levels, ":"), "{}");
        assert!(reason(&tree).contains("a path with more than 60 components"), "{shown}");
    }
    let bed = Bed::new();
    bed.plugin("deep", "result-format: junit", &nested(59, &PASSES.replace("$SONOBUOY_RESULTS_DIR", ".")));
    bed.run(&["deep"], &[]).expect(0);
    assert_eq!(bed.tree("deep")["status"], "passed");
    let deep = format!("plugins/deep/results/global/{}r.xml", "d/".repeat(59));
    assert!(bed.members().contains(&deep), "{:?}", bed.members());
}

#[test]
fn a_name_that_is_too_long() {
    let name = "n".repeat(250);
    let script = format!(
        "cd $SONOBUOY_RESULTS_DIR; i=0; while [ $i -lt 16 ]; do mkdir {name}; cd {name}; i=$((i+1)); done; echo x > f"
    );
    let (tree, shown) = run("result-format: junit", &script, "{}");
    assert!(reason(&tree).contains("a name longer than 3072 bytes"), "{shown}");
}

#[test]
fn more_files_than_a_result_or_a_run_may_have() {
    let script = "i=0; while [ $i -lt 20 ]; do echo x > $SONOBUOY_RESULTS_DIR/f$i; i=$((i+1)); done";
    for (limits, why) in [
        ("uploads: {entries: 19}", "more than 19 files and directories"),
        ("uploads: {run-entries: 19}", "more than 19 files and directories (limit `run-entries`)"),
        ("uploads: {body-bytes: 200}", "the body has more than 200 bytes"),
    ] {
        let (tree, shown) = run("result-format: raw", script, limits);
        assert!(reason(&tree).contains("the aggregator rejected the result: "), "{shown}");
        assert!(reason(&tree).contains(why), "{shown}");
    }
}

/// The limit without a file of limits.
#[test]
fn more_files_than_the_default_limit() {
    let script = "cd $SONOBUOY_RESULTS_DIR; seq 100001 | xargs touch";
    let (tree, shown) = run("result-format: raw", script, "{}");
    assert!(reason(&tree).contains("the aggregator rejected the result: "), "{shown}");
    assert!(reason(&tree).contains("more than 100000 files and directories"), "{shown}");
}
