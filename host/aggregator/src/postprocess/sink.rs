//! What modules write into: the spool, and the log of the run.

use std::io;

use plumbline_core::FlatItem;
use plumbline_sandbox::{ItemSink, LogLevel, LogSink, ModuleFailure};

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
/// An error of several lines, such as a panic with its trace, is one line; the rest is logged at level debug.
pub(crate) struct RunLog<'a> {
    plugin: &'a str,
    module: &'a str,
    /// The last error.
    error: Option<String>,
}

impl<'a> RunLog<'a> {
    pub(crate) fn new(plugin: &'a str, module: &'a str) -> Self {
        Self { plugin, module, error: None }
    }

    /// The failure with the panic that led to it, which the engine does not know.
    pub(crate) fn explain(&self, mut failure: ModuleFailure) -> ModuleFailure {
        if let ModuleFailure::Trap { trap, hint, .. } = &mut failure
            && let Some(panic) = self.error.as_ref().filter(|error| error.contains("panicked at"))
        {
            trap.clone_from(panic);
            *hint = Some("this is a defect of the module; `--level debug` logs the details");
        }
        failure
    }
}

/// The first line of an error, with the second if the first announces it; then the rest.
fn headline(text: &str) -> (String, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if !first.trim_end().ends_with(':') {
        return (first.to_owned(), rest);
    }
    let (second, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    (format!("{} {}", first.trim_end(), second.trim_start()).trim_end().to_owned(), rest)
}

impl LogSink for RunLog<'_> {
    fn line(&mut self, level: LogLevel, text: &str) {
        let (plugin, module) = (self.plugin, self.module);
        match level {
            LogLevel::Debug => tracing::debug!(plugin, module, "{text}"),
            LogLevel::Info => tracing::info!(plugin, module, "{text}"),
            LogLevel::Warning => tracing::warn!(plugin, module, "{text}"),
            LogLevel::Error => {
                let (line, rest) = headline(text);
                if rest.trim().is_empty() {
                    tracing::error!(plugin, module, "{line}");
                } else {
                    tracing::error!(plugin, module, "{line} (details: `--level debug`)");
                    tracing::debug!(plugin, module, "{rest}");
                }
                self.error = Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_line() {
        let rust = "panicked at src/lib.rs:10:5:\nindex out of bounds";
        assert_eq!(headline(rust), ("panicked at src/lib.rs:10:5: index out of bounds".to_owned(), ""));
        assert_eq!(headline("panic: no\ngoroutine 1:\nmain"), ("panic: no".to_owned(), "goroutine 1:\nmain"));
        assert_eq!(headline("plain"), ("plain".to_owned(), ""));
        assert_eq!(headline("open:"), ("open:".to_owned(), ""));

        let mut log = RunLog::new("p", "m");
        log.line(LogLevel::Error, rust);
        let trap =
            |trap: &str| ModuleFailure::Trap { module: "m".into(), trap: trap.into(), frames: Vec::new(), hint: None };
        let explained = log.explain(trap("it gave up"));
        assert_eq!(explained.to_string(), "module `m` crashed: panicked at src/lib.rs:10:5: index out of bounds");
        assert!(explained.hint().is_some_and(|hint| hint.contains("--level debug")));
        assert_eq!(RunLog::new("p", "m").explain(trap("x")).to_string(), "module `m` crashed: x");
    }
}
