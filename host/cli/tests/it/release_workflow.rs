//! The workflow that publishes releases.

use serde_json::{Value, json};

#[test]
fn only_a_pushed_tag_publishes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.github/workflows/release.yml");
    let workflow: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(workflow["permissions"], json!({}));
    let jobs = workflow["jobs"].as_object().unwrap();
    assert!(jobs.contains_key("build") && jobs.contains_key("publish"), "{jobs:?}");
    for (name, job) in jobs {
        let writes = job["permissions"].as_object().unwrap().values().any(|access| access != "read");
        let condition = job["if"].as_str().unwrap_or_default();
        if writes || job.to_string().contains("secrets.") {
            assert!(condition.starts_with("github.event_name == 'push'") && !condition.contains("||"), "{name}");
        }
        // Others may move the tag of an action (docs/releasing.md).
        for action in job["steps"].as_array().unwrap().iter().filter_map(|step| step["uses"].as_str()) {
            assert!(action.starts_with("actions/"), "{name}: {action}");
        }
    }
}
