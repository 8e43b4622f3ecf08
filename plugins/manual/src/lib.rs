//! The built-in module `manual`: reads a result tree that a plugin wrote itself, in YAML (or JSON,
//! which is YAML too).
//!
//! ```yaml
//! name: disks                   # of the whole; ignored, the file's own name is used
//! status: failed                # of an item without items; an item with items gets its status from them
//! items:
//! - name: /var has room
//!   status: failed              # passed, failed, skipped, timeout, unknown, or a custom word
//!   meta: {device: /dev/vda2}   # short texts
//!   details:                    # any value
//!     failure: want 10 GiB, got 2 GiB
//!     blocks: [4096, 524288]
//! ```
//!
//! # The tree
//!
//! * A file becomes an item: its name is that of the file, and its metadata are `file` (the path)
//!   and `type: file`. Its status, details and items are those of the document. The document's name
//!   and metadata are ignored, and so are unknown keys. In an item without `items`, a list whose key
//!   is almost `items` is one more item, which is `unknown`. So is a string that differs from
//!   `status` and whose key is almost `status`.
//! * The items of the document become items below it, with their name, status, metadata, details
//!   and items.
//! * With a custom status (`warning`), the host reports counts (`passed: 3, warning: 1`) for all
//!   items above it. The host derives the status of an item with items from them, whatever the
//!   document says.
//! * The top level of details becomes the item's details. Texts stay texts, and everything else
//!   becomes JSON.
//! * An item without a name is called `item-001`, `item-002`, ... by its position among its
//!   siblings.
//! * `null` means that there is no value.
//!
//! Sonobuoy ignores documents after the first. In this module, more than one document is an error.
//! Empty documents before or after it (an extra `---`) are ignored.
//!
//! # Invalid files
//!
//! A file becomes one item with status `unknown`, and the reason under the metadata key `error`, if
//! it is not such a document. It may not be YAML, have a duplicate key, have a list instead of an
//! item, or be empty. YAML cannot be read partially, so a file is read completely or not at all.
//!
//! # Limits
//!
//! The items below an item may come before its status. A document is therefore held in memory,
//! which limits it:
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a file | 32 MiB | it is `unknown`, with the reason |
//! | mappings, lists and scalars of a file | 2,000,000 | the same |
//! | those that come from aliases | 200,000 | the same, so a few lines cannot expand to gigabytes |
//! | levels of items | 24 | the same |
//! | levels of mappings and lists together | 64 | the same |
//! | a name | 32 KiB | cut; the detail `name` has the whole name, up to 1 MiB |
//! | a custom status | 256 bytes | cut; the detail `status` has the whole status, up to 1 MiB |
//! | metadata and details of an item, with 32 bytes more per value | 12 MiB | the rest is left out, and counted in the detail `cut` |
#![forbid(unsafe_code)]

mod document;
mod emit;
mod entry;
mod json;
mod pairs;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

pub use document::{MAX_BYTES, MAX_NODES, MAX_REPLAYED};
pub use emit::{MAX_ITEM_TEXT, MAX_LEVELS};

/// The post-processor for result trees that plugins write themselves.
#[derive(Debug, Clone, Copy)]
pub struct Manual;

impl PostProcessor for Manual {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for mut file in files {
            let item = Item::of_file(&file);
            match document::read(&mut file) {
                Ok(entry) => emit::document(item, entry, out),
                Err(error) => out.emit(item.status(Status::Unknown).meta("error", error.to_string())),
            }
        }
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "manual",
    formats: ["manual"],
    default_files: ["**/*.yaml", "**/*.yml"],
    post_processor: Manual,
}
