//! Tests that the schemas accept the templates and examples.

use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, Schemas};
use plumbline_core::definition::{definition_schema, module_schema};
use serde_json::Value;

use crate::root;

/// Collects every file with this name below the directory, a few levels deep.
fn files(dir: &Path, name: &str, levels: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let skipped = ["target", "node_modules", "build", "sdk", ".venv"].iter().any(|skip| path.ends_with(skip));
        if path.is_dir() && levels > 0 && !skipped {
            files(&path, name, levels - 1, found);
        } else if path.file_name().is_some_and(|own| own == name) {
            found.push(path);
        }
    }
}

fn below(places: &[&str], name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in places {
        files(&root().join(place), name, 2, &mut found);
    }
    found.sort();
    found
}

/// Checks that each file refers to its schema and is valid.
fn follow(found: &[PathBuf], schema: Value) {
    let id = schema.get("$id").and_then(Value::as_str).unwrap().to_owned();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(&id, schema).unwrap();
    let index = compiler.compile(&id, &mut schemas).unwrap();
    let mut wrong = Vec::new();
    for path in found {
        let text = fs::read_to_string(path).unwrap();
        // Fill in the placeholders of templates.
        let text = text.replace("__NAME__", "my-format").replace("__IDENT__", "my_format");
        let shown = path.display();
        let first = text.lines().next().unwrap_or_default();
        let modeline = format!("# yaml-language-server: $schema={id}");
        if first != modeline {
            wrong.push(format!("{shown} does not begin with `{modeline}`"));
        }
        let value: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{shown}: {error}"));
        if let Err(error) = schemas.validate(&value, index) {
            wrong.push(format!("{shown}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_and_templates_follow_the_schema_of_definitions() {
    let found = below(&["examples", "plugin-sdk/templates"], "plugin.yaml");
    assert!(found.len() > 3, "{found:?}");
    follow(&found, definition_schema());
}

#[test]
fn examples_and_templates_follow_the_schema_of_projects() {
    let found = below(&["examples", "plugin-sdk/templates"], "module.yaml");
    assert!(!found.is_empty());
    follow(&found, module_schema());
}
