//! A size-limited store of entries by key. An error costs a compilation and never a run: it is
//! logged, and the entry counts as missing.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::dir::{Listed, PrivateDir};
use super::entry::{Entry, Key};

/// The age in seconds after which an incomplete file was left behind by a killed process. No write
/// takes that long.
const ABANDONED: i64 = 3600;

/// A cache of compiled code in a directory.
#[derive(Debug)]
pub(crate) struct Cache {
    dir: PrivateDir,
    path: PathBuf,
    max_bytes: u64,
}

impl Cache {
    /// Opens a cache in the directory `path` of at most `max_bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be created or opened, or if other users may write
    /// to it.
    pub(crate) fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        Ok(Self { dir: PrivateDir::open(path)?, path: path.to_owned(), max_bytes })
    }

    /// Passes the verified entry of `key` to `take`. Returns `None` if there is no usable entry, or
    /// if `take` fails.
    pub(crate) fn get<R>(&self, key: &Key, take: impl FnOnce(Entry<'_>) -> Result<R, String>) -> Option<R> {
        let name = key.file_name();
        let bytes = match self.dir.read(&name, self.max_bytes) {
            Ok(bytes) => bytes?,
            Err(error) => {
                self.discard(&name, &error.to_string());
                return None;
            }
        };
        let taken = Entry::read_verified(&bytes, key).map_err(|error| error.to_string()).and_then(take);
        taken.inspect_err(|reason| self.discard(&name, reason)).ok()
    }

    /// Stores `code` for `key` and evicts other entries to make room.
    pub(crate) fn put(&self, key: &Key, code: &[u8]) {
        let bytes = Entry::write(key, code);
        let size = bytes.len() as u64;
        if size > self.max_bytes {
            return;
        }
        let kept = self.make_room(size).and_then(|()| self.dir.write(&key.file_name(), &bytes));
        if let Err(error) = kept {
            tracing::warn!(cache = %self.path.display(), "compiled code of a module cannot be kept: {error}");
        }
    }

    fn discard(&self, name: &str, reason: &str) {
        tracing::warn!(cache = %self.path.display(), entry = name, "cached code of a module is not used and made again: {reason}");
        if let Err(error) = self.dir.remove(name) {
            tracing::debug!(cache = %self.path.display(), entry = name, "it cannot be removed: {error}");
        }
    }

    /// Removes the least recently used entries until `size` more bytes fit, and incomplete files
    /// that were left behind.
    fn make_room(&self, size: u64) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let (unfinished, mut entries): (Vec<Listed>, Vec<Listed>) =
            self.dir.list()?.into_iter().partition(|file| file.unfinished);
        for file in unfinished.iter().filter(|file| file.modified < now.saturating_sub(ABANDONED)) {
            self.dir.remove(&file.name)?;
        }
        let mut used: u64 = entries.iter().map(|file| file.bytes).sum();
        entries.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
        for file in entries {
            if used.saturating_add(size) <= self.max_bytes {
                break;
            }
            self.dir.remove(&file.name)?;
            used = used.saturating_sub(file.bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn key(n: u8) -> Key {
        Key { engine: [0; 32], component: [n; 32] }
    }

    fn cache(max_bytes: u64) -> (tempfile::TempDir, Cache) {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::open(&base.path().join("cache"), max_bytes).unwrap();
        (base, cache)
    }

    fn has(cache: &Cache, n: u8) -> bool {
        cache.get(&key(n), |entry| Ok(entry.code.to_vec())).is_some()
    }

    fn age(cache: &Cache, name: &str, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options().write(true).open(cache.path.join(name)).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let (_base, cache) = cache(2 * 162);
        for n in 1..=2 {
            cache.put(&key(n), &[n; 50]);
            age(&cache, &key(n).file_name(), 1000 - u64::from(n));
        }
        assert!(has(&cache, 1), "and now it has been used");
        cache.put(&key(3), &[3; 50]);
        assert!(has(&cache, 1) && !has(&cache, 2) && has(&cache, 3));
        cache.put(&key(4), &[4; 1000]);
        assert!(!has(&cache, 4), "larger than the whole cache");
        assert!(has(&cache, 1), "and nothing had to go for it");
    }

    #[test]
    fn files_left_behind_go_in_time() {
        let (_base, cache) = cache(1000);
        for (name, seconds) in [(".new-1-0", 4000), (".new-1-1", 0)] {
            fs::write(cache.path.join(name), "").unwrap();
            age(&cache, name, seconds);
        }
        cache.put(&key(1), b"code");
        assert!(!cache.path.join(".new-1-0").exists());
        assert!(cache.path.join(".new-1-1").exists());
    }

    #[test]
    fn what_cannot_be_used_is_removed() {
        let (_base, cache) = cache(1000);
        cache.put(&key(1), b"code");
        assert_eq!(cache.get(&key(1), |_| Err::<(), _>("the engine does not like it".into())), None);
        assert!(!cache.path.join(key(1).file_name()).exists());
        fs::write(cache.path.join(key(1).file_name()), "rubbish").unwrap();
        assert!(!has(&cache, 1));
        assert!(!cache.path.join(key(1).file_name()).exists());
    }
}
