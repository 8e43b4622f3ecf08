//! The ledger's events on disk, so that a restarted aggregator resumes where the last one stopped.
//!
//! Each event is one line: a CRC-32 of the rest in eight hexadecimal digits, a space, and the event
//! with its time as JSON. Lines are only appended. A crash can leave a last line without a line
//! break, which is cut off. Any other line that is not valid is reported as damage.
//!
//! One thread owns the file. A task whose event must be durable, such as an upload to acknowledge,
//! waits for it. The thread writes all queued events and syncs once for all of them.
//!
//! A failed write loses nothing. The thread truncates the file to the last synced length, and keeps
//! every later line in memory. On a full disk, it releases the reserve of the run first. It
//! retries until there is space or 10 minutes have passed. Meanwhile, [`Journal::trouble`] returns
//! the error. If a write or sync does not end, it says so after a minute.

use std::collections::VecDeque;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use plumbline_archive::disk::{Disk, DiskFile, Step, is_full};
use plumbline_core::ledger::Record;
use tokio::sync::oneshot;

use crate::hang::{self, HangWatch};
use crate::reserve::{Released, Reserve};

/// Maximum length of a line in bytes. The longest event plans the maximum number of results of a
/// run, with the longest names.
const MAX_LINE: u64 = 128 << 20;
/// Maximum size of unsynced lines in bytes. Beyond it, the thread syncs even if nobody is waiting.
const MAX_UNSYNCED: usize = 4 << 20;
/// Maximum size of lines that wait in memory while the disk is full: 64 MiB.
const MAX_WAITING: usize = 64 << 20;
/// Delay between attempts to write.
const PAUSE: Duration = Duration::from_millis(500);
/// How long writes may fail before the run gives up: 10 min.
const PATIENCE: Duration = Duration::from_secs(600);

/// Error while reading or writing a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing failed.
    #[error("journal `{path}`: {source}")]
    Io {
        /// Path of the journal.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A line is damaged.
    #[error("journal `{path}` is damaged in line {line}: {reason}; the run cannot be continued from it")]
    Damaged {
        /// Path of the journal.
        path: PathBuf,
        /// Line number, starting at 1.
        line: u64,
        /// What is wrong with the line.
        reason: String,
    },
    /// An event could not be encoded.
    #[error("failed to encode an event: {0}")]
    Encode(#[from] serde_json::Error),
    /// Too many events are waiting for a disk that is full.
    #[error("the queue of the journal is full: {MAX_WAITING} bytes are not written yet")]
    Full,
    /// The journal's thread gave up after 10 minutes.
    #[error("the journal is closed: writing it failed for {} s", PATIENCE.as_secs())]
    Closed,
    /// An operation on the disk did not end in 10 minutes.
    #[error("the disk does not answer: an operation on it did not end in {} s", hang::PATIENCE.as_secs())]
    Hung,
}

struct Append {
    line: Vec<u8>,
    done: Option<oneshot::Sender<()>>,
}

/// State of the journal's thread.
#[derive(Default)]
struct Health {
    /// The current error, if any.
    trouble: Option<String>,
    /// Bytes that were appended but not written.
    waiting: usize,
    /// Whether the thread has given up.
    lost: bool,
}

/// An open journal. Dropping it writes the queued events and ends its thread.
pub struct Journal {
    queue: Option<Sender<Append>>,
    thread: Option<JoinHandle<()>>,
    /// Disconnected when the thread has ended.
    ended: Mutex<Receiver<()>>,
    health: Arc<Mutex<Health>>,
    hang: HangWatch,
    reserve: Reserve,
}

impl Journal {
    /// Opens or creates the journal at `path`, and returns the records in it.
    ///
    /// # Errors
    /// When the file cannot be read, written or created, or is damaged in another place than an
    /// incomplete last line.
    pub fn open(path: &Path) -> Result<(Self, Vec<Record>), JournalError> {
        Self::open_on(&Disk::default(), path)
    }

    /// Opens a journal like [`Journal::open`], on `disk`.
    pub fn open_on(disk: &Disk, path: &Path) -> Result<(Self, Vec<Record>), JournalError> {
        Self::open_watched(disk, path, HangWatch::default())
    }

    /// Opens a journal like [`Journal::open_on`], with `hang` for its operations.
    pub(crate) fn open_watched(disk: &Disk, path: &Path, hang: HangWatch) -> Result<(Self, Vec<Record>), JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = disk.step(Step::Create(path), open).map_err(failed)?;
        let mut file = disk.file(file, path);
        let (entries, whole) = read(&mut file, path)?;
        file.truncate(whole).map_err(failed)?;
        file.sync().map_err(failed)?;
        path.parent().map_or(Ok(()), |directory| disk.sync_directory(directory)).map_err(failed)?;
        let health = Arc::new(Mutex::new(Health::default()));
        let (queue, appends) = channel();
        let reserve = Reserve::create(disk, path.with_extension("reserve"));
        let writer = Writer::new(file, whole, reserve.clone(), Arc::clone(&health), hang.clone());
        let (running, ended) = channel();
        let run = move || {
            let _running: Sender<()> = running;
            writer.run(&appends);
        };
        let thread = std::thread::Builder::new().name("journal".into()).spawn(run).map_err(failed)?;
        let (queue, thread, ended) = (Some(queue), Some(thread), Mutex::new(ended));
        Ok((Self { queue, thread, ended, health, hang, reserve }, entries))
    }

    /// Returns the operations on the disk of the run that are in progress.
    pub(crate) fn hang(&self) -> &HangWatch {
        &self.hang
    }

    /// Returns the reserve of the run, which is next to the journal.
    pub(crate) fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// Returns what currently prevents writes, so that nothing may be acknowledged.
    pub fn trouble(&self) -> Option<String> {
        self.failing().or_else(|| self.hang.hanging())
    }

    /// Returns the current error of writes.
    pub(crate) fn failing(&self) -> Option<String> {
        self.health.lock().trouble.clone()
    }

    /// Checks that the journal has not given up. After that, nothing is written any more.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        if self.health.lock().lost {
            return Err(JournalError::Closed);
        }
        if self.hang.has_given_up() { Err(JournalError::Hung) } else { Ok(()) }
    }

    /// Checks that the journal can accept another event. Call it before anything changes.
    pub(crate) fn ready(&self) -> Result<(), JournalError> {
        self.check()?;
        if self.health.lock().waiting > MAX_WAITING { Err(JournalError::Full) } else { Ok(()) }
    }

    /// Returns whether [`Journal::ready`] succeeds also after some more events.
    pub(crate) fn has_room(&self) -> bool {
        self.check().is_ok() && self.health.lock().waiting <= MAX_WAITING / 2
    }

    /// Queues `entry`. With `durable`, the returned receiver resolves when the entry is on disk.
    ///
    /// # Errors
    /// [`JournalError::Closed`] when the journal has given up, or [`JournalError::Encode`].
    pub(crate) fn append(&self, entry: &Record, durable: bool) -> Result<Option<oneshot::Receiver<()>>, JournalError> {
        let line = encode(entry)?;
        self.health.lock().waiting += line.len();
        let (done, receiver) = durable.then(oneshot::channel).unzip();
        self.send(Append { line, done })?;
        Ok(receiver)
    }

    /// Returns a receiver that resolves when everything queued so far is on disk.
    pub(crate) fn sync(&self) -> Result<oneshot::Receiver<()>, JournalError> {
        let (done, receiver) = oneshot::channel();
        self.send(Append { line: Vec::new(), done: Some(done) })?;
        Ok(receiver)
    }

    fn send(&self, append: Append) -> Result<(), JournalError> {
        let queue = self.queue.as_ref().ok_or(JournalError::Closed)?;
        queue.send(append).map_err(|_| JournalError::Closed)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue = None;
        while self.ended.get_mut().recv_timeout(self.hang.poll()) == Err(RecvTimeoutError::Timeout) {
            // The thread may never end.
            if let Some(reason) = self.hang.hanging() {
                return tracing::error!("the last events may not be in the journal: {reason}");
            }
        }
        if let Some(thread) = self.thread.take() {
            // The thread does not panic, and nothing could be done here.
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
    serde_json::from_slice(json).map_err(|error| format!("it is not an event: {error}"))
}

/// Reads the entries, and the length of the valid part of the file.
fn read(file: &mut DiskFile, path: &Path) -> Result<(Vec<Record>, u64), JournalError> {
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
        if !complete && read as u64 == MAX_LINE {
            let reason = format!("it has more than {MAX_LINE} bytes");
            return Err(JournalError::Damaged { path: path.to_owned(), line: number, reason });
        }
        match decode(&line) {
            // A crash interrupted the write of this line.
            _ if !complete => break,
            Ok(entry) => entries.push(entry),
            Err(reason) => return Err(JournalError::Damaged { path: path.to_owned(), line: number, reason }),
        }
        whole += read as u64;
    }
    Ok((entries, whole))
}

/// State of the thread: the file, and every line since the last sync, in case the disk loses them.
struct Writer {
    file: DiskFile,
    /// Length of the file that is known to be on disk.
    synced: u64,
    unsynced: Vec<u8>,
    /// Bytes of `unsynced` that were written to the file.
    written: usize,
    /// Whether the file may have more bytes than that, so it must be truncated before an append.
    torn: bool,
    waiting: VecDeque<oneshot::Sender<()>>,
    reserve: Reserve,
    /// Set from a write that found the disk full to one that succeeds.
    released: Option<Released>,
    health: Arc<Mutex<Health>>,
    hang: HangWatch,
    failing_since: Option<Instant>,
}

impl Writer {
    fn new(file: DiskFile, synced: u64, reserve: Reserve, health: Arc<Mutex<Health>>, hang: HangWatch) -> Self {
        Self {
            file,
            synced,
            unsynced: Vec::new(),
            written: 0,
            torn: false,
            waiting: VecDeque::new(),
            reserve,
            released: None,
            health,
            hang,
            failing_since: None,
        }
    }

    /// Writes until the queue is closed and everything is on disk, or until `PATIENCE` has passed.
    fn run(mut self, appends: &Receiver<Append>) {
        loop {
            let first = match self.failing_since {
                Some(_) => appends.recv_timeout(PAUSE),
                None => appends.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if matches!(first, Err(RecvTimeoutError::Disconnected)) {
                break;
            }
            for append in first.into_iter().chain(std::iter::from_fn(|| appends.try_recv().ok())) {
                self.unsynced.extend_from_slice(&append.line);
                self.waiting.extend(append.done);
            }
            self.attempt();
            if self.failing_since.is_some_and(|since| since.elapsed() > PATIENCE) {
                tracing::error!("failed to write the journal for {} s: stopping the run", PATIENCE.as_secs());
                self.health.lock().lost = true;
                return;
            }
        }
        // The run is over. While writes fail, this is the last attempt.
        if self.failing_since.is_some() {
            return self.attempt();
        }
        let _operation = self.hang.start();
        if let Err(error) = self.file.sync() {
            tracing::error!("failed to sync the journal: {error}");
        }
    }

    /// Writes new lines, and syncs if somebody is waiting or too much is unsynced.
    fn attempt(&mut self) {
        let _operation = self.hang.start();
        let mut result = self.write();
        if self.released.is_none() && result.as_ref().is_err_and(is_full) {
            self.released = Some(self.reserve.release());
            result = self.write();
        }
        match result {
            Ok(()) => {
                self.released = None;
                if self.failing_since.take().is_some() {
                    tracing::info!("writing the journal succeeded again");
                }
                let mut health = self.health.lock();
                health.trouble = None;
                health.waiting = 0;
            }
            Err(error) => {
                if self.failing_since.is_none() {
                    tracing::error!("failed to write the journal, trying again: {error}");
                    self.failing_since = Some(Instant::now());
                }
                let mut health = self.health.lock();
                health.trouble = Some(format!("failed to write the journal: {error}"));
                health.waiting = self.unsynced.len();
            }
        }
    }

    /// Appends the lines that are not in the file. After an error, everything since the last sync
    /// is written again. A failed write can leave a partial line, and after a failed sync the state
    /// of the disk is unknown.
    fn write(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.synced)?;
            self.torn = false;
        }
        let written = self.append();
        if written.is_err() {
            self.torn = true;
            self.written = 0;
        }
        written
    }

    fn append(&mut self) -> io::Result<()> {
        self.file.write_all(self.unsynced.get(self.written..).unwrap_or_default())?;
        self.written = self.unsynced.len();
        if self.waiting.is_empty() && self.unsynced.len() < MAX_UNSYNCED && self.failing_since.is_none() {
            return Ok(());
        }
        self.file.sync()?;
        self.synced += self.unsynced.len() as u64;
        self.unsynced.clear();
        self.written = 0;
        for done in self.waiting.drain(..) {
            // The receiver is gone if its connection was closed.
            let _ = done.send(());
        }
        Ok(())
    }
}

/// Returns whether a full disk is among the causes of `error`.
pub(crate) fn lacks_space(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(is_full) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use jiff::Timestamp;
    use plumbline_archive::disk::Faults;
    use plumbline_core::Ledger;
    use plumbline_core::ledger::{Event, MAX_EXPECTED};
    use plumbline_core::{PluginName, ResultKey};

    use crate::hang::HangLimits;
    use crate::state::{ApplyError, State};

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
        fs::read(path).unwrap()
    }

    #[test]
    fn the_longest_event_can_be_read_again() {
        let longest = ["a".repeat(253), "b".repeat(253)].join("/").parse::<ResultKey>().unwrap();
        let length = |keys: usize| {
            let event = Event::Planned { plugin: longest.plugin.clone(), keys: vec![longest.clone(); keys] };
            encode(&Record { at: Timestamp::UNIX_EPOCH, event }).unwrap().len()
        };
        let key = length(2) - length(1);
        assert!(((length(1) + key * MAX_EXPECTED) as u64) < MAX_LINE);
    }

    #[test]
    fn every_cut_leaves_the_whole_lines_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let bytes = filled(&path);
        for cut in 0..=bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
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
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Damaged { line: 1, .. })));
    }

    #[tokio::test]
    async fn a_durable_entry_is_on_disk_when_the_call_returns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (journal, _) = Journal::open(&path).unwrap();
        journal.append(&entry("a"), true).unwrap().unwrap().await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
        drop(journal);
    }

    /// A disk whose syncs of the journal do not end until the sender is dropped.
    struct Hanging(Mutex<Receiver<()>>);

    impl Faults for Hanging {
        fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            let is_written = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() > 0);
            if matches!(step, Step::Sync(path) if path.ends_with("journal") && is_written(path)) {
                assert!(self.0.lock().recv().is_err());
            }
            act()
        }
    }

    #[tokio::test]
    async fn a_disk_that_hangs_is_reported_and_the_run_does_not_wait_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (release, hanging) = channel();
        let disk = Disk::faulty(Arc::new(Hanging(Mutex::new(hanging))));
        let ms = Duration::from_millis;
        let hang = HangWatch::new(HangLimits { report: ms(1), give_up: ms(50), poll: ms(1) });
        let (journal, _) = Journal::open_watched(&disk, &path, hang).unwrap();
        let (state, _effects) = State::new(Ledger::default(), journal);
        let planned = Event::Planned { plugin: "p".parse().unwrap(), keys: Vec::new() };
        let error = state.apply_durable(planned).await.unwrap_err();
        assert!(matches!(error, ApplyError::Journal(JournalError::Hung)), "{error}");
        let failure = state.status().failure.unwrap();
        assert!(failure.reason.contains("the disk does not answer"), "{failure:?}");
        assert!(failure.hint.unwrap().contains("until the disk answers"));
        let refused = state.apply(Event::Launched { plugin: "p".parse().unwrap() }).unwrap_err();
        assert!(matches!(refused, ApplyError::Journal(JournalError::Hung)), "{refused}");
        assert!(state.durable().await.is_err());
        // This ends although the thread still hangs.
        drop(state);
        drop(release);
    }

    #[test]
    fn a_complete_last_line_that_is_damaged_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut bytes = filled(&path);
        let at = bytes.len() - 10;
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(Journal::open(&path), Err(JournalError::Damaged { line: 3, .. })));
    }

    /// Fails the steps with these numbers, after writing half of the bytes.
    struct Failing {
        calls: AtomicUsize,
        fail: std::ops::Range<usize>,
    }

    impl Faults for Failing {
        fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            if !matches!(step, Step::Write(..) | Step::Sync(_) | Step::Truncate(..)) {
                return act();
            }
            if !self.fail.contains(&self.calls.fetch_add(1, Ordering::Relaxed)) {
                return act();
            }
            if let Step::Write(path, bytes) = step {
                let torn = OpenOptions::new().append(true).open(path).unwrap().write(&vec![b'x'; bytes / 2]);
                torn.unwrap();
            }
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    /// Whichever call fails, and for however long: every line is there once and in order, and no
    /// line is reported as durable too early.
    #[test]
    fn no_line_is_lost_when_any_call_fails() {
        let dir = tempfile::tempdir().unwrap();
        for first in 0..16 {
            for times in 1..8 {
                let path = dir.path().join(format!("journal-{first}-{times}"));
                let disk = Disk::faulty(Arc::new(Failing { calls: AtomicUsize::new(0), fail: first..first + times }));
                let file = disk.create(&path).unwrap();
                let health = Arc::new(Mutex::new(Health::default()));
                let reserve = Reserve::create(&disk, dir.path().join("reserve"));
                let mut writer = Writer::new(file, 0, reserve, Arc::clone(&health), HangWatch::default());
                let mut expected = Vec::new();
                for n in 0..6 {
                    let line = encode(&entry(&format!("p{n}"))).unwrap();
                    expected.extend_from_slice(&line);
                    writer.unsynced.extend_from_slice(&line);
                    let (done, mut safe) = oneshot::channel();
                    if n % 2 == 1 {
                        writer.waiting.push_back(done);
                    }
                    writer.attempt();
                    if safe.try_recv().is_ok() {
                        assert_eq!(fs::read(&path).unwrap(), expected, "failing from call {first}, {times} times");
                        assert_eq!(health.lock().trouble, None);
                    }
                }
                while writer.failing_since.is_some() {
                    assert!(health.lock().trouble.is_some());
                    writer.attempt();
                }
                writer.attempt();
                assert_eq!(fs::read(&path).unwrap(), expected, "failing from call {first}, {times} times");
                assert!(writer.waiting.is_empty());
                assert_eq!(health.lock().trouble, None);
            }
        }
    }
}
