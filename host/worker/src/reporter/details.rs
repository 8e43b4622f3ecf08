//! Stores details of a result in the configured place, within its size limit. Failing to store them
//! is never an error of the Job.

use plumbline_kubernetes::{ClusterError, Refusal};
use serde_json::{Value, json};

use crate::reporter::access::{Access, Verb};
use crate::reporter::config::Config;

/// The annotation on the Job and on its ConfigMap.
pub(crate) const ANNOTATION: &str = "plumbline.dev/adapter-details";
/// The key in the ConfigMap.
const KEY: &str = "details.json";
/// The label that marks the ConfigMap as the reporter's.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "plumbline-reporter");
/// The suffix of the ConfigMap's name.
const SUFFIX: &str = "-adapter-details";
/// Maximum size of an annotation in bytes. All annotations of an object share 256 KiB, and others
/// need space too.
const MAX_ANNOTATION: usize = 64 << 10;
/// Maximum size of the data in a ConfigMap, in bytes. An object may have 1 MiB, including metadata.
const MAX_CONFIG_MAP: usize = 768 << 10;
/// Number of bytes to keep from the start of details that are too large.
const MAX_BEGINNING: usize = 1 << 10;

/// Returns the details for an annotation.
pub(crate) fn for_annotation(details: &str) -> String {
    bounded(details, MAX_ANNOTATION)
}

/// Replaces oversized details with JSON that contains their size and their start.
fn bounded(details: &str, max: usize) -> String {
    if details.len() <= max {
        return details.to_owned();
    }
    let mut end = MAX_BEGINNING.min(details.len());
    while !details.is_char_boundary(end) {
        end -= 1;
    }
    json!({"truncated": true, "bytes": details.len(), "beginning": details.get(..end).unwrap_or_default()}).to_string()
}

/// Stores the details in a ConfigMap that the Job owns. An existing ConfigMap of that name without
/// the reporter's label is not changed.
pub(crate) async fn to_config_map(access: &Access, config: &Config, job: &Value, details: &str) -> Result<(), Refusal> {
    let name = config_map_name(&config.job);
    let what = format!("keep the details in ConfigMap `{name}` in namespace `{}`", config.namespace);
    let all = format!("/api/v1/namespaces/{}/configmaps", config.namespace);
    let uid = job.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    let data = json!({KEY: bounded(details, MAX_CONFIG_MAP)});
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "labels": {LABEL.0: LABEL.1},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": config.job, "uid": uid}],
        },
        "data": data,
    });
    match access.once(&what, Verb::Create(&object), &all).await {
        Err(refusal) if refusal.error.code == Some(409) => {}
        done => return done.map(|_| ()),
    }
    let one = format!("{all}/{name}");
    let there = access.once(&what, Verb::Get, &one).await?;
    let label = there.pointer("/metadata/labels").and_then(|labels| labels.get(LABEL.0)).and_then(Value::as_str);
    if label != Some(LABEL.1) {
        // Set a status code, so that this is not retried.
        let mut error = ClusterError::new(what, "there is one that somebody else made; it stays as it is");
        error.code = Some(422);
        return Err(Refusal::of(error));
    }
    let owners = object.pointer("/metadata/ownerReferences");
    let patch = json!({"metadata": {"ownerReferences": owners}, "data": data});
    access.once(&what, Verb::Merge(&patch), &one).await.map(|_| ())
}

/// Returns the name of a Job's ConfigMap, with at most 253 characters.
fn config_map_name(job: &str) -> String {
    let room = 253 - SUFFIX.len();
    let job: String = job.chars().take(room).collect();
    format!("{}{SUFFIX}", job.trim_end_matches(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(for_annotation(r#"{"a": 1.50}"#), r#"{"a": 1.50}"#);
    }

    #[test]
    fn what_does_not_fit_stays_json_and_says_so() {
        let large = format!("\"{}\"", "ä".repeat(MAX_ANNOTATION));
        let kept = for_annotation(&large);
        assert!(kept.len() < MAX_ANNOTATION);
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!((&kept["truncated"], &kept["bytes"]), (&json!(true), &json!(large.len())));
        assert!(large.starts_with(kept["beginning"].as_str().unwrap()));
    }

    #[test]
    fn the_name_of_a_config_map_is_always_one() {
        assert_eq!(config_map_name("j"), "j-adapter-details");
        assert_eq!(config_map_name(&"a".repeat(253)).len(), 253);
    }
}
