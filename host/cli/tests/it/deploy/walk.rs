//! Every YAML document below `deploy/` and `examples/`, generated or not.

use std::fs;
use std::path::Path;

use plumbline_core::Definition;
use plumbline_dev::schema;
use serde_json::Value;

use super::objects::{assert_applicable, assert_restricted};
use super::{MODES, root};
use crate::bed::entries;
use crate::generate::{documents, of_kind};

/// Files for tools, which are not Kubernetes objects, by name.
const FOR_TOOLS: [&str; 2] = ["Chart.yaml", "values.yaml"];

fn yaml_files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    let has = |name: &str| directory.join(name).exists();
    if has("plugin.yaml") && (has("module.yaml") || has("tests")) {
        // In a plugin project, only the definition is checked. The files for its build and its
        // tests, and those that its tools leave, are not objects.
        found.push(directory.join("plugin.yaml"));
        return;
    }
    for path in entries(directory) {
        // Templates become objects only when they are rendered, which other tests check.
        if path.is_dir() && !path.ends_with("templates") {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            found.push(path);
        }
    }
}

/// Fills in the placeholders of a text: `<namespace>` becomes `namespace`.
fn filled_in(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let word = after
            .split_once('>')
            .filter(|(word, _)| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        rest = match word {
            Some((word, after)) => {
                filled.push_str(word);
                after
            }
            None => {
                filled.push('<');
                after
            }
        };
    }
    filled + rest
}

#[test]
fn placeholders_are_distinguished_from_other_text() {
    assert_eq!(filled_in("a: <namespace>\nb: <<'EOF' <x> 1 < 2"), "a: namespace\nb: <<'EOF' x 1 < 2");
}

#[test]
fn every_object_is_one_that_an_api_server_takes() {
    let mut files = Vec::new();
    yaml_files(&root(), &mut files);
    yaml_files(&root().join("../examples"), &mut files);
    assert!(files.len() > 10 && files.iter().any(|file| file.ends_with("job-reporter/job.yaml")), "{files:?}");
    for path in files {
        if path.file_name().is_some_and(|name| FOR_TOOLS.iter().any(|tool| name == *tool)) {
            continue;
        }
        let text = filled_in(&fs::read_to_string(&path).unwrap());
        let there = documents(&text);
        assert!(!there.is_empty(), "{} holds nothing", path.display());
        for document in there {
            if document.get("sonobuoy-config").is_some() {
                let parsed = Definition::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                assert!(parsed.warnings.is_empty(), "{}: {:?}", path.display(), parsed.warnings);
            } else {
                schema::check(&document).unwrap_or_else(|what| panic!("{}: {what}", path.display()));
            }
        }
    }
}

#[test]
fn manifests_are_whole_runs() {
    for mode in MODES {
        let text = fs::read_to_string(root().join(format!("manifests/{mode}.yaml"))).unwrap();
        let objects = documents(&text);
        assert_applicable(&objects, "sonobuoy");
        assert_restricted(&objects);
        assert_eq!(of_kind(&objects, "Pod").len(), 1);
    }
}

/// The group, resource and verb of each rule in a role.
fn rights(role: &Value) -> Vec<(String, String, String)> {
    let list = |rule: &Value, key: &str| -> Vec<String> {
        rule[key].as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let mut all = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                all.extend(list(rule, "verbs").into_iter().map(|verb| (group.clone(), resource.clone(), verb)));
            }
        }
    }
    all
}

/// Checks what docs/configuration.md says under «What `minimal` allows».
#[test]
fn minimal_roles_allow_what_is_documented_and_no_more() {
    let objects = documents(&fs::read_to_string(root().join("rbac/minimal.yaml")).unwrap());
    let cluster = rights(of_kind(&objects, "ClusterRole")[0]);
    for (group, resource, verb) in &cluster {
        let read = ["get", "list"].contains(&verb.as_str())
            || (["nodes", "events"].contains(&resource.as_str()) && verb == "watch");
        assert!(read, "{verb} {resource} of `{group}`");
        assert!(resource != "secrets" && !(group.is_empty() && resource == "*") && group != "*", "{verb} {resource}");
    }
    let mut inside: Vec<String> = rights(of_kind(&objects, "Role")[0])
        .into_iter()
        .map(|(group, resource, verb)| format!("{resource}{}{group} {verb}", if group.is_empty() { "" } else { "." }))
        .collect();
    inside.sort();
    inside.dedup();
    insta::assert_snapshot!("minimal_in_its_namespace", inside.join("\n"));
    assert_eq!(objects.len(), 5, "a service account, two roles and their bindings");
}
