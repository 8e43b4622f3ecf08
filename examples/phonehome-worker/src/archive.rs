//! The content to send: a file unchanged, or a directory as a gzip-compressed tar.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_phonehome::{Source, Upload};
use tempfile::NamedTempFile;

/// The name of an archive for the aggregator, which unpacks it.
const ARCHIVE_NAME: &str = "results.tar.gz";

/// Content types by file name extension. The aggregator unpacks `application/gzip`, and stores
/// everything else unchanged.
const TYPES: [(&str, &str); 5] = [
    ("gz", "application/gzip"),
    ("json", "application/json"),
    ("txt", "text/plain; charset=utf-8"),
    ("xml", "text/xml; charset=utf-8"),
    ("yaml", "application/yaml"),
];

/// Content that is ready to be sent.
pub(crate) enum Packed {
    /// An existing file.
    File(PathBuf),
    /// A packed directory. The file is deleted when the value is dropped.
    Directory(NamedTempFile),
}

impl Packed {
    /// Returns the file at `path`, or packs the directory there.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("read `{}`: {error}", path.display()));
        if !fs::metadata(path).map_err(named)?.is_dir() {
            return Ok(Self::File(path.to_owned()));
        }
        // Create the archive outside of the directory, so that it does not pack itself.
        let file = NamedTempFile::new()?;
        let mut archive = tar::Builder::new(GzEncoder::new(BufWriter::new(file.as_file()), Compression::fast()));
        pack(&mut archive, path, Path::new(""))?;
        let mut file_writer = archive.into_inner()?.finish()?;
        file_writer.flush()?;
        drop(file_writer);
        Ok(Self::Directory(file))
    }

    /// Returns the upload.
    pub(crate) fn upload(&self) -> Upload {
        match self {
            Self::File(path) => {
                let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
                let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
                let content_type =
                    TYPES.iter().find(|(known, _)| *known == end).map_or("", |(_, content_type)| content_type);
                Upload::result(Source::File(path.clone()), content_type, name)
            }
            Self::Directory(file) => {
                Upload::result(Source::File(file.path().to_owned()), "application/gzip", Some(ARCHIVE_NAME.to_owned()))
            }
        }
    }
}

/// Adds the content of `directory` below `place` in the archive, in the order of names: directories
/// and regular files. Links are left out, because an aggregator would not unpack them.
fn pack<W: io::Write>(archive: &mut tar::Builder<W>, directory: &Path, place: &Path) -> io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, place) = (entry.path(), place.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            archive.append_dir(&place, &path)?;
            pack(archive, &path, &place)?;
        } else if kind.is_file() {
            archive.append_file(&place, &mut File::open(&path)?)?;
        }
    }
    Ok(())
}
