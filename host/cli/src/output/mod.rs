//! Output formats: what a person reads, and what a program does.

mod data;
mod detailed;
mod health;
mod junit;
mod markdown;
pub(crate) mod outcome;
mod report;
mod text;

pub(crate) use data::{print_json, print_yaml};
pub(crate) use detailed::detailed;
pub(crate) use health::Health;
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
pub(crate) use report::report;
pub(crate) use text::{name, one_line, size};
