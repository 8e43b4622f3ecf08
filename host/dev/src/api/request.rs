//! A request: its path in the API, its query, headers and body.

use std::str::FromStr;

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use hyper::upgrade::OnUpgrade;
use percent_encoding::percent_decode_str;

use crate::api::{answer::Failure, state::Cuts};

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The connection, if it may be upgraded.
    pub(crate) upgrade: Option<OnUpgrade>,
    /// The counts of interrupted streams when the request was recorded. Later interruptions apply
    /// to its stream.
    pub(crate) cuts: Cuts,
}

impl Request {
    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`.
    Resources { group: String, version: String },
    /// Objects, or a path below an object.
    Objects(ObjectPath),
}

/// A path to objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ObjectPath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// The namespace; `None` for all namespaces, or for a cluster-scoped resource.
    pub(crate) namespace: Option<String>,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The path after the subresource, which is proxied.
    pub(crate) rest: String,
}

pub(crate) fn parse_path(path: &str) -> Option<Target> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let segments: Vec<_> = segments.map(|segment| percent_decode_str(segment).decode_utf8_lossy()).collect();
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    match segments.as_slice() {
        ["version"] => Some(Target::Version),
        ["healthz" | "livez" | "readyz", ..] => Some(Target::Health),
        ["api"] => Some(Target::CoreVersions),
        ["apis"] => Some(Target::Groups),
        ["apis", group] => Some(Target::Group((*group).into())),
        ["api", version] => Some(Target::Resources { group: String::new(), version: (*version).into() }),
        ["apis", group, version] => Some(Target::Resources { group: (*group).into(), version: (*version).into() }),
        ["api", version, rest @ ..] => objects("", version, rest),
        ["apis", group, version, rest @ ..] => objects(group, version, rest),
        _ => None,
    }
}

fn objects(group: &str, version: &str, segments: &[&str]) -> Option<Target> {
    let (namespace, segments) = match segments {
        // These are subresources of the namespace itself, not resources in it.
        ["namespaces", _, "status" | "finalize"] => (None, segments),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        _ => (None, segments),
    };
    let (resource, segments) = segments.split_first()?;
    let mut segments = segments.iter();
    Some(Target::Objects(ObjectPath {
        group: group.into(),
        version: version.into(),
        namespace,
        resource: (*resource).into(),
        name: segments.next().map(|s| (*s).into()),
        subresource: segments.next().map(|s| (*s).into()),
        rest: segments.copied().collect::<Vec<_>>().join("/"),
    }))
}

/// The parameters in the order of the request; a name may occur several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(raw: &str) -> Self {
        Self(form_urlencoded::parse(raw.as_bytes()).into_owned().collect())
    }

    /// Returns the first value of a parameter, if it is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns every value of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(n, _)| n == name).map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }

    /// Returns the value of a parameter as another type.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let read = |text: &str| {
            text.parse().map_err(|_| Failure::bad_request(format!("failed to read the parameter {name}: {text:?}")))
        };
        self.get(name).map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_encoded_values_are_read() {
        let query = Query::parse("command=ls&command=-l+%2Ftmp&labelSelector=a%3Db%2Cc&broken=%zz&empty=");
        assert_eq!(query.all("command"), ["ls", "-l /tmp"]);
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.get("broken"), Some("%zz"));
        assert_eq!(query.get("empty"), None);
        assert!(query.parsed::<u64>("command").is_err());
    }

    fn objects_of(path: &str) -> ObjectPath {
        match parse_path(path) {
            Some(Target::Objects(path)) => path,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn namespaces_are_objects_and_places() {
        assert_eq!(objects_of("/api/v1/namespaces").name, None);
        assert_eq!(objects_of("/api/v1/namespaces/a").name.as_deref(), Some("a"));
        let status = objects_of("/api/v1/namespaces/a/status");
        assert_eq!((status.resource.as_str(), status.subresource.as_deref()), ("namespaces", Some("status")));
        let inside = objects_of("/apis/apps/v1/namespaces/a/daemonsets/d");
        assert_eq!((inside.resource.as_str(), inside.namespace.as_deref()), ("daemonsets", Some("a")));
    }

    #[test]
    fn a_proxied_path_is_kept_whole() {
        let path = objects_of("/api/v1/nodes/n1/proxy/logs/a%20b");
        assert_eq!((path.subresource.as_deref(), path.rest.as_str()), (Some("proxy"), "logs/a b"));
    }

    #[test]
    fn other_paths_are_not_part_of_the_api() {
        assert_eq!(parse_path("/"), None);
        assert_eq!(parse_path("/metrics"), None);
    }
}
