//! Runs `journalctl`, and turns its outcome into notes or an error.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::node_logs::find::Root;
use crate::node_logs::journalctl::{self, JournalctlOutcome};
use crate::node_logs::notes::Notes;
use crate::node_logs::options::Options;

/// Error while reading the logs: some or all of them are missing.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The root could not be opened.
    #[error("failed to open `{}`", root.display())]
    Root {
        /// The root.
        root: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// There is no journal. This is not a failure, because not every machine has one.
    #[error("no journal below `{}`: neither `var/log/journal` nor `run/log/journal` has a file of it", root.display())]
    NoJournal {
        /// The root.
        root: PathBuf,
    },
    /// A directory of the journal could not be read.
    #[error("failed to read `{path}` below `{}`", root.display())]
    Directory {
        /// The root.
        root: PathBuf,
        /// The directory.
        path: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// There is a journal, but `journalctl` could not be run.
    #[error("failed to run `journalctl` of `{}`, which reads the journal: {why}", root.display())]
    Journalctl {
        /// The root.
        root: PathBuf,
        /// The reason.
        why: String,
    },
    /// `journalctl` failed before it printed everything.
    #[error("`journalctl` did not print all logs: {why}")]
    Interrupted {
        /// The reason, and the text that it printed to stderr.
        why: String,
    },
}

/// The outcome. Even after a failure, some lines may have been written.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) notes: Vec<String>,
    pub(crate) failure: Option<CollectError>,
}

/// Writes the logs to `out`, oldest first. The error is that of writing to `out`.
pub(crate) fn collect(options: &Options, out: &mut dyn Write) -> io::Result<Collected> {
    let mut notes = Notes::default();
    let place = match Root::open(&options.root) {
        Ok(place) => place,
        Err(source) => {
            let failure = Some(CollectError::Root { root: options.root.clone(), source });
            return Ok(Collected { notes: Vec::new(), failure });
        }
    };
    let asked = journalctl::ask(options, since(options), out)?;
    let failure = judge(options, &place, asked, &mut notes);
    Ok(Collected { notes: notes.into_vec(), failure })
}

fn judge(options: &Options, place: &Root, asked: JournalctlOutcome, notes: &mut Notes) -> Option<CollectError> {
    if !matches!(asked, JournalctlOutcome::Ended { bytes: 1.., .. }) {
        let root = options.root.clone();
        match place.has_journal() {
            Ok(true) => {}
            Ok(false) => return Some(CollectError::NoJournal { root }),
            Err((path, source)) => return Some(CollectError::Directory { root, path, source }),
        }
    }
    match asked {
        JournalctlOutcome::Impossible(why) => Some(CollectError::Journalctl { root: options.root.clone(), why }),
        JournalctlOutcome::Ended { failure: Some(why), complaint, .. } => {
            let why = if complaint.is_empty() { why } else { format!("{why}; it printed: {complaint}") };
            Some(CollectError::Interrupted { why })
        }
        JournalctlOutcome::Ended { bytes, failure: None, complaint } => {
            // Without the required permissions, the output is empty and this text explains why.
            if !complaint.is_empty() {
                notes.add(format!("`journalctl` printed: {complaint}"));
            }
            if bytes == 0 {
                notes.add("`journalctl` has no entry of this time");
            }
            None
        }
    }
}

/// Returns the start time in seconds since 1970, or zero for everything.
fn since(options: &Options) -> u64 {
    if options.since.is_zero() {
        return 0;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(options.since).as_secs()
}
