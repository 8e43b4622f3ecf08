//! The role, which processes one file after the other.

use plumbline_sdk::{InputFile, Output, PluginInfo, PostProcessor};

use crate::encoding::Utf8;
use crate::options::Options;
use crate::report::Report;
use crate::scan::Scanner;

/// The post-processor for JUnit XML.
#[derive(Debug, Clone, Copy)]
pub struct Junit;

impl PostProcessor for Junit {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options = plugin.options::<Options>()?.checked()?;
        for file in files {
            read(file, &options, out);
        }
        Ok(())
    }
}

fn read(file: InputFile, options: &Options, out: &mut Output) {
    let path = file.path().to_owned();
    let mut report = Report::new(file.file_name(), &path, options, out);
    let outcome = Scanner::new(Utf8::new(file)).run(&mut report);
    report.finish(&path, outcome.err());
}
