//! Validates the options of a definition against the JSON Schemas of its modules, before anything
//! runs.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use boon::{Compiler, Draft, ErrorKind, InstanceLocation, Schemas, UrlLoader, ValidationError};
use serde_json::{Map, Value};

/// The base URL of the schema, for references within it. Nothing is ever downloaded.
const PLACE: &str = "https://plumbline.invalid/options.schema.json";
/// The maximum number of nodes of a schema with all references expanded.
///
/// An untrusted schema may refer to the same part from many places, and that part to others, so
/// that validation would take practically forever. Large option schemas have a few hundred nodes.
const MAX_NODES: usize = 20_000;
/// The maximum depth of a schema with all references expanded.
const MAX_DEPTH: usize = 128;
/// The maximum number of problems reported per module.
const MAX_PROBLEMS: usize = 10;
/// The maximum length of a message in characters, because a value may be as long as the definition.
const MAX_SENTENCE: usize = 300;

/// A problem with the options for a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionProblem {
    /// The name of the module.
    pub module: String,
    /// The keys from the top of the definition, such as `plumbline.options.keep[2]`.
    pub path: String,
    /// A description of the problem.
    pub what: String,
}

impl fmt::Display for OptionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} (module `{}`)", self.path, self.what, self.module)
    }
}

/// The outcome of validating options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OptionsChecked {
    /// The problems found.
    pub problems: Vec<OptionProblem>,
    /// Messages about unusable schemas, which were not applied.
    pub warnings: Vec<String>,
}

/// Validates `options` against the schemas of the modules, given by name. The modules of a plugin
/// share its options, so a key that only another module's schema contains is validated there.
#[must_use]
pub fn check_options(options: &Map<String, Value>, modules: &[(&str, &Value)]) -> OptionsChecked {
    let mut checked = OptionsChecked::default();
    for (at, (name, schema)) in modules.iter().enumerate() {
        let own = keys(schema);
        let others: BTreeSet<&str> = modules
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .flat_map(|(_, (_, schema))| keys(schema))
            .collect();
        let foreign = |key: &String| others.contains(key.as_str()) && !own.contains(key.as_str());
        let judged = options.iter().filter(|(key, _)| !foreign(key)).map(|(key, value)| (key.clone(), value.clone()));
        match problems(schema, &Value::Object(judged.collect()), &own) {
            Ok(found) => checked.problems.extend(found.into_iter().map(|(path, what)| OptionProblem {
                module: (*name).to_owned(),
                path,
                what,
            })),
            Err(reason) => checked.warnings.push(cut(&format!(
                "the options of module `{name}` are not checked before it runs: its schema cannot be used: {reason}"
            ))),
        }
    }
    checked
}

/// Returns the top-level keys of a schema.
fn keys(schema: &Value) -> BTreeSet<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect()
}

type Found = Vec<(String, String)>;

fn problems(schema: &Value, options: &Value, known: &BTreeSet<&str>) -> Result<Found, String> {
    bounded(schema)?;
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.use_loader(Box::new(NoLoader));
    compiler.add_resource(PLACE, schema.clone()).map_err(|error| error.to_string())?;
    let mut schemas = Schemas::new();
    let index = compiler.compile(PLACE, &mut schemas).map_err(|error| format!("{error:#}").replace('\n', " "))?;
    let mut found = Vec::new();
    if let Err(error) = schemas.validate(options, index) {
        collect(&error, known, &mut found);
    }
    Ok(found)
}

/// Rejects references to other documents.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("`{url}` is another document, and none is fetched").into())
    }
}

/// Rejects schemas whose validation could take too long, and external references.
fn bounded(schema: &Value) -> Result<(), String> {
    let mut left = MAX_NODES;
    walk(schema, schema, 0, &mut left)
}

fn walk(root: &Value, node: &Value, depth: usize, left: &mut usize) -> Result<(), String> {
    let endless =
        || format!("with its references followed it has more than {MAX_NODES} parts or {MAX_DEPTH} levels, or no end");
    *left = left.checked_sub(1).ok_or_else(endless)?;
    if depth > MAX_DEPTH {
        return Err(endless());
    }
    match node {
        Value::Array(parts) => parts.iter().try_for_each(|part| walk(root, part, depth + 1, left)),
        Value::Object(parts) => {
            for (key, part) in parts {
                match (key.as_str(), part) {
                    ("$ref", Value::String(place)) => {
                        let target = place.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                        let target = target
                            .ok_or_else(|| format!("it refers to `{place}`, which is not a part of it (`#/…`)"))?;
                        walk(root, target, depth + 1, left)?;
                    }
                    ("$dynamicRef" | "$recursiveRef", Value::String(_)) => return Err(format!("it uses `{key}`")),
                    ("$id", Value::String(_)) if depth > 0 => {
                        return Err("it has a part with an `$id` of its own".to_owned());
                    }
                    _ => walk(root, part, depth + 1, left)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Collects the leaves of an error tree, which are the actual problems.
fn collect(error: &ValidationError<'_, '_>, known: &BTreeSet<&str>, found: &mut Found) {
    if found.len() >= MAX_PROBLEMS {
        return;
    }
    // If no alternative matches, this single message is clearer than all its leaves.
    let choice = matches!(error.kind, ErrorKind::AnyOf | ErrorKind::OneOf(_));
    if !choice && !error.causes.is_empty() {
        error.causes.iter().for_each(|cause| collect(cause, known, found));
        return;
    }
    let place = path(&error.instance_location);
    match &error.kind {
        ErrorKind::AdditionalProperties { got } => {
            let top = error.instance_location.tokens.is_empty();
            for key in got.iter().take(MAX_PROBLEMS) {
                let there = if top && !known.is_empty() {
                    let known: Vec<&str> = known.iter().copied().collect();
                    format!("is not an option (there are: {})", known.join(", "))
                } else {
                    "is not known here".to_owned()
                };
                found.push((cut(&format!("{place}.{key}")), cut(&there)));
            }
        }
        ErrorKind::Required { want } => found.push((place, cut(&format!("lacks {}", want.join(", "))))),
        kind => found.push((place, cut(&kind.to_string()))),
    }
}

fn path(location: &InstanceLocation<'_>) -> String {
    let mut path = "plumbline.options".to_owned();
    for token in &location.tokens {
        match token {
            boon::InstanceToken::Prop(key) => path.extend([".", key]),
            boon::InstanceToken::Item(at) => path += &format!("[{at}]"),
        }
    }
    cut(&path)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SENTENCE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(options: Value, schemas: &[(&str, &Value)]) -> OptionsChecked {
        check_options(options.as_object().unwrap(), schemas)
    }

    fn told(options: Value, schema: Value) -> Vec<String> {
        let checked = checked(options, &[("m", &schema)]);
        assert_eq!(checked.warnings, [""; 0]);
        checked.problems.iter().map(ToString::to_string).collect()
    }

    fn strict() -> Value {
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {"keep": {"type": "array", "items": {"type": "string"}}, "level": {"enum": ["low", "high"]}},
        })
    }

    #[test]
    fn what_is_wrong_is_named_with_its_path() {
        assert_eq!(told(json!({"keep": ["a"], "level": "low"}), strict()), [""; 0]);
        assert_eq!(
            told(json!({"kep": []}), strict()),
            ["`plumbline.options.kep`: is not an option (there are: keep, level) (module `m`)"]
        );
        let wrong = told(json!({"keep": ["a", 3]}), strict());
        assert_eq!(wrong, ["`plumbline.options.keep[1]`: want string, but got number (module `m`)"]);
        assert_eq!(told(json!({"level": "mid"}), strict()).len(), 1);
        let lacks = told(json!({}), json!({"required": ["url"]}));
        assert_eq!(lacks, ["`plumbline.options`: lacks url (module `m`)"]);
    }

    #[test]
    fn modules_that_share_options_judge_their_own() {
        let label =
            json!({"type": "object", "additionalProperties": false, "properties": {"label": {"type": "string"}}});
        let strict = strict();
        let both: [(&str, &Value); 2] = [("reader", &strict), ("expect", &label)];
        assert_eq!(checked(json!({"label": "zone", "level": "low"}), &both), OptionsChecked::default());
        let wrong = checked(json!({"label": 1, "level": "low"}), &both).problems;
        assert_eq!((wrong.len(), wrong[0].module.as_str()), (1, "expect"));
        // An unknown key is rejected.
        assert_eq!(checked(json!({"colour": 1}), &both).problems.len(), 2);
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_a_warning() {
        for (schema, part) in [
            (json!({"type": "objekt"}), "its schema cannot be used"),
            (json!({"$ref": "https://example.org/s.json"}), "it refers to `https://example.org/s.json`"),
            (json!({"$ref": "file:///etc/passwd"}), "it refers to `file:///etc/passwd`"),
            (json!({"$schema": "https://example.org/draft"}), "cannot be used"),
            (json!({"$ref": "#/$defs/none"}), "which is not a part of it"),
            (json!({"$dynamicRef": "#x"}), "it uses `$dynamicRef`"),
            (json!({"properties": {"a": {"$ref": "#"}}}), "or no end"),
        ] {
            let checked = checked(json!({"a": 1}), &[("m", &schema)]);
            assert!(checked.problems.is_empty() && checked.warnings[0].contains(part), "{schema}: {checked:?}");
        }
    }

    #[test]
    fn a_schema_that_multiplies_itself_is_not_followed() {
        let mut defs = Map::new();
        for at in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            defs.insert(format!("d{at}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d60".into(), json!({}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
        assert!(checked(json!({}), &[("m", &schema)]).warnings[0].contains("or no end"));
    }

    #[test]
    fn references_within_the_schema_work() {
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/text"}}, "$defs": {"text": {"type": "string"}}});
        assert_eq!(told(json!({"a": "x"}), schema.clone()), [""; 0]);
        assert_eq!(told(json!({"a": 1}), schema).len(), 1);
    }

    #[test]
    fn what_is_told_is_bounded() {
        let long = "x".repeat(10_000);
        let many: Map<String, Value> = (0..500).map(|at| (format!("{long}{at}"), json!(1))).collect();
        let checked = check_options(&many, &[("m", &strict())]);
        assert_eq!(checked.problems.len(), MAX_PROBLEMS);
        assert!(checked.problems.iter().all(|problem| problem.to_string().len() < 2_000));
    }
}
