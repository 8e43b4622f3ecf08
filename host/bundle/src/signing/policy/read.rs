//! Parsing of policy files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use serde_json::{Map, Value};

use super::fields::{self, Wrong};
use super::model::{Policy, Rule, TrustedKey};
use crate::signing::key::{PublicKey, read_public};

/// Supported version of the policy file.
const VERSION: u64 = 1;
/// Maximum size of the file, in bytes.
const MAX_BYTES: usize = 256 << 10;
/// Maximum number of keys.
const MAX_KEYS: usize = 256;
/// Maximum number of rules.
const MAX_RULES: usize = 1024;
/// Maximum number of names in one rule.
const MAX_NAMES: usize = 256;
/// Maximum number of keys in one rule. Signatures without a key ID are verified against each of
/// them.
const MAX_KEYS_OF_RULE: usize = 32;
/// Maximum length of a name, a pattern or a path, in bytes.
const MAX_TEXT: usize = 512;
/// Maximum size of an inline key, in bytes.
const MAX_PEM: usize = 4 << 10;

/// Error while reading a policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file is not readable.
    #[error("failed to read policy `{path}`")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The policy is invalid, so none of it is used.
    #[error("invalid policy `{path}`: {what}")]
    Wrong {
        /// Path of the file.
        path: PathBuf,
        /// Location and description of the problem.
        what: String,
    },
}

impl Policy {
    /// Reads the policy at `path`. Paths of key files are relative to its directory.
    ///
    /// # Errors
    /// When the file is not readable, or any part of it is invalid.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text))
            .map_err(|source| PolicyError::Read { path: path.to_owned(), source })?;
        let dir = path.parent().unwrap_or(Path::new(""));
        parse(&text, dir).map_err(|what| PolicyError::Wrong { path: path.to_owned(), what })
    }
}

fn parse(text: &str, dir: &Path) -> Result<Policy, Wrong> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, },
    };
    let document: Value =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| first_line(&error.to_string()))?;
    let document = fields::mapping(&document, "", &["version", "keys", "rules"])?;
    match document.get("version") {
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(version) => return Err(format!("`version` is {version}; this program reads version {VERSION}")),
        None => return Err(format!("there is no `version: {VERSION}`")),
    }
    let keys = match document.get("keys") {
        Some(keys) => read_keys(fields::any_mapping(keys, "keys")?, dir)?,
        None => return Err("there are no `keys`".to_owned()),
    };
    let Some(rules) = document.get("rules") else { return Err("there are no `rules`".to_owned()) };
    let rules = fields::list(rules, "rules", MAX_RULES)?;
    let rules = rules.iter().enumerate().map(|(at, rule)| read_rule(rule, &format!("rules[{at}]"), &keys));
    let rules = rules.collect::<Result<_, _>>()?;
    Ok(Policy { keys, rules, all: false })
}

fn read_keys(map: &Map<String, Value>, dir: &Path) -> Result<Vec<TrustedKey>, Wrong> {
    if map.len() > MAX_KEYS {
        return Err(format!("`keys` has more than {MAX_KEYS} entries"));
    }
    let mut keys: Vec<TrustedKey> = Vec::new();
    for (name, value) in map {
        if name.is_empty() || name.len() > MAX_TEXT {
            return Err(format!("a name under `keys` is empty or longer than {MAX_TEXT} bytes"));
        }
        let path = fields::at("keys", name);
        let fields_of = fields::mapping(value, &path, &["file", "pem", "not-after"])?;
        let key = match (fields_of.get("file"), fields_of.get("pem")) {
            (Some(file), None) => {
                let file = fields::text(file, &fields::at(&path, "file"), MAX_TEXT)?;
                read_public(&dir.join(file)).map_err(|error| told(&path, &error))?
            }
            (None, Some(pem)) => {
                let pem = fields::text(pem, &fields::at(&path, "pem"), MAX_PEM)?;
                PublicKey::from_pem(pem.as_bytes()).map_err(|error| told(&path, &error))?
            }
            _ => return Err(format!("`{path}` needs either `file` or `pem`")),
        };
        if let Some(same) = keys.iter().find(|known| known.key == key) {
            return Err(format!("`{path}` is the same key as `keys.{}`", same.name));
        }
        let not_after =
            fields_of.get("not-after").map(|at| read_time(at, &fields::at(&path, "not-after"))).transpose()?;
        keys.push(TrustedKey { name: name.clone(), key, not_after });
    }
    Ok(keys)
}

fn read_rule(value: &Value, path: &str, keys: &[TrustedKey]) -> Result<Rule, Wrong> {
    let map = fields::mapping(value, path, &["names", "keys"])?;
    let required = |key: &str| map.get(key).ok_or_else(|| format!("`{path}` has no `{key}`"));
    let names_path = fields::at(path, "names");
    let names = fields::list(required("names")?, &names_path, MAX_NAMES)?;
    if names.is_empty() {
        return Err(format!("`{names_path}` is empty, so the rule is for nothing"));
    }
    let keys_path = fields::at(path, "keys");
    let wanted = fields::list(required("keys")?, &keys_path, MAX_KEYS_OF_RULE)?;
    let wanted = wanted.iter().map(|name| {
        let name = fields::text(name, &keys_path, MAX_TEXT)?;
        let known = keys.iter().map(|key| key.name.as_str());
        keys.iter().position(|key| key.name == name).ok_or_else(|| fields::unknown(name, &keys_path, known))
    });
    Ok(Rule { names: globs(names, &names_path)?, keys: wanted.collect::<Result<_, _>>()? })
}

/// Compiles globs in which `*` does not match a slash and `**` does.
fn globs(patterns: &[Value], path: &str) -> Result<GlobSet, Wrong> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = fields::text(pattern, path, MAX_TEXT)?;
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(|error| format!("`{path}`: {error}"))?);
    }
    set.build().map_err(|error| format!("`{path}`: {error}"))
}

/// Parses a timestamp, or a date. A date lasts until its end in UTC.
fn read_time(value: &Value, path: &str) -> Result<Timestamp, Wrong> {
    let text = fields::text(value, path, MAX_TEXT)?;
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let day = text.parse::<Date>().ok().filter(|_| text.len() == "2027-12-31".len());
    let end = day.and_then(|day| day.checked_add(1.day()).ok()).and_then(|next| next.to_zoned(TimeZone::UTC).ok());
    end.map(|end| end.timestamp())
        .ok_or_else(|| format!("`{path}` is neither a day (`2027-12-31`) nor a moment (`2027-12-31T18:00:00Z`)"))
}

fn told(path: &str, error: &dyn std::error::Error) -> Wrong {
    match error.source() {
        Some(source) => format!("`{path}`: {error}: {source}"),
        None => format!("`{path}`: {error}"),
    }
}

fn first_line(text: &str) -> String {
    crate::signing::statement::shown(text.lines().next().unwrap_or_default())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
