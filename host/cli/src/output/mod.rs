//! Output formats: what a person reads, and what a program does.

mod data;
mod detailed;
mod health;
mod junit;
mod markdown;
pub(crate) mod outcome;
mod report;
mod text;
mod verdict;

pub(crate) use data::{print_json, print_yaml};
pub(crate) use detailed::detailed;
pub(crate) use health::Health;
pub(crate) use junit::junit;
pub(crate) use markdown::{escape, markdown};
pub(crate) use report::report;
pub(crate) use text::{name, one_line, size};
pub(crate) use verdict::{JudgedTree, judged_leaves, verdict_markdown, verdict_report};
