//! Renders results: for people as text, Markdown and HTML, for programs as JSON, YAML and JUnit
//! XML.
//!
//! Every function writes to a writer of the caller. Text from results cannot control a terminal.

mod data;
mod detailed;
mod difference;
pub mod failures;
mod health;
mod html;
mod junit;
mod markdown;
mod summary;
pub mod text;
mod verdict;

pub use data::{JsonText, print_json, print_json_line, print_yaml};
pub use detailed::detailed;
pub use difference::{diff_markdown, diff_text};
pub use health::Health;
pub use html::{Page, PageFacts};
pub use junit::junit;
pub use markdown::{escape, markdown};
pub use summary::summary;
pub use verdict::{JudgedTree, judged_leaves, verdict_markdown, verdict_report};
