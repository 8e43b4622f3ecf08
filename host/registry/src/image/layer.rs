//! Image layers: compressed tars with two digests. The same files always yield the same bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

use crate::client::describe;
use crate::digest::Digest;
use crate::error::Cause;
use crate::manifest::Descriptor;
use crate::media;

/// Opaque whiteout, which hides the directory's content in lower layers (OCI image specification,
/// "Opaque Whiteout").
const OPAQUE: &str = ".wh..wh..opq";

/// Collects the files of a new layer.
#[derive(Debug, Clone, Default)]
pub struct LayerBuilder {
    /// Entries by path, so that they are written in a fixed order.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
enum Entry {
    Directory,
    File { from: PathBuf, executable: bool },
    Empty,
}

/// A layer in a temporary file, which is deleted when this value is dropped.
#[derive(Debug)]
pub struct Layer {
    pub(super) descriptor: Descriptor,
    pub(super) diff_id: Digest,
    pub(super) file: NamedTempFile,
}

impl LayerBuilder {
    /// Adds a local file as `path`, which is relative to the root. Parent directories are added
    /// too.
    ///
    /// # Errors
    ///
    /// The path is not a plain relative path.
    pub fn file(&mut self, path: &str, from: &Path, executable: bool) -> Result<(), Cause> {
        self.add(path, Entry::File { from: from.to_owned(), executable })
    }

    /// Hides the content of the directory `path` in lower layers. Only the files added here are
    /// then visible.
    ///
    /// # Errors
    ///
    /// The path is not a plain relative path.
    pub fn hide(&mut self, path: &str) -> Result<(), Cause> {
        self.add(&format!("{path}/{OPAQUE}"), Entry::Empty)
    }

    fn add(&mut self, path: &str, entry: Entry) -> Result<(), Cause> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !path.split('/').all(plain) {
            return Err(Cause::Malformed(format!("`{path}` is not a path in a layer")));
        }
        for (at, _) in path.match_indices('/') {
            let above = path.get(..at).unwrap_or_default();
            self.entries.entry(format!("{above}/")).or_insert(Entry::Directory);
        }
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Writes the layer. All entries belong to root and have no times.
    ///
    /// # Errors
    ///
    /// A file is not readable, or the temporary file cannot be written.
    pub fn write(&self) -> Result<Layer, Cause> {
        let file = NamedTempFile::new().map_err(Cause::file(&std::env::temp_dir()))?;
        let unwritable = |error| Cause::file(file.path())(error);
        // By default, the gzip header contains neither a name nor a time.
        let encoder = GzEncoder::new(BufWriter::new(file.as_file()), Compression::default());
        let mut tar = Builder::new(Hashing { hash: Sha256::new(), to: encoder });
        for (path, entry) in &self.entries {
            match entry {
                Entry::Directory => append(&mut tar, path, EntryType::Directory, 0o755, 0, io::empty()),
                Entry::Empty => append(&mut tar, path, EntryType::Regular, 0o644, 0, io::empty()),
                Entry::File { from, executable } => {
                    let source = File::open(from).map_err(Cause::file(from))?;
                    let size = source.metadata().map_err(Cause::file(from))?.len();
                    let mode = if *executable { 0o755 } else { 0o644 };
                    append(&mut tar, path, EntryType::Regular, mode, size, source)
                }
            }
            .map_err(unwritable)?;
        }
        let Hashing { hash, to } = tar.into_inner().map_err(unwritable)?;
        to.finish().and_then(|mut file| file.flush()).map_err(unwritable)?;
        let descriptor = describe(file.path(), media::OCI_LAYER_GZIP)?;
        Ok(Layer { descriptor, diff_id: Digest::finished(hash), file })
    }
}

fn append(
    tar: &mut Builder<impl Write>,
    path: &str,
    kind: EntryType,
    mode: u32,
    size: u64,
    content: impl io::Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    // If the file has grown meanwhile, only the old size is read. If it has shrunk, the tar would
    // be truncated, so this is an error.
    let mut counted = Counted { from: content.take(size), left: size };
    tar.append_data(&mut header, path, &mut counted)?;
    match counted.left {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("`{path}` became shorter while it was read"))),
    }
}

struct Counted<R> {
    from: io::Take<R>,
    left: u64,
}

impl<R: io::Read> io::Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

/// Passes bytes on and hashes them.
struct Hashing<W> {
    hash: Sha256,
    to: W,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
