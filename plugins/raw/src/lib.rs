//! The format `raw`: files that nobody interprets. Each is one item without children, named like the file, with its path under the
//! meta key `file`: `passed` when the file can be read, `failed` with the cause under `error` when it cannot.
//!
//! What is in a file makes no difference, so a check that has failed and says so in its file still passes here. How the plugin's
//! process ended does not stand in a file; the host adds it as an item of its own.
#![forbid(unsafe_code)]

mod probe;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use probe::Probe;

/// Plays the role. See the crate's documentation for the rules.
#[derive(Debug, Clone, Copy)]
pub struct Raw;

impl PostProcessor for Raw {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let mut probe = Probe::default();
        for mut file in files {
            let item = Item::new(0, file.file_name()).meta("file", file.path());
            out.emit(match probe.check(&mut file) {
                Ok(()) => item.status(Status::Passed),
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
