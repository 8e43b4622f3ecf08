//! Summaries of a plugin's results, by a module that reads the finished tree.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::FlatItem;
use plumbline_sandbox::{ItemSink, ModuleFailure, Summarize};

use crate::lazy::LazyModule;

use super::fault::{fault_item, is_of_data};
use super::item::{failure_item, unusable_item};
use super::outcome::Subject;
use super::replay::Replay;
use super::sink::{CallSpool, RunLog};
use super::spool::{Spool, SpoolWriter};
use super::usage::Usage;

/// Key of an item's metadata with its type.
const TYPE: &str = "type";

/// Calls the summarizer `module` on `spools`. Returns the spools, resolved, and a spool with the
/// items of the module. If the module fails, an item reports that. Errors are those of this
/// machine.
pub(super) fn summarize(
    subject: &Subject<'_>,
    module: &LazyModule,
    scratch: &Path,
    mut spools: Vec<Spool>,
    usage: &Mutex<Usage>,
) -> io::Result<(Vec<Spool>, Spool)> {
    let usage = || usage.lock().unwrap_or_else(PoisonError::into_inner);
    let name = module.name();
    let module = match module.wait() {
        Ok(module) => module,
        Err(error) => {
            usage().broke(error.to_string());
            let mut summary = SpoolWriter::create(scratch, false, subject.keep_items.is_some())?;
            summary.push(&summary_item(unusable_item(&error, 0)))?;
            return Ok((spools, summary.finish()?));
        }
    };
    let custom_mode = spools.iter().any(Spool::has_custom_leaf);
    for spool in &mut spools {
        spool.resolve(custom_mode, false)?;
    }
    let spools = Arc::new(spools);
    let mut summary = SpoolWriter::create(scratch, false, subject.keep_items.is_some())?;
    let plugin = subject.plugin.name.as_str();
    let results = Box::new(Replay::new(Arc::clone(&spools), subject.per_node));
    let call = Summarize { plugin: &subject.plugin, results, limits: &subject.limits };
    let mut log = RunLog::new(plugin, &name);
    let mut sink = SummarySink(CallSpool::new(&mut summary, &subject.limits));
    let called = module.summarize(call, &mut sink, &mut log);
    let called = called.map_err(|failure| log.explain(failure));
    usage().count(&called);
    match called {
        Ok(_) => {}
        Err(ModuleFailure::Host(error)) if !is_of_data(&error) => return Err(error),
        Err(failure) => {
            tracing::warn!(plugin, "failed to summarise: {failure}");
            let item = match failure {
                ModuleFailure::Host(error) => fault_item(error.to_string(), 0),
                failure => failure_item(&failure, 0),
            };
            summary.push(&summary_item(item))?;
        }
    }
    // The call is over, and the reader of the spools was dropped.
    let spools = Arc::try_unwrap(spools).map_err(|_| io::Error::other("the items are still being read"))?;
    Ok((spools, summary.finish()?))
}

/// Receives the items of a summarizer.
struct SummarySink<'a>(CallSpool<'a>);

impl ItemSink for SummarySink<'_> {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.0.push(&summary_item(item))
    }
}

/// Makes sure that an item next to the nodes does not look like a node.
pub(super) fn summary_item(mut item: FlatItem) -> FlatItem {
    if item.depth == 0 && item.meta.get(TYPE).is_none_or(|kind| kind == "node") {
        item.meta.insert(TYPE.to_owned(), "summary".to_owned());
    }
    item
}
