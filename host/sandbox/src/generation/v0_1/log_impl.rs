//! The interface `log`.

use super::bindings::post_processor::plumbline::plugin::log::{Host, Level};
use crate::call::io::LogLevel;
use crate::call::state::CallState;

impl Host for CallState {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.clock.check()?;
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warning => LogLevel::Warning,
            Level::Error => LogLevel::Error,
        };
        Ok(self.lines.write(level, &message)?)
    }
}
