//! Renders results: for people as text, Markdown and HTML, for programs as JSON, YAML and in the
//! formats of other tools.
//!
//! Every function writes to a writer of the caller. Text from results cannot control a terminal.

mod causes;
pub(crate) mod facts;
pub mod failures;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod nodes;
pub mod outcome;
pub(crate) mod renderers;
mod run_document;
pub(crate) mod slowest;
pub mod status;
pub mod status_table;
mod summary;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
mod timeline;
pub(crate) mod verdict;

/// The JSON Schema of results as JSON.
pub const RESULTS_SCHEMA: &str = include_str!("../../../../docs/results.schema.json");

pub use causes::causes_report;
pub use markdown::{CollectedTree, limited, markdown};
pub(crate) use markdown::{head_markdown, nodes_markdown, slowest_markdown};
pub use renderers::Format;
pub use run_document::run_document;
pub use summary::{Health, detailed, summary, unknown_report};
pub use text::{print_json, print_json_line, print_yaml};
pub use timeline::timeline_report;
pub use verdict::{verdict_markdown, verdict_report};
