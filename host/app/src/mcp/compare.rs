//! Tools about several runs.

use serde_json::{Map, Value, json};

use crate::difference::Change;
use crate::difference::LEGEND;
use crate::error::AppError;
use crate::history::{History, Selection, TestHistory};
use crate::mcp::answer::{MAX_PART_BYTES, Page, clean_within, members};
use crate::mcp::archives::Archives;
use crate::mcp::tools::{DiffArgs, HistoryArgs};
use crate::results::{Comparison, compare};

/// The most outcomes of a test, the newest ones.
const MAX_OUTCOMES: usize = 200;

/// The most clusters, and the most archives that cannot be read.
const MAX_LISTED: usize = 20;

impl Archives {
    /// Compares two runs.
    pub(super) fn diff(&self, args: &DiffArgs) -> Result<Value, AppError> {
        let paths = [self.sources.run(&args.before)?.path, self.sources.run(&args.after)?.path];
        let mut page = Page::new(args.cursor.as_deref())?;
        let Comparison { difference, silent, .. } = compare(&self.context, &paths, args.plugin.as_ref(), &self.limits)?;
        let lists: [(&str, &[Change]); 5] = [
            ("new failure", &difference.new_failures),
            ("still failing", &difference.still_failing),
            ("fixed", &difference.fixed),
            ("not run in one of them", &difference.not_run),
            ("much slower", &difference.slower),
        ];
        for (kind, changes) in lists {
            for change in changes {
                page.push(|| {
                    let mut entry = members(json!(change));
                    entry.insert("change".to_owned(), kind.into());
                    entry.into()
                });
            }
        }
        let counts: Map<String, Value> =
            lists.iter().map(|(kind, changes)| ((*kind).to_owned(), changes.len().into())).collect();
        let answer = json!({
            "ran-before": difference.ran_before, "ran-after": difference.ran_after,
            "unknown-after": difference.unknown_after, "counts": counts,
            "plugins-that-ran-nothing": clean_within(json!(silent), MAX_PART_BYTES),
        });
        Ok(page.finish("changes", answer))
    }

    /// Returns the outcomes of tests over all runs.
    pub(super) fn history(&self, args: &HistoryArgs) -> Result<Value, AppError> {
        let mut page = Page::new(args.cursor.as_deref())?;
        let history = History::open_without_links(&self.context, self.sources.paths(), &self.limits.load()?)?;
        let selection =
            Selection { plugin: args.plugin.clone(), test: args.test.clone(), last: args.last, ..Selection::default() };
        let report = history.report(&selection)?;
        let is_shown = |test: &&TestHistory| args.test.is_some() || test.failed > 0 || test.flakes > 0;
        for test in report.tests.iter().filter(is_shown) {
            page.push(|| {
                let mut entry = members(json!(test));
                // The newest outcomes are last.
                let skipped = test.outcomes.chars().count().saturating_sub(MAX_OUTCOMES);
                let newest: String = test.outcomes.chars().skip(skipped).collect();
                entry.insert("outcomes".to_owned(), newest.into());
                entry.insert("older-outcomes-cut".to_owned(), json!(Some(skipped).filter(|skipped| *skipped > 0)));
                entry.into()
            });
        }
        let clusters = report.clusters.get(..MAX_LISTED).unwrap_or(&report.clusters);
        let unreadable = report.unreadable.get(..MAX_LISTED).unwrap_or(&report.unreadable);
        let answer = json!({
            "runs": report.runs.len(), "clusters": clean_within(json!(clusters), MAX_PART_BYTES),
            "more-clusters": report.clusters.len().saturating_sub(MAX_LISTED),
            "unreadable": clean_within(json!(unreadable), MAX_PART_BYTES), "legend": LEGEND,
        });
        Ok(page.finish("tests", answer))
    }
}
