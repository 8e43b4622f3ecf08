//! Images in the definition of a plugin: listing them, and replacing them.

use plumbline_core::definition::{Definition, DefinitionError, K8S_VERSION_VARIABLE};
use serde_json::{Map, Value, json};

use super::prefix::{Prefix, rewrite};
use super::repo_config::repo_config;

/// Name of the plugin file that lists the suite's registries.
pub const SUITE_FILE: &str = "plumbline-registries.yaml";
/// Directory of a plugin's files.
const FILES: &str = "/tmp/sonobuoy/config";
/// Variable with the path of the registry list for the suite.
const LIST_VARIABLE: &str = "KUBE_TEST_REPO_LIST";
/// Alternative variable with a single registry for the suite. The two are mutually exclusive.
const REPO_VARIABLE: &str = "KUBE_TEST_REPO";

/// Returns the images of a plugin's pod as they are in the definition. If the version is known,
/// each [`K8S_VERSION_VARIABLE`] is replaced.
#[must_use]
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

/// Returns whether a plugin runs the suite, which its name or its image tells.
#[must_use]
pub fn is_suite(definition: &Definition) -> bool {
    let image = definition.spec.image().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    definition.name.as_str() == "e2e" || last.split([':', '@']).next() == Some("conformance")
}

/// Returns the definition with every image of its pod moved below `prefix`. With `tell`, a plugin
/// that runs the suite also gets the list of registries for the suite's images, unless it already
/// sets one.
///
/// # Errors
///
/// The changed definition is invalid, which does not happen if the original one is valid.
pub fn redirect(definition: &Definition, prefix: &Prefix, tell: bool) -> Result<Definition, DefinitionError> {
    let mut json = definition.to_json();
    each_image(&mut json, &mut |image| *image = rewrite(image, prefix));
    let told = definition.spec.env().iter().any(|var| matches!(var.name.as_str(), LIST_VARIABLE | REPO_VARIABLE));
    if tell
        && is_suite(definition)
        && !told
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
                env.push(json!({"name": LIST_VARIABLE, "value": format!("{FILES}/{SUITE_FILE}")}));
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_the_suite_is_told_and_only_once() {
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
        assert!(redirect(&definition("e2e"), &prefix, false).unwrap().config_map.is_empty());
    }
}
