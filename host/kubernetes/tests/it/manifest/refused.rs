//! Definitions that cannot run in a cluster are rejected before anything is created.

use std::sync::Arc;

use plumbline_core::Config;
use plumbline_core::config::Permissions;
use plumbline_kubernetes::manifest::{ManifestOptions, ManifestPlugin, manifest};

use super::{JOB, config, definition, options};

fn error_of(config: Config, plugins: &[&str]) -> String {
    let plugin = |yaml: &&str| ManifestPlugin { definition: Arc::new(definition(yaml)), modules: Vec::new() };
    let options = ManifestOptions::new(config, plugins.iter().map(plugin).collect());
    manifest(&options).unwrap_err().to_string()
}

#[test]
fn messages() {
    let plain = "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {image: i}";
    let large = format!("{plain}\nconfig-map: {{a: '{}'}}", "x".repeat(950 << 10));
    insta::assert_snapshot!(
        [
            error_of(config(), &["sonobuoy-config: {driver: Process, plugin-name: p}\nspec: {command: [a]}"]),
            error_of(config(), &["sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {command: [a]}"]),
            error_of(config(), &[JOB]),
            error_of(config(), &[plain, plain]),
            error_of(config(), &[&large]),
            error_of(Config { namespace: "Prod".to_owned(), ..config() }, &[plain]),
            error_of(Config { service_account_name: "-a".to_owned(), ..config() }, &[plain]),
        ]
        .join("\n")
    );
}

#[test]
fn many_large_definitions_are_spread_over_config_maps() {
    let plugins = (0..5).map(|at| {
        let yaml = format!(
            "sonobuoy-config: {{driver: Job, plugin-name: p{at}}}\nspec: {{image: i, args: ['{}']}}",
            "x".repeat(400 << 10)
        );
        ManifestPlugin { definition: Arc::new(definition(&yaml)), modules: Vec::new() }
    });
    let options = ManifestOptions { plugins: plugins.collect(), ..options(Permissions::Minimal, JOB) };
    let objects = super::made(&options);
    let maps: Vec<_> = super::of_kind(&objects, "ConfigMap")
        .into_iter()
        .filter(|map| map["metadata"]["name"].as_str().unwrap().starts_with("sonobuoy-plugins-cm"))
        .collect();
    let names: Vec<_> = maps.iter().map(|map| map["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sonobuoy-plugins-cm", "sonobuoy-plugins-cm-1", "sonobuoy-plugins-cm-2"]);
    let keys: Vec<_> = maps.iter().flat_map(|map| map["data"].as_object().unwrap().keys()).collect();
    assert_eq!(keys, ["plugin-0.yaml", "plugin-1.yaml", "plugin-2.yaml", "plugin-3.yaml", "plugin-4.yaml"]);
    assert!(maps.iter().all(|map| map.to_string().len() < 1 << 20));
    // The aggregator sees all of them in one directory.
    let pod = super::of_kind(&objects, "Pod")[0].to_string();
    assert!(names.iter().all(|name| pod.contains(&format!(r#"{{"configMap":{{"name":"{name}"}}}}"#))), "{pod}");
}
