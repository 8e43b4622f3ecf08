//! Paths of the API.

use crate::query::decode;

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

/// Parses a path; `None` if it is not a path of the API.
pub(crate) fn parse(path: &str) -> Option<Target> {
    let segments: Vec<String> = path.split('/').filter(|s| !s.is_empty()).map(|s| decode(s, false)).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn objects_of(path: &str) -> ObjectPath {
        match parse(path) {
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
    fn what_is_no_path_of_the_api_is_nothing() {
        assert_eq!(parse("/"), None);
        assert_eq!(parse("/metrics"), None);
    }
}
