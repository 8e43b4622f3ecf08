//! INI as Python's `configparser` reads it. Ansible accepts it for local facts that are not JSON.

use serde_json::{Map, Value};

/// The section whose options every other section inherits.
const DEFAULT: &str = "DEFAULT";

/// Parses the text into sections, each with its options as strings. Option names are in lower case.
///
/// Values are taken literally: `%(name)s` is not expanded.
///
/// # Errors
/// Returns a message with the line number for a line that is not valid INI, or for an option before
/// the first section.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}", index + 1);
        let indented = line.starts_with([' ', '\t']);
        if indented && let Some((_, value)) = sections.last_mut().and_then(|(_, options)| options.last_mut()) {
            value.push('\n');
            value.push_str(trimmed);
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            let name = rest.split_once(']').map(|(name, _)| name).ok_or_else(|| wrong("`[` without `]`"))?;
            if sections.iter().any(|(known, _)| known == name) {
                return Err(wrong("a section for the second time"));
            }
            sections.push((name.to_owned(), Vec::new()));
            continue;
        }
        let (key, value) =
            trimmed.split_once(['=', ':']).ok_or_else(|| wrong("neither a section nor `key = value`"))?;
        let (_, options) = sections.last_mut().ok_or_else(|| wrong("an option before the first section"))?;
        let key = key.trim().to_lowercase();
        if options.iter().any(|(known, _)| *known == key) {
            return Err(wrong("an option for the second time"));
        }
        options.push((key, value.trim().to_owned()));
    }
    let defaults =
        sections.iter().find(|(name, _)| name == DEFAULT).map(|(_, options)| options.clone()).unwrap_or_default();
    let whole = |options: Vec<(String, String)>| -> Map<String, Value> {
        defaults.iter().cloned().chain(options).map(|(key, value)| (key, value.into())).collect()
    };
    let named = sections.into_iter().filter(|(name, _)| name != DEFAULT);
    Ok(named.map(|(name, options)| (name, Value::Object(whole(options)))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sections_options_continuations_and_defaults() {
        let text = "# comment\n[DEFAULT]\nowner = ops\n[Site]\nRack: 7\nnote = two\n  lines\n; comment\n[empty]\n";
        assert_eq!(
            Value::from(parse(text).unwrap()),
            json!({"Site": {"owner": "ops", "rack": "7", "note": "two\nlines"}, "empty": {"owner": "ops"}})
        );
        for (text, want) in [
            ("key = 1\n", "line 1: an option before the first section"),
            ("[a]\nword\n", "line 2: neither a section nor `key = value`"),
            ("[a\n", "line 1: `[` without `]`"),
            ("[a]\nx=1\nX=2\n", "line 3: an option for the second time"),
        ] {
            assert_eq!(parse(text).unwrap_err(), want);
        }
    }
}
