//! Policy: which keys are trusted for which names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use globset::{GlobSet, GlobSetBuilder};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use plumbline_core::closest;
use plumbline_sandbox::file_pattern;
use serde_json::{Map, Value};

use super::error::SigningError;
use super::key::{PublicKey, read_public};
use super::statement::shown;
use crate::cache::user_dir;

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

/// A key in the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Name of the key in the policy.
    pub name: String,
    /// The key.
    pub key: PublicKey,
    /// Time after which the key is no longer trusted. `None` if it does not expire.
    pub not_after: Option<Timestamp>,
}

/// A rule that says which keys are trusted for which names.
#[derive(Debug, Clone)]
struct Rule {
    names: GlobSet,
    /// Indices into the policy's keys.
    keys: Vec<usize>,
}

/// A policy: which keys are trusted for which names.
#[derive(Debug, Clone)]
pub struct Policy {
    keys: Vec<TrustedKey>,
    rules: Vec<Rule>,
    /// Whether every key is trusted for every name, regardless of the rules.
    all: bool,
}

impl Policy {
    /// Reads the policy at `path`. Paths of key files are relative to its directory.
    pub fn load(path: &Path) -> Result<Self, SigningError> {
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text));
        read.map_err(SigningError::read("policy", path))?;
        let dir = path.parent().unwrap_or(Path::new(""));
        parse(&text, dir).map_err(|what| SigningError::Policy(path.to_owned(), what))
    }

    /// Returns a policy that trusts one key for every name, for verification with a given key.
    pub fn of_key(name: &str, key: PublicKey) -> Self {
        Self { keys: vec![TrustedKey { name: name.to_owned(), key, not_after: None }], rules: Vec::new(), all: true }
    }

    /// Returns the keys that are trusted for the bundle `name`: those of the first rule that
    /// matches the name or the repository of `reference`. `reference` (`oci://…`) is the registry
    /// reference that the bundle came from, if any. `None` if no rule matches, so no key is
    /// trusted.
    pub fn keys_for(&self, name: &str, reference: Option<&str>) -> Option<Vec<&TrustedKey>> {
        if self.all {
            return Some(self.keys.iter().collect());
        }
        let repository = reference.map(repository);
        let matches = |rule: &&Rule| {
            rule.names.is_match(name) || repository.is_some_and(|repository| rule.names.is_match(repository))
        };
        let rule = self.rules.iter().find(matches)?;
        Some(rule.keys.iter().filter_map(|&at| self.keys.get(at)).collect())
    }
}

/// Returns a reference without tag and digest, because trust does not depend on the version.
fn repository(reference: &str) -> &str {
    let named = reference.split_once('@').map_or(reference, |(named, _)| named);
    match named.rsplit_once(':') {
        // The colon is not the one of a port or a scheme.
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => named,
    }
}

/// Returns the default path of the policy: `plumbline/policy.yaml` below `$XDG_CONFIG_HOME`, or
/// below `~/.config`. `None` if the user has no home directory.
pub fn default_policy_path() -> Option<PathBuf> {
    Some(user_dir("XDG_CONFIG_HOME", ".config")?.join("plumbline/policy.yaml"))
}

fn parse(text: &str, dir: &Path) -> Result<Policy, Wrong> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, },
    };
    let document: Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| String::from(shown(error.to_string().lines().next().unwrap_or_default())))?;
    let document = mapping(&document, "", &["version", "keys", "rules"])?;
    match document.get("version") {
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(version) => return Err(format!("`version` is {version}; this program reads version {VERSION}")),
        None => return Err(format!("`version` is missing: add `version: {VERSION}`")),
    }
    let keys = match document.get("keys") {
        Some(keys) => read_keys(any_mapping(keys, "keys")?, dir)?,
        None => return Err("`keys` is missing".to_owned()),
    };
    let Some(rules) = document.get("rules") else { return Err("`rules` is missing".to_owned()) };
    let rules = list(rules, "rules", MAX_RULES)?;
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
        let path = at("keys", name);
        let fields = mapping(value, &path, &["file", "pem", "not-after"])?;
        let key = match (fields.get("file"), fields.get("pem")) {
            (Some(file), None) => {
                let file = text(file, &at(&path, "file"), MAX_TEXT)?;
                read_public(&dir.join(file)).map_err(|error| explained(&path, &error))?
            }
            (None, Some(pem)) => {
                let pem = text(pem, &at(&path, "pem"), MAX_PEM)?;
                PublicKey::from_pem(pem.as_bytes()).map_err(|error| explained(&path, &error))?
            }
            _ => return Err(format!("`{path}` needs either `file` or `pem`")),
        };
        if let Some(same) = keys.iter().find(|known| known.key == key) {
            return Err(format!("`{path}` is the same key as `keys.{}`", same.name));
        }
        let not_after = fields.get("not-after").map(|time| read_time(time, &at(&path, "not-after"))).transpose()?;
        keys.push(TrustedKey { name: name.clone(), key, not_after });
    }
    Ok(keys)
}

fn read_rule(value: &Value, path: &str, keys: &[TrustedKey]) -> Result<Rule, Wrong> {
    let map = mapping(value, path, &["names", "keys"])?;
    let required = |key: &str| map.get(key).ok_or_else(|| format!("`{path}` has no `{key}`"));
    let names_path = at(path, "names");
    let names = list(required("names")?, &names_path, MAX_NAMES)?;
    if names.is_empty() {
        return Err(format!("`{names_path}` is empty: list at least one name"));
    }
    let keys_path = at(path, "keys");
    let wanted = list(required("keys")?, &keys_path, MAX_KEYS_OF_RULE)?;
    let wanted = wanted.iter().map(|name| {
        let name = text(name, &keys_path, MAX_TEXT)?;
        let known = keys.iter().map(|key| key.name.as_str());
        keys.iter().position(|key| key.name == name).ok_or_else(|| unknown(name, &keys_path, known))
    });
    Ok(Rule { names: globs(names, &names_path)?, keys: wanted.collect::<Result<_, _>>()? })
}

/// Compiles globs in which `*` does not match a slash and `**` does.
fn globs(patterns: &[Value], path: &str) -> Result<GlobSet, Wrong> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = file_pattern(text(pattern, path, MAX_TEXT)?);
        set.add(glob.map_err(|error| format!("`{path}`: {error}"))?);
    }
    set.build().map_err(|error| format!("`{path}`: {error}"))
}

/// Parses a timestamp, or a date. A date lasts until its end in UTC.
fn read_time(value: &Value, path: &str) -> Result<Timestamp, Wrong> {
    let text = text(value, path, MAX_TEXT)?;
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let day = text.parse::<Date>().ok().filter(|_| text.len() == "2027-12-31".len());
    let end = day.and_then(|day| day.checked_add(1.day()).ok()).and_then(|next| next.to_zoned(TimeZone::UTC).ok());
    end.map(|end| end.timestamp())
        .ok_or_else(|| format!("`{path}` is not a date (`2027-12-31`) or a time (`2027-12-31T18:00:00Z`)"))
}

fn explained(path: &str, error: &dyn std::error::Error) -> Wrong {
    match error.source() {
        Some(source) => format!("`{path}`: {error}: {source}"),
        None => format!("`{path}`: {error}"),
    }
}

type Wrong = String;

/// Returns the mapping at `path`. It must have no keys other than `known`.
fn mapping<'a>(value: &'a Value, path: &str, known: &[&str]) -> Result<&'a Map<String, Value>, Wrong> {
    let map = any_mapping(value, path)?;
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(map),
        Some(key) => {
            let meant = match closest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known keys: {}", listed(known.iter().copied())),
            };
            Err(format!("`{}` is not a known key: {meant}", at(path, &shown(key))))
        }
    }
}

/// Returns the mapping at `path`, with arbitrary keys.
fn any_mapping<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, Wrong> {
    value.as_object().ok_or_else(|| format!("{} must be a mapping", named(path)))
}

/// Returns the list at `path`, which may have at most `limit` entries.
fn list<'a>(value: &'a Value, path: &str, limit: usize) -> Result<&'a [Value], Wrong> {
    match value.as_array() {
        Some(list) if list.len() <= limit => Ok(list),
        Some(_) => Err(format!("{} has more than {limit} entries", named(path))),
        None => Err(format!("{} must be a list", named(path))),
    }
}

/// Returns the string at `path`, which must have between 1 and `limit` bytes.
fn text<'a>(value: &'a Value, path: &str, limit: usize) -> Result<&'a str, Wrong> {
    match value.as_str() {
        Some(text) if text.len() > limit => Err(format!("{} is longer than {limit} bytes", named(path))),
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("{} must be text", named(path))),
    }
}

/// Returns the error for a key name that is not among `known`.
fn unknown<'a>(name: &str, path: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Wrong {
    let meant = match closest(name, known.clone()) {
        Some(meant) => format!(": did you mean `{meant}`?"),
        None => format!(" ({})", listed(known)),
    };
    format!("{} names the key `{}`, which is not under `keys`{meant}", named(path), shown(name))
}

fn at(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn named(path: &str) -> String {
    if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    /// Maximum number of names in a message.
    const MAX_LISTED: usize = 16;
    names.into_iter().take(MAX_LISTED).map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
