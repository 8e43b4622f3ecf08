//! Determines from the status whether a run has its archive.

use std::fmt;

use plumbline_core::GLOBAL;
use plumbline_core::RunFailure;
use plumbline_core::run_status::{RunPhase, RunStatus, TarInfo};
use serde::Deserialize;

/// Maximum number of missing results to list. The rest is counted.
const MAX_NAMED: usize = 5;

/// Why there is no archive yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReady {
    /// The aggregator's pod has not started, with its phase and the reason.
    Starting(String),
    /// The aggregator has not written a status yet.
    NoStatus,
    /// The status cannot be parsed.
    Damaged(String),
    /// Results are missing.
    Running {
        /// Number of results that arrived or will not arrive.
        done: u64,
        /// Number of expected results.
        total: u64,
        /// The first few missing results.
        missing: Vec<String>,
        /// Number of missing results that are not listed.
        more: u64,
    },
    /// Results are being post-processed and packed.
    PostProcessing,
    /// The run failed, with the reason if the aggregator reported one.
    Failed(Option<RunFailure>),
    /// The run is complete, but this directory of the pod has no archive.
    NoArchive(String),
}

impl NotReady {
    /// Returns true if waiting may help.
    pub(super) fn may_change(&self) -> bool {
        !matches!(self, Self::Failed(_) | Self::NoArchive(_))
    }

    /// Returns how to fix the problem.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Failed(failure) => {
                let told = failure.as_ref().and_then(|failure| failure.hint.as_deref());
                let own = told.map(|hint| format!("{hint}\n")).unwrap_or_default();
                let more = if failure.is_some() { "more" } else { "why" };
                format!("{own}`plumbline logs` tells {more}; what was gathered can be had with `--partial`")
            }
            Self::NoArchive(_) => {
                "if the aggregator keeps it elsewhere, name that directory with `--retrieve-path`".into()
            }
            Self::Running { .. } => "wait for it with `--wait`, or take what there is with `--partial`".into(),
            _ => "wait for it with `--wait`".into(),
        }
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting(why) => write!(f, "the aggregator's pod has not started: {why}"),
            Self::NoStatus => f.write_str("the aggregator has not published its status yet"),
            Self::Damaged(why) => write!(f, "the status that the aggregator told cannot be read: {why}"),
            Self::Running { done, total, missing, more } => {
                write!(f, "the run continues, {done} of {total} results are in")?;
                if !missing.is_empty() {
                    write!(f, "; missing: {}", missing.join(", "))?;
                }
                if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            Self::PostProcessing => f.write_str("all results are in and are being read and packed"),
            Self::Failed(None) => f.write_str("the run failed"),
            Self::Failed(Some(failure)) => write!(f, "the run failed: {}", failure.reason),
            Self::NoArchive(dir) => {
                write!(f, "the run is complete, but `{dir}` in the aggregator's pod holds no finished archive")
            }
        }
    }
}

/// An entry that represents several, in a compacted status.
#[derive(Deserialize)]
struct Folded {
    #[serde(default)]
    plugins: Option<Vec<FoldedEntry>>,
}

#[derive(Deserialize)]
struct FoldedEntry {
    #[serde(default)]
    folded: Option<u64>,
}

/// Returns the archive in a status, or why there is none yet.
///
/// For a complete run whose status does not name an archive, the result is empty.
pub(super) fn readiness(annotation: Option<&str>) -> Result<TarInfo, NotReady> {
    let text = annotation.ok_or(NotReady::NoStatus)?;
    let status: RunStatus = serde_json::from_str(text).map_err(|error| NotReady::Damaged(error.to_string()))?;
    match status.status {
        RunPhase::Complete => Ok(status.tar_info),
        RunPhase::Failed => Err(NotReady::Failed(status.failure)),
        RunPhase::PostProcessing => Err(NotReady::PostProcessing),
        _ => Err(running(&status, text)),
    }
}

fn running(status: &RunStatus, text: &str) -> NotReady {
    let folded = serde_json::from_str::<Folded>(text).ok().and_then(|folded| folded.plugins).unwrap_or_default();
    let entries = status.plugins.as_deref().unwrap_or_default();
    let (mut done, mut total, mut open, mut missing) = (0_u64, 0_u64, 0_u64, Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        let weight = folded.get(at).and_then(|entry| entry.folded).unwrap_or(1);
        total = total.saturating_add(weight);
        if entry.status.is_final() {
            done = done.saturating_add(weight);
            continue;
        }
        if missing.len() < MAX_NAMED {
            let name = if entry.node == GLOBAL {
                format!("`{}`", entry.plugin)
            } else {
                format!("`{}` from `{}`", entry.plugin, entry.node)
            };
            missing.push(plumbline_core::text::one_line(&name));
        } else {
            open = open.saturating_add(weight);
        }
    }
    NotReady::Running { done, total, missing, more: open }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(status: serde_json::Value) -> String {
        readiness(Some(&status.to_string())).unwrap_err().to_string()
    }

    #[test]
    fn a_run_that_goes_on_says_what_it_waits_for() {
        let mut plugins = vec![
            json!({"plugin": "e2e", "node": "global", "status": "running"}),
            json!({"plugin": "logs", "node": "n1", "status": "complete"}),
            json!({"plugin": "logs", "node": "n2", "status": "failed"}),
            json!({"plugin": "logs", "node": "40 nodes", "status": "complete", "folded": 40}),
        ];
        assert_eq!(
            told(json!({"status": "running", "plugins": plugins})),
            "the run continues, 42 of 43 results are in; missing: `e2e`"
        );
        plugins.extend((0..9).map(|n| json!({"plugin": "x", "node": format!("n{n}"), "status": "running"})));
        assert_eq!(
            told(json!({"status": "running", "plugins": plugins})),
            "the run continues, 42 of 52 results are in; missing: `e2e`, `x` from `n0`, `x` from `n1`, `x` from `n2`, `x` from `n3` and 5 more"
        );
    }

    #[test]
    fn every_state_without_an_archive_has_its_sentence() {
        assert_eq!(readiness(None), Err(NotReady::NoStatus));
        assert!(matches!(readiness(Some("{")), Err(NotReady::Damaged(_))));
        assert_eq!(told(json!({"status": "running", "plugins": null})), "the run continues, 0 of 0 results are in");
        assert_eq!(readiness(Some(r#"{"status":"failed"}"#)), Err(NotReady::Failed(None)));
        let failure = json!({"reason": "the disk is full", "hint": "make room"});
        assert_eq!(told(json!({"status": "failed", "failure": failure})), "the run failed: the disk is full");
        let hint = readiness(Some(&json!({"status": "failed", "failure": failure}).to_string())).unwrap_err().hint();
        assert!(hint.starts_with("make room\n"), "{hint}");
        assert_eq!(readiness(Some(r#"{"status":"post-processing"}"#)), Err(NotReady::PostProcessing));
        // An unknown phase does not count as an end.
        assert!(matches!(readiness(Some(r#"{"status":"resting"}"#)), Err(NotReady::Running { .. })));
        assert!(!NotReady::Failed(None).may_change() && NotReady::NoStatus.may_change());
    }

    #[test]
    fn a_complete_run_names_its_archive() {
        let status = json!({"status": "complete", "tar-info": {"name": "a.tar.gz", "sha256": "00", "size": 5}});
        assert_eq!(readiness(Some(&status.to_string())).unwrap().name, "a.tar.gz");
        assert_eq!(readiness(Some(r#"{"status":"complete"}"#)).unwrap(), TarInfo::default());
    }
}
