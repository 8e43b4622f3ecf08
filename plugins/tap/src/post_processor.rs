//! The role, which processes one file after the other.

use plumbline_sdk::{InputFile, Output, PluginInfo, PostProcessor};

use crate::document::Document;
use crate::line::read_line;

/// The post-processor for TAP.
#[derive(Debug, Clone, Copy)]
pub struct Tap;

impl PostProcessor for Tap {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for mut file in files {
            let mut document = Document::new(file.file_name(), file.path(), out);
            let mut line = Vec::new();
            let problem = loop {
                match read_line(&mut file, &mut line) {
                    Ok(true) => document.line(&String::from_utf8_lossy(&line)),
                    Ok(false) => break None,
                    Err(error) => break Some(error.to_string()),
                }
            };
            document.finish(problem);
        }
        Ok(())
    }
}
