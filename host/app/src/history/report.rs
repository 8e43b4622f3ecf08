//! Computes the statistics of a history.

use std::collections::BTreeMap;

use crate::error::AppError;
use crate::history::History;
use crate::history::model::{ClusterHistory, HistoryReport, RunOverview};
use crate::history::select::{Rows, Selection, runs};
use crate::history::stats::ClusterRuns;

impl History {
    /// Computes the statistics of the selected runs and tests.
    pub fn report(&self, selection: &Selection) -> Result<HistoryReport, AppError> {
        let runs = runs(self, selection)?;
        let rows = Rows::of(self, &runs, selection)?;
        let mut clusters: BTreeMap<&str, ClusterRuns<'_>> = BTreeMap::new();
        for run in &runs {
            clusters.entry(&run.run.facts.cluster).or_default().runs.push(*run);
        }
        let mut report = HistoryReport {
            unreadable: self.problems.iter().map(ToString::to_string).collect(),
            ..HistoryReport::default()
        };
        for cluster in clusters.values() {
            let (overviews, tests) = cluster.statistics(&rows);
            report.clusters.extend(versions(&overviews));
            report.runs.extend(overviews);
            report.tests.extend(tests);
        }
        report.runs.sort_by(|a, b| (a.started, &a.archive).cmp(&(b.started, &b.archive)));
        Ok(report)
    }
}

/// The runs of one cluster, by version, in the order of their first runs.
fn versions(runs: &[RunOverview]) -> Vec<ClusterHistory> {
    let mut versions: Vec<ClusterHistory> = Vec::new();
    for run in runs {
        let at = versions.iter().position(|known| known.version == run.version).unwrap_or_else(|| {
            versions.push(ClusterHistory {
                cluster: run.cluster.clone(),
                version: run.version.clone(),
                first: run.started,
                ..ClusterHistory::default()
            });
            versions.len() - 1
        });
        if let Some(version) = versions.get_mut(at) {
            version.runs += 1;
            version.without_failures += u64::from(run.failed == 0 && run.passed + run.flaky > 0);
            version.last = run.started;
        }
    }
    versions
}
