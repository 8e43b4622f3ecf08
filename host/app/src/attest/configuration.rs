//! What an attestation says about how a run was made: the program, the cluster, and the plugins with
//! their suites, bundles, modules and images.

use std::collections::BTreeMap;

use plumbline_archive::layout::{META_CONFIG, META_MODULES};
use plumbline_core::text::{excerpt, one_line};
use plumbline_core::{Digest, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{AppError, Explain as _};
use crate::trees::Trees;
use crate::trees::cluster::ClusterIdentity;

const PODS: &str = "core_v1_pods.json";

/// What was tested, and with what, as far as the archive says.
pub(super) fn configuration(trees: &mut Trees, verdict: Verdict) -> Result<Vec<ResourceDescriptor>, AppError> {
    let info = trees.archive().info().clone();
    let mut all = vec![attester()?];
    if let Some(version) = &info.plumbline_version {
        all.push(ResourceDescriptor::new("aggregator").uri(format!("pkg:generic/plumbline@{version}")));
    }
    let run = ResourceDescriptor::new("run")
        .uri(format!("urn:uuid:{}", info.run.as_deref().unwrap_or_default()))
        .annotation("verdict", Some(verdict.as_str()))
        .annotation("started", info.started.map(|started| started.to_string()).as_deref());
    all.push(if info.run.is_some() { run } else { ResourceDescriptor { uri: None, ..run } });
    all.extend(cluster(trees));
    let modules = trees.document(META_MODULES);
    for plugin in modules.get("plugins").and_then(Value::as_array).into_iter().flatten() {
        all.extend(plugin_resources(plugin));
    }
    all.extend(definitions(trees));
    Ok(all)
}

/// This program, which makes the attestation.
fn attester() -> Result<ResourceDescriptor, AppError> {
    let digest = || Digest::of_reader(std::fs::File::open(std::env::current_exe()?)?);
    let digest = digest().system_error("failed to read this program")?;
    let uri = format!("pkg:generic/plumbline@{}", env!("CARGO_PKG_VERSION"));
    Ok(ResourceDescriptor::new("attester").uri(uri).digest(Some(&digest.to_string())))
}

/// The cluster: its identity, and the version of its API server.
fn cluster(trees: &mut Trees) -> Option<ResourceDescriptor> {
    let cluster = trees.cluster();
    if cluster == ClusterIdentity::default() {
        return None;
    }
    let ClusterIdentity { uid, version } = cluster;
    let cluster = ResourceDescriptor::new("cluster").annotation("server-version", version.as_deref());
    Some(match uid {
        Some(uid) => cluster.uri(format!("urn:uuid:{}", excerpt(&uid, MAX_NAME))),
        None => cluster,
    })
}

/// The bundle of a plugin, its definition, and the modules that made its results, from an entry of
/// `meta/modules.json`.
fn plugin_resources(entry: &Value) -> Vec<ResourceDescriptor> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(plugin) = text(entry, "plugin") else { return Vec::new() };
    let source = text(entry, "source");
    let mut all = Vec::new();
    for (kind, key) in [("definition", "definition"), ("bundle", "bundle")] {
        if let Some(digest) = text(entry, key) {
            let resource = ResourceDescriptor::new(&format!("{kind} of {plugin}")).digest(Some(&digest));
            all.push(resource.annotation("source", source.as_deref()));
        }
    }
    for module in entry.get("modules").and_then(Value::as_array).into_iter().flatten() {
        let name = text(module, "name").unwrap_or_default();
        let resource = ResourceDescriptor::new(&format!("module {name} of {plugin}"));
        let resource = resource.digest(text(module, "digest").as_deref());
        all.push(resource.annotation("role", text(module, "role").as_deref()));
    }
    all
}

/// The suites and the images of plugins, as their definitions say.
fn definitions(trees: &mut Trees) -> Vec<ResourceDescriptor> {
    let config = trees.document(META_CONFIG);
    let namespace = config.get("Namespace").and_then(Value::as_str).unwrap_or_default();
    let pulled = pulled_images(&trees.document(&format!("resources/ns/{namespace}/{PODS}")));
    let mut all = Vec::new();
    for plugin in trees.plugins() {
        let Some(member) = trees.archive().definition(&plugin) else { continue };
        let document = trees.document(&member);
        let definition = document.get("Definition").unwrap_or(&document);
        all.extend(suite(&plugin, definition));
        all.extend(image(&plugin, definition, &pulled));
    }
    all
}

/// How a plugin ran the suite of its profile: version, mode, the options that the user set, and
/// whether it ran only the failed tests of another run.
fn suite(plugin: &str, definition: &Value) -> Option<ResourceDescriptor> {
    let suite = definition.pointer("/plumbline/suite")?;
    let text = |key: &str| suite.get(key).and_then(Value::as_str);
    let rerun = suite.get("rerun").and_then(Value::as_bool).unwrap_or_default();
    let set = suite.get("set").and_then(Value::as_array).into_iter().flatten();
    let set: Vec<&str> = set.filter_map(Value::as_str).collect();
    let resource = ResourceDescriptor::suite(plugin, rerun);
    Some(resource.annotation("version", text("version")).annotation("mode", text("mode")).options(&set))
}

/// The image of a plugin, with its digest as far as the archive knows it: from the definition, or from
/// the pods in the survey.
fn image(plugin: &str, definition: &Value, pulled: &BTreeMap<String, Option<String>>) -> Option<ResourceDescriptor> {
    let image = definition.pointer("/spec/image")?.as_str().filter(|image| !image.is_empty())?;
    let named = image.split_once('@').map(|(_, digest)| digest);
    let digest = named.or_else(|| pulled.get(image)?.as_deref());
    let resource = ResourceDescriptor::new(&format!("image of {plugin}")).digest(digest);
    Some(resource.annotation("image", Some(image)).uri(format!("oci://{}", excerpt(image, MAX_NAME))))
}

/// The digests of the images that containers ran with, by the names in their definitions. `None` if
/// containers ran different images under one name, because then nobody knows which one a plugin ran.
fn pulled_images(pods: &Value) -> BTreeMap<String, Option<String>> {
    let mut images = BTreeMap::new();
    for pod in pods.as_array().into_iter().flatten() {
        let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
        for status in statuses.into_iter().flatten() {
            let text = |key: &str| status.get(key).and_then(Value::as_str);
            let (Some(image), Some(id)) = (text("image"), text("imageID")) else { continue };
            if let Some((_, digest)) = id.split_once('@') {
                let known = images.entry(image.to_owned()).or_insert_with(|| Some(digest.to_owned()));
                if known.as_deref() != Some(digest) {
                    *known = None;
                }
            }
        }
    }
    images
}

/// The most characters of a name.
pub(super) const MAX_NAME: usize = 300;

/// What precedes the name of a plugin in the name of a resource: the suite that it ran.
const SUITE_OF: &str = "suite of ";
/// The annotation of a suite that ran only the failed tests of another run.
const RERUN: &str = "rerun";
const TRUE: &str = "true";

/// A thing that a statement refers to (in-toto, `ResourceDescriptor`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceDescriptor {
    /// What it is.
    pub name: String,
    /// Where it is, or which one it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its digests, by algorithm, in hexadecimal.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digest: BTreeMap<String, String>,
    /// More about it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Value>,
}

impl ResourceDescriptor {
    pub(super) fn new(name: &str) -> Self {
        Self { name: excerpt(name, MAX_NAME), ..Self::default() }
    }

    /// Creates the descriptor of the suite that `plugin` ran. `rerun` says whether it ran only the
    /// failed tests of another run.
    pub(super) fn suite(plugin: &str, rerun: bool) -> Self {
        Self::new(&format!("{SUITE_OF}{plugin}")).annotation(RERUN, rerun.then_some(TRUE))
    }

    /// The plugin whose suite this is, if it ran only the failed tests of another run.
    pub(super) fn rerun_of(&self) -> Option<&str> {
        let is_rerun = self.annotations.get(RERUN).and_then(Value::as_str) == Some(TRUE);
        self.name.strip_prefix(SUITE_OF).filter(|_| is_rerun)
    }

    pub(super) fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Adds a digest `sha256:…`. Another text is ignored.
    pub(super) fn digest(mut self, digest: Option<&str>) -> Self {
        if let Some(digest) = digest.and_then(|text| text.parse::<Digest>().ok()) {
            self.digest.insert("sha256".to_owned(), digest.hex());
        }
        self
    }

    pub(super) fn annotation(mut self, key: &str, value: Option<&str>) -> Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.annotations.insert(key.to_owned(), excerpt(value, MAX_NAME).into());
        }
        self
    }

    /// Adds the names of the options that the user has set. The list is never cut, because each
    /// option may select fewer tests. A definition has at most 200 of them.
    pub(super) fn options(mut self, names: &[impl AsRef<str>]) -> Self {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            self.annotations.insert("set".to_owned(), one_line(&names.join(", ")).into());
        }
        self
    }
}
