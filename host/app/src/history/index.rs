//! The index of a set of archives: the outcome of every test in every run, in a compact form.
//!
//! The archives are the truth. The index can be made from them at any time, so a reader accepts what
//! is intact in it and drops the rest. Values are in the format of `postcard`:
//!
//! ```text
//! index      = magic, version (1 byte), section of texts and tests, one section per run
//! section    = length (4 bytes, little endian), CRC-32 of the content (4 bytes), content
//! run        = FileKey, RunFacts, (number of absent chunks before it, Chunk)…
//! ```
//!
//! The tests of a chunk have numbers in a row. Every test has a code, so that reading needs no search.

use std::collections::HashMap;
use std::iter;
use std::slice::ChunksExact;

use bytes::Bytes;
use plumbline_core::TestId;
use serde::{Deserialize, Serialize};

use crate::difference::{Outcome, TestKey};

/// The first bytes of an index.
const MAGIC: &[u8] = b"plumbline-history\n";

/// The version of the format, and of what counts as passed. An index of another version is made again.
const VERSION: u8 = 8;

/// The tests of a chunk. A query skips chunks without a selected test.
pub(super) const CHUNK: usize = 512;

/// The bit of an outcome that has a duration.
const HAS_DURATION: u8 = 0x80;

/// The code of a test that is not in the run.
const ABSENT: u8 = 0x7f;

/// The most different tests of an index. The suite of Kubernetes has 7,000.
const MAX_TESTS: usize = 1_000_000;

/// The most bytes of the names of different tests.
const MAX_NAMES: usize = 256 << 20;

/// The outcomes, by their codes.
const OUTCOMES: [Outcome; 5] = [Outcome::Passed, Outcome::Failed, Outcome::Flaky, Outcome::Skipped, Outcome::Other];

/// The outcome of one test in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The number of the test in the index.
    pub(super) test: u32,
    pub(super) outcome: Outcome,
    /// The duration in milliseconds, of the longest attempt.
    pub(super) millis: Option<u32>,
}

/// What identifies the content of an archive without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct FileKey {
    /// The file name in the directory.
    pub(super) name: String,
    /// The size in bytes.
    pub(super) size: u64,
    /// The modification time in nanoseconds since 1970.
    pub(super) modified: i64,
}

impl FileKey {
    /// The modification time in the key of an archive that is read again next time. No file has it.
    const UNSETTLED: i64 = i64::MIN;

    /// The key of an archive of which a part could not be read, or that changed while it was read.
    pub(super) fn unsettled(self) -> Self {
        Self { modified: Self::UNSETTLED, ..self }
    }

    /// Whether the archive was read completely and without a change.
    pub(super) fn is_settled(&self) -> bool {
        self.modified != Self::UNSETTLED
    }
}

/// A plugin of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PluginFacts {
    pub(super) name: String,
    /// The first bytes of the digest of its definition. 0 if the archive has none.
    pub(super) digest: u64,
    /// Whether its tests have classes.
    pub(super) has_classes: bool,
}

/// What an archive says about its run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct RunFacts {
    /// The ID of the run. Empty if it is unknown.
    pub(super) run: String,
    /// The tool that made the archive, with its version. Empty if it is unknown.
    pub(super) tool: String,
    /// The start in seconds since 1970.
    pub(super) started: i64,
    /// The cluster: the first characters of the UID of its namespace `kube-system`. Empty for runs
    /// on a machine, and if it is unknown.
    pub(super) cluster: String,
    /// The version of the API server. Empty for runs on a machine, and if it is unknown.
    pub(super) version: String,
    /// The scheduled runs that were missed before this one.
    pub(super) missed: u64,
    /// Whether the archive or its name has the start, so that it is not the time of the file.
    pub(super) is_dated: bool,
    /// A fingerprint of the files in the archive. 0 if it is unknown.
    pub(super) content: u64,
    pub(super) plugins: Vec<PluginFacts>,
}

impl RunFacts {
    /// What identifies a run without its content: ID, cluster and start. An ID alone does not suffice,
    /// because all runs that use one manifest of Sonobuoy share it.
    pub(super) fn key(&self) -> Option<(&str, &str, i64)> {
        let is_known = self.is_dated && !self.run.is_empty();
        is_known.then_some((self.run.as_str(), self.cluster.as_str(), self.started))
    }

    /// Whether both are from archives of the same run.
    pub(super) fn is_same_run(&self, other: &Self) -> bool {
        let is_copy = self.content != 0 && self.content == other.content;
        is_copy || self.key().is_some_and(|key| other.key() == Some(key))
    }

    /// Whether the archive says which run of which tool it is from. Others are never removed.
    pub(super) fn is_from_a_run(&self) -> bool {
        !self.run.is_empty() && !self.tool.is_empty()
    }
}

/// A run in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexedRun {
    pub(super) file: FileKey,
    pub(super) facts: RunFacts,
    entries: Bytes,
}

impl IndexedRun {
    /// The outcomes, ordered by test.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.chunks().flat_map(|(_, entries)| entries)
    }

    /// The numbers of chunks, in order, and the outcomes in each. Outcomes that are not read cost
    /// nothing.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, Entries<'_>)> {
        let (mut bytes, mut next) = (&*self.entries, 0_usize);
        iter::from_fn(move || {
            let ((absent, content), rest) = postcard::take_from_bytes::<(usize, Chunk<'_>)>(bytes).ok()?;
            let chunk = next.checked_add(absent)?;
            (bytes, next) = (rest, chunk.checked_add(1)?);
            Some((chunk, content.entries(chunk)?))
        })
    }
}

/// The outcomes of a run for the tests of a chunk.
#[derive(Serialize, Deserialize)]
struct Chunk<'a> {
    /// For each test, its outcome, plus [`HAS_DURATION`] if it has one; or [`ABSENT`].
    codes: &'a [u8],
    /// The bytes of each duration.
    width: u8,
    /// The durations in milliseconds, little endian.
    durations: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn entries(self, chunk: usize) -> Option<Entries<'a>> {
        let Self { codes, width, durations } = self;
        let test = u32::try_from(chunk.checked_mul(CHUNK)?).ok()?;
        let width = usize::from(width);
        let is_valid = codes.len() <= CHUNK && (1..=size_of::<u32>()).contains(&width);
        is_valid.then(|| Entries { test, codes, durations: durations.chunks_exact(width) })
    }
}

/// The outcomes of a chunk. Invalid ones end it.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    /// The number of the test of the first code.
    test: u32,
    codes: &'a [u8],
    durations: ChunksExact<'a, u8>,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    // An index has millions of them, and most of the program is optimized for size.
    #[inline]
    fn next(&mut self) -> Option<Entry> {
        loop {
            let (code, rest) = self.codes.split_first()?;
            let test = self.test;
            (self.codes, self.test) = (rest, test.checked_add(1)?);
            if *code == ABSENT {
                continue;
            }
            let outcome = *OUTCOMES.get(usize::from(code & !HAS_DURATION))?;
            let millis = if code & HAS_DURATION == 0 { None } else { Some(little_endian(self.durations.next()?)) };
            return Some(Entry { test, outcome, millis });
        }
    }
}

/// The number in at most 4 bytes.
#[inline]
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0_u32, |number, byte| (number << u8::BITS) | u32::from(*byte))
}

/// The index has no room for another run.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexFull {
    /// There are too many tests.
    #[error("together, the runs have more than {MAX_TESTS} different tests")]
    Tests,
    /// Their names are too long.
    #[error("the names of all tests together have more than {} MiB", MAX_NAMES >> 20)]
    Names,
}

/// Runs with the outcomes of their tests.
#[derive(Debug, Default)]
pub(super) struct Index {
    tests: Vec<TestKey>,
    /// The numbers of tests. Filled when the first run is added.
    ids: HashMap<TestKey, u32>,
    /// The bytes of all names.
    names: usize,
    pub(super) runs: Vec<IndexedRun>,
}

impl Index {
    /// The tests, by number.
    pub(super) fn tests(&self) -> &[TestKey] {
        &self.tests
    }

    /// Adds a run.
    pub(super) fn add(
        &mut self,
        file: FileKey,
        facts: RunFacts,
        outcomes: Vec<(TestKey, Outcome, Option<u32>)>,
    ) -> Result<(), IndexFull> {
        let (mut entries, mut new) = (Vec::with_capacity(outcomes.len()), Vec::new());
        for (key, outcome, millis) in outcomes {
            match self.known(&key) {
                Some(test) => entries.push(Entry { test, outcome, millis }),
                None => new.push((key, outcome, millis)),
            }
        }
        // New tests get their numbers in order, because queries sort them.
        new.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        for (key, outcome, millis) in new {
            entries.push(Entry { test: self.number(key)?, outcome, millis });
        }
        self.runs.push(IndexedRun { file, facts, entries: encoded(entries).into() });
        Ok(())
    }

    /// The number of a test that is in the index.
    fn known(&mut self, key: &TestKey) -> Option<u32> {
        if self.ids.len() != self.tests.len() {
            self.ids = (0..).zip(&self.tests).map(|(number, key)| (key.clone(), number)).collect();
            self.names = self.tests.iter().map(name_bytes).sum();
        }
        self.ids.get(key).copied()
    }

    fn number(&mut self, key: TestKey) -> Result<u32, IndexFull> {
        if let Some(number) = self.known(&key) {
            return Ok(number);
        }
        self.names = self.names.saturating_add(name_bytes(&key));
        if self.names > MAX_NAMES {
            return Err(IndexFull::Names);
        }
        let number = u32::try_from(self.tests.len()).map_err(|_| IndexFull::Tests)?;
        if self.tests.len() >= MAX_TESTS {
            return Err(IndexFull::Tests);
        }
        self.tests.push(key.clone());
        self.ids.insert(key, number);
        Ok(number)
    }

    /// Drops the runs that `keep` rejects, and the tests that only they have.
    pub(super) fn retain(&mut self, keep: impl Fn(&FileKey) -> bool) {
        if self.runs.iter().all(|run| keep(&run.file)) {
            return;
        }
        let Self { tests, runs, .. } = std::mem::take(self);
        let mut numbers: Vec<Option<u32>> = vec![None; tests.len()];
        for run in runs.into_iter().filter(|run| keep(&run.file)) {
            let mut entries = Vec::new();
            for entry in run.entries() {
                let (Some(key), Some(number)) = (tests.get(entry.test as usize), numbers.get_mut(entry.test as usize))
                else {
                    continue;
                };
                if number.is_none() {
                    // A part of what had room has room.
                    *number = self.number(key.clone()).ok();
                }
                entries.extend(number.map(|test| Entry { test, ..entry }));
            }
            self.runs.push(IndexedRun { entries: encoded(entries).into(), ..run });
        }
    }
}

fn name_bytes(key: &TestKey) -> usize {
    let id = &key.test;
    id.name.len() + id.classname.len() + id.suites.iter().map(String::len).sum::<usize>()
}

/// The entries in order of tests, encoded as chunks. Entries of the same test are joined as attempts.
fn encoded(mut entries: Vec<Entry>) -> Vec<u8> {
    entries.sort_by_key(|entry| entry.test);
    entries.dedup_by(|next, kept| {
        let same = next.test == kept.test;
        if same {
            kept.outcome = kept.outcome.with_attempt(next.outcome);
            kept.millis = kept.millis.max(next.millis);
        }
        same
    });
    let (mut out, mut next) = (Vec::new(), 0);
    for entries in entries.chunk_by(|a, b| chunk_of(a) == chunk_of(b)) {
        let Some(chunk) = entries.first().map(chunk_of) else { continue };
        let millis = || entries.iter().filter_map(|entry| entry.millis);
        let longest = millis().max().unwrap_or_default();
        let width = longest.to_be_bytes().iter().skip_while(|byte| **byte == 0).count().max(1);
        let durations: Vec<u8> = millis().flat_map(|millis| millis.to_le_bytes().into_iter().take(width)).collect();
        let codes = codes(chunk, entries);
        let width = u8::try_from(width).unwrap_or_default();
        out.extend(packed(&(chunk - next, Chunk { codes: &codes, width, durations: &durations })));
        next = chunk + 1;
    }
    out
}

fn chunk_of(entry: &Entry) -> usize {
    entry.test as usize / CHUNK
}

/// The codes of a chunk, whose entries are in order of tests.
fn codes(chunk: usize, entries: &[Entry]) -> Vec<u8> {
    let mut codes = Vec::with_capacity(CHUNK);
    for entry in entries {
        codes.resize((entry.test as usize).saturating_sub(chunk * CHUNK), ABSENT);
        let code = OUTCOMES.iter().position(|outcome| *outcome == entry.outcome).unwrap_or_default();
        let code = u8::try_from(code).unwrap_or_default();
        codes.push(if entry.millis.is_some() { code | HAS_DURATION } else { code });
    }
    codes
}

fn packed(value: &impl Serialize) -> Vec<u8> {
    // No value in the index is of a kind that fails, and memory has room.
    postcard::to_allocvec(value).unwrap_or_default()
}

/// Appends a section, which has less than 4 GiB.
fn add_section(content: &[u8], out: &mut Vec<u8>) {
    out.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(crc32fast::hash(content).to_le_bytes());
    out.extend_from_slice(content);
}

/// The next section: `None` at the end, `Some(None)` if its checksum is wrong.
fn next_section<'a>(bytes: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let (content, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some((crc32fast::hash(content) == u32::from_le_bytes(*checksum)).then_some(content))
}

/// A test as numbers of texts: its plugin, node, class, name and suites.
type PackedTest = (usize, Option<usize>, usize, usize, Vec<usize>);

impl Index {
    /// The index as the bytes of a file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        add_section(&self.packed_tests(), &mut out);
        for IndexedRun { file, facts, entries } in &self.runs {
            let mut run = packed(&(file, facts));
            run.extend_from_slice(entries);
            add_section(&run, &mut out);
        }
        out
    }

    fn packed_tests(&self) -> Vec<u8> {
        let (mut texts, mut numbers) = (Vec::<&str>::new(), HashMap::<&str, usize>::new());
        let mut tests: Vec<PackedTest> = Vec::with_capacity(self.tests.len());
        for TestKey { plugin, test } in &self.tests {
            let mut number = |text| {
                *numbers.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() - 1
                })
            };
            let (plugin, node) = (number(plugin), test.node.as_deref().map(&mut number));
            let (class, name) = (number(&test.classname), number(&test.name));
            tests.push((plugin, node, class, name, test.suites.iter().map(|suite| number(suite)).collect()));
        }
        packed(&(texts, tests))
    }

    /// Reads the bytes of a file: the runs that are intact. They share these bytes. `None` if the names
    /// of tests are damaged, or if another version wrote it.
    pub(super) fn from_bytes(file: Vec<u8>) -> Option<Self> {
        let all = Bytes::from(file);
        let (version, mut bytes) = all.strip_prefix(MAGIC)?.split_first()?;
        if *version != VERSION {
            return None;
        }
        let mut index = Self { tests: read_tests(next_section(&mut bytes)??)?, ..Self::default() };
        while let Some(section) = next_section(&mut bytes) {
            // A damaged section is a run to read again.
            let run = section.and_then(|section| postcard::take_from_bytes::<(FileKey, RunFacts)>(section).ok());
            index.runs.extend(run.map(|((file, facts), entries)| {
                let entries = all.slice_ref(entries);
                IndexedRun { file, facts, entries }
            }));
        }
        Some(index)
    }
}

fn read_tests(section: &[u8]) -> Option<Vec<TestKey>> {
    let (texts, rest) = postcard::take_from_bytes::<Vec<&str>>(section).ok()?;
    let (count, mut bytes) = postcard::take_from_bytes::<usize>(rest).ok()?;
    let text = |number: usize| texts.get(number).map(|text| (*text).to_owned());
    // One by one, because a list of all numbers would take much memory next to that of the tests.
    let one = |_: usize| {
        let ((plugin, node, class, name, suites), rest) = postcard::take_from_bytes::<PackedTest>(bytes).ok()?;
        bytes = rest;
        let node = match node {
            Some(node) => Some(text(node)?),
            None => None,
        };
        let suites = suites.into_iter().map(text).collect::<Option<Vec<String>>>()?;
        let test = TestId { node, suites, classname: text(class)?, name: text(name)? };
        Some(TestKey { plugin: text(plugin)?, test })
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
