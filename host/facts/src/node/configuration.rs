//! Reads configuration: options of running processes, TOML, and nested values as flat keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::source::{SMALL, Source};

/// Maximum number of keys that are kept.
const MAX_KEYS: usize = 500;
/// Maximum nesting depth. No known configuration is deeper.
const MAX_DEPTH: usize = 8;
/// Maximum length of a string, in characters.
const MAX_TEXT: usize = 1024;

/// The arguments of the processes that were found, by program name.
///
/// Arguments may hold secrets and are never reported. Only the values of known options are read.
pub(super) type Processes = BTreeMap<String, Vec<String>>;

/// Finds processes with these names that belong to root. Other users can give their processes any
/// name.
pub(super) fn processes(source: &Source, names: &[&str]) -> Processes {
    let mut found = Processes::new();
    for entry in source.names("/proc").unwrap_or_default() {
        if !entry.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let Ok(name) = source.value(&format!("/proc/{entry}/comm")) else { continue };
        if !names.contains(&name.as_str()) || found.contains_key(&name) {
            continue;
        }
        if source.stat(&format!("/proc/{entry}")).map_or(true, |stat| stat.st_uid != 0) {
            continue;
        }
        let line = source.text(&format!("/proc/{entry}/cmdline"), SMALL).unwrap_or_default();
        found.insert(name, line.split('\0').map(str::to_owned).collect());
    }
    found
}

/// Returns the value of an option, given as `--name=value` or `--name value`, with one or two
/// dashes.
pub(super) fn option<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    let mut arguments = arguments.iter().skip(1);
    while let Some(argument) = arguments.next() {
        let word = argument.trim_start_matches('-');
        if word.len() == argument.len() {
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if names.contains(&name) {
            return value.or_else(|| arguments.next().map(String::as_str));
        }
    }
    None
}

/// Returns the fields of `value` whose top-level name is in `wanted`, with the path joined by dots.
///
/// Lists of plain values become one comma-separated string. Other lists are left out.
pub(super) fn flatten(value: &Value, wanted: &[&str]) -> Map<String, Value> {
    let mut flat = Map::new();
    if let Value::Object(fields) = value {
        for (name, value) in fields.iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
            add(&mut flat, name.clone(), value, 1);
        }
    }
    flat
}

fn add(flat: &mut Map<String, Value>, key: String, value: &Value, depth: usize) {
    if flat.len() >= MAX_KEYS || depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                add(flat, format!("{key}.{name}"), value, depth + 1);
            }
        }
        Value::Array(list) => {
            let plain = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
                _ => None,
            };
            if let Some(plain) = list.iter().map(plain).collect::<Option<Vec<String>>>() {
                flat.insert(key, cut(&plain.join(",")).into());
            }
        }
        Value::String(text) => drop(flat.insert(key, cut(text).into())),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => drop(flat.insert(key, value.clone())),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// Parses the part of TOML that container runtimes use: tables, and keys with plain values. Tables
/// become nested objects.
///
/// Only strings, numbers, booleans and one-line lists of strings are kept. Any of them may be a
/// secret, so callers must pick known keys.
pub(super) fn parse_toml(text: &str) -> Value {
    let mut root = Map::new();
    let mut table: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_start_matches('[');
            table = toml_path(header.split(']').next().unwrap_or_default());
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some(value) = toml_value(value.trim()) else { continue };
        let mut names: Vec<String> = table.iter().cloned().chain(toml_path(key)).collect();
        let Some(last) = names.pop() else { continue };
        // A plain value in the place of a table makes the key invalid.
        let inner = names
            .into_iter()
            .try_fold(&mut root, |inner, name| inner.entry(name).or_insert_with(|| Map::new().into()).as_object_mut());
        if let Some(inner) = inner {
            inner.insert(last, value);
        }
    }
    Value::Object(root)
}

/// Splits a key such as `plugins."io.containerd.grpc.v1.cri".containerd`. A quoted part is one
/// name.
fn toml_path(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut quote = None;
    for c in text.trim().chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('.', None) => names.push(std::mem::take(&mut name).trim().to_owned()),
            _ => name.push(c),
        }
    }
    names.push(name.trim().to_owned());
    names
}

fn toml_value(text: &str) -> Option<Value> {
    let quoted = |text: &str| {
        let quote = text.chars().next().filter(|c| *c == '"' || *c == '\'')?;
        text.get(1..)?.split_once(quote).map(|(inside, _)| inside.to_owned())
    };
    if let Some(inside) = quoted(text) {
        return Some(inside.into());
    }
    if let Some(list) = text.strip_prefix('[') {
        let (inside, _) = list.split_once(']')?;
        let items = inside.split(',').map(str::trim).filter(|item| !item.is_empty());
        return items.map(|item| quoted(item).map(Value::from)).collect();
    }
    let word = text.split('#').next().unwrap_or_default().trim();
    match word {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        _ => word.parse::<i64>().ok().map(Value::from),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn options_are_read_in_both_ways() {
        let arguments: Vec<String> = ["kubelet", "--config=/a", "-c", "/b", "plain"].map(str::to_owned).to_vec();
        assert_eq!(option(&arguments, &["config"]), Some("/a"));
        assert_eq!(option(&arguments, &["c"]), Some("/b"));
        assert_eq!(option(&arguments, &["plain"]), None);
    }

    #[test]
    fn processes_are_found_by_name() {
        let tree = Tree::new();
        tree.file("/proc/7/comm", "kubelet\n");
        tree.file("/proc/7/cmdline", "/usr/bin/kubelet\0--config=/k.yaml\0");
        tree.file("/proc/self/comm", "kubelet\n");
        let found = processes(&Source::new(tree.root()), &["kubelet"]);
        // The tree belongs to the user that runs the tests.
        if rustix::process::geteuid().is_root() {
            assert_eq!(option(&found["kubelet"], &["config"]), Some("/k.yaml"));
        } else {
            assert!(found.is_empty());
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept_and_flat() {
        let configuration = json!({
            "maxPods": 110, "failSwapOn": true, "clusterDNS": ["10.96.0.10", "fd00::a"],
            "evictionHard": {"memory.available": "100Mi"}, "registerWithTaints": [{"key": "x"}], "none": null,
            "staticPodURLHeader": {"Authorization": ["Bearer secret"]},
        });
        let wanted = ["maxPods", "failSwapOn", "clusterDNS", "evictionHard", "registerWithTaints", "none"];
        assert_eq!(
            Value::from(flatten(&configuration, &wanted)),
            json!({
                "maxPods": 110, "failSwapOn": true, "clusterDNS": "10.96.0.10,fd00::a",
                "evictionHard.memory.available": "100Mi",
            })
        );
    }

    #[test]
    fn tables_and_plain_values() {
        let text = "version = 2 # the format\nroot = \"/var/lib/containerd\"\ndisabled_plugins = [\"a\", 'b']\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  snapshotter = \"overlayfs\"\n  odd = { a = 1 }\n[[list]]\nx = true\n";
        assert_eq!(
            parse_toml(text),
            json!({
                "version": 2, "root": "/var/lib/containerd", "disabled_plugins": ["a", "b"],
                "plugins": {"io.containerd.grpc.v1.cri": {"containerd": {"snapshotter": "overlayfs"}}},
                "list": {"x": true},
            })
        );
        assert_eq!(parse_toml("= 1\n[\nx\n[a\nb = \"open\n"), json!({"": 1}));
    }
}
