//! One line: its end, its JSON, and the rules of an item.

use std::io::{self, BufRead};

use plumbline_sdk::item::{MAX_CUSTOM_STATUS, MAX_NAME};
use plumbline_sdk::{Item, Status};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum length of a line in bytes: 17 MiB. An item has at most 16 MiB, and JSON needs some more.
pub const MAX_LINE: usize = 17 << 20;

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line, without its line feed.
    Text(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes, which was skipped.
    TooLong,
    /// The end of the file, after a line feed.
    End,
    /// The end of the file, without a line feed before it.
    Incomplete,
}

/// Reads the next line. Memory does not grow beyond [`MAX_LINE`].
pub(crate) fn next(file: &mut impl BufRead) -> io::Result<Line> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(if line.is_empty() && !too_long { Line::End } else { Line::Incomplete });
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes);
        too_long |= line.len() + part.len() > MAX_LINE;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = end.map_or(bytes.len(), |end| end + 1);
        file.consume(used);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Text(line) });
        }
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
pub(crate) fn parse(line: &[u8], deepest: u32) -> Result<Item, String> {
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
