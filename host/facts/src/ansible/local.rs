//! Local facts that the owner of the machine provides: files, and programs that print them.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::collector::Collector;
use crate::program::{self, Bounds};

const MAX_FILES: usize = 64;
/// Maximum size in bytes of a file, and of the output of a program.
const MAX_BYTES: u64 = 1 << 20;
/// Timeout of one program.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout of all programs together.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(60);

/// The owner's execute bit, which is the one that Ansible checks.
const EXECUTABLE: u32 = 0o100;
/// The write bits of group and others. Anyone with write access to a file decides what runs in its
/// owner's name.
const WRITABLE_FOR_OTHERS: u32 = 0o022;

/// The section of an INI file whose options every other section inherits.
const DEFAULT: &str = "DEFAULT";

pub(crate) fn gather(collector: &mut Collector<'_>) {
    let (source, options) = (collector.source, collector.options);
    let directory = options.facts_dir.trim_end_matches('/');
    let mut local = Map::new();
    // Most machines have no local facts.
    let names = collector.keep_if_there("local", source.names(directory)).unwrap_or_default();
    let names: Vec<String> = names.into_iter().filter(|name| name.ends_with(".fact")).collect();
    if names.len() > MAX_FILES {
        collector.miss("local", format!("{directory} has {} files: only the first {MAX_FILES} are read", names.len()));
    }
    let begun = Instant::now();
    for name in names.iter().take(MAX_FILES) {
        let path = format!("{directory}/{name}");
        let key = name.replace(".fact", "");
        let left = PATIENCE_WITH_ALL.saturating_sub(begun.elapsed());
        match fact(collector, &path, left.min(PATIENCE)) {
            Ok(value) => drop(local.insert(key, value)),
            Err(reason) => collector.miss(&format!("local.{key}"), reason),
        }
    }
    collector.set("local", local);
}

fn fact(collector: &Collector<'_>, path: &str, patience: Duration) -> Result<Value, String> {
    let (source, options) = (collector.source, collector.options);
    let stat = source.stat(path).map_err(|reason| reason.to_string())?;
    let text = if stat.st_mode & EXECUTABLE != 0 {
        if !options.run_collectors {
            return Err(format!("{path} is a program, and was not run: `--run-collectors` was not given"));
        }
        let own = rustix::process::geteuid().as_raw();
        if (stat.st_uid != 0 && stat.st_uid != own) || stat.st_mode & WRITABLE_FOR_OTHERS != 0 {
            return Err(format!("{path} was not run: users other than root and the current user can change it"));
        }
        let bounds = Bounds { patience, bytes: MAX_BYTES };
        program::run(options, path, &[], &[], bounds)?
    } else {
        source.text(path, MAX_BYTES).map_err(|reason| reason.to_string())?
    };
    if let Ok(value) = serde_json::from_str(&text) {
        return Ok(value);
    }
    parse_ini(&text).map(Value::Object).map_err(|wrong| format!("{path} is neither JSON nor INI: {wrong}"))
}

/// Parses INI as Python's `configparser` does, into sections with options as strings. Option names
/// are in lower case.
///
/// Values are taken literally: `%(name)s` is not expanded.
///
/// # Errors
/// Returns a message with the line number for a line that is not valid INI, or for an option before
/// the first section.
fn parse_ini(text: &str) -> Result<Map<String, Value>, String> {
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
                return Err(wrong("duplicate section"));
            }
            sections.push((name.to_owned(), Vec::new()));
            continue;
        }
        let (key, value) =
            trimmed.split_once(['=', ':']).ok_or_else(|| wrong("neither a section nor `key = value`"))?;
        let (_, options) = sections.last_mut().ok_or_else(|| wrong("an option before the first section"))?;
        let key = key.trim().to_lowercase();
        if options.iter().any(|(known, _)| *known == key) {
            return Err(wrong("duplicate option"));
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
            Value::from(parse_ini(text).unwrap()),
            json!({"Site": {"owner": "ops", "rack": "7", "note": "two\nlines"}, "empty": {"owner": "ops"}})
        );
        for (text, want) in [
            ("key = 1\n", "line 1: an option before the first section"),
            ("[a]\nword\n", "line 2: neither a section nor `key = value`"),
            ("[a\n", "line 1: `[` without `]`"),
            ("[a]\nx=1\nX=2\n", "line 3: duplicate option"),
        ] {
            assert_eq!(parse_ini(text).unwrap_err(), want);
        }
    }
}
