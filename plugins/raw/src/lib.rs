//! The format `raw`: files that no module interprets. Each is one item without children, named like the file, with its path under the
//! meta key `file`. Its status is:
//!
//! * `not-read` for a file that can be read: whatever it holds, it is no check that passed;
//! * `unknown` for an empty file, with the reason under `error`: whoever wrote it did not get to write anything;
//! * `failed` for a file that cannot be read, with the cause under `error`.
#![forbid(unsafe_code)]

mod probe;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use probe::Probe;

/// The status of files that were collected and not interpreted. The host knows it: it is neutral in a verdict.
const NOT_READ: &str = "not-read";

/// The post-processor. See the crate's documentation for the rules.
#[derive(Debug, Clone, Copy)]
pub struct Raw;

impl PostProcessor for Raw {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let mut probe = Probe::default();
        for mut file in files {
            let item = Item::new(0, file.file_name()).meta("file", file.path());
            out.emit(match probe.check(&mut file) {
                Ok(()) if file.size() == 0 => item.status(Status::Unknown).meta("error", "the file is empty"),
                Ok(()) => item.status(Status::from(NOT_READ)),
                Err(error) => item.status(Status::Failed).meta("error", error.to_string()),
            });
        }
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "raw",
    formats: ["raw"],
    default_files: ["**"],
    post_processor: Raw,
}
