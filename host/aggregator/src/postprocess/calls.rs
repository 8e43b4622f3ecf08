//! Calls of modules: where their items and log lines go, and the call of a summarizer.

use std::io;
use std::path::Path;
use std::sync::Arc;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_sandbox::{ItemSink, LogLevel, LogSink, ModuleFailure, Summarize};

use super::items::{failure_item, unknown_item, unusable_item};
use super::outcome::{Subject, Usage, is_of_data};
use super::replay::Replay;
use super::spool::{Spool, SpoolWriter};
use crate::modules::LazyModule;

/// Key of an item's metadata with its type.
const TYPE: &str = "type";

/// Spools the items of one call, each changed by `adapt`.
///
/// The limit `output-bytes` applies to the written tree too, because escapes and indentation can
/// make it several times larger than the module's output.
pub(super) struct CallSink<'a, F> {
    spool: &'a mut SpoolWriter,
    limit: u64,
    /// Size of the spool at which the limit is reached.
    end: u64,
    adapt: F,
}

impl<'a, F: FnMut(FlatItem) -> FlatItem> CallSink<'a, F> {
    pub(super) fn new(spool: &'a mut SpoolWriter, limits: &ModuleLimits, adapt: F) -> Self {
        let end = spool.bytes.saturating_add(limits.output_bytes);
        Self { spool, limit: limits.output_bytes, end, adapt }
    }
}

impl<F: FnMut(FlatItem) -> FlatItem> ItemSink for CallSink<'_, F> {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.spool.push(&(self.adapt)(item))?;
        if self.spool.bytes > self.end {
            let limit = self.limit;
            return Err(io::Error::other(format!(
                "the result tree is larger than {limit} bytes (limit `output-bytes`)"
            )));
        }
        Ok(())
    }
}

/// Writes a module's log lines to the log of the run, with the names of plugin and module. The
/// sandbox limits their size. The lines of a panic have level debug, because the call's error
/// contains the cause.
pub struct RunLog<'a> {
    plugin: &'a str,
    module: &'a str,
    /// A panic that the module has reported, in the format of the SDKs.
    panic: Option<String>,
    /// Whether the next line has the cause of the panic.
    cause_follows: bool,
}

impl<'a> RunLog<'a> {
    /// Creates the log of one call.
    pub fn new(plugin: &'a str, module: &'a str) -> Self {
        Self { plugin, module, panic: None, cause_follows: false }
    }

    /// Adds the panic to a failure, because the engine only sees the trap.
    pub fn explain(&self, mut failure: ModuleFailure) -> ModuleFailure {
        if let (ModuleFailure::Trap { trap, hint, .. }, Some(panic)) = (&mut failure, &self.panic) {
            *trap = if self.cause_follows { panic.trim_end_matches(':').to_owned() } else { panic.clone() };
            *hint = Some("this is a defect of the module; `--level debug` logs the details");
        }
        failure
    }

    fn error(&mut self, text: &str) {
        let (plugin, module) = (self.plugin, self.module);
        match &mut self.panic {
            // A stack trace may follow.
            Some(panic) if self.cause_follows => {
                *panic = format!("{panic} {text}");
                self.cause_follows = false;
            }
            None if text.starts_with("panicked at ") || text.starts_with("panic: ") => {
                self.cause_follows = text.starts_with("panicked at ") && text.ends_with(':');
                self.panic = Some(text.to_owned());
            }
            _ => {}
        }
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

/// Calls the summarizer `module` on `spools`. Returns the spools, resolved, and a spool with the
/// items of the module. If the module fails, an item reports that. Errors are those of this
/// machine.
pub(super) fn summarize(
    subject: &Subject<'_>,
    module: &LazyModule,
    scratch: &Path,
    mut spools: Vec<Spool>,
    usage: &mut Usage,
) -> io::Result<(Vec<Spool>, Spool)> {
    let name = module.name();
    let mut summary = SpoolWriter::create(scratch, false, subject.keep_items.is_some())?;
    let module = match module.wait() {
        Ok(module) => module,
        Err(error) => {
            usage.broke(error.to_string());
            summary.push(&summary_item(unusable_item(&error, 0)))?;
            return Ok((spools, summary.finish()?));
        }
    };
    let custom_mode = spools.iter().any(|spool| spool.custom_leaf);
    for spool in &mut spools {
        spool.resolve(custom_mode, false)?;
    }
    let spools = Arc::new(spools);
    let plugin = subject.plugin.name.as_str();
    let results = Box::new(Replay::new(Arc::clone(&spools), subject.per_node));
    let call = Summarize { plugin: &subject.plugin, results, limits: &subject.limits };
    let mut log = RunLog::new(plugin, &name);
    let mut sink = CallSink::new(&mut summary, &subject.limits, summary_item);
    let called = module.summarize(call, &mut sink, &mut log).map_err(|failure| log.explain(failure));
    usage.count(&called);
    match called {
        Ok(_) => {}
        Err(ModuleFailure::Host(error)) if !is_of_data(&error) => return Err(error),
        Err(failure) => {
            tracing::warn!(plugin, "failed to summarise: {failure}");
            let item = match failure {
                ModuleFailure::Host(error) => unknown_item(error.to_string(), None, 0),
                failure => failure_item(&failure, 0),
            };
            summary.push(&summary_item(item))?;
        }
    }
    // The call is over, and the reader of the spools was dropped.
    let spools = Arc::try_unwrap(spools).map_err(|_| io::Error::other("the items are still being read"))?;
    Ok((spools, summary.finish()?))
}

/// Makes sure that an item next to the nodes does not look like a node.
pub(super) fn summary_item(mut item: FlatItem) -> FlatItem {
    if item.depth == 0 && item.meta.get(TYPE).is_none_or(|kind| kind == "node") {
        item.meta.insert(TYPE.to_owned(), "summary".to_owned());
    }
    item
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
