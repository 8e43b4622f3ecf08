//! Files of `deploy/` that only `cargo xtask deploy` writes. This is the only list of them. The
//! same test writes them if `PLUMBLINE_DEPLOY=write` is set, and otherwise fails if they are out of
//! date.

use std::collections::BTreeMap;
use std::fs;

use plumbline_core::config::default_image;
use plumbline_kubernetes::manifest::{to_document, to_yaml};
use serde_json::Value;

use super::{MODES, PLUGINS, printed, root, run};
use crate::bed::Bed;
use crate::generate::documents;

/// The names of files below `deploy/`, with their content.
fn files(bed: &Bed) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut put = |name: String, text: String| assert!(files.insert(name, text).is_none());
    let chart = "helm/plumbline/files";
    for mode in MODES {
        let args = ["--aggregator-permissions", mode];
        let text = run(bed, &args);
        let objects = documents(&text);
        let plugins: String = PLUGINS.iter().map(|name| format!(" -p {name}")).collect();
        let command = format!("plumbline gen{plugins} {}", args.join(" "));
        put(format!("manifests/{mode}.yaml"), format!("# {command}\n{text}"));
        // The run creates no accounts here, so plugins use the one of the namespace.
        let of_aggregator: Vec<Value> =
            objects.iter().filter(|object| object["metadata"]["name"] != "plumbline-plugin").cloned().collect();
        put(
            format!("rbac/{mode}.yaml"),
            format!(
                "# The service account and the roles of: {command}\n{}",
                only(&of_aggregator, |kind| is_account(kind) || is_role(kind))
            ),
        );
        let roles = format!("# The roles of: {command}\n{}", only(&objects, is_role));
        put(format!("{chart}/rbac/{mode}.yaml"), roles);
        if mode == "minimal" {
            let config = printed(bed, &[&["config"], args.as_slice()].concat()).out;
            put(format!("{chart}/config.json"), format!("{}\n", config.trim_end()));
            for text in definitions(&objects) {
                let (name, text) = for_chart(&text);
                put(format!("{chart}/plugins/{name}.yaml"), text);
            }
        }
    }
    files
}

fn is_role(kind: &str) -> bool {
    kind.contains("Role")
}

fn is_account(kind: &str) -> bool {
    kind == "ServiceAccount"
}

fn only(objects: &[Value], wanted: impl Fn(&str) -> bool) -> String {
    let chosen: Vec<Value> =
        objects.iter().filter(|object| object["kind"].as_str().is_some_and(&wanted)).cloned().collect();
    to_yaml(&chosen)
}

/// The plugin definitions among the objects of a run.
fn definitions(objects: &[Value]) -> Vec<String> {
    let map = objects.iter().find(|object| object["metadata"]["name"] == "sonobuoy-plugins-cm").unwrap();
    let data = map["data"].as_object().unwrap();
    data.values().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The name of a plugin, and its definition. The image of this version is left out, because the
/// chart has a setting for it.
fn for_chart(text: &str) -> (String, String) {
    let mut definition = documents(text).remove(0);
    let name = definition["sonobuoy-config"]["plugin-name"].as_str().unwrap().to_owned();
    let spec = definition["spec"].as_object_mut().unwrap();
    if spec["image"] == default_image() {
        spec.remove("image");
        spec.remove("imagePullPolicy");
    }
    (name, to_document(&definition))
}

#[test]
fn committed_files_are_what_gen_prints() {
    let bed = Bed::new();
    let write = std::env::var_os("PLUMBLINE_DEPLOY").is_some_and(|value| value == "write");
    let mut stale = Vec::new();
    for (name, text) in files(&bed) {
        let path = root().join(&name);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        if write {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        } else {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "not what `gen` prints: {stale:?} below `deploy/`: `cargo xtask deploy` writes them again"
    );
}
