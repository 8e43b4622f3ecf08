//! The service account of a plugin's pods.
//!
//! A plugin is untrusted code, so it never gets the aggregator's account. Unless its definition
//! asks for permissions, no API token is mounted.

use plumbline_core::definition::Definition;
use serde_json::{Value, json};

use crate::names;
use crate::parts::put;

/// The fields of a pod spec that name an account. The second is the deprecated alias of the first.
const NAMED_IN: [&str; 2] = ["serviceAccountName", "serviceAccount"];

/// The service account of a plugin's pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginAccount {
    /// The shared account of all plugins without permissions. No token is mounted.
    Shared,
    /// An account of this name with the permissions that the definition asks for.
    Own(String),
    /// An existing account that the pod spec of the definition names.
    Named(String),
}

impl PluginAccount {
    /// Returns the account of the plugin.
    ///
    /// If the pod spec names the account of the aggregator, that name is ignored, because
    /// definitions that Sonobuoy prints contain it.
    #[must_use]
    pub fn of(definition: &Definition, aggregator: &str) -> Self {
        if let Some(name) = named(definition).filter(|name| *name != aggregator) {
            return Self::Named(name.to_owned());
        }
        match definition.api_permissions().is_empty() {
            true => Self::Shared,
            false => Self::Own(format!("{}-{}", names::PLUGIN_ACCOUNT, definition.name)),
        }
    }

    /// Returns true if the pod spec of the definition names the aggregator's account.
    #[must_use]
    pub fn is_replaced(definition: &Definition, aggregator: &str) -> bool {
        named(definition) == Some(aggregator)
    }

    /// Writes the account into a pod spec. `shared` is the name of [`PluginAccount::Shared`].
    pub(super) fn apply(&self, spec: &mut Value, shared: &str) {
        let (name, token) = match self {
            Self::Named(_) => return,
            Self::Shared => (shared, false),
            Self::Own(name) => (name.as_str(), true),
        };
        if let Value::Object(fields) = spec {
            fields.retain(|key, _| !NAMED_IN.contains(&key.as_str()));
        }
        put(spec, "serviceAccountName", json!(name));
        put(spec, "automountServiceAccountToken", json!(token));
    }
}

fn named(definition: &Definition) -> Option<&str> {
    let spec = definition.pod_spec.as_ref()?;
    let name = |key: &str| spec.get(key).and_then(Value::as_str).filter(|name| !name.is_empty());
    NAMED_IN.into_iter().find_map(name)
}

/// Returns the Secret of the aggregator to which the definition refers, if any.
///
/// A plugin that mounts it could act for every other plugin.
#[must_use]
pub fn reserved_secret(definition: &Definition) -> Option<&'static str> {
    let volumes = definition.pod_spec.iter().chain(&definition.extra_volumes);
    let used =
        |secret: &&str| definition.spec.raw().values().chain(volumes.clone()).any(|value| mentions(value, secret));
    [names::CA_SECRET, names::CERTIFICATES_SECRET].into_iter().find(used)
}

fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own == text,
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(pod_spec: &Value, permissions: &Value) -> Definition {
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "p"},
            "spec": {"image": "i"},
            "podSpec": pod_spec,
            "plumbline": {"permissions": permissions},
        });
        Definition::from_json(document).unwrap().definition
    }

    fn applied(definition: &Definition) -> Value {
        let mut spec = definition.pod_spec.clone().unwrap_or_else(|| json!({}));
        PluginAccount::of(definition, "aggregator").apply(&mut spec, "shared");
        spec
    }

    #[test]
    fn a_plugin_that_asks_for_nothing_gets_no_token() {
        let bare = json!({"serviceAccountName": "shared", "automountServiceAccountToken": false});
        for pod_spec in [
            json!({}),
            json!({"serviceAccountName": "aggregator"}),
            json!({"serviceAccount": "aggregator", "automountServiceAccountToken": true}),
            json!({"serviceAccountName": ""}),
        ] {
            assert_eq!(applied(&definition(&pod_spec, &Value::Null)), bare, "{pod_spec}");
        }
        assert_eq!(applied(&definition(&Value::Null, &Value::Null)), bare);
    }

    #[test]
    fn a_definition_gets_the_service_account_that_it_asks_for() {
        let rules = json!({"cluster": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]});
        let own = json!({"serviceAccountName": "plumbline-plugin-p", "automountServiceAccountToken": true});
        assert_eq!(applied(&definition(&json!({"serviceAccountName": "aggregator"}), &rules)), own);
        let named = json!({"serviceAccountName": "made-beforehand"});
        assert_eq!(applied(&definition(&named, &Value::Null)), named);
    }

    #[test]
    fn secrets_of_the_aggregator_are_found_wherever_a_pod_can_mount_them() {
        let volume = json!({"volumes": [{"name": "v", "secret": {"secretName": "plumbline-ca"}}]});
        assert_eq!(reserved_secret(&definition(&volume, &Value::Null)), Some("plumbline-ca"));
        let projected = json!({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "plumbline-certificates"}}]}}]});
        assert_eq!(reserved_secret(&definition(&projected, &Value::Null)), Some("plumbline-certificates"));
        assert_eq!(reserved_secret(&definition(&json!({}), &Value::Null)), None);
    }
}
