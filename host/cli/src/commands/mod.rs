//! One file per command.

pub(crate) mod completion;
pub(crate) mod facts;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod process;
pub(crate) mod query;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod version;
pub(crate) mod worker;
