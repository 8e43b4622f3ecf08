//! What modules write into: the spool, and the log of the run.

use std::io;

use plumbline_core::FlatItem;
use plumbline_sandbox::{ItemSink, LogLevel, LogSink};

use super::spool::SpoolWriter;

/// Puts a module's items into the spool, `shift` levels deeper than the module sees them.
pub(super) struct SetSink<'a> {
    pub(super) spool: &'a mut SpoolWriter,
    pub(super) shift: u32,
}

impl ItemSink for SetSink<'_> {
    fn item(&mut self, mut item: FlatItem) -> io::Result<()> {
        item.depth += self.shift;
        self.spool.push(&item)
    }
}

/// Puts a module's lines into the log of the run, under the names of plugin and module. The sandbox bounds them.
pub(crate) struct RunLog<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) module: &'a str,
}

impl LogSink for RunLog<'_> {
    fn line(&mut self, level: LogLevel, text: &str) {
        let (plugin, module) = (self.plugin, self.module);
        match level {
            LogLevel::Debug => tracing::debug!(plugin, module, "{text}"),
            LogLevel::Info => tracing::info!(plugin, module, "{text}"),
            LogLevel::Warning => tracing::warn!(plugin, module, "{text}"),
            LogLevel::Error => tracing::error!(plugin, module, "{text}"),
        }
    }
}
