//! What failed in a run that has just ended, as text for people.

use std::io::Write;
use std::path::Path;

use plumbline_aggregator::Failure;
use plumbline_conformance::chain::Chain;
use plumbline_core::judgement::VerdictSummary;
use plumbline_core::rollup::{is_failure, worst};
use plumbline_core::run_status::RunStatus;

use crate::context::Context;
use crate::error::AppError;
use crate::report::causes_report;
use crate::report::failures::list_failures;
use crate::report::outcome::to_list;
use crate::report::text::name;
use crate::results::{causes_in, printed};
use crate::trees::{Reprocess, Trees};

/// Prints the failures of each plugin in the archive of the run with this status. Reads only the trees
/// of plugins with failures.
pub fn failures_text(
    context: &Context,
    archive: &Path,
    status: &RunStatus,
    out: &mut impl Write,
) -> Result<(), AppError> {
    let mut trees = Trees::open(context, archive, Reprocess::default())?;
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
        let failed_leaves = || root.leaves().filter(|leaf| is_failure(&leaf.status)).count() as u64;
        let (failures, all) = match &verdict {
            Some(verdict) => (Failure::of_verdict(verdict, &own), to_list(&verdict.summary())),
            None => (own, failed_leaves()),
        };
        if failures.is_empty() {
            continue;
        }
        // Judges excuse failures, and causes do not know which.
        let causes = if verdict.is_none() { causes_in(context, &mut trees, &plugin, &root)? } else { Vec::new() };
        let mut by_cause = Vec::new();
        printed(causes_report(&root, &causes, &mut by_cause))?;
        printed(writeln!(out, "\n{}: what failed", name(&plugin)))?;
        printed(match by_cause.is_empty() {
            true => list_failures(&failures, all, 2, out),
            false => out.write_all(by_cause.trim_ascii_start()),
        })?;
    }
    Ok(())
}

fn has_failures(plugin: &str, judged: Option<&VerdictSummary>, status: &RunStatus) -> bool {
    if let Some(judged) = judged {
        return to_list(judged) > 0;
    }
    let entries = status.plugins.iter().flatten().filter(|entry| entry.plugin == plugin);
    let total = status.totals.get(plugin).map(|total| Some(&total.status));
    let mut results = entries.map(|entry| entry.result_status.as_ref()).chain(total);
    results.any(|result| result.is_none_or(|status| worst(status).is_some()))
}
