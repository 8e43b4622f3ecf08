//! Who is asked, and what is made of the answer.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::find::Root;
use crate::journal;
use crate::journalctl::{self, Asked};
use crate::notes::Notes;
use crate::options::{Options, Via};

/// Who read the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The machine's `journalctl`.
    Journalctl,
    /// This program.
    Files,
}

/// Why there are no logs, or not all of them.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The root is not there.
    #[error("`{}` cannot be opened", root.display())]
    Root {
        /// The root.
        root: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no journal. Nothing has failed: not every machine has one.
    #[error("there is no journal below `{}`: neither `var/log/journal` nor `run/log/journal` holds a file of it", root.display())]
    NoJournal {
        /// The root.
        root: PathBuf,
    },
    /// A directory of the journal cannot be looked into, and no other has a file.
    #[error("`{path}` below `{}` cannot be read", root.display())]
    Directory {
        /// The root.
        root: PathBuf,
        /// The directory.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// `journalctl` was to be asked and nobody else, and that cannot be.
    #[error("`journalctl` of `{}` cannot be asked: {why}", root.display())]
    Journalctl {
        /// The root.
        root: PathBuf,
        /// Why.
        why: String,
    },
    /// `journalctl` broke off.
    #[error("`journalctl` did not give all logs: {why}")]
    BrokenOff {
        /// Why, and what it complained of.
        why: String,
    },
    /// There are files, and none of them can be read.
    #[error("none of the {files} files of the journal can be read: {first}")]
    Unreadable {
        /// How many.
        files: usize,
        /// What is wrong with the first.
        first: String,
    },
}

/// What became of it. Lines may have been written also where it failed.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) source: Option<Source>,
    pub(crate) notes: Vec<String>,
    pub(crate) failure: Option<CollectError>,
}

/// Writes the logs to `out`, oldest first. The error is that of `out`.
pub(crate) fn collect(options: &Options, out: &mut dyn Write) -> io::Result<Collected> {
    let mut notes = Notes::default();
    let mut source = None;
    let failure = match read(options, out, &mut notes, &mut source) {
        Ok(()) => None,
        Err(Stop::Collect(error)) => Some(error),
        Err(Stop::Out(error)) => return Err(error),
    };
    Ok(Collected { source, notes: notes.into_vec(), failure })
}

/// What ends it early.
enum Stop {
    Collect(CollectError),
    Out(io::Error),
}

impl From<CollectError> for Stop {
    fn from(error: CollectError) -> Self {
        Self::Collect(error)
    }
}

fn read(options: &Options, out: &mut dyn Write, notes: &mut Notes, source: &mut Option<Source>) -> Result<(), Stop> {
    let root = || options.root.clone();
    let place = Root::open(&options.root).map_err(|source| CollectError::Root { root: root(), source })?;
    let mut listing = place.journal();
    if listing.files.is_empty() {
        return Err(match listing.troubles.pop() {
            Some((path, source)) => CollectError::Directory { root: root(), path, source },
            None => CollectError::NoJournal { root: root() },
        }
        .into());
    }
    // Asked as soon as possible: what is logged from now on is logged about ourselves.
    let since = since(options);

    if options.via != Via::Files {
        match journalctl::ask(options, since, out).map_err(Stop::Out)? {
            Asked::Ended { bytes, failure: None, complaint } => {
                *source = Some(Source::Journalctl);
                // An empty answer to somebody without rights is one that says why.
                if !complaint.is_empty() {
                    notes.add(format!("`journalctl` remarks: {complaint}"));
                }
                if bytes == 0 {
                    notes.add("`journalctl` has no entry of this time");
                }
                return Ok(());
            }
            Asked::Ended { bytes, failure: Some(why), complaint } if bytes > 0 || options.via == Via::Journalctl => {
                *source = Some(Source::Journalctl);
                let why = if complaint.is_empty() { why } else { format!("{why}; it complained: {complaint}") };
                return Err(CollectError::BrokenOff { why }.into());
            }
            Asked::Ended { failure, complaint, .. } => {
                let why = failure.unwrap_or_default();
                notes.add(format!("`journalctl` gave nothing ({why}: {complaint}): the files are read instead"));
            }
            Asked::Impossible(why) if options.via == Via::Journalctl => {
                return Err(CollectError::Journalctl { root: root(), why }.into());
            }
            Asked::Impossible(why) => {
                notes.add(format!("`journalctl` cannot be asked ({why}): the files of the journal are read instead"));
            }
        }
    }

    *source = Some(Source::Files);
    for (path, error) in &listing.troubles {
        notes.add(format!("`{path}` cannot be read: {error}"));
    }
    if listing.more {
        notes.add(format!("the journal has more than {} files: the others are left out", listing.files.len()));
    }
    let unreadable = journal::read(&place, &listing.files, since.saturating_mul(1_000_000), out, notes);
    match unreadable.map_err(Stop::Out)? {
        Some(first) => Err(CollectError::Unreadable { files: listing.files.len(), first }.into()),
        None => Ok(()),
    }
}

/// Seconds since 1970; zero for everything.
fn since(options: &Options) -> u64 {
    if options.since.is_zero() {
        return 0;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(options.since).as_secs()
}
