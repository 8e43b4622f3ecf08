//! Validates the options of a definition against the JSON Schemas of its modules, before anything
//! runs.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use boon::{Compiler, Draft, ErrorKind, InstanceLocation, Schemas, UrlLoader, ValidationError};
use plumbline_core::text::shortened;
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
            Err(reason) => checked.warnings.push(shortened(
                &format!("options of module `{name}` are not checked before it runs: unsupported schema: {reason}"),
                MAX_SENTENCE,
            )),
        }
    }
    checked
}

fn keys(schema: &Value) -> BTreeSet<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect()
}

type Found = Vec<(String, String)>;

fn problems(schema: &Value, options: &Value, known: &BTreeSet<&str>) -> Result<Found, String> {
    let mut left = MAX_NODES;
    walk(schema, schema, 0, &mut left)?;
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
        Err(format!("it refers to another document, `{url}`, which is not supported").into())
    }
}

/// Rejects schemas whose validation could take too long, and external references.
fn walk(root: &Value, node: &Value, depth: usize, left: &mut usize) -> Result<(), String> {
    let endless =
        || format!("with references resolved, it has a cycle, or more than {MAX_NODES} parts or {MAX_DEPTH} levels");
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
                            .ok_or_else(|| format!("it refers to `{place}`, which is not inside of it (`#/…`)"))?;
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
                    format!("is not an option (options: {})", known.join(", "))
                } else {
                    "is not known here".to_owned()
                };
                found.push((shortened(&format!("{place}.{key}"), MAX_SENTENCE), shortened(&there, MAX_SENTENCE)));
            }
        }
        ErrorKind::Required { want } => {
            found.push((place, shortened(&format!("lacks {}", want.join(", ")), MAX_SENTENCE)))
        }
        kind => found.push((place, shortened(&kind.to_string(), MAX_SENTENCE))),
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
    shortened(&path, MAX_SENTENCE)
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
