//! A check of a cluster: manifests, custom resources and API services of API versions that
//! Kubernetes has removed.
//!
//! The API server converts an object to the version that a client asks for, so the object itself
//! does not show the version of its manifest. The annotation in which `kubectl apply` keeps the
//! manifest does. An object without it is not examined, and a resource without any such object is
//! `skipped`.
//!
//! | item | fails for |
//! |---|---|
//! | a resource, such as `deployments` | an object whose last applied manifest has a removed API version |
//! | `stored versions of custom resources` | a definition whose objects are stored in a version that is not served, or is deprecated |
//! | `API services` | a service of an API version that does not answer |
#![forbid(unsafe_code)]

mod removed;

use plumbline_sdk::{Checker, Context, Item, ObjectQuery, Output, PluginInfo, Status};
use serde::Deserialize;
use serde_json::Value;

/// The maximum number of objects that an item lists. The rest is counted.
const MAX_LISTED: usize = 200;

/// The annotation with the manifest.
const LAST_APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// The resources whose manifests are examined.
const RESOURCES: [(&str, &[&str]); 9] = [
    ("apps/v1", &["daemonsets", "deployments", "replicasets", "statefulsets"]),
    ("autoscaling/v2", &["horizontalpodautoscalers"]),
    ("batch/v1", &["cronjobs"]),
    ("flowcontrol.apiserver.k8s.io/v1", &["flowschemas", "prioritylevelconfigurations"]),
    ("networking.k8s.io/v1", &["ingressclasses", "ingresses", "networkpolicies"]),
    ("policy/v1", &["poddisruptionbudgets"]),
    ("rbac.authorization.k8s.io/v1", &["clusterrolebindings", "clusterroles", "rolebindings", "roles"]),
    ("scheduling.k8s.io/v1", &["priorityclasses"]),
    ("storage.k8s.io/v1", &["csidrivers", "storageclasses"]),
];

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct DeprecatedApis;

/// The options of the definition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// The release to upgrade to, such as `v1.32`. Without it, every removed version counts.
    target: Option<String>,
}

/// What a rule finds in an object.
enum Found {
    /// The object has nothing that the rule examines.
    Nothing,
    Good,
    /// The item of the object, which has failed.
    Bad(Item),
}

impl Checker for DeprecatedApis {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let target = options.target.as_deref().map_or(Ok(u32::MAX), removed::parse_minor)?;
        for (api_version, resources) in RESOURCES {
            for resource in resources {
                let without = "no object has the annotation of `kubectl apply`";
                let mut rule = Rule::new(resource, without);
                rule.read(context, &ObjectQuery::new(api_version, *resource), |object| manifest(object, target));
                rule.emit(out);
            }
        }
        let mut stored = Rule::new("stored versions of custom resources", "the cluster has no custom resources");
        let definitions = ObjectQuery::new("apiextensions.k8s.io/v1", "customresourcedefinitions");
        stored.read(context, &definitions, stored_versions);
        stored.emit(out);
        let mut services = Rule::new("API services", "the cluster has no API services");
        services.read(context, &ObjectQuery::new("apiregistration.k8s.io/v1", "apiservices"), service);
        services.emit(out);
        Ok(())
    }
}

/// Examines the last applied manifest of an object.
fn manifest(object: &Value, target: u32) -> Found {
    let Some(text) = object.pointer(LAST_APPLIED).and_then(Value::as_str) else { return Found::Nothing };
    let item = Item::new(1, name_of(object));
    let Ok(manifest) = serde_json::from_str::<Value>(text) else {
        return Found::Bad(item.status(Status::Unknown).meta("error", "the annotation with the manifest is not JSON"));
    };
    let (api_version, kind) = (text_of(&manifest, "/apiVersion"), text_of(&manifest, "/kind"));
    if api_version.is_empty() || kind.is_empty() {
        let error = "the annotation with the manifest has no `apiVersion` or no `kind`";
        return Found::Bad(item.status(Status::Unknown).meta("error", error));
    }
    let Some(found) = removed::of_kind(api_version, kind, target) else { return Found::Good };
    let release = format!("v1.{}", found.minor);
    let failure = format!("{release} does not serve {kind} in {api_version}: use {}", found.instead);
    Found::Bad(
        item.status(Status::Failed)
            .meta("api-version", found.api_version)
            .meta("removed-in", release)
            .text("failure", failure),
    )
}

/// Examines the versions in which the objects of a custom resource are stored.
fn stored_versions(definition: &Value) -> Found {
    let list = |pointer: &str| definition.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let versions = list("/spec/versions");
    let flag = |version: &Value, key: &str| version.get(key).and_then(Value::as_bool).unwrap_or_default();
    let problem = |stored: &Value| {
        let stored = stored.as_str().unwrap_or_default();
        match versions.iter().find(|version| text_of(version, "/name") == stored) {
            Some(version) if !flag(version, "served") => Some(format!("`{stored}` is not served")),
            Some(version) if flag(version, "deprecated") => Some(format!("`{stored}` is deprecated")),
            Some(_) => None,
            None => Some(format!("`{stored}` is not a version of the definition")),
        }
    };
    let stored = list("/status/storedVersions");
    let item = || Item::new(1, name_of(definition));
    if stored.is_empty() {
        return Found::Bad(item().status(Status::Unknown).meta("error", "`status.storedVersions` is empty"));
    }
    let problems: Vec<String> = stored.iter().filter_map(problem).collect();
    if problems.is_empty() {
        return Found::Good;
    }
    let failure = format!("objects may be stored in these versions: {}", problems.join("; "));
    Found::Bad(item().status(Status::Failed).text("failure", failure))
}

/// Examines whether the service of an API version answers.
fn service(service: &Value) -> Found {
    let conditions = service.pointer("/status/conditions").and_then(Value::as_array);
    let available = conditions.into_iter().flatten().find(|condition| text_of(condition, "/type") == "Available");
    let item = Item::new(1, name_of(service));
    match available.map(|condition| (text_of(condition, "/status"), text_of(condition, "/message"))) {
        Some(("True", _)) => Found::Good,
        Some(("False", message)) => Found::Bad(item.status(Status::Failed).text("failure", message)),
        _ => Found::Bad(item.status(Status::Unknown).meta("error", "the condition `Available` is unknown")),
    }
}

/// A rule about the objects of a resource.
struct Rule {
    name: &'static str,
    /// Why nothing was examined, if that is so.
    without: &'static str,
    examined: u64,
    bad: u64,
    listed: Vec<Item>,
    error: Option<String>,
}

impl Rule {
    fn new(name: &'static str, without: &'static str) -> Self {
        Self { name, without, examined: 0, bad: 0, listed: Vec::new(), error: None }
    }

    fn read(&mut self, context: &mut Context, query: &ObjectQuery, examine: impl Fn(&Value) -> Found) {
        let objects = match context.list(query) {
            Ok(objects) => objects,
            Err(error) => return self.error = Some(error),
        };
        for object in objects {
            let found = match object {
                Ok(object) => examine(&object),
                Err(error) => return self.error = Some(error),
            };
            self.examined += u64::from(!matches!(found, Found::Nothing));
            if let Found::Bad(item) = found {
                self.bad += 1;
                if self.listed.len() < MAX_LISTED {
                    self.listed.push(item);
                }
            }
        }
    }

    fn emit(self, out: &mut Output) {
        let root = Item::new(0, self.name).meta("examined", self.examined.to_string());
        out.emit(match (&self.error, self.examined, self.bad) {
            // The status of an item with children follows from them.
            (_, _, 1..) => root,
            (Some(error), ..) => root.status(Status::Unknown).meta("error", error),
            (None, 0, _) => root.status(Status::Skipped).text("skipped", self.without),
            (None, ..) => root.status(Status::Passed),
        });
        let more = self.bad - self.listed.len() as u64;
        let unread = self.error.filter(|_| self.bad > 0);
        self.listed.into_iter().for_each(|item| out.emit(item));
        if more > 0 {
            out.emit(Item::new(1, format!("{more} more objects")).status(Status::Failed));
        }
        if let Some(error) = unread {
            out.emit(Item::new(1, "objects that could not be read").status(Status::Unknown).meta("error", error));
        }
    }
}

fn text_of<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns `NAMESPACE/NAME`, or the name of an object outside namespaces.
fn name_of(object: &Value) -> String {
    let (namespace, name) = (text_of(object, "/metadata/namespace"), text_of(object, "/metadata/name"));
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

plumbline_sdk::module! {
    name: "deprecated-apis",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "target": { "type": "string", "description": "The release to upgrade to, such as v1.32." }
        },
        "additionalProperties": false
    },
    rights: {
        "kubernetes": [
            { "api-version": "apiextensions.k8s.io/v1", "resources": ["customresourcedefinitions"] },
            { "api-version": "apiregistration.k8s.io/v1", "resources": ["apiservices"] },
            { "api-version": "apps/v1", "resources": ["daemonsets", "deployments", "replicasets", "statefulsets"] },
            { "api-version": "autoscaling/v2", "resources": ["horizontalpodautoscalers"] },
            { "api-version": "batch/v1", "resources": ["cronjobs"] },
            { "api-version": "flowcontrol.apiserver.k8s.io/v1", "resources": ["flowschemas", "prioritylevelconfigurations"] },
            { "api-version": "networking.k8s.io/v1", "resources": ["ingressclasses", "ingresses", "networkpolicies"] },
            { "api-version": "policy/v1", "resources": ["poddisruptionbudgets"] },
            { "api-version": "rbac.authorization.k8s.io/v1", "resources": ["clusterrolebindings", "clusterroles", "rolebindings", "roles"] },
            { "api-version": "scheduling.k8s.io/v1", "resources": ["priorityclasses"] },
            { "api-version": "storage.k8s.io/v1", "resources": ["csidrivers", "storageclasses"] }
        ]
    },
    check: DeprecatedApis,
}
