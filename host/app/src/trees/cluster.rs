//! The cluster of a run, as its archive identifies it. Every caller gets the same identity.

use std::collections::BTreeMap;

use plumbline_archive::layout::{META_INFO, SERVER_VERSION};
use serde_json::Value;

use crate::trees::Trees;

/// The largest document about a run or its cluster that is read, in bytes.
const MAX_DOCUMENT: u64 = 64 << 20;

/// The directory of the survey with resources that have no namespace.
const CLUSTER_RESOURCES: &str = "resources/cluster/";

/// The end of the name of the list of namespaces. Its case differs between versions of Sonobuoy.
const NAMESPACES: &str = "namespaces.json";

/// The namespace whose UID identifies a cluster: it lives as long as the cluster does.
const KUBE_SYSTEM: &str = "kube-system";

/// A file of an archive that says something about the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClusterFile {
    /// What the aggregator knows about its cluster.
    Info,
    /// The version of the API server.
    ServerVersion,
    /// The namespaces, from the survey.
    Namespaces,
}

impl ClusterFile {
    /// The kind of the file with this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let is_list = |name: &str| name.to_ascii_lowercase().ends_with(NAMESPACES);
        match name {
            META_INFO => Some(Self::Info),
            SERVER_VERSION => Some(Self::ServerVersion),
            _ => name.strip_prefix(CLUSTER_RESOURCES).is_some_and(is_list).then_some(Self::Namespaces),
        }
    }
}

/// A cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterIdentity {
    /// The UID of the namespace `kube-system`.
    pub(crate) uid: Option<String>,
    /// The version of the API server.
    pub(crate) version: Option<String>,
}

impl ClusterIdentity {
    /// Identifies the cluster. `read` returns the content of a file, or `null` if there is none. What
    /// the aggregator knows about its cluster counts before the survey, which may be incomplete.
    pub(crate) fn of(mut read: impl FnMut(ClusterFile) -> Value) -> Self {
        let (info, server) = (read(ClusterFile::Info), read(ClusterFile::ServerVersion));
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        let recorded = text(info.pointer("/cluster/uid"));
        Self {
            uid: recorded.or_else(|| surveyed(&read(ClusterFile::Namespaces))),
            version: text(server.get("gitVersion")).or_else(|| text(info.pointer("/cluster/server-version"))),
        }
    }
}

impl Trees {
    /// The cluster of the run, as far as the archive knows it.
    pub(crate) fn cluster(&mut self) -> ClusterIdentity {
        let files = self.archive.files().map(|(name, _)| name);
        let files: BTreeMap<ClusterFile, String> =
            files.filter_map(|name| Some((ClusterFile::of(name)?, name.to_owned()))).collect();
        ClusterIdentity::of(|file| files.get(&file).map_or(Value::Null, |name| self.document(name)))
    }

    /// A JSON document of the archive, or `null` if it is missing, too large or invalid. Its reader
    /// then knows less.
    pub(crate) fn document(&mut self, member: &str) -> Value {
        let small = self.archive.size(member).is_some_and(|bytes| bytes <= MAX_DOCUMENT);
        let bytes = small.then(|| self.archive.read(member, MAX_DOCUMENT).ok()).flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// The UID in a list of namespaces, which is an array or a Kubernetes list.
fn surveyed(namespaces: &Value) -> Option<String> {
    let list = namespaces.get("items").unwrap_or(namespaces).as_array()?;
    let is_system =
        |namespace: &&Value| namespace.pointer("/metadata/name").and_then(Value::as_str) == Some(KUBE_SYSTEM);
    let uid = list.iter().find(is_system)?.pointer("/metadata/uid")?.as_str()?;
    (!uid.is_empty()).then(|| uid.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_is_identified_by_the_aggregator_or_else_by_the_survey() {
        let system = json!({"metadata": {"name": "kube-system", "uid": "surveyed"}});
        let lists = [json!([{"metadata": {}}, system]), json!({"kind": "List", "items": [system]})];
        for namespaces in lists {
            let of = |info: Value| {
                let files = [info, json!({"gitVersion": "v1.37.2"}), namespaces.clone()];
                ClusterIdentity::of(|file| files[file as usize].clone())
            };
            let known = of(json!({"cluster": {"uid": "recorded", "server-version": "v1.37.1"}}));
            assert_eq!((known.uid.as_deref(), known.version.as_deref()), (Some("recorded"), Some("v1.37.2")));
            assert_eq!(of(json!({"plugins": []})).uid.as_deref(), Some("surveyed"));
            assert_eq!(of(json!({"cluster": {"uid": null}})).uid.as_deref(), Some("surveyed"));
        }
        let old = ClusterIdentity::of(|file| match file {
            ClusterFile::Info => json!({"cluster": {"server-version": "v1.36.0"}}),
            _ => Value::Null,
        });
        assert_eq!(old, ClusterIdentity { uid: None, version: Some("v1.36.0".to_owned()) });
    }

    #[test]
    fn files_are_recognized_by_their_names() {
        for (name, expected) in [
            ("meta/info.json", Some(ClusterFile::Info)),
            ("serverversion.json", Some(ClusterFile::ServerVersion)),
            ("resources/cluster/core_v1_namespaces.json", Some(ClusterFile::Namespaces)),
            ("resources/cluster/Namespaces.json", Some(ClusterFile::Namespaces)),
            ("resources/ns/a/core_v1_namespaces.json", None),
        ] {
            assert_eq!(ClusterFile::of(name), expected, "{name}");
        }
    }
}
