//! Writes the tables of keys in the documentation from the schemas, so that pages, editors and the
//! reader agree. The rest of the pages is written by hand.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{definition_schema_text, module_schema_text};

/// A table of keys in a page.
struct Table {
    /// File name of the page in `docs`.
    page: &'static str,
    /// Part of the markers around the table.
    name: &'static str,
    /// JSON pointer (RFC 6901) of the mapping whose keys are listed.
    mapping: &'static str,
    schema: fn() -> &'static str,
    /// Mappings whose keys another table or page describes.
    elsewhere: &'static [&'static str],
    /// Links in descriptions, which editors show without links: the key, the words, and the target.
    links: &'static [(&'static str, &'static str, &'static str)],
}

const TABLES: [Table; 5] = [
    Table {
        page: "definition.md",
        name: "a definition",
        mapping: "",
        schema: definition_schema_text,
        elsewhere: &[
            "plumbline.grants",
            "plumbline.limits",
            "plumbline.permissions",
            "plumbline.progress",
            "plumbline.reruns",
            "plumbline.verdict",
        ],
        links: &[
            ("sonobuoy-config.result-format", "one in the bundle", "authors.md#how-plumbline-selects-a-module"),
            ("sonobuoy-config.result-format", "detects", "run-a-command.md#how-a-format-is-detected"),
            ("sonobuoy-config.result-format", "do not count", "exit-codes.md#what-passes-and-what-does-not"),
            ("plumbline.allow-empty", "passes if nothing ran", "exit-codes.md#what-passes-and-what-does-not"),
            ("plumbline.component", "check", "#run-a-check"),
            ("plumbline.files", "files of the bundle", "bundles.md#files-of-a-bundle"),
            ("plumbline.grants", "rights", "checks.md#rights"),
            ("plumbline.limits", "may use", "limits.md#modules"),
            ("plumbline.options", "`host-facts`", "host-facts-drift.md#options"),
            ("plumbline.permissions", "RBAC rules", "cluster.md#permissions-of-plugins"),
            ("plumbline.progress", "counts tests", "#progress-from-a-log"),
            ("plumbline.reruns", "reruns the failed tests", "judges.md#rerun-failed-tests"),
            ("plumbline.suite", "profile", "profiles.md"),
            ("plumbline.verdict", "judges", "judges.md"),
            ("spec", "local run", "#where-a-local-plugin-starts"),
        ],
    },
    Table {
        page: "profiles.md",
        name: "a profile",
        mapping: "",
        schema: profile_schema_text,
        elsewhere: &["modes", "options"],
        links: &[
            ("images", "images", "images.md"),
            ("local", "on one machine", "#on-one-machine-and-in-a-cluster"),
            ("modes", "sets of values", "#modes"),
            ("options", "users may set", "#options"),
            ("version", "a version in the cluster", "#a-version-in-the-cluster"),
        ],
    },
    Table {
        page: "profiles.md",
        name: "an option",
        mapping: "/properties/options/items",
        schema: profile_schema_text,
        elsewhere: &[],
        links: &[],
    },
    Table {
        page: "profiles.md",
        name: "a mode",
        mapping: "/properties/modes/items",
        schema: profile_schema_text,
        elsewhere: &[],
        links: &[("required", "`checks`", "judges.md#checks"), ("required", "submission", "submission.md")],
    },
    Table {
        page: "modules.md",
        name: "module.yaml",
        mapping: "",
        schema: module_schema_text,
        elsewhere: &["detect", "limits", "rights"],
        links: &[
            ("detect", "Rules", "authors.md#detection"),
            ("limits", "Limits", "limits.md#modules"),
            ("rights", "Rights", "checks.md#rights"),
            ("schema", "JSON Schema", "#options-and-their-schema"),
            ("world", "world", "wit.md#worlds"),
        ],
    },
];

fn profile_schema_text() -> &'static str {
    include_str!("../../../../docs/profile.schema.json")
}

/// The line after a table.
const END: &str = "<!-- end of keys -->\n";

impl Table {
    /// Returns the line before the table.
    fn begin(&self) -> String {
        format!("<!-- keys of {}: written by the test `tables`, with BLESS=1 -->\n", self.name)
    }

    fn text(&self) -> String {
        let schema: Value = serde_json::from_str((self.schema)()).unwrap();
        let mut rows = Vec::new();
        self.collect("", schema.pointer(self.mapping).unwrap(), &mut rows);
        let named = self.elsewhere.iter().chain(self.links.iter().map(|(key, ..)| key));
        for key in named {
            assert!(rows.iter().any(|(listed, _)| listed == key), "the keys of {} have no `{key}`", self.name);
        }
        let rows: String = rows.into_iter().map(|(_, row)| row).collect();
        format!("| key | type | default | meaning |\n|---|---|---|---|\n{rows}")
    }

    /// Adds a row for each key of the mapping, the required ones first, and for the keys of its values.
    fn collect(&self, path: &str, mapping: &Value, rows: &mut Vec<(String, String)>) {
        let is_required = |key: &str| mapping["required"].as_array().is_some_and(|keys| keys.iter().any(|k| k == key));
        let mut properties: Vec<(&String, &Value)> = mapping["properties"].as_object().unwrap().iter().collect();
        properties.sort_by_key(|(key, _)| !is_required(key));
        for (key, schema) in properties.into_iter().filter(|(_, schema)| schema["deprecated"] != true) {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let default = if is_required(key) { "required".to_owned() } else { default_of(schema) };
            let row = format!("| `{path}` | {} | {default} | {} |\n", kind(schema), self.meaning(&path, schema));
            rows.push((path.clone(), row));
            if self.elsewhere.contains(&path.as_str()) {
                continue;
            }
            // Mappings with other keys too are those of Kubernetes.
            if is_closed(schema) {
                self.collect(&path, schema, rows);
            } else if is_closed(&schema["items"]) {
                self.collect(&format!("{path}[]"), &schema["items"], rows);
            }
        }
    }

    /// Returns the first paragraph of the description with its links. Only editors show the others.
    fn meaning(&self, path: &str, schema: &Value) -> String {
        let description = schema["description"].as_str().unwrap();
        let mut text = description.split("\n\n").next().unwrap().replace('|', "\\|");
        for (_, words, target) in self.links.iter().filter(|(key, ..)| *key == path) {
            assert!(text.contains(words), "the description of `{path}` does not contain `{words}`");
            text = text.replacen(words, &format!("[{words}]({target})"), 1);
        }
        text
    }
}

fn is_closed(schema: &Value) -> bool {
    schema["additionalProperties"] == false
}

/// Returns the default as code, or nothing.
fn default_of(schema: &Value) -> String {
    match schema.get("default") {
        None => String::new(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(value) => format!("`{value}`"),
    }
}

/// Returns the allowed values, or the types.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{}`", value.as_str().unwrap())).collect::<Vec<_>>().join(", ");
    }
    match &schema["type"] {
        Value::Null => {
            let mut kinds: Vec<String> = schema["oneOf"].as_array().unwrap().iter().map(kind).collect();
            kinds.dedup();
            kinds.join(", ")
        }
        Value::Array(names) => {
            names.iter().map(|name| type_name(name.as_str().unwrap())).collect::<Vec<_>>().join(", ")
        }
        name if name == "array" => list(schema),
        name => type_name(name.as_str().unwrap()).to_owned(),
    }
}

/// Returns the type of a list, with its maximum length.
fn list(schema: &Value) -> String {
    match schema["maxItems"].as_u64() {
        Some(0) => "empty list".to_owned(),
        Some(most) => format!("list, ≤ {most}"),
        None => "list".to_owned(),
    }
}

/// Returns the word of YAML for a type of JSON.
fn type_name(name: &str) -> &str {
    if name == "object" { "mapping" } else { name }
}

#[test]
fn the_pages_have_the_keys_of_the_schemas() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for table in &TABLES {
        let path = docs.join(table.page);
        let page = fs::read_to_string(&path).unwrap();
        let (begin, text) = (table.begin(), table.text());
        let (before, rest) =
            page.split_once(&begin).unwrap_or_else(|| panic!("docs/{} has no line {begin}", table.page));
        let (shown, after) = rest.split_once(END).unwrap();
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, format!("{before}{begin}{text}{END}{after}")).unwrap();
        } else {
            assert_eq!(shown, text, "docs/{} is out of date: run this test with BLESS=1", table.page);
        }
    }
}
