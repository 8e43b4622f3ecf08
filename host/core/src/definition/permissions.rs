//! The permissions of a plugin on the API server of its cluster.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::definition::error::{DefinitionError, Warnings};
use crate::definition::schema;
use crate::definition::section::Section;
use crate::rights::Rights;

/// The maximum number of rules of each kind. More rules indicate a mistake in a generated
/// definition.
const MAX_RULES: usize = 100;

/// The maximum number of entries in each list of a rule.
const MAX_ENTRIES: usize = 500;

/// The permissions that a definition requests. A plugin without permissions gets no token for the
/// API server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ApiPermissions {
    /// Rules for the whole cluster, which become a ClusterRole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster: Vec<PolicyRule>,
    /// Rules for the namespace of the run, which become a Role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespace: Vec<PolicyRule>,
    /// Rules for other namespaces, which become Roles there. Only the rights of a check have them.
    #[serde(skip)]
    pub elsewhere: BTreeMap<String, Vec<PolicyRule>>,
}

/// A rule of a role as in Kubernetes (rbac.authorization.k8s.io/v1 `PolicyRule`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// API groups. The core group is an empty string, and `*` matches all groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources and subresources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names of objects. If empty, every name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// URL paths that are not resources, such as `/metrics`. Only valid in rules for the whole
    /// cluster.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Verbs, such as `get` and `list`.
    pub verbs: Vec<String>,
}

impl ApiPermissions {
    /// Returns whether the definition requests no permissions.
    pub fn is_empty(&self) -> bool {
        self.cluster.is_empty() && self.namespace.is_empty() && self.elsewhere.is_empty()
    }

    /// Returns these permissions, and the reads in `rights`.
    pub(super) fn with_reads(&self, rights: &Rights) -> Self {
        let mut all = self.clone();
        for right in &rights.kubernetes {
            let group = right.api_version.split_once('/').map_or("", |(group, _)| group);
            let rule = PolicyRule {
                api_groups: vec![group.to_owned()],
                resources: right.resources.clone(),
                verbs: ["get", "list"].map(str::to_owned).into(),
                ..PolicyRule::default()
            };
            for namespace in &right.namespaces {
                all.elsewhere.entry(namespace.clone()).or_default().push(rule.clone());
            }
            if right.namespaces.is_empty() {
                all.cluster.push(rule);
            }
        }
        all
    }

    /// Returns whether the permissions include everything in the cluster.
    pub fn is_cluster_admin(&self) -> bool {
        let all = |list: &[String]| list.iter().any(|entry| entry == "*");
        self.cluster.iter().any(|rule| {
            all(&rule.api_groups) && all(&rule.resources) && all(&rule.verbs) && rule.resource_names.is_empty()
        })
    }

    pub(super) fn read(mut section: Section, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let mut rules = |key: &str| {
            let rules = section.list(key)?;
            if rules.len() > MAX_RULES {
                return Err(section.invalid(key, "there are more than 100 rules"));
            }
            let path = section.at(key);
            let read = |(i, rule)| {
                PolicyRule::read(Section::new(format!("{path}[{i}]"), rule, schema::POLICY_RULE, warnings)?)
            };
            rules.into_iter().enumerate().map(read).collect::<Result<_, _>>()
        };
        Ok(Self { cluster: rules("cluster")?, namespace: rules("namespace")?, elsewhere: BTreeMap::new() })
    }

    /// Checks the rules of the API server that no schema expresses, to find mistakes before
    /// anything is created.
    pub(super) fn check(&self) -> Result<(), DefinitionError> {
        for (key, rules) in [("cluster", &self.cluster), ("namespace", &self.namespace)] {
            for (i, rule) in rules.iter().enumerate() {
                let invalid = |why: &str| {
                    let path = format!("plumbline.permissions.{key}[{i}]");
                    Err(DefinitionError::Invalid { path, why: why.to_owned() })
                };
                let of_paths = !rule.non_resource_urls.is_empty();
                let of_resources = !rule.api_groups.is_empty() && !rule.resources.is_empty();
                let half = !of_resources && (!rule.api_groups.is_empty() || !rule.resources.is_empty());
                if half || of_resources == of_paths {
                    return invalid("a rule has `apiGroups` and `resources`, or `nonResourceURLs`");
                }
                if of_paths && key == "namespace" {
                    return invalid("rules with `nonResourceURLs` apply to the cluster: put this one under `cluster`");
                }
            }
        }
        Ok(())
    }
}

impl PolicyRule {
    fn read(mut section: Section) -> Result<Self, DefinitionError> {
        let mut list = |key: &str| {
            let entries = section.texts(key)?;
            match entries.len() {
                0..=MAX_ENTRIES => Ok(entries),
                _ => Err(section.invalid(key, "there are more than 500 entries")),
            }
        };
        let rule = Self {
            api_groups: list("apiGroups")?,
            resources: list("resources")?,
            resource_names: list("resourceNames")?,
            non_resource_urls: list("nonResourceURLs")?,
            verbs: list("verbs")?,
        };
        if rule.verbs.is_empty() {
            return Err(section.invalid("verbs", "name at least one verb, such as `get`"));
        }
        Ok(rule)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Definition;

    fn read(permissions: Value) -> Result<ApiPermissions, DefinitionError> {
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "p"},
            "spec": {},
            "plumbline": {"permissions": permissions},
        });
        let parsed = Definition::from_json(document)?.definition;
        let again = Definition::from_json(parsed.to_json()).unwrap().definition;
        assert_eq!(again.plumbline.permissions, parsed.plumbline.permissions, "they survive being written");
        Ok(parsed.plumbline.permissions)
    }

    #[test]
    fn rules_are_read_as_kubernetes_writes_them() {
        assert!(read(Value::Null).unwrap().is_empty());
        let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        let read = read(json!({
            "cluster": everything,
            "namespace": [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get"]}],
        }))
        .unwrap();
        assert!(read.is_cluster_admin() && !read.is_empty());
        let rule = read.namespace.first().unwrap();
        assert_eq!(rule.api_groups, [""]);
        assert_eq!(rule.resource_names, ["a"]);
    }

    #[test]
    fn rules_that_the_api_server_rejects_are_rejected_here() {
        let checked = |permissions| read(permissions).and_then(|permissions| permissions.check());
        for (permissions, path) in [
            (
                json!({"cluster": [{"apiGroups": [""], "resources": ["pods"]}]}),
                "plumbline.permissions.cluster[0].verbs",
            ),
            (json!({"cluster": [{"resources": ["pods"], "verbs": ["get"]}]}), "plumbline.permissions.cluster[0]"),
            (
                json!({"namespace": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}),
                "plumbline.permissions.namespace[0]",
            ),
            (json!({"cluster": vec![json!({}); 101]}), "plumbline.permissions.cluster"),
        ] {
            let error = checked(permissions).unwrap_err().to_string();
            assert!(error.contains(path), "{error}");
        }
    }
}
