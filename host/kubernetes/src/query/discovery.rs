//! Discovers the resources of the server.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fetch::Fetch;
use super::record::Recorder;
use super::safe::is_safe_name;

/// Group versions requested at once. The throttle limits it further.
const AT_ONCE: usize = 8;

/// The plural name of secrets, which are collected only if requested by name.
const SECRETS: &str = "secrets";

/// A resource that can be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// The group, which is empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
    /// The plural name.
    pub(super) plural: String,
    pub(super) kind: String,
    pub(super) namespaced: bool,
}

impl Resource {
    /// Returns the path of the list, for one namespace or for all.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let base = group_path(&self.group, &self.version);
        let plural = &self.plural;
        match namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
            None => format!("{base}/{plural}"),
        }
    }

    /// Returns the name of the file, such as `core_v1_nodes.json`.
    pub(super) fn file_name(&self) -> String {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        format!("{group}_{}_{}.json", self.version, self.plural)
    }

    /// Returns the API version, such as `v1` or `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// The result of discovery.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    /// The resources to list.
    pub(super) resources: Vec<Resource>,
    /// The list of groups including the core group, or `None` if the request failed.
    pub(super) groups: Option<Value>,
}

/// A version of an API group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupVersion {
    group: String,
    version: String,
}

/// Returns the resources to list: those in `wanted`, or all except secrets.
///
/// A group whose request fails is recorded, and the others continue.
pub(super) async fn discover(fetch: &Fetch, record: &Recorder<'_>, wanted: Option<&[String]>) -> Discovered {
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
            let name = name(&at);
            let what = format!("list the resources of `{name}`");
            let list = fetch.json(&what, &group_path(&at.group, &at.version)).await;
            let told = list.as_ref().map(|_| 0).map_err(ToString::to_string);
            record.query(&format!("discovery/{name}"), "", began, told);
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
                format!("the resource {plural:?} of `{}` cannot be the name of a file", name(&at)),
            );
        }
    }
    for missing in missing(wanted, &resources) {
        record.problem(missing, "", "the server has no such resource, or it cannot be listed");
    }
    Discovered { resources, groups }
}

/// Names in the configuration that do not stand for a resource.
const SPECIAL: [&str; 3] = ["podlogs", "servergroups", "serverversion"];

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
        .filter(|name| !SPECIAL.contains(&name.as_str()) && !resources.iter().any(|found| found.plural == **name))
        .collect()
}

fn group_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn name(at: &GroupVersion) -> String {
    if at.group.is_empty() { at.version.clone() } else { format!("{}/{}", at.group, at.version) }
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
        let preferred = text(entry, "/preferredVersion/version");
        let others = entry.get("versions").and_then(Value::as_array).into_iter().flatten();
        for version in std::iter::once(preferred).chain(others.map(|version| text(version, "/version"))) {
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
                    format!("the server lists the group version {:?}, which is not a name", name(&at)),
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
        let plural = text(entry, "/name");
        let lists = entry.get("verbs").and_then(Value::as_array).into_iter().flatten().any(|verb| verb == "list");
        if !lists {
            continue;
        }
        let resource = Resource {
            group: at.group.clone(),
            version: at.version.clone(),
            plural: plural.to_owned(),
            kind: text(entry, "/kind").to_owned(),
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

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
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
        let order: Vec<String> = order(&groups, &record).iter().map(name).collect();
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

    #[test]
    fn secrets_are_collected_only_by_name() {
        let secrets = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            plural: "secrets".to_owned(),
            kind: "Secret".to_owned(),
            namespaced: true,
        };
        assert!(!is_wanted(&secrets, None));
        let names = ["secrets".to_owned(), "podlogs".to_owned(), "ghosts".to_owned()];
        assert!(is_wanted(&secrets, Some(&names)));
        assert_eq!(missing(Some(&names), &[secrets]), ["ghosts"]);
    }
}
