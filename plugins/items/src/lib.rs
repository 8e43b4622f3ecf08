//! The built-in module `items`: reads files in which each line is an item of the result tree, and
//! emits the items unchanged. A check that runs as a plugin writes this form (`docs/checks.md`).
//!
//! A line that breaks a rule becomes an item `unknown`, with the cause under the metadata key
//! `error`, and reading continues. A file without items becomes an item `unknown`.
#![forbid(unsafe_code)]

mod line;
mod post_processor;

pub use line::MAX_LINE;
pub use post_processor::Items;

plumbline_sdk::module! {
    name: "items",
    formats: ["items"],
    default_files: ["**/*.jsonl"],
    detect: [{ "title": "Plumbline items", "files": ["**/*.jsonl"], "prefix": ["{\"depth\":"] }],
    post_processor: Items,
}
