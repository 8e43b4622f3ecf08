//! Output formats: what a person reads, and what a program does.

mod data;
mod detailed;
mod diff;
mod duration;
pub(crate) mod failures;
mod foreign;
mod health;
mod html;
mod junit;
mod last_output;
mod markdown;
pub(crate) mod outcome;
mod report;
mod text;
mod verdict;

pub(crate) use data::{print_json, print_json_line, print_yaml};
pub(crate) use detailed::detailed;
pub(crate) use diff::{diff_markdown, diff_text};
pub(crate) use duration::seconds_of;
pub(crate) use foreign::{Foreign, JsonText};
pub(crate) use health::Health;
pub(crate) use html::{Page, PageFacts};
pub(crate) use junit::junit;
pub(crate) use markdown::{escape, markdown};
pub(crate) use report::report;
pub(crate) use text::{name, one_line, shortened, size};
pub(crate) use verdict::{JudgedTree, judged_leaves, verdict_markdown, verdict_report};
