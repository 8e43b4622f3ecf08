//! One file per command.

pub(crate) mod aggregator;
pub(crate) mod completion;
pub(crate) mod delete;
pub(crate) mod facts;
pub(crate) mod gen_config;
pub(crate) mod gen_files;
pub(crate) mod gen_options;
pub(crate) mod gen_plugin;
pub(crate) mod generate;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod piece;
pub(crate) mod process;
pub(crate) mod query;
mod remote;
pub(crate) mod report;
mod report_format;
pub(crate) mod results;
pub(crate) mod retrieve;
pub(crate) mod run;
pub(crate) mod splat;
pub(crate) mod status;
pub(crate) mod test_plugin;
pub(crate) mod version;
pub(crate) mod wait;
pub(crate) mod worker;
