//! The files that a definition contains.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::section::{scalar, wrong_type};
use crate::definition::warning::{WarningKind, Warnings, cut};
use crate::definition::yaml;

/// Reads and checks `config-map`. Names must be valid keys of a ConfigMap, which makes them safe as
/// file names. Values must match the format of their file extension.
pub(super) fn read(
    fields: Map<String, Value>,
    warnings: &mut Warnings,
) -> Result<BTreeMap<String, String>, DefinitionError> {
    let mut files = BTreeMap::new();
    for (key, value) in fields {
        if !is_file_name(&key) {
            return Err(DefinitionError::ConfigMapKey(cut(&key)));
        }
        let path = format!("config-map.{key}");
        let text = scalar(&value).ok_or_else(|| wrong_type(&path, "text", &value))?;
        if !value.is_string() {
            warnings.add(path, WarningKind::NotText);
        }
        check(&key, &text)?;
        files.insert(key, text);
    }
    Ok(files)
}

/// Returns whether Kubernetes accepts `key` as a key of a ConfigMap.
pub(super) fn is_file_name(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && key != "."
        && !key.starts_with("..")
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn check(key: &str, text: &str) -> Result<(), DefinitionError> {
    let refuse = |format, cause| DefinitionError::ConfigMapValue { key: key.to_owned(), format, cause };
    if key.ends_with(".yaml") || key.ends_with(".yml") {
        return yaml::check(text).map_err(|cause| refuse("YAML", cause));
    }
    if key.ends_with(".json") {
        let json = serde_json::from_str::<serde::de::IgnoredAny>(text);
        // Sonobuoy reads JSON as YAML, and so accepts comments and trailing commas.
        return json
            .or_else(|error| {
                yaml::check(text).map(|()| serde::de::IgnoredAny).map_err(|_| refuse("JSON", error.to_string()))
            })
            .map(drop);
    }
    Ok(())
}
