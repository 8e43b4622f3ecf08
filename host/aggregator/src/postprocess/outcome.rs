//! Input and outcome of post-processing, and its errors.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use plumbline_core::definition::RAW_FORMAT;
use plumbline_core::rollup::{NO_RESULTS_REASON, Tally, meaning};
use plumbline_core::{ModuleLimits, Status};
use plumbline_sandbox::{CallStats, ModuleFailure, PluginInfo};
use serde::Serialize;

use super::failures::{Failure, MAX_FAILURES};
use crate::modules::LazyModule;

/// Maximum number of files in an outcome. The tree has all of them.
const MAX_NAMED: usize = 20;

/// The results to post-process, and how.
pub struct Subject<'a> {
    /// Information for the module.
    pub plugin: PluginInfo,
    /// Whether results are per node, so that each directory below `results/` is a node's.
    pub per_node: bool,
    /// Modules that detect their files, for `auto`. If empty, one module reads all files.
    pub detectors: Vec<LazyModule>,
    /// Name of the file in a result set with the standard output of the plugin's process.
    pub stdout: Option<&'a str>,
    /// The definition's `result-files`. If empty, the module's default patterns apply.
    pub result_files: &'a [String],
    /// Limits of one call of the module.
    pub limits: ModuleLimits,
    /// Module that adds items about the results of all result sets, if any.
    pub summarizer: Option<LazyModule>,
    /// File to write the items of the finished tree to, for judges, if any.
    pub keep_items: Option<PathBuf>,
    /// Whether a result set in which nothing ran passes.
    pub allow_empty: bool,
    /// Sentences for readers of the tree, which become metadata of the root.
    pub warnings: Vec<String>,
    /// Why no result was expected: the reason why the tree has no items.
    pub nothing_expected: Option<&'a str>,
}

impl Subject<'_> {
    /// Returns whether each file is read by the module that detects it.
    pub(super) fn is_auto(&self) -> bool {
        !self.detectors.is_empty()
    }
}

/// Outcome of a node, or of the whole plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Rolled-up status.
    pub status: Status,
    /// Number of leaves by status.
    pub counts: BTreeMap<String, u64>,
}

impl NodeOutcome {
    pub(super) fn merge(&mut self, other: Self, custom_mode: bool) {
        let mut tally = Tally::default();
        tally.add(&self.status);
        tally.add(&other.status);
        self.status = tally.result(custom_mode);
        for (status, n) in other.counts {
            *self.counts.entry(status).or_default() += n;
        }
    }
}

/// Outcome of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Outcome of the root.
    pub total: NodeOutcome,
    /// Outcome per node, the worse of its results and errors. Empty in a finished run, whose ledger
    /// has them.
    pub nodes: BTreeMap<String, NodeOutcome>,
    /// Number of items in the tree, without its root.
    pub items: u64,
    /// The first failed tests, at most [`MAX_FAILURES`].
    pub failures: Vec<Failure>,
    /// Reason of the status if the items do not explain it: nothing ran, or no file was read.
    pub reason: Option<String>,
    /// Resources that the modules used, and their failures.
    pub usage: Usage,
    /// Detected formats, or `None` if the result format is not `auto`.
    pub detections: Option<Detections>,
}

/// Detected formats of a plugin with the result format `auto`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Detections {
    /// The first files with a detected format.
    pub files: Vec<Detected>,
    /// Number of files with a detected format.
    pub detected: u64,
    /// Number of files without a detected format. The captured standard output does not count.
    pub unread: u64,
}

/// A file with a detected format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detected {
    /// Path relative to the plugin's directory, such as `results/global/junit.xml`.
    pub file: String,
    /// Display name of the format, such as `JUnit`.
    pub format: String,
    /// Name of the module that read the file.
    pub module: String,
}

impl Detections {
    pub(super) fn add(&mut self, detected: Detected) {
        self.detected += 1;
        if self.files.len() < MAX_NAMED {
            self.files.push(detected);
            self.files.sort_by(|a, b| a.file.cmp(&b.file));
        }
    }
}

/// Resources that the calls of a plugin's modules used, and the calls that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of calls.
    pub calls: u64,
    /// Total wall-clock time of the calls. Failed calls do not report it.
    pub wall: Duration,
    /// Maximum linear memory of one call, in bytes. Failed calls do not report it.
    pub memory: u64,
    /// Why calls were ended or impossible, at most [`MAX_FAILURES`]. A module's own errors about
    /// unreadable results are not included.
    pub broken: Vec<String>,
    /// Errors that modules returned themselves. At most [`MAX_FAILURES`].
    pub refused: Vec<String>,
}

impl Usage {
    pub(crate) fn count(&mut self, call: &Result<CallStats, ModuleFailure>) {
        self.calls += 1;
        match call {
            Ok(stats) => {
                self.wall += stats.wall;
                self.memory = self.memory.max(stats.memory);
            }
            Err(ModuleFailure::Refused(sentence)) => {
                if self.refused.len() < MAX_FAILURES {
                    self.refused.push(sentence.clone());
                }
            }
            Err(failure) => self.broke(failure.to_string()),
        }
    }

    pub(crate) fn broke(&mut self, why: String) {
        if self.broken.len() < MAX_FAILURES {
            self.broken.push(why);
        }
    }
}

/// Decisions of the host about result sets in which nothing ran.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decided {
    /// Whether the exit code of a process decided, because none of its files was read.
    pub(super) by_exit_code: bool,
    /// Whether the definition allows that nothing runs.
    pub(super) by_allow_empty: bool,
}

/// Returns the reason of the status of a plugin with these leaves, if they do not explain it.
/// `format` is the definition's result format, or empty.
pub(super) fn reason(total: &NodeOutcome, format: &str, decided: Decided) -> Option<String> {
    let count = |wanted: Status| -> u64 {
        let counted = total.counts.iter().filter(|(status, _)| meaning(&status.as_str().into()) == wanted);
        counted.map(|(_, n)| n).sum()
    };
    let all: u64 = total.counts.values().sum();
    let (skipped, not_read) = (count(Status::Skipped), count(Status::NotRead));
    if all == 0 {
        Some(NO_RESULTS_REASON.to_owned())
    } else if decided.by_allow_empty {
        Some("nothing ran, which `plumbline.allow-empty` allows".to_owned())
    } else if decided.by_exit_code {
        Some(format!("{}; the exit code decides", unread(not_read, format)))
    } else if all == not_read {
        Some(unread(not_read, format))
    } else if all == not_read.saturating_add(skipped) {
        let tests = if skipped == 1 { "the only test was" } else { "all {n} tests were" };
        Some(format!("nothing ran: {} skipped", tests.replace("{n}", &skipped.to_string())))
    } else {
        None
    }
}

fn unread(files: u64, format: &str) -> String {
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    match format {
        "" => format!("{files} collected, none read: the definition has no `result-format`"),
        RAW_FORMAT => format!("{files} collected, none read: the result format is `{RAW_FORMAT}`"),
        _ => format!("{files} collected, none read"),
    }
}

/// An error of this machine. Errors in results and modules become items of the tree.
#[derive(Debug, thiserror::Error)]
pub enum PostProcessError {
    /// Reading results or writing the tree failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A default pattern of the module is not a glob.
    #[error("module `{module}` has a default pattern that is not a glob: {source}")]
    Pattern {
        /// Name of the module.
        module: String,
        /// The underlying error.
        source: globset::Error,
    },
}

/// Returns a function that adds what failed to an I/O error.
pub(super) fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> PostProcessError {
    move |source| PostProcessError::Io { what: what.into(), source }
}

/// Returns whether data or a module caused `error`, and not this machine.
pub(crate) fn is_of_data(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Other | ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidFilename
    )
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    fn of(counts: &[(&str, u64)], format: &str, decided: Decided) -> Option<String> {
        let counts = counts.iter().map(|(status, n)| ((*status).to_owned(), *n)).collect();
        reason(&NodeOutcome { counts, ..NodeOutcome::default() }, format, decided)
    }

    #[test]
    fn a_plugin_that_ran_nothing_has_a_reason() {
        let none = Decided::default();
        let exit = Decided { by_exit_code: true, ..none };
        let allowed = Decided { by_allow_empty: true, ..none };
        for (counts, format, decided, want) in [
            (&[("passed", 1), ("skipped", 2)][..], "junit", none, None),
            (&[("unknown", 1)], "junit", none, None),
            (&[], "junit", none, Some(NO_RESULTS_REASON)),
            (&[("skipped", 1)], "junit", none, Some("nothing ran: the only test was skipped")),
            (&[("SKIP", 1)], "manual", none, Some("nothing ran: the only test was skipped")),
            (&[("skipped", 12)], "junit", none, Some("nothing ran: all 12 tests were skipped")),
            (&[("not-read", 1)], "raw", none, Some("1 file collected, none read: the result format is `raw`")),
            (&[("not-read", 2)], "", none, Some("2 files collected, none read: the definition has no `result-format`")),
            (&[("not-read", 2)], "systemd-logs", none, Some("2 files collected, none read")),
            (
                &[("not-read", 2), ("passed", 1)],
                "raw",
                exit,
                Some("2 files collected, none read: the result format is `raw`; the exit code decides"),
            ),
            (&[("passed", 1)], "junit", allowed, Some("nothing ran, which `plumbline.allow-empty` allows")),
        ] {
            assert_eq!(of(counts, format, decided).as_deref(), want, "{counts:?}");
        }
    }

    #[test]
    fn only_a_failure_of_this_machine_ends_a_run() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS, Errno::NOMEM, Errno::MFILE, Errno::ACCESS] {
            assert!(!is_of_data(&errno.into()), "{errno}");
        }
        assert!(is_of_data(&Errno::NAMETOOLONG.into()));
        assert!(is_of_data(&io::Error::other("more than 10000 different statuses")));
    }

    /// The crate for temporary files wraps errors of the system.
    #[test]
    fn a_missing_scratch_directory_is_the_fault_of_this_machine() {
        assert!(!is_of_data(&tempfile::tempfile_in("/does/not/exist").unwrap_err()));
    }
}
