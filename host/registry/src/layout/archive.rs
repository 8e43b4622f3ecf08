//! Layouts as a single tar file. The tar is not compressed, because the blobs already are.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::directory::{BLOBS, INDEX, Layout, MARK, unfinished};
use crate::error::Cause;

/// Writes a layout as a tar to `to`, completely or not at all, and returns its size in bytes. The
/// same layout always yields the same bytes.
///
/// # Errors
///
/// The layout is not readable, or the archive cannot be written.
pub fn write(layout: &Layout, to: &Path) -> Result<u64, Cause> {
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = unfinished(parent)?;
    let mut names = BTreeSet::new();
    let blobs = layout.dir().join(BLOBS);
    for entry in fs::read_dir(&blobs).map_err(Cause::file(&blobs))? {
        let name = entry.map_err(Cause::file(&blobs))?.file_name();
        if let Some(name) = name.to_str().filter(|name| name.len() == 64) {
            names.insert(name.to_owned());
        }
    }
    let write = || -> io::Result<()> {
        let mut tar = Builder::new(io::BufWriter::new(file.as_file()));
        // Write the marker first, so that a reader recognizes a layout by the first block.
        append(&mut tar, layout.dir(), MARK)?;
        append(&mut tar, layout.dir(), INDEX)?;
        for name in &names {
            append(&mut tar, layout.dir(), &format!("{BLOBS}/{name}"))?;
        }
        tar.into_inner()?.flush()?;
        // Sync before the rename, so that the named file is complete even after a power failure.
        file.as_file().sync_all()
    };
    write().map_err(Cause::file(to))?;
    let bytes = file.as_file().metadata().map_err(Cause::file(to))?.len();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(Cause::file(to))?;
    }
    file.persist(to).map_err(|error| Cause::file(to)(error.error))?;
    Ok(bytes)
}

fn append<W: Write>(tar: &mut Builder<W>, dir: &Path, name: &str) -> io::Result<()> {
    let file = File::open(dir.join(name))?;
    let size = file.metadata()?.len();
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    tar.append(&header, file.take(size))
}
