//! The failures of a run in a cluster, from its archive, because the status only has counts.

use std::io::Write;
use std::path::Path;

use plumbline_aggregator::Failure;
use plumbline_app::report::failures::list_failures;
use plumbline_app::report::text::name;
use plumbline_app::trees::{Reprocess, Trees};
use plumbline_app::{AppError, Context};
use plumbline_conformance::chain::Chain;
use plumbline_core::judgement::VerdictSummary;
use plumbline_core::run_status::RunStatus;
use plumbline_core::{Item, Status};

use crate::output::outcome::to_list;

/// Prints the failures of each plugin. Only the trees of plugins with failures are read.
pub(super) fn print_failures(context: &Context, archive: &Path, status: &RunStatus) -> Result<(), AppError> {
    let mut trees = Trees::open(context, archive, Reprocess::default())?;
    let mut out = anstream::stdout().lock();
    for plugin in trees.plugins() {
        let judged = status.verdicts.as_ref().and_then(|verdicts| verdicts.get(&plugin));
        if !has_failures(&plugin, judged, status) {
            continue;
        }
        let root = trees.item(&plugin)?;
        let own = Failure::of_tree(&root);
        let verdict = match judged {
            Some(_) => trees.verdict(&plugin, &Chain::default())?,
            None => None,
        };
        let (failures, all) = match &verdict {
            Some(verdict) => (Failure::of_verdict(verdict, &own), to_list(&verdict.summary())),
            None => (own, failed(&root)),
        };
        if failures.is_empty() {
            continue;
        }
        writeln!(out, "\n{}: what failed", name(&plugin))
            .and_then(|()| list_failures(&failures, all, 2, &mut out))
            .map_err(|error| AppError::printing("what failed cannot be printed", &error))?;
    }
    Ok(())
}

fn has_failures(plugin: &str, judged: Option<&VerdictSummary>, status: &RunStatus) -> bool {
    match judged {
        Some(judged) => to_list(judged) > 0,
        None => status.plugins.iter().flatten().filter(|entry| entry.plugin == plugin).any(|entry| {
            entry
                .result_status
                .as_ref()
                .is_none_or(|status| !matches!(status, Status::Passed | Status::Skipped | Status::NotRead))
        }),
    }
}

fn failed(root: &Item) -> u64 {
    root.leaves().filter(|leaf| matches!(leaf.status, Status::Failed | Status::Timeout)).count() as u64
}
