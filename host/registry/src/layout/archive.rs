//! Layouts in a single tar file. The tar is not compressed, because the blobs already are. Archives
//! are unpacked with limits.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::time::Duration;

use plumbline_core::text::excerpt;
use plumbline_core::{Digest, DigestWriter};
use tar::{Archive, Builder, Entry, EntryType, Header};
use tempfile::TempDir;

use super::directory::{BLOBS, INDEX, Layout, MARK, blob_name, publish, unfinished};
use crate::error::Cause;
use crate::limits::{MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES, MAX_MANIFEST_BYTES};

/// Name prefix of directories with unpacked archives.
const UNPACKED: &str = ".plumbline-unpacked-";
/// Minimum age of abandoned directories. A younger one may not be locked yet by its owner.
const NEW: Duration = Duration::from_secs(60);

/// Writes a layout as a tar to `to`, completely or not at all, and returns its size in bytes. The
/// same layout always yields the same bytes.
pub fn write(layout: &Layout, to: &Path) -> Result<u64, Cause> {
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = unfinished(parent)?;
    let mut names = BTreeSet::new();
    let blobs = layout.dir().join(BLOBS);
    for entry in fs::read_dir(&blobs).map_err(Cause::file(&blobs))? {
        let name = entry.map_err(Cause::file(&blobs))?.file_name();
        if let Some(name) = name.to_str().filter(|name| name.len() == 64) {
            names.insert(format!("{BLOBS}/{name}"));
        }
    }
    let write = || -> io::Result<u64> {
        let mut tar = Builder::new(io::BufWriter::new(file.as_file()));
        // Write the marker first, so that a reader recognizes a layout by the first block.
        for name in [MARK, INDEX].into_iter().chain(names.iter().map(String::as_str)) {
            let content = File::open(layout.dir().join(name))?;
            let size = content.metadata()?.len();
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::Regular);
            header.set_path(name)?;
            header.set_size(size);
            header.set_mode(0o644);
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(0);
            header.set_cksum();
            tar.append(&header, content.take(size))?;
        }
        tar.into_inner()?.flush()?;
        // Sync before the rename, so that the named file is complete even after a power failure.
        file.as_file().sync_all()?;
        Ok(file.as_file().metadata()?.len())
    };
    let bytes = write().map_err(Cause::file(to))?;
    publish(file, to)?;
    Ok(bytes)
}

/// A layout to read, with its temporary directory.
#[derive(Debug)]
pub struct OpenedLayout {
    layout: Layout,
    /// Directory of the unpacked archive, which is removed when this value is dropped.
    _unpacked: Option<(TempDir, Option<File>)>,
}

impl OpenedLayout {
    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

/// Opens the layout at `path`, a directory or a tar. A tar is unpacked in `scratch`, or by default
/// in the system's temporary directory. Every blob in it must match the digest in its name.
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
        return Err(Cause::Kind("it is compressed with gzip: decompress it first with `gunzip`".into()));
    }
    let wrong = |why: String| Cause::Malformed(format!("invalid archive of a layout `{}`: {why}", path.display()));
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
        let name = name.strip_prefix("./").unwrap_or(&name);
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory | EntryType::XHeader | EntryType::XGlobalHeader => continue,
            _ => return Err(wrong(format!("`{}` is neither a file nor a directory", excerpt(name, 120)))),
        }
        let size = entry.header().size().map_err(broken)?;
        let digits = name.strip_prefix(BLOBS).and_then(|rest| rest.strip_prefix('/'));
        let digest: Option<Digest> = digits.map(|digits| format!("sha256:{digits}").parse()).transpose()?;
        let limit = match (&digest, name) {
            (Some(_), _) => left,
            (None, MARK | INDEX) => MAX_MANIFEST_BYTES,
            // Archives of Docker contain additional files.
            _ => continue,
        };
        if size > limit {
            return Err(wrong(format!("`{}` is too large: {size} bytes", excerpt(name, 120))));
        }
        left = left.saturating_sub(size);
        // The name is safe: one of two constants, or 64 digits.
        let target = dir.join(digest.map_or_else(|| name.to_owned(), blob_name));
        let got = extract(&mut entry, size, name, &target, wrong)?;
        if let Some(wanted) = digest.filter(|wanted| *wanted != got) {
            return Err(Cause::Mismatch { wanted, got });
        }
    }
    Ok(())
}

fn extract(
    entry: &mut Entry<'_, impl Read>,
    size: u64,
    name: &str,
    target: &Path,
    wrong: impl Fn(String) -> Cause,
) -> Result<Digest, Cause> {
    let file = File::create_new(target).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => wrong(format!("it has `{}` twice", excerpt(name, 120))),
        _ => Cause::file(target)(error),
    })?;
    let mut writer = DigestWriter::new(file);
    let mut reader = BufReader::with_capacity(256 << 10, entry);
    loop {
        let piece = reader.fill_buf().map_err(|error| wrong(error.to_string()))?;
        if piece.is_empty() {
            break;
        }
        writer.write_all(piece).map_err(Cause::file(target))?;
        let length = piece.len();
        reader.consume(length);
    }
    if writer.bytes() < size {
        return Err(wrong(format!("it ends in the middle of `{}`", excerpt(name, 120))));
    }
    Ok(writer.digest())
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
