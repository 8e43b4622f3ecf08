//! What the heads of reports say about a run.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumbline_core::judgement::PluginVerdict;
use serde::Serialize;

use crate::report::text::short_seconds;
use crate::report::verdict::failed_checks;

/// What is known about the run of an archive.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ReportFacts {
    /// The file name of the archive, without its directory.
    pub(crate) archive: String,
    /// The ID of the run.
    #[serde(rename = "id")]
    pub(crate) run: Option<String>,
    /// The tool that made the archive, with its version.
    pub(crate) tool: Option<String>,
    /// The UID of the cluster's namespace `kube-system`.
    pub(crate) cluster: Option<String>,
    /// The version of Kubernetes.
    pub(crate) kubernetes: Option<String>,
    /// The number of nodes of the cluster.
    pub(crate) nodes: Option<usize>,
    /// When the run started.
    pub(crate) started: Option<Timestamp>,
    /// How long it took, in seconds.
    pub(crate) seconds: Option<f64>,
}

/// The title of the fact when a run started.
pub(crate) const STARTED: &str = "started";

impl ReportFacts {
    /// The facts of a report on these archives. Several archives have only their number in common.
    pub(crate) fn of(archives: Vec<Self>) -> Self {
        match <[Self; 1]>::try_from(archives) {
            Ok([facts]) => facts,
            Err(several) => Self { archive: format!("{} archives", several.len()), ..Self::default() },
        }
    }

    /// The facts that are known, with their titles. Without a list of nodes, the cluster has as many
    /// as the plugin with results of the most nodes.
    pub(crate) fn titled(&self, nodes_with_results: usize) -> Vec<(&'static str, String)> {
        let nodes = self.nodes.filter(|n| *n > 0).or(Some(nodes_with_results).filter(|n| *n > 0));
        let started = |started: Timestamp| started.to_zoned(TimeZone::UTC).strftime("%-d %B %Y, %H:%M UTC").to_string();
        let facts = [
            ("cluster", self.cluster.clone()),
            ("Kubernetes", self.kubernetes.clone()),
            ("nodes", nodes.map(|nodes| nodes.to_string())),
            (STARTED, self.started.map(started)),
            ("duration", self.seconds.map(short_seconds)),
            ("run", self.run.clone()),
            ("made by", self.tool.clone()),
        ];
        facts.into_iter().filter_map(|(title, fact)| Some((title, fact?))).collect()
    }
}

/// What counts toward the verdict over a report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// The number of leaves.
    pub(crate) items: u64,
    /// The leaves that count as failures, and the failures that do not count.
    pub(crate) counting: u64,
    pub(crate) excused: u64,
    /// The checks of judges that did not pass.
    pub(crate) checks: u64,
}

impl Counts {
    /// Adds a leaf.
    pub(crate) fn add_leaf(&mut self, has_failed: bool, is_counted: bool) {
        self.items = self.items.saturating_add(1);
        self.counting = self.counting.saturating_add(u64::from(is_counted));
        self.excused = self.excused.saturating_add(u64::from(has_failed && !is_counted));
    }

    /// Adds the checks of a verdict, if there is one.
    pub(crate) fn add_checks(&mut self, verdict: Option<&PluginVerdict>) {
        let failed = verdict.map_or(0, |verdict| failed_checks(verdict).len());
        self.checks = self.checks.saturating_add(failed as u64);
    }

    /// The counts in words, to follow the verdict.
    pub(crate) fn sentence(self) -> String {
        let counted = |n: u64, one: &str, several: &str| format!("{n} {}", if n == 1 { one } else { several });
        let mut text = counted(self.counting, "failure counts", "failures count");
        if self.excused > 0 {
            text += &format!(", {}", counted(self.excused, "is excused", "are excused"));
        }
        text += &format!(" of {}", counted(self.items, "item", "items"));
        if self.checks > 0 {
            text += &format!("; {}", counted(self.checks, "check did not pass", "checks did not pass"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_say_what_counts_and_what_does_not() {
        let counts = Counts { items: 10, counting: 1, excused: 2, checks: 1 };
        assert_eq!(counts.sentence(), "1 failure counts, 2 are excused of 10 items; 1 check did not pass");
        assert_eq!(Counts { items: 1, ..Counts::default() }.sentence(), "0 failures count of 1 item");
    }

    #[test]
    fn several_archives_have_no_cluster_in_common() {
        let facts = ReportFacts { archive: "a".into(), cluster: Some("c".into()), ..ReportFacts::default() };
        assert_eq!(
            ReportFacts::of(vec![facts.clone()]).titled(3),
            [("cluster", "c".to_owned()), ("nodes", "3".into())]
        );
        let several = ReportFacts::of(vec![facts.clone(), facts]);
        assert_eq!((several.archive.as_str(), several.titled(0)), ("2 archives", Vec::new()));
    }
}
