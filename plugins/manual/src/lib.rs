//! The built-in module `manual`: takes the result tree that a plugin wrote itself, in YAML (or JSON, which is YAML too).
//!
//! ```yaml
//! name: disks                   # of the whole; ignored, the file's own name is used
//! status: failed                # of an item without items; an item with items gets its status from them
//! items:
//! - name: /var has room
//!   status: failed              # passed, failed, skipped, timeout, unknown, or a word of your own
//!   meta: {device: /dev/vda2}   # short texts
//!   details:                    # anything
//!     failure: want 10 GiB, got 2 GiB
//!     blocks: [4096, 524288]
//! ```
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name, meta `file` (its path) and `type: file`; status, details and items are those of the
//!   document. Its name and meta are ignored, as are keys that are not known.
//! * The items of the document become items below it, with their name, status, meta, details and items.
//! * A status of one's own (`warning`) makes the host report counts (`passed: 3, warning: 1`) for everything above it. The host derives
//!   the status of an item with items from them, whatever the document says.
//! * Of details the top level becomes the item's details: texts stay texts, everything else becomes JSON with its structure.
//! * An item without a name is called `item-001`, `item-002`, ... by its place among its siblings.
//! * `null` in place of a value is the same as no value.
//!
//! Documents after the first are read by Sonobuoy as if they were not there; here more than one is an error. An empty document before or
//! after it (a `---` too many) is none.
//!
//! # Files that are not as they should be
//!
//! A file that is no such document (not YAML, a key twice in one mapping, a list where an item must stand), or is empty, becomes one item
//! with status `unknown` and the reason under the meta key `error`. YAML cannot be read in part: a file is taken whole or not at all.
//!
//! # Bounds
//!
//! An item can stand before what is said about it, so a document is held in memory, which bounds it:
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | a file | 32 MiB | it is `unknown`, with the reason |
//! | mappings, lists and scalars of a file | 2,000,000 | the same |
//! | those that come from aliases | 200,000 | the same, so a few lines cannot grow into gigabytes |
//! | levels of items | 24 | the same |
//! | levels of mappings and lists together | 64 | the same |
//! | a name | 32 KiB | cut; it stands whole in the detail `name`, up to 1 MiB |
//! | a status of one's own | 256 bytes | cut; it stands whole in the detail `status`, up to 1 MiB |
//! | meta and details of an item | 12 MiB, each value counted with 32 bytes more | what does not fit is left out, and the detail `cut` says how many |
#![forbid(unsafe_code)]

mod document;
mod emit;
mod entry;
mod error;
mod json;
mod pairs;
mod post_processor;

pub use document::{MAX_BYTES, MAX_NODES, MAX_REPLAYED};
pub use emit::{MAX_ITEM_TEXT, MAX_LEVELS};
pub use post_processor::Manual;

plumbline_sdk::module! {
    name: "manual",
    formats: ["manual"],
    default_files: ["**/*.yaml", "**/*.yml"],
    post_processor: Manual,
}
