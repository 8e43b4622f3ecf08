//! The index of a set of archives: the outcome of every test in every run, in a compact form.
//!
//! The archives are the truth. The index can be made from them at any time, so a reader accepts what
//! is intact in it and drops the rest. All numbers are varints (LEB128) unless stated otherwise:
//!
//! ```text
//! index      = magic, version (1 byte), section of texts and tests, one section per run
//! section    = length (4 bytes, little endian), CRC-32 of the content (4 bytes), content
//! texts      = count, (length, UTF-8)…
//! tests      = count, (plugin, node + 1 or 0, class, name, number of suites, suite…)…   as text numbers
//! run        = name, size, modified, facts, plugins, (chunk − previous chunk, length, chunk)…
//! chunk      = count, (code of a test, 1 byte)…, width, (ms, `width` bytes, little endian)…
//! code       = outcome, plus 0x80 if it has ms; 0x7f for a test that is not in the run
//! ```
//!
//! The tests of a chunk have numbers in a row. Every test has a code, so that reading needs no search.

use std::collections::HashMap;
use std::iter;
use std::slice::ChunksExact;
use std::sync::Arc;

use plumbline_core::TestId;

use crate::difference::{Outcome, TestKey};
use crate::history::codec::{Decoder, Encoder, SharedBytes};

/// The first bytes of an index.
const MAGIC: &[u8] = b"plumbline-history\n";

/// The version of the format. An index of another version is made again.
const VERSION: u8 = 4;

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FileKey {
    /// The file name in the directory.
    pub(super) name: String,
    /// The size in bytes.
    pub(super) size: u64,
    /// The modification time in nanoseconds since 1970.
    pub(super) modified: i64,
}

/// A plugin of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PluginFacts {
    pub(super) name: String,
    /// The first bytes of the digest of its definition. 0 if the archive has none.
    pub(super) digest: u64,
    /// Whether its tests have classes.
    pub(super) has_classes: bool,
}

/// What an archive says about its run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    pub(super) plugins: Vec<PluginFacts>,
}

impl RunFacts {
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
    entries: SharedBytes,
}

impl IndexedRun {
    /// The outcomes, ordered by test.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.chunks().flat_map(|(_, entries)| entries)
    }

    /// The numbers of chunks, in order, and the outcomes in each. Outcomes that are not read cost
    /// nothing.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, Entries<'_>)> {
        let (mut bytes, mut next) = (Decoder::new(&self.entries), 0_u64);
        iter::from_fn(move || {
            let chunk = next.checked_add(bytes.number()?)?;
            next = chunk.checked_add(1)?;
            let (chunk, content) = (usize::try_from(chunk).ok()?, bytes.bytes()?);
            Some((chunk, Entries::of_chunk(chunk, Decoder::new(content))?))
        })
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

impl<'a> Entries<'a> {
    fn of_chunk(chunk: usize, mut bytes: Decoder<'a>) -> Option<Self> {
        let test = u32::try_from(chunk.checked_mul(CHUNK)?).ok()?;
        let codes = bytes.bytes().filter(|codes| codes.len() <= CHUNK)?;
        let width = usize::try_from(bytes.number()?).ok().filter(|width| (1..=size_of::<u32>()).contains(width))?;
        Some(Self { test, codes, durations: bytes.rest().chunks_exact(width) })
    }
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
        let mut entries = Vec::with_capacity(outcomes.len());
        for (key, outcome, millis) in outcomes {
            entries.push(Entry { test: self.number(key)?, outcome, millis });
        }
        self.runs.push(IndexedRun { file, facts, entries: encoded(entries).into() });
        Ok(())
    }

    fn number(&mut self, key: TestKey) -> Result<u32, IndexFull> {
        if self.ids.len() != self.tests.len() {
            self.ids = (0..).zip(&self.tests).map(|(number, key)| (key.clone(), number)).collect();
            self.names = self.tests.iter().map(name_bytes).sum();
        }
        if let Some(number) = self.ids.get(&key) {
            return Ok(*number);
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
    let (mut out, mut next) = (Encoder::default(), 0);
    for entries in entries.chunk_by(|a, b| chunk_of(a) == chunk_of(b)) {
        let Some(chunk) = entries.first().map(chunk_of) else { continue };
        let content = encoded_chunk(chunk, entries);
        out.number((chunk - next) as u64);
        out.number(content.len() as u64);
        out.raw(&content);
        next = chunk + 1;
    }
    out.into_bytes()
}

fn chunk_of(entry: &Entry) -> usize {
    entry.test as usize / CHUNK
}

/// The outcomes of a chunk, which are in order of tests.
fn encoded_chunk(chunk: usize, entries: &[Entry]) -> Vec<u8> {
    let mut codes = Vec::with_capacity(CHUNK);
    for entry in entries {
        codes.resize((entry.test as usize).saturating_sub(chunk * CHUNK), ABSENT);
        let code = OUTCOMES.iter().position(|outcome| *outcome == entry.outcome).unwrap_or_default();
        let code = u8::try_from(code).unwrap_or_default();
        codes.push(if entry.millis.is_some() { code | HAS_DURATION } else { code });
    }
    let durations = || entries.iter().filter_map(|entry| entry.millis);
    let longest = durations().max().unwrap_or_default();
    let width = longest.to_be_bytes().iter().skip_while(|byte| **byte == 0).count().max(1);
    let mut out = Encoder::default();
    out.number(codes.len() as u64);
    out.raw(&codes);
    out.number(width as u64);
    durations().for_each(|millis| out.raw(millis.to_le_bytes().get(..width).unwrap_or_default()));
    out.into_bytes()
}

impl Index {
    /// The index as the bytes of a file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.raw(MAGIC);
        out.byte(VERSION);
        out.section(&self.names_section());
        for run in &self.runs {
            out.section(&run_section(run));
        }
        out.into_bytes()
    }

    fn names_section(&self) -> Encoder {
        let (mut texts, mut numbers) = (Vec::<&str>::new(), HashMap::<&str, u64>::new());
        let mut tests = Encoder::default();
        tests.number(self.tests.len() as u64);
        for TestKey { plugin, test } in &self.tests {
            let mut number = |text| {
                *numbers.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as u64 - 1
                })
            };
            let (plugin, node) = (number(plugin), test.node.as_deref().map_or(0, |node| number(node) + 1));
            let (class, name) = (number(&test.classname), number(&test.name));
            let suites: Vec<u64> = test.suites.iter().map(|suite| number(suite)).collect();
            [plugin, node, class, name, suites.len() as u64].into_iter().chain(suites).for_each(|n| tests.number(n));
        }
        let mut section = Encoder::default();
        section.number(texts.len() as u64);
        texts.iter().for_each(|text| section.text(text));
        section.raw(&tests.into_bytes());
        section
    }

    /// Reads the bytes of a file: the runs that are intact. They share these bytes. `None` if the names
    /// of tests are damaged, or if another version wrote it.
    pub(super) fn from_bytes(file: Vec<u8>) -> Option<Self> {
        let file = Arc::new(file);
        let mut bytes = Decoder::new(file.strip_prefix(MAGIC)?);
        if bytes.byte()? != VERSION {
            return None;
        }
        let tests = read_tests(&mut bytes.section()??)?;
        let mut index = Self { tests, ..Self::default() };
        while let Some(section) = bytes.section() {
            let end = file.len().saturating_sub(bytes.rest().len());
            // A damaged section is a run to read again.
            index.runs.extend(section.and_then(|mut section| indexed_run(&mut section, &file, end)));
        }
        Some(index)
    }
}

fn read_tests(bytes: &mut Decoder<'_>) -> Option<Vec<TestKey>> {
    let texts: Vec<&str> = bytes.list(|bytes| bytes.text())?;
    let text = |number: u64| texts.get(usize::try_from(number).ok()?).map(|text| (*text).to_owned());
    bytes.list(|bytes| {
        let plugin = text(bytes.number()?)?;
        let node = match bytes.number()? {
            0 => None,
            node => Some(text(node - 1)?),
        };
        let (classname, name) = (text(bytes.number()?)?, text(bytes.number()?)?);
        let suites = bytes.list(|bytes| text(bytes.number()?))?;
        Some(TestKey { plugin, test: TestId { node, suites, classname, name } })
    })
}

fn run_section(run: &IndexedRun) -> Encoder {
    let IndexedRun { file, facts, entries } = run;
    let mut out = Encoder::default();
    out.text(&file.name);
    out.number(file.size);
    out.signed(file.modified);
    out.signed(facts.started);
    [&facts.run, &facts.tool, &facts.cluster, &facts.version].into_iter().for_each(|text| out.text(text));
    out.number(facts.missed);
    out.number(facts.plugins.len() as u64);
    for plugin in &facts.plugins {
        out.text(&plugin.name);
        out.number(plugin.digest);
        out.byte(u8::from(plugin.has_classes));
    }
    out.raw(entries);
    out
}

/// Reads the section of a run, which ends at `end` of the file.
fn indexed_run(bytes: &mut Decoder<'_>, all: &Arc<Vec<u8>>, end: usize) -> Option<IndexedRun> {
    let file = FileKey { name: bytes.text()?.to_owned(), size: bytes.number()?, modified: bytes.signed()? };
    let started = bytes.signed()?;
    let mut text = || bytes.text().map(str::to_owned);
    let (run, tool, cluster, version) = (text()?, text()?, text()?, text()?);
    let missed = bytes.number()?;
    let plugins = bytes.list(|bytes| {
        let (name, digest) = (bytes.text()?.to_owned(), bytes.number()?);
        Some(PluginFacts { name, digest, has_classes: bytes.byte()? != 0 })
    })?;
    let facts = RunFacts { run, tool, started, cluster, version, missed, plugins };
    let entries = SharedBytes::new(all, end.saturating_sub(bytes.rest().len())..end);
    Some(IndexedRun { file, facts, entries })
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
