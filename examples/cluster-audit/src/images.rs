//! Rules about the images of pods.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Found;

/// The registry of an image whose name has none.
const DEFAULT_REGISTRY: &str = "docker.io";

/// Another name of the same registry.
const OLD_DEFAULT_REGISTRY: &str = "index.docker.io";

/// Returns the images of a pod that come from none of `registries`.
pub(crate) fn foreign(pod: &Value, registries: &[String]) -> Option<String> {
    those(pod, |image| {
        let full = full_name(image);
        // The option may have the name that the image has, such as `index.docker.io`.
        let own = registry_of(image).map(|_| image);
        !registries.iter().any(|registry| is_of(&full, registry) || own.is_some_and(|own| is_of(own, registry)))
    })
}

/// Returns whether the name of an image begins with `registry`, which may have the start of a path.
fn is_of(image: &str, registry: &str) -> bool {
    // The colon after a repository begins a tag. After a registry, it begins a port, and that is another
    // registry.
    let is_end = |rest: &str| {
        rest.is_empty() || rest.starts_with(['/', '@']) || rest.strip_prefix(':').is_some_and(|tag| !tag.contains('/'))
    };
    image.strip_prefix(registry.trim_end_matches('/')).is_some_and(is_end)
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

/// The digests that may run, by the full name of the image without tag and digest.
pub(crate) type Policy = BTreeMap<String, Vec<String>>;

/// Returns the policy of an option, whose names may be short ones, and may have tags.
pub(crate) fn policy(option: &BTreeMap<String, Vec<String>>) -> Policy {
    let mut policy = Policy::new();
    for (image, digests) in option {
        policy.entry(without_tag(&full_name(image)).to_owned()).or_default().extend_from_slice(digests);
    }
    policy
}

/// Finds the containers of a pod that run a digest that `policy` does not allow for their image. An
/// image that it does not have may run with any digest, and is not examined.
///
/// The name is that of the specification, because runtimes may report an image by its ID alone.
pub(crate) fn other_digests(pod: &Value, policy: &Policy) -> Found {
    let (mut problems, mut is_examined) = (Vec::new(), false);
    for (containers, states) in LISTS {
        let states = list(pod, &format!("/status/{states}"));
        for container in list(pod, &format!("/spec/{containers}")) {
            let (name, image) = (text(container, "name"), text(container, "image"));
            let Some(allowed) = policy.get(without_tag(&full_name(image))) else { continue };
            is_examined = true;
            // The kubelet reports the digest of a container that it has started.
            let id = states.iter().find(|state| text(state, "name") == name).map(|state| text(state, "imageID"));
            let digest = id.and_then(|id| id.rsplit_once('@')).map_or("no digest", |(_, digest)| digest);
            if !allowed.iter().any(|one| one == digest) {
                problems.push(format!("{name}: {image} with {digest}"));
            }
        }
    }
    match is_examined {
        false => Found::Nothing,
        true => (!problems.is_empty()).then(|| problems.join(", ")).into(),
    }
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

/// Returns the name of an image with its registry, as runtimes complete it.
fn full_name(image: &str) -> String {
    let (registry, rest) = registry_of(image).unwrap_or((DEFAULT_REGISTRY, image));
    let registry = if registry == OLD_DEFAULT_REGISTRY { DEFAULT_REGISTRY } else { registry };
    let library = if registry == DEFAULT_REGISTRY && !rest.contains('/') { "library/" } else { "" };
    format!("{registry}/{library}{rest}")
}

/// Splits the name of an image after its registry. The first part of a name is a registry if it has a
/// dot, a port or an upper-case letter, or is `localhost`.
fn registry_of(image: &str) -> Option<(&str, &str)> {
    let is_registry = |first: &str| {
        first.contains(['.', ':']) || first.contains(|c: char| c.is_ascii_uppercase()) || first == "localhost"
    };
    image.split_once('/').filter(|(first, _)| is_registry(first))
}
