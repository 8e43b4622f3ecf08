//! Rules about the images of pods.

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
