//! Renders results: for people as text, Markdown and HTML, for programs as JSON, YAML and JUnit
//! XML.
//!
//! Every function writes to a writer of the caller. Text from results cannot control a terminal.

mod causes;
pub mod failures;
pub(crate) mod html;
mod junit;
pub(crate) mod markdown;
pub mod outcome;
pub mod status;
mod summary;
pub mod text;
mod timeline;
pub(crate) mod verdict;

pub use causes::causes_report;
pub use junit::junit;
pub use markdown::{CollectedTree, escape, limited, markdown};
pub use summary::{Health, detailed, summary};
pub use text::{JsonText, print_json, print_json_line, print_yaml};
pub use timeline::timeline_report;
pub use verdict::{JudgedTree, judged_leaves, verdict_markdown, verdict_report};
