//! Functions that write lines to the log of the run.
//!
//! ```
//! use plumbline_sdk::log;
//!
//! log::info("reading");
//! let skipped = 3;
//! log::warning!("{skipped} lines were not understood");
//! ```
//!
//! The host limits the log of a call, to 64 KiB by default. It drops the rest and notes that once,
//! so do not log every item. In native tests the lines are in
//! [`Run::log`](crate::testing::Run::log). Outside of a test case they go to standard error.

/// The severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Information for the author of the module.
    Debug,
    /// Information for users.
    Info,
    /// Something is unexpected, but the result is still valid.
    Warning,
    /// Something is wrong with the result.
    Error,
}

/// Writes one line.
pub fn write(level: Level, message: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::guest::write_log(level, message);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::write_log(level, message);
}

macro_rules! level {
    ($function:ident, $level:ident, $macro:ident, $doc:literal, $d:tt) => {
        #[doc = $doc]
        pub fn $function(message: impl AsRef<str>) {
            write(Level::$level, message.as_ref());
        }

        #[doc(hidden)]
        #[macro_export]
        macro_rules! $macro {
                            ($d($d arguments:tt)+) => {
                                $crate::log::write($crate::log::Level::$level, &::std::format!($d($d arguments)+))
                            };
                        }

        #[doc = $doc]
        #[doc = "Arguments as for `format!`."]
        pub use $macro as $function;
    };
}

level!(debug, Debug, __log_debug, "Writes a line for the author of the module.", $);
level!(info, Info, __log_info, "Writes a line for users.", $);
level!(warning, Warning, __log_warning, "Writes a line about something unexpected.", $);
level!(error, Error, __log_error, "Writes a line that says what is wrong with the result.", $);
