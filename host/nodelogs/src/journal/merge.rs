//! Several files as one, by the time at which entries were received.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};

use crate::find::Root;
use crate::notes::Notes;

use super::cursor::{Cursor, Entry, Losses};
use super::json;

/// Files that are open at once: as many of them may hold entries of one moment. Each needs 256 KiB.
pub const MAX_OPEN: usize = 128;

/// A file that has entries.
struct Waiting {
    path: String,
    first: u64,
}

/// Writes the entries that were received at `since` (microseconds since 1970) or later, oldest first. `Some`: no file could be read, and what
/// is wrong with the first. The error is that of `out`.
pub(crate) fn read(
    root: &Root,
    files: &[String],
    since: u64,
    out: &mut dyn Write,
    notes: &mut Notes,
) -> io::Result<Option<String>> {
    let mut waiting = Vec::new();
    let mut unreadable = None;
    let mut readable = 0;
    for path in files {
        match open(root, path) {
            Ok(Cursor { header, .. }) => {
                readable += 1;
                // What an open file says about its end may be old.
                if header.entries > 0 && (header.last >= since || header.open) {
                    waiting.push(Waiting { path: path.clone(), first: header.first });
                }
            }
            Err(why) => {
                let told = format!("`/{path}`: {why}");
                notes.add(format!("a file of the journal is left out: {told}"));
                unreadable.get_or_insert(told);
            }
        }
    }
    if readable == 0 {
        return Ok(unreadable);
    }
    waiting.sort_by_key(|file| file.first);
    Merge { root, since, waiting: waiting.into(), open: Vec::new(), heap: BinaryHeap::new(), notes }.run(out)?;
    Ok(None)
}

fn open(root: &Root, path: &str) -> Result<Cursor, String> {
    let file = root.file(path).map_err(|error| error.to_string())?;
    Cursor::open(file).map_err(|damage| damage.to_string())
}

/// An open file, and the entry that is next in it.
struct Opened {
    path: String,
    cursor: Cursor,
    next: Entry,
}

struct Merge<'a> {
    root: &'a Root,
    since: u64,
    /// By the time of their first entry.
    waiting: VecDeque<Waiting>,
    open: Vec<Option<Opened>>,
    /// When the next entry of an open file was received, its number, and which file.
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    notes: &'a mut Notes,
}

impl Merge<'_> {
    fn run(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            self.open_due();
            let Some(Reverse((.., at))) = self.heap.pop() else { return Ok(()) };
            let Some(mut opened) = self.open.get_mut(at).and_then(Option::take) else { continue };
            let fields = opened.cursor.fields(&opened.next);
            let left_out = json::line(&mut line, &opened.next, opened.cursor.header.sequence, &fields);
            opened.cursor.losses.fields += left_out;
            out.write_all(&line)?;
            self.advance(at, opened);
        }
    }

    /// Opens the files whose turn it may be.
    fn open_due(&mut self) {
        while self.heap.len() < MAX_OPEN
            && let Some(first) = self.waiting.front().map(|file| file.first)
            && self.heap.peek().is_none_or(|Reverse((time, ..))| first <= *time)
            && let Some(file) = self.waiting.pop_front()
        {
            match open(self.root, &file.path) {
                Ok(mut cursor) => match cursor.next(self.since) {
                    Some(next) => {
                        let at = self.place();
                        self.put(at, Opened { path: file.path, cursor, next });
                    }
                    None => self.tell(&file.path, &cursor.losses),
                },
                Err(why) => self.notes.add(format!("a file of the journal is left out: `/{}`: {why}", file.path)),
            }
        }
    }

    fn place(&mut self) -> usize {
        self.open.iter().position(Option::is_none).unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        })
    }

    fn put(&mut self, at: usize, opened: Opened) {
        self.heap.push(Reverse((opened.next.realtime, opened.next.number, at)));
        if let Some(place) = self.open.get_mut(at) {
            *place = Some(opened);
        }
    }

    fn advance(&mut self, at: usize, mut opened: Opened) {
        match opened.cursor.next(self.since) {
            Some(next) => {
                opened.next = next;
                self.put(at, opened);
            }
            None => self.tell(&opened.path, &opened.cursor.losses),
        }
    }

    /// What was lost of a file, in a sentence.
    fn tell(&mut self, path: &str, losses: &Losses) {
        let Losses { entries, fields, cut, first, end } = losses;
        let mut parts = Vec::new();
        if *entries > 0 {
            parts.push(format!("{entries} entries are left out"));
        }
        if *fields > 0 {
            parts.push(format!("{fields} fields are left out"));
        }
        if *cut > 0 {
            parts.push(format!("{cut} fields are cut"));
        }
        if let Some(end) = end {
            parts.push(format!("what follows is left out: {end}"));
        } else if let Some(first) = first {
            parts.push(format!("the first for this reason: {first}"));
        }
        if !parts.is_empty() {
            self.notes.add(format!("`/{path}`: {}", parts.join("; ")));
        }
    }
}
