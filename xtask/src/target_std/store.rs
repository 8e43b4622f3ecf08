//! Keeps what was built for all checkouts, and never uses an incomplete entry.
//!
//! An entry is made in a scratch directory next to its final place, gets a record of its files, and
//! is renamed. An entry without a record is incomplete and is made again. The same applies if a
//! recorded file is missing or has another size.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use super::target::Target;
use crate::error::Error;
use crate::lock::Lock;
use crate::paths;

/// The file that marks an entry as complete.
const RECORD: &str = "RECORD";
/// The first line of a record. Another number makes older entries count as missing.
const FORMAT: &str = "plumbline wasm-std 1";
/// The prefix of scratch directories.
const SCRATCH: &str = ".scratch-";

/// The directory of entries, such as `~/.cache/plumbline/wasm-std`.
#[derive(Debug)]
pub(super) struct Store {
    dir: PathBuf,
}

/// A complete entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) dir: PathBuf,
    /// The origin of the entry, for messages.
    pub(super) made_from: String,
    /// An ID that changes whenever the entry is made again.
    pub(super) id: String,
}

impl Store {
    pub(super) fn open(target: Target) -> Result<Self, Error> {
        Ok(Self { dir: paths::cache()?.join(target.store) })
    }

    /// Returns the path of an entry, whether it exists or not.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns an entry, if it is complete.
    pub(super) fn get(&self, name: &str) -> Option<Entry> {
        let dir = self.place(name);
        let record = fs::read_to_string(dir.join(RECORD)).ok()?;
        let mut lines = record.lines();
        if lines.next()? != FORMAT {
            return None;
        }
        let made_from = lines.next()?.strip_prefix("from ")?.to_owned();
        let id = lines.next()?.strip_prefix("id ")?.to_owned();
        let mut files = 0_usize;
        for line in lines {
            let (size, file) = line.split_once(' ')?;
            if fs::metadata(dir.join(file)).ok()?.len() != size.parse::<u64>().ok()? {
                return None;
            }
            files += 1;
        }
        (files > 0).then_some(Entry { dir, made_from, id })
    }

    /// Locks the store to make an entry, and removes the leftovers of processes that died.
    pub(super) fn lock(&self) -> Result<Workshop<'_>, Error> {
        let lock = Lock::take(&self.dir)?;
        for entry in fs::read_dir(&self.dir).map_err(Error::io("read", &self.dir))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
                fs::remove_dir_all(entry.path()).map_err(Error::io("remove", &entry.path()))?;
            }
        }
        Ok(Workshop { store: self, _lock: lock })
    }
}

/// The locked store, to which only this process may add entries.
#[derive(Debug)]
pub(super) struct Workshop<'s> {
    store: &'s Store,
    _lock: Lock,
}

impl Workshop<'_> {
    /// Creates an empty directory on the store's file system. It is removed with its contents when
    /// dropped.
    pub(super) fn scratch(&self) -> Result<Scratch, Error> {
        let path = self.store.dir.join(format!("{SCRATCH}{}", unique()));
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        Ok(Scratch { path })
    }

    /// Moves `dir`, which is inside a scratch directory, to the entry `name`. `proof` lists the
    /// directories in it whose files the entry requires. [`Store::get`] checks those files.
    pub(super) fn keep(&self, dir: &Path, name: &str, made_from: &str, proof: &[&Path]) -> Result<Entry, Error> {
        let id = unique();
        let mut record = format!("{FORMAT}\nfrom {made_from}\nid {id}\n");
        for part in proof {
            list(dir, part, &mut record)?;
        }
        let file = dir.join(RECORD);
        fs::write(&file, record).map_err(Error::io("write", &file))?;

        let place = self.store.place(name);
        // A directory cannot be replaced atomically, and one without a valid record is not in use.
        let grave = self.scratch()?;
        if place.exists() {
            fs::rename(&place, grave.path.join("old")).map_err(Error::io("move away", &place))?;
        }
        fs::rename(dir, &place).map_err(Error::io("create", &place))?;
        self.store
            .get(name)
            .ok_or_else(|| Error::unexpected(format!("`{}` was made, but is not complete", place.display())))
    }
}

/// Adds a line `SIZE PATH` for every file directly in `part`, sorted.
fn list(dir: &Path, part: &Path, record: &mut String) -> Result<(), Error> {
    let full = dir.join(part);
    let read = |source| Error::Io { action: "read", path: full.clone(), source };
    let mut lines = Vec::new();
    for entry in fs::read_dir(&full).map_err(read)? {
        let entry = entry.map_err(read)?;
        // Follow links: the file must be readable.
        let meta = fs::metadata(entry.path()).map_err(read)?;
        if meta.is_file() {
            let path = part.join(entry.file_name());
            lines.push(format!("{} {}", meta.len(), path.display()));
        }
    }
    lines.sort();
    for line in lines {
        let _ = writeln!(record, "{line}");
    }
    Ok(())
}

/// Returns a string that is unique on this machine.
fn unique() -> String {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
    format!("{nanos}-{}", process::id())
}

/// A directory that is removed when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // On failure, the next process that locks the store removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store { dir: dir.path().join("wasm-std") };
        (dir, store)
    }

    /// Makes an entry `name` with the one file `lib/std`.
    fn make(store: &Store, name: &str, content: &str) -> Entry {
        let workshop = store.lock().unwrap();
        let scratch = workshop.scratch().unwrap();
        let dir = scratch.path().join("sysroot");
        fs::create_dir_all(dir.join("lib")).unwrap();
        fs::write(dir.join("lib/std"), content).unwrap();
        workshop.keep(&dir, name, "a test", &[Path::new("lib")]).unwrap()
    }

    #[test]
    fn stored_entries_are_found() {
        let (_dir, store) = store();
        assert_eq!(store.get("a"), None);
        let made = make(&store, "a", "content");
        assert_eq!(made.made_from, "a test");
        assert_eq!(store.get("a"), Some(made));
        assert_eq!(store.get("b"), None);
    }

    #[test]
    fn damaged_entries_do_not_count_and_can_be_made_again() {
        let (_dir, store) = store();
        let first = make(&store, "a", "content");
        fs::write(first.dir.join("lib/std"), "cut").unwrap();
        assert_eq!(store.get("a"), None, "a file of another size");
        let second = make(&store, "a", "content");
        assert_ne!(first.id, second.id);
        fs::remove_file(second.dir.join("lib/std")).unwrap();
        assert_eq!(store.get("a"), None, "a missing file");
        make(&store, "a", "content");
        fs::remove_file(second.dir.join(RECORD)).unwrap();
        assert_eq!(store.get("a"), None, "no record");
    }

    #[test]
    fn an_entry_of_nothing_is_not_complete() {
        let (_dir, store) = store();
        let workshop = store.lock().unwrap();
        let scratch = workshop.scratch().unwrap();
        fs::create_dir_all(scratch.path().join("empty/lib")).unwrap();
        assert!(workshop.keep(&scratch.path().join("empty"), "a", "nothing", &[Path::new("lib")]).is_err());
    }

    #[test]
    fn leftovers_are_cleared_and_entries_are_not() {
        let (_dir, store) = store();
        make(&store, "a", "content");
        let leftover = store.dir.join(format!("{SCRATCH}of-the-dead"));
        fs::create_dir_all(leftover.join("deep")).unwrap();
        drop(store.lock().unwrap());
        assert!(!leftover.exists());
        assert!(store.get("a").is_some());
    }

    #[test]
    fn two_processes_do_not_build_at_once() {
        let (_dir, store) = store();
        let workshop = store.lock().unwrap();
        let other = fs::File::options().write(true).open(store.dir.join(".lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
        drop(workshop);
        other.try_lock().unwrap();
    }
}
