//! Reads the format `__NAME__`: `*.verdicts` files with lines `ok NAME` or `bad NAME: reason`.

use std::io::{self, BufRead, Read};

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

/// Bytes of one line at most. A line is kept in memory, and files are not trusted.
const MAX_LINE: u64 = 64 << 10;

/// Reads `*.verdicts` files.
pub struct __TYPE__;

impl PostProcessor for __TYPE__ {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for file in files {
            out.emit(Item::new(0, file.file_name()).meta("file", file.path()).meta("type", "file"));
            if let Err(error) = read(file, out) {
                // Input that cannot be read never passes.
                out.emit(Item::new(1, "unreadable").status(Status::Unknown).meta("error", error.to_string()));
            }
        }
        Ok(())
    }
}

fn read(mut file: InputFile, out: &mut Output) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut file).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(item) = verdict(text.trim()) {
            out.emit(item);
        }
    }
}

/// Returns the item of one line, or `None` for a line without a verdict.
fn verdict(line: &str) -> Option<Item> {
    let (verdict, rest) = line.split_once(char::is_whitespace)?;
    let (name, reason) = rest.split_once(':').unwrap_or((rest, ""));
    if name.trim().is_empty() {
        return None;
    }
    let status = match verdict {
        "ok" => Status::Passed,
        "bad" => Status::Failed,
        _ => Status::Unknown,
    };
    let item = Item::new(1, name.trim()).status(status);
    Some(if reason.is_empty() { item } else { item.text("failure", reason.trim()) })
}

plumbline_sdk::module! {
    name: "__NAME__",
    formats: ["__NAME__"],
    default_files: ["**/*.verdicts"],
    post_processor: __TYPE__,
}
