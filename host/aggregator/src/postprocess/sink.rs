//! Outputs of modules: the spool, and the log of the run.

use std::io;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_sandbox::{ItemSink, LogLevel, LogSink, ModuleFailure};

use super::spool::SpoolWriter;

/// A spool for the items of one call. The limit `output-bytes` applies to the written tree too,
/// because escapes and indentation can make it several times larger than the module's output.
pub(super) struct CallSpool<'a> {
    spool: &'a mut SpoolWriter,
    limit: u64,
    /// Size of the spool at which the limit is reached.
    end: u64,
}

impl<'a> CallSpool<'a> {
    pub(super) fn new(spool: &'a mut SpoolWriter, limits: &ModuleLimits) -> Self {
        let end = spool.bytes().saturating_add(limits.output_bytes);
        Self { spool, limit: limits.output_bytes, end }
    }

    pub(super) fn push(&mut self, item: &FlatItem) -> io::Result<()> {
        self.spool.push(item)?;
        if self.spool.bytes() > self.end {
            let limit = self.limit;
            return Err(io::Error::other(format!(
                "the result tree is larger than {limit} bytes (limit `output-bytes`)"
            )));
        }
        Ok(())
    }
}

/// Adds a module's items to the spool, `shift` levels deeper.
pub(super) struct SetSink<'a> {
    pub(super) spool: CallSpool<'a>,
    pub(super) shift: u32,
}

impl ItemSink for SetSink<'_> {
    fn item(&mut self, mut item: FlatItem) -> io::Result<()> {
        item.depth += self.shift;
        self.spool.push(&item)
    }
}

/// Writes a module's log lines to the log of the run, with the names of plugin and module. The
/// sandbox limits their size. The lines of a panic have level debug, because the call's error
/// contains the cause.
pub(crate) struct RunLog<'a> {
    plugin: &'a str,
    module: &'a str,
    panic: Option<Panic>,
}

/// A panic that a module has reported, in the format of the SDKs.
enum Panic {
    /// Its location, with a colon. The cause is in the next line.
    Place(String),
    /// Its location and cause. A stack trace follows.
    Whole(String),
}

impl Panic {
    fn begins(text: &str) -> Option<Self> {
        if text.starts_with("panicked at ") && text.ends_with(':') {
            return Some(Self::Place(text.to_owned()));
        }
        let whole = text.starts_with("panicked at ") || text.starts_with("panic: ");
        whole.then(|| Self::Whole(text.to_owned()))
    }

    fn text(&self) -> &str {
        match self {
            Self::Place(text) => text.trim_end_matches(':'),
            Self::Whole(text) => text,
        }
    }
}

impl<'a> RunLog<'a> {
    pub(crate) fn new(plugin: &'a str, module: &'a str) -> Self {
        Self { plugin, module, panic: None }
    }

    /// Adds the panic to a failure, because the engine only sees the trap.
    pub(crate) fn explain(&self, mut failure: ModuleFailure) -> ModuleFailure {
        if let (ModuleFailure::Trap { trap, hint, .. }, Some(panic)) = (&mut failure, &self.panic) {
            *trap = panic.text().to_owned();
            *hint = Some("this is a defect of the module; `--level debug` logs the details");
        }
        failure
    }

    fn error(&mut self, text: &str) {
        let (plugin, module) = (self.plugin, self.module);
        self.panic = match self.panic.take() {
            Some(Panic::Place(place)) => Some(Panic::Whole(format!("{place} {text}"))),
            Some(whole) => Some(whole),
            None => Panic::begins(text),
        };
        match self.panic {
            Some(_) => tracing::debug!(plugin, module, "{text}"),
            None => tracing::error!(plugin, module, "{text}"),
        }
    }
}

impl LogSink for RunLog<'_> {
    fn line(&mut self, level: LogLevel, text: &str) {
        let (plugin, module) = (self.plugin, self.module);
        match level {
            LogLevel::Debug => tracing::debug!(plugin, module, "{text}"),
            LogLevel::Info => tracing::info!(plugin, module, "{text}"),
            LogLevel::Warning => tracing::warn!(plugin, module, "{text}"),
            LogLevel::Error => self.error(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crash(lines: &[&str]) -> ModuleFailure {
        let mut log = RunLog::new("p", "m");
        lines.iter().for_each(|line| log.line(LogLevel::Error, line));
        let trap = "it gave up".to_owned();
        log.explain(ModuleFailure::Trap { module: "m".to_owned(), trap, frames: Vec::new(), hint: None })
    }

    #[test]
    fn a_crash_names_the_panic_in_one_line() {
        for (lines, cause) in [
            (
                &["panicked at src/lib.rs:10:5:", "index out of bounds"][..],
                "panicked at src/lib.rs:10:5: index out of bounds",
            ),
            (&["other", "panicked at src/lib.rs:10:5:"], "panicked at src/lib.rs:10:5"),
            (&["panic: no", "goroutine 1 [running]:", "main.main()"], "panic: no"),
            (&["other"], "it gave up"),
        ] {
            assert_eq!(crash(lines).to_string(), format!("module `m` crashed: {cause}"));
        }
        assert!(crash(&["panicked at x:1:1:", "y"]).hint().is_some_and(|hint| hint.contains("--level debug")));
    }
}
