//! The format `raw`, for files that no module interprets. Each file becomes one item without
//! children. Its name is that of the file, and its metadata key `file` is the path. Its status is
//! one of these:
//!
//! * `not-read` for a readable file, because no content can be called a passed check
//! * `unknown` for an empty file, with the reason under `error`, because its writer probably did
//!   not finish
//! * `failed` for an unreadable file, with the cause under `error`
#![forbid(unsafe_code)]

use std::io::BufRead;

use plumbline_sdk::input::READ_BYTES;
use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

/// The status of files that were collected and not interpreted. The host treats it as neutral in a
/// verdict.
const NOT_READ: &str = "not-read";

/// Maximum number of bytes to read for the checks of a whole result set: 256 MiB. A call may read a
/// few GiB at most, and a result set may hold far more. A call must not fail because it examined
/// each of 10,000 large files.
const BUDGET: u64 = 256 << 20;

/// The post-processor. The documentation of the crate describes the rules.
#[derive(Debug, Clone, Copy)]
pub struct Raw;

impl PostProcessor for Raw {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let mut left = BUDGET;
        for mut file in files {
            let item = Item::new(0, file.file_name()).meta("file", file.path());
            // When the budget is spent, a file counts as readable, because the host knows its size.
            let probed = match left.checked_sub(file.size().min(READ_BYTES.into())) {
                Some(rest) => {
                    left = rest;
                    file.fill_buf().map(drop)
                }
                None => Ok(()),
            };
            out.emit(match probed {
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
