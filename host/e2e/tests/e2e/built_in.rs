//! Tests of the built-in plugins, which have no image of their own.

use std::fs;

use serde_json::Value;

use crate::bed::Bed;

#[test]
fn built_in_plugins_give_a_result_for_each_node() {
    let Some(bed) = Bed::new("built-in") else { return };
    let nodes = bed.nodes();
    let done = bed
        .run(&[], &["-p", "host-facts", "-p", "systemd-logs", "--wait", "--plugin-env", "systemd-logs.LOG_MINUTES=5"]);
    assert_eq!(done.code, 0, "{done:?}");
    fs::create_dir(bed.path("out")).unwrap();
    let retrieved = bed.command("retrieve", &["out"]).expect(0);
    let archive = retrieved.out.trim().to_owned();
    let trees = bed.plumbline(&["results", &archive, "-o", "json"]).expect(0).json();
    for (plugin, file) in [("host-facts", "host-facts.json"), ("systemd-logs", "systemd_logs")] {
        let tree = trees.as_array().unwrap().iter().find(|tree| tree["name"] == plugin);
        let tree = tree.unwrap_or_else(|| panic!("{plugin}: {trees}"));
        // The other items are about all nodes together.
        let items = tree["items"].as_array().unwrap_or_else(|| panic!("{plugin}: {tree}"));
        let results: Vec<&Value> = items.iter().filter(|item| item["meta"]["type"] == "node").collect();
        let mut names: Vec<_> = results.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(names, nodes, "{tree}");
        for node in results {
            // A node may lack a journal, but the result must have an item for it.
            assert!(node["items"].as_array().unwrap().iter().any(|item| item["name"] == file), "{node}");
            // Warnings, such as a nearly full disk, depend on the node too.
            let status = node["status"].as_str().unwrap();
            assert!(!["failed", "unknown", "timeout"].iter().any(|bad| status.contains(bad)), "{node}");
        }
    }
}
