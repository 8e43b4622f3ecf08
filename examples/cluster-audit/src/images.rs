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

/// Returns the containers of a pod that run a digest that `policy` does not allow for their image.
/// The policy has digests by the name of the image, without tag and digest. An image that it does
/// not have may run with any digest.
pub(crate) fn other_digests(pod: &Value, policy: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let statuses = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
    let statuses = statuses.iter().flat_map(|list| {
        pod.pointer(&format!("/status/{list}")).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    });
    let problem = |status: &Value| {
        let text = |key: &str| status.get(key).and_then(Value::as_str).unwrap_or_default();
        let full = full_name(text("image"));
        let allowed = policy.get(without_tag(&full))?;
        // The kubelet reports the digest of a container that it has started.
        let digest = text("imageID").rsplit_once('@').map_or("no digest", |(_, digest)| digest);
        let is_allowed = allowed.iter().any(|one| one == digest);
        (!is_allowed).then(|| format!("{}: {} with {digest}", text("name"), text("image")))
    };
    let problems: Vec<String> = statuses.filter_map(problem).collect();
    (!problems.is_empty()).then(|| problems.join(", "))
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
    let containers = ["initContainers", "containers", "ephemeralContainers"].iter().flat_map(|list| {
        pod.pointer(&format!("/spec/{list}")).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    });
    let images = containers.map(|container| container.pointer("/image").and_then(Value::as_str).unwrap_or_default());
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
