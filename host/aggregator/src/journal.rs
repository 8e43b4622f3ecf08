//! The ledger's events on disk, so that a run goes on after the aggregator died.
//!
//! One line per event: a CRC-32 of the rest in eight hexadecimal digits, a space, the event with its time as JSON. Lines are only
//! appended. A last line that is not whole is what a crash leaves behind: it is cut off. Anything else that does not check is
//! damage, and is reported rather than guessed at.
//!
//! One thread owns the file. Whoever needs an event to be safe before going on (an upload that is to be acknowledged) waits for it;
//! the thread writes all that is queued and syncs once for all of them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use plumbline_core::ledger::Record;
use tokio::sync::{mpsc, oneshot};

/// Bytes of one line. The longest event carries an error record with a pod and its events.
const MAX_LINE: u64 = 64 << 20;

/// Why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing failed.
    #[error("journal `{path}`: {source}")]
    Io {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line in the middle is damaged.
    #[error("journal `{path}` is damaged in line {line}: {reason}; the run cannot be continued from it")]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What does not check.
        reason: String,
    },
    /// The thread that writes it ended after an earlier failure.
    #[error("the journal is closed after an earlier failure to write it")]
    Closed,
}

struct Append {
    line: Vec<u8>,
    done: Option<oneshot::Sender<io::Result<()>>>,
}

/// The open journal. Dropping it writes what is queued and ends its thread.
pub struct Journal {
    queue: Option<mpsc::UnboundedSender<Append>>,
    thread: Option<JoinHandle<()>>,
}

impl Journal {
    /// Opens or creates the journal at `path` and reads what is in it.
    ///
    /// # Errors
    /// When the file cannot be read, written or created, or is damaged anywhere but at its end.
    pub fn open(path: &Path) -> Result<(Self, Vec<Record>), JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let (entries, whole) = read(&file, path)?;
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::Start(whole)).map_err(failed)?;
        // Unbounded in form only: every line answers to a request that is itself bounded by the receiver's limits, or to one of a
        // plugin's few transitions.
        let (queue, appends) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || write_all(file, appends))
            .map_err(failed)?;
        Ok((Self { queue: Some(queue), thread: Some(thread) }, entries))
    }

    /// Queues `entry`. The receiver, if asked for, resolves when the entry is on disk.
    ///
    /// # Errors
    /// When the journal ended after a failure to write.
    pub(crate) fn append(
        &self,
        entry: &Record,
        durable: bool,
    ) -> Result<Option<oneshot::Receiver<io::Result<()>>>, JournalError> {
        let line = encode(entry).map_err(|error| JournalError::Io { path: PathBuf::new(), source: error.into() })?;
        let (done, receiver) = if durable {
            let (sender, receiver) = oneshot::channel();
            (Some(sender), Some(receiver))
        } else {
            (None, None)
        };
        let queue = self.queue.as_ref().ok_or(JournalError::Closed)?;
        queue.send(Append { line, done }).map_err(|_| JournalError::Closed)?;
        Ok(receiver)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; were it to, its lines are lost and nothing can be done about it here.
            let _ = thread.join();
        }
    }
}

fn encode(entry: &Record) -> serde_json::Result<Vec<u8>> {
    let json = serde_json::to_vec(entry)?;
    let mut line = format!("{:08x} ", crc32fast::hash(&json)).into_bytes();
    line.extend_from_slice(&json);
    line.push(b'\n');
    Ok(line)
}

fn decode(line: &[u8]) -> Result<Record, String> {
    let (sum, json) = line.split_at_checked(9).ok_or("it is too short")?;
    let sum = std::str::from_utf8(sum).ok().and_then(|sum| u32::from_str_radix(sum.trim_end(), 16).ok());
    if sum != Some(crc32fast::hash(json)) {
        return Err("its checksum is wrong".to_owned());
    }
    serde_json::from_slice(json).map_err(|error| format!("it is no event: {error}"))
}

/// The entries, and the length of the part that is whole.
fn read(file: &File, path: &Path) -> Result<(Vec<Record>, u64), JournalError> {
    let mut reader = BufReader::new(file);
    let mut entries = Vec::new();
    let mut whole = 0;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = io::Read::take(&mut reader, MAX_LINE)
            .read_until(b'\n', &mut line)
            .map_err(|source| JournalError::Io { path: path.to_owned(), source })?;
        if read == 0 {
            break;
        }
        let complete = line.pop_if(|byte| *byte == b'\n').is_some();
        match decode(&line) {
            Ok(entry) if complete => entries.push(entry),
            // The crash came while this line was being written.
            Ok(_) => break,
            Err(_) if !complete || at_end(&mut reader) => break,
            Err(reason) => return Err(JournalError::Damaged { path: path.to_owned(), line: number, reason }),
        }
        whole += read as u64;
    }
    Ok((entries, whole))
}

fn at_end(reader: &mut impl BufRead) -> bool {
    reader.fill_buf().is_ok_and(<[u8]>::is_empty)
}

/// Writes until the queue is closed. After a failure nothing more is written: a gap would be worse than an end.
fn write_all(mut file: File, mut appends: mpsc::UnboundedReceiver<Append>) {
    let mut waiting = Vec::new();
    while let Some(first) = appends.blocking_recv() {
        let mut lines = Vec::new();
        let mut take = |append: Append| {
            lines.extend_from_slice(&append.line);
            waiting.extend(append.done);
        };
        take(first);
        while let Ok(append) = appends.try_recv() {
            take(append);
        }
        let result = file.write_all(&lines).and_then(|()| if waiting.is_empty() { Ok(()) } else { file.sync_data() });
        for done in waiting.drain(..) {
            // Nobody waits any more when the connection has gone.
            let _ =
                done.send(result.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string())).copied());
        }
        if let Err(error) = result {
            tracing::error!(
                "failed to write the journal: {error}; a restart will not know of what happens from here on"
            );
            return;
        }
    }
    if let Err(error) = file.sync_data() {
        tracing::error!("failed to sync the journal: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use plumbline_core::PluginName;
    use plumbline_core::ledger::Event;

    fn entry(plugin: &str) -> Record {
        Record { at: Timestamp::UNIX_EPOCH, event: Event::Launched { plugin: plugin.parse::<PluginName>().unwrap() } }
    }

    fn filled(path: &Path) -> Vec<u8> {
        let (journal, entries) = Journal::open(path).unwrap();
        assert!(entries.is_empty());
        for name in ["a", "b", "c"] {
            journal.append(&entry(name), false).unwrap();
        }
        drop(journal);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn every_cut_leaves_the_whole_lines_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let bytes = filled(&path);
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let (journal, entries) = Journal::open(&path).unwrap();
            let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count();
            assert_eq!(entries.len(), whole, "cut at {cut}");
            journal.append(&entry("d"), false).unwrap();
            drop(journal);
            assert_eq!(Journal::open(&path).unwrap().1.len(), whole + 1, "cut at {cut}, then appended");
        }
    }

    #[test]
    fn damage_in_the_middle_is_named_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut bytes = filled(&path);
        bytes[20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Damaged { line: 1, .. })));
    }

    #[tokio::test]
    async fn a_durable_entry_is_on_disk_when_it_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (journal, _) = Journal::open(&path).unwrap();
        journal.append(&entry("a"), true).unwrap().unwrap().await.unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
        drop(journal);
    }
}
