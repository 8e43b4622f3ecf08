//! Opening a layout from a directory or an archive. Archives are unpacked with limits.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};
use tempfile::TempDir;

use super::directory::{BLOBS, INDEX, Layout, MARK};
use crate::digest::Digest;
use crate::error::Cause;
use crate::limits::{MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES, MAX_MANIFEST_BYTES};

/// Name prefix of directories with unpacked archives.
const UNPACKED: &str = ".plumbline-unpacked-";
/// Minimum age of abandoned directories. A younger one may not be locked yet by its owner.
const NEW: Duration = Duration::from_secs(60);

/// A layout to read, with its temporary directory.
#[derive(Debug)]
pub struct OpenedLayout {
    layout: Layout,
    /// Directory of the unpacked archive, which is removed when this value is dropped.
    _unpacked: Option<(TempDir, Option<File>)>,
}

impl OpenedLayout {
    /// Returns the layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

/// Opens the layout at `path`, a directory or a tar. A tar is unpacked in `scratch`, or by default
/// in the system's temporary directory. Every blob in it must match the digest in its name.
///
/// # Errors
///
/// The path does not exist, a limit is exceeded, or the content is invalid.
pub fn open(path: &Path, scratch: Option<&Path>) -> Result<OpenedLayout, Cause> {
    let there = fs::metadata(path).map_err(Cause::file(path))?;
    if there.is_dir() {
        return Ok(OpenedLayout { layout: Layout::open(path)?, _unpacked: None });
    }
    if !there.is_file() {
        return Err(Cause::Kind(format!("`{}` is neither a directory nor a file", path.display())));
    }
    let parent = scratch.map_or_else(std::env::temp_dir, Path::to_path_buf);
    sweep(&parent);
    let dir = tempfile::Builder::new().prefix(UNPACKED).tempdir_in(&parent).map_err(Cause::file(&parent))?;
    // The lock tells other processes that the directory is in use. Where directories cannot be
    // locked, no process considers one abandoned either.
    let claim = File::open(dir.path()).ok().filter(|there| there.try_lock().is_ok());
    let file = File::open(path).map_err(Cause::file(path))?;
    unpack(BufReader::with_capacity(256 << 10, file), path, dir.path())?;
    let layout = Layout::open(dir.path())?;
    Ok(OpenedLayout { layout, _unpacked: Some((dir, claim)) })
}

/// Removes directories that killed processes left in `parent`. Each is as large as an unpacked
/// archive, and users do not recognize their names. Failures are ignored.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNPACKED));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(there) = File::open(entry.path()) else { continue };
        let age = there.metadata().and_then(|there| there.modified()).ok().and_then(|then| then.elapsed().ok());
        // Hold the lock during the removal, so that only one of two concurrent processes removes
        // the directory.
        if age.is_some_and(|age| age > NEW) && there.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn unpack(mut from: impl Read, path: &Path, dir: &Path) -> Result<(), Cause> {
    let mut first = [0; 2];
    from.read_exact(&mut first).map_err(Cause::file(path))?;
    if first == [0x1f, 0x8b] {
        return Err(Cause::Kind("it is compressed with gzip: `gunzip` it first".into()));
    }
    let wrong = |why: String| Cause::Malformed(format!("`{}` is not an archive of a layout: {why}", path.display()));
    let broken = |error: io::Error| wrong(error.to_string());
    fs::create_dir_all(dir.join(BLOBS)).map_err(Cause::file(dir))?;
    let mut archive = Archive::new(io::Cursor::new(first).chain(from));
    let mut left = MAX_ARCHIVE_BYTES;
    // Raw mode neither applies extended headers (long names, other sizes) nor reads them to memory.
    // No name in a layout is long enough to need them.
    for (count, entry) in archive.entries().map_err(broken)?.raw(true).enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count >= MAX_ARCHIVE_ENTRIES {
            return Err(wrong(format!("it has more than {MAX_ARCHIVE_ENTRIES} entries")));
        }
        let name =
            String::from_utf8(entry.path_bytes().into_owned()).map_err(|_| wrong("a name is not UTF-8".into()))?;
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory | EntryType::XHeader | EntryType::XGlobalHeader => continue,
            _ => return Err(wrong(format!("`{}` is neither a file nor a directory", cut(&name)))),
        }
        let size = entry.header().size().map_err(broken)?;
        let digest = name
            .strip_prefix(BLOBS)
            .and_then(|rest| rest.strip_prefix('/'))
            .map(|hex| format!("sha256:{hex}").parse::<Digest>().map_err(Cause::from))
            .transpose()?;
        let limit = match (&digest, name.as_str()) {
            (Some(_), _) => left,
            (None, MARK | INDEX) => MAX_MANIFEST_BYTES,
            // Archives of Docker contain additional files.
            _ => continue,
        };
        if size > limit {
            return Err(wrong(format!("`{}` is larger than is taken: {size} bytes", cut(&name))));
        }
        left = left.saturating_sub(size);
        // The name is safe: one of two constants, or 64 digits.
        let place = match digest {
            Some(digest) => dir.join(BLOBS).join(digest.hex()),
            None => dir.join(&name),
        };
        let mut file = File::create_new(&place).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => wrong(format!("it has `{}` twice", cut(&name))),
            _ => Cause::file(&place)(error),
        })?;
        let (got, taken) = copy(&mut entry, &mut file, &place, &broken)?;
        if taken < size {
            return Err(wrong(format!("it ends in the middle of `{}`", cut(&name))));
        }
        if let Some(wanted) = digest.filter(|wanted| *wanted != got) {
            return Err(Cause::Mismatch { wanted, got });
        }
    }
    Ok(())
}

/// Copies `from` to `to`, and returns the digest and size.
fn copy(
    from: &mut impl Read,
    to: &mut File,
    place: &Path,
    broken: &impl Fn(io::Error) -> Cause,
) -> Result<(Digest, u64), Cause> {
    let mut hash = Sha256::new();
    let mut taken = 0;
    let mut piece = vec![0; 256 << 10];
    loop {
        let read = from.read(&mut piece).map_err(broken)?;
        if read == 0 {
            return Ok((Digest::finished(hash), taken));
        }
        let bytes = piece.get(..read).unwrap_or_default();
        hash.update(bytes);
        to.write_all(bytes).map_err(Cause::file(place))?;
        taken += read as u64;
    }
}

fn cut(name: &str) -> String {
    plumbline_core::text::excerpt(name, 120)
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
