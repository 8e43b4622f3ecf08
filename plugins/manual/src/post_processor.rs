//! The role, which processes one file after the other.

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use crate::document;
use crate::emit;

/// The post-processor for result trees that plugins write themselves.
#[derive(Debug, Clone, Copy)]
pub struct Manual;

impl PostProcessor for Manual {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for mut file in files {
            let item = Item::new(0, file.file_name()).meta("file", file.path()).meta("type", "file");
            match document::read(&mut file) {
                Ok(entry) => emit::document(item, entry, out),
                Err(error) => out.emit(item.status(Status::Unknown).meta("error", error.to_string())),
            }
        }
        Ok(())
    }
}
