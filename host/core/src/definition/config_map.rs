//! The files that a definition brings along.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::section::{scalar, wrong_type};
use crate::definition::warning::{WarningKind, Warnings, cut};
use crate::definition::yaml;

/// Reads and checks `config-map`: names that a ConfigMap can hold (and that are safe as files), and values that are what their
/// names say.
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

/// What Kubernetes takes as a key of a ConfigMap.
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
        // Sonobuoy reads JSON as YAML: comments and trailing commas pass there.
        return json
            .or_else(|error| {
                yaml::check(text).map(|()| serde::de::IgnoredAny).map_err(|_| refuse("JSON", error.to_string()))
            })
            .map(drop);
    }
    Ok(())
}
