//! Reads `module.yaml`, which describes how a module is built, and the module's metadata
//! (docs/modules.md).

use std::path::PathBuf;

use plumbline_core::definition::{LimitsRequest, is_module_name};
use plumbline_core::{Rights, closest};
use plumbline_sandbox::{DetectRule, file_pattern};
use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::error::AuthorError;
use crate::language::Language;

/// The name of the file.
pub const MANIFEST_FILE: &str = "module.yaml";

/// Maximum size of the file in bytes. All keys together take one or two hundred.
pub(crate) const MAX_BYTES: u64 = 64 << 10;
/// Maximum number of entries of each list.
const MAX_ENTRIES: usize = 64;
/// Maximum size of one entry in bytes: the maximum length of a path.
const MAX_TEXT: usize = 4 << 10;

/// All valid keys.
const KEYS: [&str; 12] = [
    "name",
    "language",
    "world",
    "formats",
    "default-files",
    "detect",
    "limits",
    "schema",
    "rights",
    "sdk",
    "command",
    "artifact",
];
/// The keys of an entry of `detect`.
const DETECT: [&str; 5] = ["title", "files", "prefix", "contains", "xml-root"];
/// The keys of `limits`, as in a definition.
const LIMITS: [&str; 12] = [
    "wall",
    "wall-seconds",
    "memory",
    "table-elements",
    "stack",
    "input-bytes",
    "items",
    "output-bytes",
    "item-bytes",
    "depth",
    "hostcall-bytes",
    "log-bytes",
];

/// The content of the file. `None` and empty values mean that the default applies.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The name of the module and of its file.
    pub name: String,
    /// The language that the module is written in.
    pub language: Language,
    /// The world of the contract that the module is built for.
    pub world: Option<String>,
    /// The result formats that the module handles.
    pub formats: Option<Vec<String>>,
    /// Glob patterns of the files that the module reads if a definition has no `result-files`.
    pub default_files: Option<Vec<String>>,
    /// The rules by which the host detects files of the module. The build checks them with the rest
    /// of the metadata.
    pub detect: Vec<Value>,
    /// The limits that the module asks for.
    pub limits: Map<String, Value>,
    /// The file with the JSON Schema of its options.
    pub schema: Option<PathBuf>,
    /// The rights that the module needs as a check. `None` if the key is missing.
    pub rights: Option<Rights>,
    /// The directory of the SDK.
    pub sdk: Option<PathBuf>,
    /// The author's own build command, which replaces the recipe of the language.
    pub command: Vec<String>,
    /// The file that this build command produces: a core module or a component.
    pub artifact: Option<PathBuf>,
}

impl Manifest {
    /// Parses the text of the file. `origin` is where it comes from, for messages. Every message
    /// names the key.
    pub fn parse(text: &str, origin: &str) -> Result<Self, AuthorError> {
        parse(text).map_err(|cause| {
            AuthorError::input(format!("invalid module description `{origin}`"))
                .because(cause)
                .hint("`name` and `language` are required; docs/modules.md lists all keys")
        })
    }
}

fn parse(text: &str) -> Result<Manifest, String> {
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 16, max_nodes: 4_000, max_documents: 1 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    let document: Value =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| format!("it is not valid YAML: {error}"))?;
    let Value::Object(mut keys) = document else { return Err("it must be a mapping".to_owned()) };
    known("", keys.keys(), &KEYS)?;
    let name = required(&mut keys, "name")?;
    // A packed module cannot have an underscore in its name, because the file of the package would
    // have another name.
    if !is_module_name(&name) || name.contains('_') {
        return Err(format!(
            "`name`: invalid module name `{name}`: use lower-case letters, digits, `-` and `.`, at most 63"
        ));
    }
    let language = required(&mut keys, "language")?.parse().map_err(|reason| format!("`language`: {reason}"))?;
    let formats = texts(&mut keys, "formats")?;
    for format in formats.iter().flatten() {
        if !is_module_name(format) {
            return Err(format!(
                "`formats`: invalid format name `{format}`: use lower-case letters, digits, `-`, `_` and `.`"
            ));
        }
    }
    let default_files = texts(&mut keys, "default-files")?;
    for pattern in default_files.iter().flatten() {
        file_pattern(pattern).map_err(|error| format!("`default-files`: {error}"))?;
    }
    let limits = limits(keys.remove("limits"))?;
    let manifest = Manifest {
        name,
        language,
        world: text_of(&mut keys, "world")?,
        formats,
        default_files,
        detect: detect(keys.remove("detect"))?,
        limits,
        schema: text_of(&mut keys, "schema")?.map(PathBuf::from),
        rights: rights(keys.remove("rights"))?,
        sdk: text_of(&mut keys, "sdk")?.map(PathBuf::from),
        command: texts(&mut keys, "command")?.unwrap_or_default(),
        artifact: text_of(&mut keys, "artifact")?.map(PathBuf::from),
    };
    match (manifest.command.is_empty(), &manifest.artifact) {
        (false, None) => Err("`artifact` is missing: `command` needs the file that it produces".to_owned()),
        (true, Some(_)) => Err("`command` is missing: `artifact` needs the command that produces it".to_owned()),
        _ => Ok(manifest),
    }
}

fn known<'a>(place: &str, keys: impl Iterator<Item = &'a String>, known: &[&'static str]) -> Result<(), String> {
    for key in keys {
        if !known.contains(&key.as_str()) {
            let shown: String = key.chars().take(60).collect();
            return Err(match closest(key, known.iter().copied()) {
                Some(meant) => format!("`{place}{shown}` is not a known key: did you mean `{place}{meant}`?"),
                None => format!("`{place}{shown}` is not a known key ({})", known.join(", ")),
            });
        }
    }
    Ok(())
}

fn required(keys: &mut Map<String, Value>, key: &str) -> Result<String, String> {
    text_of(keys, key)?.ok_or_else(|| format!("`{key}` is missing"))
}

fn text_of(keys: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match keys.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() && text.len() <= MAX_TEXT && !text.contains('\0') => {
            Ok(Some(text))
        }
        Some(_) => Err(format!("`{key}` must be text of 1 to {MAX_TEXT} bytes")),
    }
}

fn texts(keys: &mut Map<String, Value>, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("`{key}` must be a list of at most {MAX_ENTRIES} strings, each of 1 to {MAX_TEXT} bytes");
    match keys.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(entries)) if entries.len() <= MAX_ENTRIES => {
            let text = |entry: Value| match entry {
                Value::String(text) if !text.is_empty() && text.len() <= MAX_TEXT && !text.contains('\0') => Ok(text),
                _ => Err(wrong()),
            };
            entries.into_iter().map(text).collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(wrong()),
    }
}

/// Checks the rules: lists of strings, and a title. A host ignores keys that it does not know, so
/// anything else would be lost silently.
fn detect(value: Option<Value>) -> Result<Vec<Value>, String> {
    let rules = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(rules)) => rules,
        Some(_) => return Err("`detect` must be a list of rules".to_owned()),
    };
    for rule in &rules {
        let Value::Object(keys) = rule else { return Err("`detect` must be a list of mappings".to_owned()) };
        known("detect.", keys.keys(), &DETECT)?;
        serde_json::from_value::<DetectRule>(rule.clone()).map_err(|error| format!("`detect`: {error}"))?;
    }
    Ok(rules)
}

fn limits(value: Option<Value>) -> Result<Map<String, Value>, String> {
    let limits = match value {
        None | Some(Value::Null) => return Ok(Map::new()),
        Some(Value::Object(limits)) => limits,
        Some(_) => return Err("`limits` must be a mapping".to_owned()),
    };
    known("limits.", limits.keys(), &LIMITS)?;
    serde_json::from_value::<LimitsRequest>(Value::Object(limits.clone())).map_err(|error| error.to_string())?;
    Ok(limits)
}

fn rights(value: Option<Value>) -> Result<Option<Rights>, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let rights: Rights = serde_json::from_value(value).map_err(|error| format!("`rights`: {error}"))?;
    rights.check().map_err(|error| format!("`rights`: {error}"))?;
    Ok(Some(rights))
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
