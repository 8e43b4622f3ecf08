//! The file of the recording. It is appended to, also after a restart, and never grows above its
//! limits.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_core::limits::{TIMELINE_BYTES, TIMELINE_ENTRIES};
use plumbline_core::timeline::{Change, MAX_LINE, TimelineEntry, TimelineKind};

/// Room for the notes on the recording, in bytes and entries.
const RESERVED_BYTES: u64 = 4 * MAX_LINE as u64;
const RESERVED_ENTRIES: usize = 4;

/// A state of a node that has started and not ended: the node, the kind and the name.
pub(super) type OpenState = (String, TimelineKind, String);

/// What an earlier process of the same run recorded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Earlier {
    /// The states of nodes that had not ended.
    pub(super) open: BTreeSet<OpenState>,
    /// The time of the last entry.
    pub(super) last: Option<Timestamp>,
}

/// The file, and how much is in it.
#[derive(Debug, Default)]
pub(super) struct TimelineFile {
    path: PathBuf,
    file: Option<File>,
    entries: usize,
    bytes: u64,
    /// The entries that come from events. They have half of the room, so that they never displace
    /// the states of nodes.
    warnings: usize,
    /// Whether the last line may be incomplete.
    is_torn: bool,
    is_full: bool,
    has_failed: bool,
    dropped: u64,
}

impl TimelineFile {
    /// Opens the file at `path`, and reads what an earlier process of the run recorded.
    pub(super) fn open(path: &Path) -> (Self, Earlier) {
        let mut file = Self { path: path.to_owned(), ..Self::default() };
        let mut earlier = Earlier::default();
        if let Err(error) = file.reopen(&mut earlier) {
            file.failed(&error);
        }
        (file, earlier)
    }

    fn reopen(&mut self, earlier: &mut Earlier) -> io::Result<()> {
        if let Some(parent) = self.path.parent() {
            // The tree exists. If it does not, this is not the place of a run.
            match std::fs::create_dir(parent) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&self.path)?;
        self.bytes = file.metadata()?.len();
        let mut reader = BufReader::new((&mut file).take(TIMELINE_BYTES));
        let mut line = Vec::new();
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            self.entries += 1;
            self.is_torn = line.last() != Some(&b'\n');
            if let Some(entry) = TimelineEntry::parse(line.trim_ascii_end()) {
                self.warnings += usize::from(is_warning(&entry));
                earlier.add(entry);
            }
        }
        self.file = Some(file);
        Ok(())
    }

    /// Counts entries that were dropped before they came here.
    pub(super) fn count_dropped(&mut self, dropped: u64) {
        self.dropped = self.dropped.saturating_add(dropped);
    }

    /// Appends entries. An error is logged once, and its entries count as dropped.
    pub(super) fn append(&mut self, entries: &[TimelineEntry]) {
        let mut block = Vec::new();
        let mut added = 0;
        for entry in entries {
            let line = entry.to_line();
            let bytes = self.bytes.saturating_add(block.len() as u64).saturating_add(line.len() as u64);
            let is_warning = is_warning(entry);
            let has_room = bytes + RESERVED_BYTES <= TIMELINE_BYTES
                && self.entries + added + RESERVED_ENTRIES < TIMELINE_ENTRIES
                && !(is_warning && self.warnings >= TIMELINE_ENTRIES / 2);
            if has_room && line.len() <= MAX_LINE {
                self.warnings += usize::from(is_warning);
                added += 1;
                block.extend(line);
                continue;
            }
            self.dropped = self.dropped.saturating_add(1);
            if !std::mem::replace(&mut self.is_full, true) {
                let text = "the recording has reached a limit: some later entries are left out";
                block.extend(note("full", text).to_line());
                added += 1;
            }
        }
        self.write(&block, added);
    }

    /// Appends how many entries were dropped, if any were.
    pub(super) fn finish(&mut self) {
        if self.dropped > 0 {
            let text = format!("{} entries are not in this recording", self.dropped);
            let line = note("dropped", &text).times(self.dropped).to_line();
            self.write(&line, 1);
        }
    }

    fn write(&mut self, block: &[u8], entries: usize) {
        if block.is_empty() {
            return;
        }
        match self.try_write(block) {
            Ok(()) => self.entries += entries,
            Err(error) => {
                self.dropped = self.dropped.saturating_add(entries as u64);
                self.failed(&error);
            }
        }
    }

    fn try_write(&mut self, block: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.reopen(&mut Earlier::default())?;
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.is_torn {
            file.write_all(b"\n")?;
        }
        // Until the whole block is written, its last line may be incomplete.
        self.is_torn = true;
        file.write_all(block)?;
        self.is_torn = false;
        self.bytes = self.bytes.saturating_add(block.len() as u64).saturating_add(1);
        Ok(())
    }

    fn failed(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::warn!("the cluster timeline is incomplete: failed to write `{}`: {error}", self.path.display());
        }
    }
}

impl Earlier {
    fn add(&mut self, entry: TimelineEntry) {
        self.last = self.last.max(Some(entry.last()));
        match (entry.change, entry.node, entry.kind) {
            (_, Some(node), TimelineKind::NodeRemoved) => self.open.retain(|(open, ..)| *open != node),
            (Some(Change::Start), Some(node), kind) => drop(self.open.insert((node, kind, entry.name))),
            (Some(Change::End), Some(node), kind) => drop(self.open.remove(&(node, kind, entry.name))),
            _ => {}
        }
    }
}

pub(super) fn note(name: &str, text: &str) -> TimelineEntry {
    TimelineEntry::new(Timestamp::now(), TimelineKind::Recording, name, text)
}

/// Returns whether an entry comes from a warning of Kubernetes. Those on pods of the run do not.
fn is_warning(entry: &TimelineEntry) -> bool {
    use TimelineKind::{Eviction, ImagePull, OomKill, Restart, Scheduling, Warning};
    entry.plugin.is_none() && matches!(entry.kind, Eviction | ImagePull | OomKill | Restart | Scheduling | Warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: TimelineKind, node: &str) -> TimelineEntry {
        TimelineEntry::new(Timestamp::UNIX_EPOCH, kind, "Ready", "text").on_node(Some(node))
    }

    fn state(node: &str, change: Change) -> TimelineEntry {
        entry(TimelineKind::NodeCondition, node).change(change)
    }

    fn lines(path: &Path) -> Vec<Option<TimelineEntry>> {
        let bytes = std::fs::read(path).unwrap();
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(TimelineEntry::parse).collect()
    }

    #[test]
    fn a_restarted_process_appends_after_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta/timeline.jsonl");
        let (mut file, earlier) = TimelineFile::open(&path);
        assert_eq!(earlier, Earlier::default());
        file.append(&[
            state("a", Change::Start),
            state("b", Change::Start),
            state("c", Change::Start),
            state("b", Change::End),
        ]);
        file.append(&[entry(TimelineKind::NodeRemoved, "c")]);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"time\":\"1970-").unwrap();

        let (mut file, earlier) = TimelineFile::open(&path);
        assert_eq!(earlier.open, [("a".to_owned(), TimelineKind::NodeCondition, "Ready".to_owned())].into());
        assert_eq!(earlier.last, Some(Timestamp::UNIX_EPOCH));
        file.append(&[state("a", Change::End)]);
        let lines = lines(&path);
        assert_eq!((lines.len(), lines[5].is_none(), lines[6].clone()), (7, true, Some(state("a", Change::End))));
    }

    #[test]
    fn the_file_stays_within_its_limits_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timeline.jsonl");
        let (mut file, _) = TimelineFile::open(&path);
        // Warnings have half of the room.
        file.append(&vec![entry(TimelineKind::Warning, "a"); TIMELINE_ENTRIES]);
        assert_eq!(file.entries, TIMELINE_ENTRIES / 2 + 1);
        file.append(&vec![state("a", Change::Start); TIMELINE_ENTRIES]);
        file.count_dropped(10);
        file.finish();
        let lines = lines(&path);
        assert!(lines.len() <= TIMELINE_ENTRIES && lines.len() > TIMELINE_ENTRIES - 10, "{}", lines.len());
        assert!(std::fs::metadata(&path).unwrap().len() <= TIMELINE_BYTES);
        let notes: Vec<&TimelineEntry> =
            lines.iter().flatten().filter(|entry| entry.kind == TimelineKind::Recording).collect();
        assert_eq!(notes.iter().map(|note| note.name.as_str()).collect::<Vec<_>>(), ["full", "dropped"]);
        let written = lines.len() - notes.len();
        assert_eq!(notes[1].count as usize, 2 * TIMELINE_ENTRIES - written + 10);
    }

    #[test]
    fn long_entries_stay_within_the_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timeline.jsonl");
        let (mut file, _) = TimelineFile::open(&path);
        let long =
            TimelineEntry::new(Timestamp::UNIX_EPOCH, TimelineKind::NodeCondition, &"é".repeat(128), &"漢".repeat(300));
        let long = long.change(Change::Start).on_node(Some(&"n".repeat(253)));
        for _ in 0..TIMELINE_ENTRIES / 1000 {
            file.append(&vec![long.clone(); 1000]);
        }
        file.finish();
        assert!(std::fs::metadata(&path).unwrap().len() <= TIMELINE_BYTES);
        assert!(lines(&path).iter().all(Option::is_some));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_harmless() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("meta"), "a file").unwrap();
        let (mut file, earlier) = TimelineFile::open(&dir.path().join("meta/timeline.jsonl"));
        assert_eq!(earlier, Earlier::default());
        file.append(&[state("a", Change::Start)]);
        assert_eq!(file.dropped, 1);
        std::fs::remove_file(dir.path().join("meta")).unwrap();
        file.append(&[state("b", Change::Start)]);
        file.finish();
        let names: Vec<_> =
            lines(&dir.path().join("meta/timeline.jsonl")).into_iter().flatten().map(|entry| entry.name).collect();
        assert_eq!(names, ["Ready", "dropped"]);
    }
}
