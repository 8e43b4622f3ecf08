//! The built-in module `items`: reads files in which each line is an item of the result tree, and
//! emits the items unchanged. A check that runs as a plugin writes this form (`docs/checks.md`).
//!
//! A line that breaks a rule becomes an item `unknown`, with the cause under the metadata key
//! `error`, and reading continues. A file without items becomes an item `unknown`.
#![forbid(unsafe_code)]

use plumbline_sdk::input::{LineEnd, read_line};
use plumbline_sdk::item::{MAX_CUSTOM_STATUS, MAX_NAME};
use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum length of a line in bytes: 17 MiB. An item has at most 16 MiB, and JSON needs some more.
pub const MAX_LINE: usize = 17 << 20;

/// Maximum number of broken lines of a file that become items of their own.
const MAX_BROKEN: u64 = 1000;

/// The post-processor for lines of items.
#[derive(Debug, Clone, Copy)]
pub struct Items;

impl PostProcessor for Items {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for file in files {
            Reading { path: file.path().to_owned(), ..Reading::default() }.read(file, out);
        }
        Ok(())
    }
}

/// The position in a file.
#[derive(Default)]
struct Reading {
    path: String,
    number: u64,
    items: u64,
    broken: u64,
    /// Broken lines since the last item.
    waiting: Vec<(u64, String)>,
    /// The maximum depth of the next item.
    deepest: u32,
}

impl Reading {
    fn read(mut self, mut file: InputFile, out: &mut Output) {
        let mut line = Vec::new();
        loop {
            self.number += 1;
            match read_line(&mut file, &mut line, MAX_LINE) {
                Ok(Some(LineEnd { is_complete: false, .. })) => {
                    self.broken("the file ends within the line".to_owned());
                    break;
                }
                Ok(Some(LineEnd { is_cut: true, .. })) => self.broken(format!("more than {} MiB", MAX_LINE >> 20)),
                Ok(Some(_)) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Some(_)) => match parse(&line, self.deepest) {
                    Ok(item) => {
                        self.emit_waiting(item.depth, out);
                        self.items += 1;
                        self.deepest = item.depth.saturating_add(1);
                        out.emit(item);
                    }
                    Err(reason) => self.broken(reason),
                },
                Ok(None) => break,
                Err(error) => {
                    self.broken(error.to_string());
                    break;
                }
            }
        }
        self.emit_waiting(0, out);
        if self.items == 0 && self.broken == 0 {
            out.emit(self.unknown(0, &self.path, "the file has no items".to_owned()));
        } else if self.broken > MAX_BROKEN {
            let reason = format!("{} more lines are broken", self.broken - MAX_BROKEN);
            out.emit(self.unknown(0, &self.path, reason));
        }
    }

    fn broken(&mut self, reason: String) {
        self.broken += 1;
        if self.broken <= MAX_BROKEN {
            self.waiting.push((self.number, reason));
        }
    }

    /// Emits items for broken lines at the depth of the next item. So they never become its parents,
    /// whose status the host would compute.
    fn emit_waiting(&mut self, depth: u32, out: &mut Output) {
        for (number, reason) in std::mem::take(&mut self.waiting) {
            out.emit(self.unknown(depth, &format!("line {number}"), format!("line {number}: {reason}")));
        }
    }

    fn unknown(&self, depth: u32, name: &str, error: String) -> Item {
        Item::new(depth, name).status(Status::Unknown).meta("file", &self.path).meta("error", error)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    depth: u32,
    name: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    meta: Map<String, Value>,
    #[serde(default)]
    details: Map<String, Value>,
}

/// Parses a line. `deepest` is the maximum depth at this position.
///
/// # Errors
///
/// The rule that the line breaks.
fn parse(line: &[u8], deepest: u32) -> Result<Item, String> {
    let Raw { depth, name, status, meta, details } =
        serde_json::from_slice(line).map_err(|error| format!("not an item: {error}"))?;
    if depth > deepest {
        return Err(format!("depth {depth} where at most {deepest} is possible"));
    }
    if !(1..=MAX_NAME).contains(&name.len()) {
        return Err(format!("the name has {} bytes, not 1 to {MAX_NAME}", name.len()));
    }
    if let Some(status) = status.as_ref().filter(|status| !(1..=MAX_CUSTOM_STATUS).contains(&status.len())) {
        return Err(format!("the status has {} bytes, not 1 to {MAX_CUSTOM_STATUS}", status.len()));
    }
    let mut item = Item::new(depth, name).status(status.as_deref().map(Status::from));
    for (key, value) in meta {
        let Value::String(value) = value else { return Err("a value under `meta` is not a string".to_owned()) };
        item = item.meta(key, value);
    }
    for (key, value) in details {
        item = match value {
            Value::String(text) => item.text(key, text),
            value => item.json(key, &value),
        };
    }
    Ok(item)
}

plumbline_sdk::module! {
    name: "items",
    formats: ["items"],
    default_files: ["**/*.jsonl"],
    detect: [{ "title": "Plumbline items", "files": ["**/*.jsonl"], "prefix": ["{\"depth\":"] }],
    post_processor: Items,
}
