//! The kernel's command line.

use serde_json::{Map, Value};

use crate::gathering::Collector;

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let Some(line) = gathering.keep("cmdline", source.value("/proc/cmdline")) else { return };
    let words = words(&line);
    gathering.set("cmdline", last_wins(&words));
    gathering.set("proc_cmdline", all(&words));
}

/// Splits the line into words as Ansible does: at white space, except inside a word that starts
/// with a quote.
///
/// Such a word ends at the next quote of the same kind. Quotes are kept. If a quote is never
/// closed, nothing can be trusted and the result is empty.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if first == '"' || first == '\'' {
            match rest.get(1..).and_then(|inner| inner.find(first)) {
                Some(length) => length + 2,
                None => return Vec::new(),
            }
        } else {
            rest.find(char::is_whitespace).unwrap_or(rest.len())
        };
        let (word, next) = rest.split_at_checked(end).unwrap_or((rest, ""));
        words.push(word.to_owned());
        rest = next.trim_start();
    }
    words
}

fn pair(word: &str) -> (&str, Value) {
    word.split_once('=').map_or((word, Value::Bool(true)), |(key, value)| (key, value.into()))
}

fn last_wins(words: &[String]) -> Map<String, Value> {
    words.iter().map(|word| pair(word)).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Collects the values of every key. A key that occurs more than once gets a list of its values.
fn all(words: &[String]) -> Map<String, Value> {
    let mut found: Map<String, Value> = Map::new();
    for word in words {
        let (key, value) = pair(word);
        match found.get_mut(key) {
            // A word without a value is `true`, no matter how often it occurs.
            _ if value == Value::Bool(true) => drop(found.insert(key.to_owned(), value)),
            None => drop(found.insert(key.to_owned(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(before) => *before = Value::Array(vec![before.take(), value]),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_those_of_ansible() {
        let words = words(r#"BOOT_IMAGE=/vmlinuz quiet console=tty0 console=ttyS0 opt="a b" "x=1 2" ro"#);
        assert_eq!(
            Value::from(last_wins(&words)),
            json!({"BOOT_IMAGE": "/vmlinuz", "quiet": true, "console": "ttyS0", "opt": "\"a", "b\"": true, "\"x": "1 2\"", "ro": true})
        );
        assert_eq!(all(&words).get("console"), Some(&json!(["tty0", "ttyS0"])));
        assert!(super::words("a 'b").is_empty());
        assert!(super::words("").is_empty());
    }
}
