//! A parser for the part of TOML that container runtimes use: tables, and keys with plain values.

use serde_json::{Map, Value};

/// Parses the text. Tables become nested objects.
///
/// Only strings, numbers, booleans and one-line lists of strings are kept. Any of them may be a
/// secret, so callers must pick known keys.
pub(super) fn parse(text: &str) -> Value {
    let mut root = Map::new();
    let mut table: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_start_matches('[');
            table = path(header.split(']').next().unwrap_or_default());
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        if let Some(value) = plain(value.trim()) {
            let mut place = table.clone();
            place.extend(path(key));
            insert(&mut root, &place, value);
        }
    }
    Value::Object(root)
}

/// Splits a key such as `plugins."io.containerd.grpc.v1.cri".containerd`. A quoted part is one
/// name.
fn path(text: &str) -> Vec<String> {
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

fn plain(text: &str) -> Option<Value> {
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

fn insert(table: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => drop(table.insert(name.clone(), value)),
        [name, rest @ ..] => {
            let inner = table.entry(name.as_str()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_and_plain_values() {
        let text = "version = 2 # the format\nroot = \"/var/lib/containerd\"\ndisabled_plugins = [\"a\", 'b']\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  snapshotter = \"overlayfs\"\n  odd = { a = 1 }\n[[list]]\nx = true\n";
        assert_eq!(
            parse(text),
            json!({
                "version": 2, "root": "/var/lib/containerd", "disabled_plugins": ["a", "b"],
                "plugins": {"io.containerd.grpc.v1.cri": {"containerd": {"snapshotter": "overlayfs"}}},
                "list": {"x": true},
            })
        );
        assert_eq!(parse("= 1\n[\nx\n[a\nb = \"open\n"), json!({"": 1}));
    }
}
