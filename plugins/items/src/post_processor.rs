//! Reads files line by line.

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use crate::line::{self, Line, MAX_LINE};

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
        loop {
            self.number += 1;
            match line::next(&mut file) {
                Ok(Line::Text(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Line::Text(line)) => match line::parse(&line, self.deepest) {
                    Ok(item) => {
                        self.emit_waiting(item.depth, out);
                        self.items += 1;
                        self.deepest = item.depth.saturating_add(1);
                        out.emit(item);
                    }
                    Err(reason) => self.broken(reason),
                },
                Ok(Line::TooLong) => self.broken(format!("more than {} MiB", MAX_LINE >> 20)),
                Ok(Line::Incomplete) => {
                    self.broken("the file ends within the line".to_owned());
                    break;
                }
                Ok(Line::End) => break,
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
