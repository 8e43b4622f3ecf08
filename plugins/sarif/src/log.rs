//! The parts of a log that the module reads. Numbers in comments are sections of SARIF 2.1.0.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Deserialize)]
pub(crate) struct Log {
    pub(crate) version: Option<String>,
    pub(crate) runs: Option<Vec<Run>>,
}

/// 3.14
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Run {
    pub(crate) tool: Tool,
    pub(crate) invocations: Option<Vec<Invocation>>,
    pub(crate) conversion: Option<Conversion>,
    pub(crate) results: Option<Vec<Finding>>,
    pub(crate) artifacts: Option<Vec<Artifact>>,
    pub(crate) external_property_file_references: Option<ExternalFiles>,
}

/// 3.15. Parts of a run that are in other files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExternalFiles {
    pub(crate) results: Option<Vec<IgnoredAny>>,
    pub(crate) invocations: Option<Vec<IgnoredAny>>,
    pub(crate) conversion: Option<IgnoredAny>,
    pub(crate) driver: Option<IgnoredAny>,
    pub(crate) extensions: Option<Vec<IgnoredAny>>,
}

/// 3.18
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tool {
    pub(crate) driver: Component,
    pub(crate) extensions: Option<Vec<Component>>,
}

/// 3.19
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Component {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) semantic_version: Option<String>,
    pub(crate) rules: Option<Vec<Rule>>,
    pub(crate) notifications: Option<Vec<Rule>>,
}

/// 3.49
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub(crate) id: Option<String>,
    pub(crate) help_uri: Option<String>,
    pub(crate) default_configuration: Option<Configuration>,
    pub(crate) message_strings: Option<BTreeMap<String, Message>>,
}

/// 3.50
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Configuration {
    pub(crate) level: Option<String>,
}

/// 3.20
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Invocation {
    pub(crate) execution_successful: Option<bool>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) exit_code_description: Option<String>,
    pub(crate) exit_signal_name: Option<String>,
    pub(crate) exit_signal_number: Option<i64>,
    pub(crate) process_start_failure_message: Option<String>,
    pub(crate) tool_execution_notifications: Option<Vec<Notification>>,
    pub(crate) tool_configuration_notifications: Option<Vec<Notification>>,
    pub(crate) rule_configuration_overrides: Option<Vec<Override>>,
}

/// 3.51
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Override {
    pub(crate) descriptor: RuleReference,
    pub(crate) configuration: Configuration,
}

/// 3.22
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Conversion {
    pub(crate) invocation: Option<Invocation>,
}

/// 3.58
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Notification {
    pub(crate) level: Option<String>,
    pub(crate) message: Message,
    pub(crate) descriptor: Option<RuleReference>,
}

/// 3.27
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Finding {
    pub(crate) rule_id: Option<String>,
    pub(crate) rule_index: Option<i64>,
    pub(crate) rule: Option<RuleReference>,
    pub(crate) kind: Option<String>,
    pub(crate) level: Option<String>,
    pub(crate) message: Message,
    pub(crate) locations: Option<Vec<Location>>,
    pub(crate) suppressions: Option<Vec<Suppression>>,
    pub(crate) baseline_state: Option<String>,
    pub(crate) provenance: Option<Provenance>,
}

/// 3.48
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Provenance {
    pub(crate) invocation_index: Option<i64>,
}

/// 3.52
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RuleReference {
    pub(crate) id: Option<String>,
    pub(crate) index: Option<i64>,
    pub(crate) tool_component: Option<ComponentReference>,
}

/// 3.54
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ComponentReference {
    pub(crate) index: Option<i64>,
    pub(crate) name: Option<String>,
}

/// 3.11
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    pub(crate) text: Option<String>,
    pub(crate) markdown: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) arguments: Option<Vec<String>>,
}

/// 3.28
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Location {
    pub(crate) physical_location: Option<PhysicalLocation>,
    pub(crate) logical_locations: Option<Vec<LogicalLocation>>,
}

/// 3.29
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PhysicalLocation {
    pub(crate) artifact_location: Option<ArtifactLocation>,
    pub(crate) region: Option<Region>,
}

/// 3.24
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Artifact {
    pub(crate) location: Option<ArtifactLocation>,
}

/// 3.4
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ArtifactLocation {
    pub(crate) uri: Option<String>,
    pub(crate) index: Option<i64>,
}

/// 3.30
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Region {
    pub(crate) start_line: Option<u64>,
    pub(crate) start_column: Option<u64>,
}

/// 3.33
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LogicalLocation {
    pub(crate) name: Option<String>,
    pub(crate) fully_qualified_name: Option<String>,
}

/// 3.35
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Suppression {
    pub(crate) status: Option<String>,
    pub(crate) justification: Option<String>,
}

/// Returns the entry of `list` at an index; -1 means none.
pub(crate) fn at<T>(list: Option<&Vec<T>>, index: Option<i64>) -> Option<&T> {
    list?.get(usize::try_from(index?).ok()?)
}
