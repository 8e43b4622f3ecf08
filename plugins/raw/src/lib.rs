//! The format `raw`, for files that no module interprets. Each file becomes one item without
//! children. Its name is that of the file, and its metadata key `file` is the path. Its status is
//! one of these:
//!
//! * `not-read` for a readable file, because no content can be called a passed check
//! * `unknown` for an empty file, with the reason under `error`, because its writer probably did
//!   not finish
//! * `failed` for an unreadable file, with the cause under `error`
#![forbid(unsafe_code)]

mod probe;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use probe::Probe;

/// The status of files that were collected and not interpreted. The host treats it as neutral in a
/// verdict.
const NOT_READ: &str = "not-read";

/// The post-processor. The documentation of the crate describes the rules.
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
