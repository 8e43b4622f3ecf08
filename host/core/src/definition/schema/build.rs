//! Builds JSON Schemas from the field tables.

use serde_json::{Map, Value, json};

use super::field::{Field, Shape};
use super::module::MODULE;
use super::top::TOP;

/// The ID of the definition schema, which is also the URL where editors find it
/// (docs/definition.md).
pub const DEFINITION_SCHEMA_ID: &str = "https://plumbline.dev/schema/definition.schema.json";

/// The ID of the schema of `module.yaml`.
pub const MODULE_SCHEMA_ID: &str = "https://plumbline.dev/schema/module.schema.json";

/// Returns the JSON Schema (draft 2020-12) of a definition.
///
/// A document that matches it is read without a warning. The reader accepts more, with a warning
/// for each deviation: keys in any case, numbers in place of strings, and unknown keys.
#[must_use]
pub fn definition_schema() -> Value {
    let about = "What is executed, how, and how its results are read. One YAML document, usually called plugin.yaml.";
    document(DEFINITION_SCHEMA_ID, "Definition of a plugin", about, TOP, None)
}

/// Returns the JSON Schema (draft 2020-12) of `module.yaml`, the file of a module's project.
#[must_use]
pub fn module_schema() -> Value {
    let about = "How a module is built, and what it says of itself. One YAML document, called module.yaml.";
    // The author's own build command and the artifact that it produces.
    let both = ("dependentRequired", json!({ "artifact": ["command"], "command": ["artifact"] }));
    document(MODULE_SCHEMA_ID, "Project of a module", about, MODULE, Some(both))
}

/// Returns [`definition_schema`] as formatted text, with the same bytes each time.
#[must_use]
pub fn definition_schema_text() -> String {
    format!("{:#}\n", definition_schema())
}

/// Returns [`module_schema`] as formatted text, with the same bytes each time.
#[must_use]
pub fn module_schema_text() -> String {
    format!("{:#}\n", module_schema())
}

/// Builds the schema of a whole document. `more` is an additional rule.
fn document(id: &str, title: &str, about: &str, fields: &[Field], more: Option<(&str, Value)>) -> Value {
    let mut schema = mapping(fields, false);
    schema.extend(more.map(|(key, rule)| (key.to_owned(), rule)));
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("$id".to_owned(), json!(id));
    schema.insert("title".to_owned(), json!(title));
    schema.insert("description".to_owned(), json!(about));
    sorted(Value::Object(schema))
}

/// Sorts keys, whichever map type [`Map`] uses.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn mapping(fields: &[Field], open: bool) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    schema.insert("properties".to_owned(), Value::Object(properties));
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if !open {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    // These two keys are aliases: the reader rejects a mapping with both.
    let has = |name: &str| fields.iter().any(|field| field.name == name);
    if has("wall") && has("wall-seconds") {
        schema.insert("not".to_owned(), json!({ "required": ["wall", "wall-seconds"] }));
    }
    // A log has either a known format or patterns.
    if has("format") && has("completed") {
        schema.insert("oneOf".to_owned(), json!([{ "required": ["format"] }, { "required": ["completed"] }]));
        let patterns = json!({ "total": ["completed"], "failed": ["completed"] });
        schema.insert("dependentRequired".to_owned(), patterns);
    }
    schema
}

fn property(field: &Field) -> Value {
    if matches!(field.shape, Shape::Never) {
        return Value::Bool(false);
    }
    let mut schema = shape(&field.shape);
    schema.insert("title".to_owned(), json!(field.title));
    schema.insert("description".to_owned(), json!(field.about));
    if let Some(default) = field.default {
        schema.insert("default".to_owned(), literal(default));
    }
    if !field.examples.is_empty() {
        schema.insert("examples".to_owned(), field.examples.iter().map(|example| literal(example)).collect());
    }
    Value::Object(schema)
}

fn shape(shape: &Shape) -> Map<String, Value> {
    let schema = match *shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Form { pattern, longest, not } => {
            let mut schema = json!({ "type": "string", "pattern": pattern, "maxLength": longest });
            if let (false, Some(fields)) = (not.is_empty(), schema.as_object_mut()) {
                fields.insert("not".to_owned(), json!({ "enum": not }));
            }
            schema
        }
        Shape::Choice(texts) => json!({ "type": "string", "enum": texts }),
        Shape::Truth => json!({ "type": "boolean" }),
        Shape::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Measure { least, most, pattern } => {
            json!({ "type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": pattern })
        }
        Shape::List(of) => json!({ "type": "array", "items": self::shape(of) }),
        Shape::Few { of, least, most } => {
            json!({ "type": "array", "items": self::shape(of), "minItems": least, "maxItems": most })
        }
        Shape::Open => json!({ "type": "object" }),
        Shape::Texts { keys, longest } => json!({
            "type": "object",
            "propertyNames": { "pattern": keys, "maxLength": longest },
            "additionalProperties": { "type": "string" },
        }),
        Shape::Section { fields, open } => return mapping(fields, open),
        Shape::Never => json!({ "not": {} }),
    };
    match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Converts a value of a table: JSON, or else the text as a string.
fn literal(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
