//! The role, which processes one file after the other.

use plumbline_sdk::{InputFile, Output, PluginInfo, PostProcessor};

use crate::entry::Entry;
use crate::lines::{Next, next};
use crate::options::{Checked, Options};
use crate::report::Report;

/// The start of a line that `journalctl` prints between entries, such as `-- Logs begin …`.
const HEADER: &[u8] = b"-- ";

/// The post-processor for the logs of a journal.
#[derive(Debug, Clone, Copy)]
pub struct SystemdLogs;

impl PostProcessor for SystemdLogs {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options = plugin.options::<Options>()?.checked()?;
        for file in files {
            read(file, &options, out);
        }
        Ok(())
    }
}

fn read(mut file: InputFile, options: &Checked, out: &mut Output) {
    let mut report = Report::new(options);
    let mut line = Vec::new();
    let mut number = 0_u64;
    let problem = loop {
        number += 1;
        match next(&mut file, &mut line) {
            Ok(Next::End) => break None,
            Ok(Next::TooLong) => report.unparsed(number, "it exceeds the length limit"),
            Ok(Next::Line) if line.trim_ascii().is_empty() => {}
            Ok(Next::Line) if line.starts_with(HEADER) => report.header(),
            Ok(Next::Line) => match Entry::read(line.trim_ascii()) {
                Ok(entry) => report.take(&entry),
                Err(why) => report.unparsed(number, &why),
            },
            Err(error) => break Some(error.to_string()),
        }
    };
    report.finish(file.file_name(), file.path(), problem, out);
}
