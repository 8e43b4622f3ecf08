//! One file per command.

pub(crate) mod completion;
pub(crate) mod facts;
pub(crate) mod gen_config;
pub(crate) mod gen_files;
pub(crate) mod gen_options;
pub(crate) mod gen_plugin;
pub(crate) mod generate;
pub(crate) mod list;
pub(crate) mod process;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod version;
pub(crate) mod worker;
