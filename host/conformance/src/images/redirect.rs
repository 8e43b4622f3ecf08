//! Names of images in a private registry, and the definitions and the list of registries that use
//! these names.

use std::fmt;
use std::str::FromStr;

use plumbline_core::definition::{Definition, DefinitionError, K8S_VERSION_VARIABLE};
use plumbline_registry::{Reference, ReferenceError, SCHEME, full_image_name};
use serde_json::{Map, Value, json};

use crate::suite::CONFIG_DIR;

/// Location that replaces the original registries of images: `HOST[:PORT][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

/// Error for a string that is not a valid location for images.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid location for images `{text}`: write `HOST[:PORT][/PATH]`, such as `registry.lan:5000/mirror`")]
pub struct PrefixError {
    text: String,
    #[source]
    cause: Option<ReferenceError>,
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let bare = text.strip_prefix(SCHEME).unwrap_or(text).trim_end_matches('/');
        let wrong = |cause| PrefixError { text: plumbline_core::text::excerpt(text, 255), cause };
        // A prefix is valid if a name below it is valid. A tag in the prefix would end up in the
        // middle of names.
        let below: Reference = format!("{SCHEME}{bare}/x").parse().map_err(|cause| wrong(Some(cause)))?;
        // Without a dot, a port or `localhost`, container engines interpret the first component of
        // `mirror/x` as a name on Docker Hub.
        let host = below.registry();
        if !host.contains(['.', ':']) && host != "localhost" {
            return Err(wrong(None));
        }
        // Normalize the host, because its case does not matter, but images below the prefix are
        // detected by comparison.
        let below = below.bare();
        Ok(Self(below.strip_suffix("/x").unwrap_or(&below).to_owned()))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the name of `image` below `prefix`. The registry is replaced, and path, tag and digest
/// are kept. A name that is already below the prefix stays the same.
///
/// `registry.k8s.io/pause:3.9` becomes `PREFIX/pause:3.9`. `busybox`, which is
/// `docker.io/library/busybox`, becomes `PREFIX/library/busybox`. The rest of the text is not
/// validated, so variables in it are kept.
pub fn rewrite(image: &str, prefix: &Prefix) -> String {
    let image = image.strip_prefix(SCHEME).unwrap_or(image);
    if image.strip_prefix(&prefix.0).is_some_and(|rest| rest.starts_with('/')) {
        return image.to_owned();
    }
    let full = full_image_name(image);
    let path = full.split_once('/').map_or(image, |(_, path)| path);
    format!("{prefix}/{path}")
}

/// Name of the plugin file that lists the suite's registries.
pub const SUITE_FILE: &str = "plumbline-registries.yaml";
/// Variable with the path of the registry list for the suite.
const LIST_VARIABLE: &str = "KUBE_TEST_REPO_LIST";
/// Alternative variable with a single registry for the suite. The two are mutually exclusive.
const REPO_VARIABLE: &str = "KUBE_TEST_REPO";

/// Returns the images of a plugin's pod as they are in the definition. If the version is known,
/// each [`K8S_VERSION_VARIABLE`] is replaced.
pub fn images_of(definition: &Definition, version: Option<&str>) -> Vec<String> {
    let mut json = definition.to_json();
    let mut found = Vec::new();
    each_image(&mut json, &mut |image| {
        found.push(match version {
            Some(version) => image.replace(K8S_VERSION_VARIABLE, version),
            None => image.clone(),
        });
    });
    found
}

/// Returns whether a plugin runs the suite of Kubernetes, which its name or its image tells.
pub fn is_suite(definition: &Definition) -> bool {
    definition.name.as_str() == "e2e" || definition.spec.image().is_some_and(is_suite_image)
}

/// Returns whether the image is `registry.k8s.io/conformance`, or its copy in another registry.
pub fn is_suite_image(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split([':', '@']).next() == Some("conformance")
}

/// Returns the definition with every image of its pod moved below `prefix`. With `tell`, a plugin
/// that runs the suite also gets the list of registries for the suite's images, unless it already
/// sets one.
///
/// # Errors
/// The changed definition is invalid, which does not happen if the original one is valid.
pub fn redirect(definition: &Definition, prefix: &Prefix, tell: bool) -> Result<Definition, DefinitionError> {
    let mut json = definition.to_json();
    each_image(&mut json, &mut |image| *image = rewrite(image, prefix));
    let configured = definition.spec.env().iter().any(|var| matches!(var.name.as_str(), LIST_VARIABLE | REPO_VARIABLE));
    if tell
        && is_suite(definition)
        && !configured
        && let Value::Object(top) = &mut json
    {
        if let Value::Object(files) = top.entry("config-map").or_insert_with(|| json!({})) {
            files.insert(SUITE_FILE.to_owned(), json!(repo_config(prefix)));
        }
        if let Some(Value::Object(spec)) = top.get_mut("spec") {
            let env = spec.entry("env").or_insert_with(|| json!([]));
            if env.is_null() {
                *env = json!([]);
            }
            if let Value::Array(env) = env {
                env.push(json!({"name": LIST_VARIABLE, "value": format!("{CONFIG_DIR}/{SUITE_FILE}")}));
            }
        }
    }
    Ok(Definition::from_json(json)?.definition)
}

/// Calls `see` for every image of a pod: of all kinds of containers, and of image volumes.
fn each_image(json: &mut Value, see: &mut impl FnMut(&mut String)) {
    let Value::Object(top) = json else { return };
    if let Some(Value::Object(spec)) = top.get_mut("spec") {
        image(spec, "image", see);
    }
    if let Some(pod) = top.get_mut("podSpec") {
        for key in ["initContainers", "containers", "ephemeralContainers"] {
            for container in items(pod.get_mut(key)) {
                image(container, "image", see);
            }
        }
        volumes(pod.get_mut("volumes"), see);
    }
    volumes(top.get_mut("extra-volumes"), see);
}

fn volumes(list: Option<&mut Value>, see: &mut impl FnMut(&mut String)) {
    for volume in items(list) {
        if let Some(Value::Object(source)) = volume.get_mut("image") {
            image(source, "reference", see);
        }
    }
}

fn items(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn image(fields: &mut Map<String, Value>, key: &str, see: &mut impl FnMut(&mut String)) {
    if let Some(Value::String(image)) = fields.get_mut(key)
        && !image.is_empty()
    {
        see(image);
    }
}

/// How a registry is mapped to a private registry.
enum Kind {
    /// Its images are copied, so the name changes.
    Copied,
    /// A test expects that the registry does not exist, or that it requires credentials. The name
    /// must stay.
    Kept,
}

/// Every registry of the suite, with its key in the file.
const REGISTRIES: [(&str, &str, Kind); 11] = [
    ("buildImageRegistry", "registry.k8s.io/build-image", Kind::Copied),
    ("cloudProviderGcpRegistry", "registry.k8s.io/cloud-provider-gcp", Kind::Copied),
    ("dockerLibraryRegistry", "docker.io/library", Kind::Copied),
    ("gcAuthenticatedRegistry", "gcr.io/authenticated-image-pulling", Kind::Kept),
    ("gcEtcdRegistry", "registry.k8s.io", Kind::Copied),
    ("gcRegistry", "registry.k8s.io", Kind::Copied),
    ("invalidRegistry", "invalid.registry.k8s.io/invalid", Kind::Kept),
    ("microsoftRegistry", "mcr.microsoft.com", Kind::Copied),
    ("privateRegistry", "gcr.io/k8s-authenticated-test", Kind::Kept),
    ("promoterE2eRegistry", "registry.k8s.io/e2e-test-images", Kind::Copied),
    ("sigStorageRegistry", "registry.k8s.io/sig-storage", Kind::Copied),
];

/// Returns the file with the default registries of the suite, as a starting point.
pub fn defaults() -> String {
    file(|_, registry| registry.to_owned())
}

/// Returns the file for a cluster that has the suite's images below `prefix`, as `images copy --to`
/// puts them there.
pub fn repo_config(prefix: &Prefix) -> String {
    file(|kind, registry| match kind {
        Kind::Kept => registry.to_owned(),
        // Rewrite the registry like an image below it, so that both always match.
        Kind::Copied => {
            let image = rewrite(&format!("{registry}/x"), prefix);
            image.strip_suffix("/x").unwrap_or(&image).to_owned()
        }
    })
}

fn file(name: impl Fn(&Kind, &str) -> String) -> String {
    REGISTRIES.iter().map(|(key, registry, kind)| format!("{key}: {}\n", name(kind, registry))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_go_and_all_else_stays() {
        let prefix: Prefix = "oci://lan:5000/mirror/".parse().unwrap();
        let digest = format!("sha256:{}", "0".repeat(64));
        for (image, expected) in [
            ("registry.k8s.io/e2e-test-images/agnhost:2.39", "lan:5000/mirror/e2e-test-images/agnhost:2.39"),
            ("registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION", "lan:5000/mirror/conformance:$SONOBUOY_K8S_VERSION"),
            ("docker.io/library/busybox", "lan:5000/mirror/library/busybox"),
            ("docker.io/busybox:1", "lan:5000/mirror/library/busybox:1"),
            ("busybox:1.36", "lan:5000/mirror/library/busybox:1.36"),
            ("sonobuoy/systemd-logs:v0.4", "lan:5000/mirror/sonobuoy/systemd-logs:v0.4"),
            ("localhost/a", "lan:5000/mirror/a"),
            ("lan:5000/mirror/a:1", "lan:5000/mirror/a:1"),
            ("lan:5000/mirrored/a:1", "lan:5000/mirror/mirrored/a:1"),
        ] {
            assert_eq!(rewrite(image, &prefix), expected);
            assert_eq!(rewrite(expected, &prefix), expected, "once is enough");
        }
        assert_eq!(rewrite(&format!("quay.io/a/b@{digest}"), &prefix), format!("lan:5000/mirror/a/b@{digest}"));
    }

    #[test]
    fn an_invalid_prefix_is_rejected() {
        for wrong in ["", "/", "mirror", "lan:5000/a:1", "http://lan", "lan:5000/A", "lan:x", "a b.c"] {
            let message = wrong.parse::<Prefix>().unwrap_err().to_string();
            assert!(message.contains("invalid location for images"), "{wrong}: {message}");
        }
        let prefix: Prefix = "LAN:5000/m".parse().unwrap();
        assert_eq!(rewrite("lan:5000/m/a:1", &prefix), "lan:5000/m/a:1", "it already exists");
        assert_eq!("127.0.0.1:5000".parse::<Prefix>().unwrap().to_string(), "127.0.0.1:5000");
    }

    const PLUGIN: &str = "sonobuoy-config: {driver: Job, plugin-name: NAME}
spec: {name: plugin, image: 'registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION'}
podSpec:
  initContainers: [{name: a, image: busybox}]
  containers: [{name: b, image: 'quay.io/x/b:1'}, {name: c}, text]
  volumes: [{name: d, image: {reference: 'ghcr.io/d/e:2'}}, {name: e, emptyDir: {}}]
";

    fn definition(name: &str) -> Definition {
        Definition::parse(&PLUGIN.replace("NAME", name)).unwrap().definition
    }

    #[test]
    fn every_image_of_a_pod_is_seen_and_moved() {
        let definition = definition("e2e");
        let images = images_of(&definition, Some("v1.30.2"));
        assert_eq!(images, ["registry.k8s.io/conformance:v1.30.2", "busybox", "quay.io/x/b:1", "ghcr.io/d/e:2"]);
        let moved = redirect(&definition, &"lan:5000".parse().unwrap(), true).unwrap();
        let expected = [
            "lan:5000/conformance:$SONOBUOY_K8S_VERSION",
            "lan:5000/library/busybox",
            "lan:5000/x/b:1",
            "lan:5000/d/e:2",
        ];
        assert_eq!(images_of(&moved, None), expected);
        assert!(moved.config_map[SUITE_FILE].contains("gcRegistry: lan:5000\n"));
        assert_eq!(moved.spec.env().last().unwrap().name, LIST_VARIABLE);
        // A second redirect changes nothing.
        assert_eq!(redirect(&moved, &"lan:5000".parse().unwrap(), true).unwrap(), moved);
    }

    #[test]
    fn only_the_suite_gets_the_list_of_registries_and_only_once() {
        let prefix: Prefix = "lan:5000".parse().unwrap();
        let text =
            PLUGIN.replace("NAME", "probe").replace("registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION", "a.b/probe:1");
        let other = Definition::parse(&text).unwrap().definition;
        assert!(redirect(&other, &prefix, true).unwrap().config_map.is_empty());
        for variable in [LIST_VARIABLE, REPO_VARIABLE] {
            let env = format!("spec: {{env: [{{name: {variable}, value: x}}], name");
            let own = Definition::parse(&PLUGIN.replace("NAME", "e2e-retry-1").replace("spec: {name", &env))
                .unwrap()
                .definition;
            assert!(is_suite(&own) && redirect(&own, &prefix, true).unwrap().config_map.is_empty(), "{variable}");
        }
        assert!(is_suite(&definition("anything")));
        for image in ["registry.k8s.io/conformance:v1.30.2", "mirror:5000/k8s/conformance@sha256:0", "conformance"] {
            assert!(is_suite_image(image), "{image}");
        }
        assert!(!is_suite_image("example.org/conformance/own:v1"));
        assert!(redirect(&definition("e2e"), &prefix, false).unwrap().config_map.is_empty());
    }

    #[test]
    fn files_for_the_suite() {
        insta::assert_snapshot!(defaults(), @r"
        buildImageRegistry: registry.k8s.io/build-image
        cloudProviderGcpRegistry: registry.k8s.io/cloud-provider-gcp
        dockerLibraryRegistry: docker.io/library
        gcAuthenticatedRegistry: gcr.io/authenticated-image-pulling
        gcEtcdRegistry: registry.k8s.io
        gcRegistry: registry.k8s.io
        invalidRegistry: invalid.registry.k8s.io/invalid
        microsoftRegistry: mcr.microsoft.com
        privateRegistry: gcr.io/k8s-authenticated-test
        promoterE2eRegistry: registry.k8s.io/e2e-test-images
        sigStorageRegistry: registry.k8s.io/sig-storage
        ");
        insta::assert_snapshot!(repo_config(&"lan:5000/m".parse().unwrap()), @r"
        buildImageRegistry: lan:5000/m/build-image
        cloudProviderGcpRegistry: lan:5000/m/cloud-provider-gcp
        dockerLibraryRegistry: lan:5000/m/library
        gcAuthenticatedRegistry: gcr.io/authenticated-image-pulling
        gcEtcdRegistry: lan:5000/m
        gcRegistry: lan:5000/m
        invalidRegistry: invalid.registry.k8s.io/invalid
        microsoftRegistry: lan:5000/m
        privateRegistry: gcr.io/k8s-authenticated-test
        promoterE2eRegistry: lan:5000/m/e2e-test-images
        sigStorageRegistry: lan:5000/m/sig-storage
        ");
    }
}
