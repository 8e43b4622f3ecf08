//! Discovers the resources of the server.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fetch::{AT_ONCE, Fetch};
use super::record::Recorder;
use crate::names::{NOT_RESOURCES, is_safe_name};
use crate::pod_view::text_at;

/// The plural name of secrets, which are collected only if requested by name.
const SECRETS: &str = "secrets";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupVersion {
    /// The group, which is empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
}

impl GroupVersion {
    fn path(&self) -> String {
        format!("/{}/{}", if self.group.is_empty() { "api" } else { "apis" }, self.name())
    }

    /// Returns the API version, such as `v1` or `apps/v1`.
    pub(super) fn name(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) at: GroupVersion,
    pub(super) plural: String,
    pub(super) kind: String,
    pub(super) namespaced: bool,
}

impl Resource {
    /// Returns the path of the list, for one namespace or for all.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let (base, plural) = (self.at.path(), &self.plural);
        match namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
            None => format!("{base}/{plural}"),
        }
    }

    /// Returns the name of the file, such as `core_v1_nodes.json`.
    pub(super) fn file_name(&self) -> String {
        let group = if self.at.group.is_empty() { "core" } else { &self.at.group };
        format!("{group}_{}_{}.json", self.at.version, self.plural)
    }
}

/// Returns the resources to list: those in `wanted`, or all except secrets. Also returns the list
/// of groups including the core group, or `None` if the request failed.
///
/// A group whose request fails is recorded, and the others continue.
pub(super) async fn discover(
    fetch: &Fetch,
    record: &Recorder<'_>,
    wanted: Option<&[String]>,
) -> (Vec<Resource>, Option<Value>) {
    let groups = fetch.json("list the groups of the API", "/apis").await;
    let groups = groups.map(with_core).map_err(|error| record.problem("discovery", "", error.to_string())).ok();
    let order = match &groups {
        Some(groups) => order(groups, record),
        // Without the list of groups, the core group still holds most of the interesting resources.
        None => vec![GroupVersion { group: String::new(), version: "v1".to_owned() }],
    };
    let lists: Vec<(GroupVersion, Option<Value>)> = futures_util::stream::iter(order)
        .map(|at| async move {
            let began = Instant::now();
            let name = at.name();
            let what = format!("list the resources of `{name}`");
            let list = fetch.json(&what, &at.path()).await;
            let outcome = list.as_ref().map(|_| 0).map_err(ToString::to_string);
            record.query(&format!("discovery/{name}"), "", began, outcome);
            (at, list.ok())
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut seen = BTreeSet::new();
    let mut resources = Vec::new();
    for (at, list) in lists {
        let Some(list) = list else { continue };
        let (found, refused) = of_list(&at, &list, &mut seen);
        resources.extend(found.into_iter().filter(|found| is_wanted(found, wanted)));
        for plural in refused {
            record.problem(
                "discovery",
                "",
                format!("the resource {plural:?} of `{}` cannot be the name of a file", at.name()),
            );
        }
    }
    for missing in missing(wanted, &resources) {
        record.problem(missing, "", "the server has no such resource, or it cannot be listed");
    }
    (resources, groups)
}

fn is_wanted(found: &Resource, wanted: Option<&[String]>) -> bool {
    match wanted {
        Some(names) => names.contains(&found.plural),
        None => found.plural != SECRETS,
    }
}

fn missing<'a>(wanted: Option<&'a [String]>, resources: &[Resource]) -> Vec<&'a String> {
    wanted
        .unwrap_or_default()
        .iter()
        .filter(|name| !NOT_RESOURCES.contains(&name.as_str()) && !resources.iter().any(|found| found.plural == **name))
        .collect()
}

/// Prepends the core group, which `/apis` does not list.
fn with_core(mut groups: Value) -> Value {
    let version = json!({"groupVersion": "v1", "version": "v1"});
    let core = json!({"name": "", "versions": [version], "preferredVersion": version});
    if let Some(list) = groups.get_mut("groups").and_then(Value::as_array_mut)
        && !list.iter().any(|group| group.get("name").and_then(Value::as_str) == Some(""))
    {
        list.insert(0, core);
    }
    groups
}

/// Returns the versions of all groups in the server's order of groups.
///
/// In each group the preferred version comes first. The others only add what it lacks.
fn order(groups: &Value, record: &Recorder<'_>) -> Vec<GroupVersion> {
    let mut order = Vec::new();
    for entry in groups.get("groups").and_then(Value::as_array).into_iter().flatten() {
        // A missing name is an error. The core group has an empty name.
        let Some(group) = entry.get("name").and_then(Value::as_str) else { continue };
        let preferred = text_at(entry, "/preferredVersion/version");
        let others = entry.get("versions").and_then(Value::as_array).into_iter().flatten();
        for version in std::iter::once(preferred).chain(others.map(|version| text_at(version, "/version"))) {
            let at = GroupVersion { group: group.to_owned(), version: version.to_owned() };
            if version.is_empty() || order.contains(&at) {
                continue;
            }
            if is_safe_name(version) && (group.is_empty() || is_safe_name(group)) {
                order.push(at);
            } else {
                record.problem(
                    "discovery",
                    "",
                    format!("the server lists the group version {:?}, which is not a name", at.name()),
                );
            }
        }
    }
    order
}

/// Returns the listable resources of a group version that no earlier version has, and the names
/// that are invalid.
fn of_list(at: &GroupVersion, list: &Value, seen: &mut BTreeSet<String>) -> (Vec<Resource>, Vec<String>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for entry in list.get("resources").and_then(Value::as_array).into_iter().flatten() {
        let plural = text_at(entry, "/name");
        let lists = entry.get("verbs").and_then(Value::as_array).into_iter().flatten().any(|verb| verb == "list");
        if !lists {
            continue;
        }
        let resource = Resource {
            at: at.clone(),
            plural: plural.to_owned(),
            kind: text_at(entry, "/kind").to_owned(),
            namespaced: entry.get("namespaced").and_then(Value::as_bool).unwrap_or(false),
        };
        if !is_safe_name(plural) || !is_safe_name(&resource.file_name()) {
            refused.push(plural.to_owned());
        } else if seen.insert(plural.to_owned()) {
            found.push(resource);
        }
    }
    (found, refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_of_each_group_comes_first() {
        let groups = with_core(json!({"groups": [
            {"name": "apps", "preferredVersion": {"version": "v1"}, "versions": [{"version": "v1beta1"}, {"version": "v1"}]},
            {"name": "../x", "versions": [{"version": "v1"}]},
            {"name": "empty"}, {"versions": [{"version": "v9"}]}, 3]}));
        let record = Recorder::new(&|_| {});
        let order: Vec<String> = order(&groups, &record).iter().map(GroupVersion::name).collect();
        assert_eq!(order, ["v1", "apps/v1", "apps/v1beta1"]);
        assert_eq!(record.summary().errors.len(), 1);
    }

    #[test]
    fn a_name_belongs_to_the_first_group_that_has_it() {
        let mut seen = BTreeSet::new();
        let at = |group: &str| GroupVersion { group: group.to_owned(), version: "v1".to_owned() };
        let list = json!({"resources": [
            {"name": "events", "kind": "Event", "namespaced": true, "verbs": ["get", "list"]},
            {"name": "pods/log", "verbs": ["get"]}, {"name": "bindings", "verbs": ["create"]},
            {"name": "../../etc", "verbs": ["list"]}, {"verbs": ["list"]}]});
        let (first, refused) = of_list(&at(""), &list, &mut seen);
        assert_eq!((first.len(), refused.join(" ").as_str()), (1, "../../etc "));
        let events = first.first().unwrap();
        assert_eq!(events.file_name(), "core_v1_events.json");
        assert_eq!(events.path(Some("a")), "/api/v1/namespaces/a/events");
        assert!(of_list(&at("events.k8s.io"), &list, &mut seen).0.is_empty());
    }
}
