//! The role, which processes one file after the other.

use plumbline_sdk::{InputFile, Output, PluginInfo, PostProcessor};

use crate::event::Event;
use crate::report::Report;
use crate::scan::Scanner;

/// The post-processor for `go test -json`.
#[derive(Debug, Clone, Copy)]
pub struct GoJson;

impl PostProcessor for GoJson {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for file in files {
            let mut report = Report::new(file.file_name(), file.path(), out);
            let outcome = read(file, &mut report);
            report.finish(outcome.err());
        }
        Ok(())
    }
}

/// Reads a file. The error is a sentence that says where and why reading stopped early.
fn read(file: InputFile, report: &mut Report<'_>) -> Result<(), String> {
    let mut scanner = Scanner::new(file);
    while let Some((line, bytes)) = scanner.next_object()? {
        let event = Event::read(bytes).map_err(|error| format!("line {line}: {error}"))?;
        report.take(&event);
    }
    Ok(())
}
