//! Archive files that checks read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::list::{ListFile, document};

/// Path of the cluster's health in an archive.
const HEALTH: &str = "meta/clusterhealth.json";

/// Returns the patterns of the archive files that the checks in `files` read, in lexical order.
/// Invalid checks are ignored, because the judge reports them.
pub(super) fn of_checks(files: &[ListFile]) -> Vec<String> {
    let mut patterns = BTreeSet::new();
    for file in files {
        let document = document(&file.text).unwrap_or_default();
        let checks = match &document {
            Value::Object(fields) => fields.get("checks").and_then(Value::as_array),
            document => document.as_array(),
        };
        for check in checks.into_iter().flatten() {
            if check.get("healthy").or(check.get("unhealthy")).is_some() {
                patterns.insert(HEALTH.to_owned());
            }
            if let Some(files) = check.pointer("/log/files").and_then(Value::as_str) {
                patterns.insert(files.to_owned());
            }
        }
    }
    patterns.into_iter().collect()
}
