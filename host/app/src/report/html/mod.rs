//! Trees as one HTML page that works offline: what failed and why without a script, and a table of
//! everything, a heat map and a timeline with the page's own script.

mod ansi;
mod cluster;
mod durations;
mod failed;
mod failures;
mod frame;
mod logs;
mod page;
mod row;
mod section;
mod spool;
mod summary;

pub(crate) use frame::{END, head};
pub(crate) use page::Page;
pub(crate) use section::Section;
