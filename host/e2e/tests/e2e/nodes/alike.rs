//! Tests of differences between nodes.

use std::fs;

use super::bed_with;

#[test]
fn facts_of_all_nodes_are_compared() {
    let Some(bed) = bed_with("alike", 3) else { return };
    let nodes = bed.nodes().len();
    // Nodes may differ, and their disks may be nearly full: neither fails a run.
    bed.run(&[], &["-p", "host-facts", "--wait"]).expect(0);
    fs::create_dir(bed.path("out")).unwrap();
    let archive = bed.command("retrieve", &["out"]).expect(0).out.trim().to_owned();
    let tree = bed.plumbline(&["results", &archive, "-p", "host-facts", "-o", "json"]).expect(0).json();
    let tree = tree.as_array().map_or(&tree, |all| &all[0]);
    let item = |name: &str| tree["items"].as_array().unwrap().iter().find(|item| item["name"] == name).unwrap();
    assert_eq!(item("totals")["details"]["nodes"], nodes, "{tree}");
    let drift = item("drift");
    assert_ne!(drift["status"], "skipped", "{drift}");
    // Every difference has the value of most nodes, and the nodes that differ.
    for differs in drift["items"].as_array().into_iter().flatten() {
        let details = &differs["details"];
        assert!(!details["majority"].is_null() && !details["differing"].is_null(), "{differs}");
    }
}
