//! Details of a result, kept where somebody asked for them, within what the place takes. To keep them is never a reason to fail.

use plumbline_kubernetes::{ClusterError, Refusal};
use serde_json::{Value, json};

use crate::reporter::access::{Access, Verb};
use crate::reporter::config::Config;

/// The annotation on the Job, and on its ConfigMap.
pub(crate) const ANNOTATION: &str = "plumbline.dev/adapter-details";
/// The key in the ConfigMap.
const KEY: &str = "details.json";
/// What says whose ConfigMap it is.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "plumbline-reporter");
/// The end of the ConfigMap's name.
const SUFFIX: &str = "-adapter-details";
/// Bytes in an annotation: all annotations of an object hold 256 KiB together, and others need theirs.
const MAX_ANNOTATION: usize = 64 << 10;
/// Bytes in a ConfigMap: it holds 1 MiB, names and all.
const MAX_CONFIG_MAP: usize = 768 << 10;
/// Bytes of the beginning that is kept of what is too large.
const MAX_BEGINNING: usize = 1 << 10;

/// The details for an annotation.
pub(crate) fn for_annotation(details: &str) -> String {
    bounded(details, MAX_ANNOTATION)
}

/// What is too large stays JSON: it says so, how large it was, and how it began.
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

/// Keeps the details in a ConfigMap that belongs to the Job. One of that name that is not ours is left alone.
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
        // A code, so that it is not tried again.
        let mut error = ClusterError::new(what, "there is one that somebody else made; it stays as it is");
        error.code = Some(422);
        return Err(Refusal::of(error));
    }
    let owners = object.pointer("/metadata/ownerReferences");
    let patch = json!({"metadata": {"ownerReferences": owners}, "data": data});
    access.once(&what, Verb::Merge(&patch), &one).await.map(|_| ())
}

/// The name of the ConfigMap of a Job, within the 253 characters of a name.
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
