//! Rules about the images of pods.

use std::collections::BTreeMap;

use serde_json::Value;

/// The registry of an image whose name has none.
const DEFAULT_REGISTRY: &str = "docker.io";

/// Returns the images of a pod that come from none of `registries`.
pub(crate) fn foreign(pod: &Value, registries: &[String]) -> Option<String> {
    those(pod, |image| {
        let full = full_name(image);
        !registries.iter().any(|registry| {
            let rest = full.strip_prefix(registry.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with(['/', ':', '@']))
        })
    })
}

/// Returns the images of a pod without a digest.
pub(crate) fn unpinned(pod: &Value) -> Option<String> {
    those(pod, |image| !image.contains("@sha256:"))
}

/// The lists of containers in the specification of a pod, and those of their states.
const LISTS: [(&str, &str); 3] = [
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
];

/// Returns the containers of a pod that run a digest that `policy` does not allow for their image.
/// The policy has digests by the name of the image, without tag and digest. An image that it does
/// not have may run with any digest.
///
/// The name is that of the specification, because runtimes may report an image by its ID alone.
pub(crate) fn other_digests(pod: &Value, policy: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let mut problems = Vec::new();
    for (containers, states) in LISTS {
        let states = list(pod, &format!("/status/{states}"));
        for container in list(pod, &format!("/spec/{containers}")) {
            let (name, image) = (text(container, "name"), text(container, "image"));
            let Some(allowed) = policy.get(without_tag(&full_name(image))) else { continue };
            // The kubelet reports the digest of a container that it has started.
            let id = states.iter().find(|state| text(state, "name") == name).map(|state| text(state, "imageID"));
            let digest = id.and_then(|id| id.rsplit_once('@')).map_or("no digest", |(_, digest)| digest);
            if !allowed.iter().any(|one| one == digest) {
                problems.push(format!("{name}: {image} with {digest}"));
            }
        }
    }
    (!problems.is_empty()).then(|| problems.join(", "))
}

fn list<'a>(pod: &'a Value, pointer: &str) -> &'a [Value] {
    pod.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the name of an image without its tag and digest. The port of a registry is not a tag.
fn without_tag(image: &str) -> &str {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    match name.rsplit_once(':') {
        Some((start, tag)) if !tag.contains('/') => start,
        _ => name,
    }
}

/// Returns the images of a pod for which `is_wrong` is true, each once.
fn those(pod: &Value, is_wrong: impl Fn(&str) -> bool) -> Option<String> {
    let containers = LISTS.iter().flat_map(|(containers, _)| list(pod, &format!("/spec/{containers}")));
    let images = containers.map(|container| text(container, "image"));
    let mut wrong: Vec<&str> = images.filter(|image| is_wrong(image)).collect();
    wrong.sort_unstable();
    wrong.dedup();
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

/// Returns the name of an image with its registry. The first part of a name is a registry if it has
/// a dot or a port, or is `localhost`.
fn full_name(image: &str) -> String {
    match image.split_once('/') {
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" => image.to_owned(),
        Some(_) => format!("{DEFAULT_REGISTRY}/{image}"),
        None => format!("{DEFAULT_REGISTRY}/library/{image}"),
    }
}
