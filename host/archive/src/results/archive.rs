//! The archive as a set of files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::ReadError;
use super::index::{Index, Place};
use super::info::{ArchiveInfo, OLD_CONFIG, read_info};
use super::limits::{MAX_META_BYTES, ReadLimits};
use super::reader::{Cursor, FileReader};
use crate::layout::{DEFINITION_FILE, PLUGINS_DIR, TREE_FILE};
use crate::walk::to_read;

/// How `definition.json` was spelt before v0.56.6.
const MISSPELT_DEFINITION_FILE: &str = "defintion.json";

/// A results archive: a `.tar.gz`, or a directory with the content of one.
///
/// Opening it goes through all of it once: the archive is verified to its last byte, and its files are known by name from then on.
/// Reading a file of a `.tar.gz` goes forward in the unpacked stream from where the file before ended; a file that lies behind
/// starts from the beginning. So files are best read in the order of their names, which is that of the archive; nothing is
/// unpacked to disk, and memory does not depend on sizes.
///
/// ```no_run
/// use std::io::Read;
/// use plumbline_archive::results::ResultsArchive;
///
/// let mut archive = ResultsArchive::open("202611201300_plumbline_x.tar.gz".as_ref())?;
/// for plugin in archive.info().plugins.clone() {
///     let Some(path) = archive.tree(&plugin) else { continue };
///     let mut tree = String::new();
///     archive.file(&path)?.read_to_string(&mut tree)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ResultsArchive {
    path: PathBuf,
    source: Source,
    pub(super) index: Index,
    info: ArchiveInfo,
}

enum Source {
    Stream(Cursor),
    Directory(Dir),
}

impl ResultsArchive {
    /// Opens the archive at `path` under the default limits.
    ///
    /// # Errors
    /// [`ReadError`]: it is not there, not a results archive, damaged, hostile, or larger than the limits.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_with(path, &ReadLimits::default())
    }

    /// Opens the archive at `path`.
    ///
    /// # Errors
    /// As [`ResultsArchive::open`].
    pub fn open_with(path: &Path, limits: &ReadLimits) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Open { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(failed)?;
        let (mut source, index) = if metadata.is_dir() {
            let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
            let index = Index::of_directory(&dir, limits).map_err(|error| error.of(path.to_owned()))?;
            (Source::Directory(dir), index)
        } else if metadata.is_file() {
            let cursor = Cursor::new(File::open(path).map_err(failed)?);
            let begin = cursor.rewound().map_err(failed)?;
            let index = Index::of_stream(begin, limits).map_err(|error| error.of(path.to_owned()))?;
            (Source::Stream(cursor), index)
        } else {
            return Err(ReadError::Special(path.to_owned()));
        };
        let has = |prefix: &str| index.below(prefix.to_owned()).next().is_some();
        if !has("meta/") && !has("plugins/") && !index.files.contains_key(OLD_CONFIG) {
            return Err(ReadError::NotResults(path.to_owned()));
        }
        let info = read_info(&index, |member| match index.files.get(member) {
            None => Ok(None),
            Some(place) => source.read(member, *place, MAX_META_BYTES).map(Some),
        })?;
        Ok(Self { path: path.to_owned(), source, index, info })
    }

    /// What the archive says of itself.
    #[must_use]
    pub fn info(&self) -> &ArchiveInfo {
        &self.info
    }

    /// What was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All files with their sizes, in order of names.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.index.files.iter().map(|(name, place)| (name.as_str(), place.size))
    }

    /// The files of a directory and of those in it, with their sizes, in order of names.
    pub fn files_below(&self, dir: &str) -> impl Iterator<Item = (&str, u64)> {
        let prefix = format!("{}/", dir.trim_end_matches('/'));
        self.index.below(prefix).map(|(name, place)| (name, place.size))
    }

    /// The size of a file; `None` where there is none of that name.
    #[must_use]
    pub fn size(&self, file: &str) -> Option<u64> {
        self.index.files.get(file).map(|place| place.size)
    }

    /// The name of `plugin`'s result tree, if the archive has it. Layouts before v0.15 had none.
    #[must_use]
    pub fn tree(&self, plugin: &str) -> Option<String> {
        self.of_plugin(plugin, TREE_FILE)
    }

    /// The name of `plugin`'s definition, if the archive has it, under either spelling.
    #[must_use]
    pub fn definition(&self, plugin: &str) -> Option<String> {
        self.of_plugin(plugin, DEFINITION_FILE).or_else(|| self.of_plugin(plugin, MISSPELT_DEFINITION_FILE))
    }

    /// The name in the archive of the file that an item of `plugin`'s tree refers to in its `file`: also with the separators of Windows,
    /// where the tree was written there, and of a tree that was computed from an old layout ([`ResultsArchive::extract_plugin`]). `None`
    /// where the archive has no such file.
    #[must_use]
    pub fn item_file(&self, plugin: &str, file: &str) -> Option<String> {
        self.of_plugin(plugin, file)
            .or_else(|| self.of_plugin(plugin, &file.replace('\\', "/")))
            .or_else(|| self.of_plugin(plugin, &self.old_place(plugin, file)?))
    }

    fn of_plugin(&self, plugin: &str, file: &str) -> Option<String> {
        let name = format!("{PLUGINS_DIR}/{plugin}/{file}");
        self.index.files.contains_key(&name).then_some(name)
    }

    /// Opens a file by its name in the archive.
    ///
    /// # Errors
    /// [`ReadError::Missing`], or [`ReadError::File`] where the archive has changed since it was opened.
    pub fn file(&mut self, name: &str) -> Result<FileReader<'_>, ReadError> {
        let place = *self.index.files.get(name).ok_or_else(|| ReadError::Missing(name.to_owned()))?;
        self.source.open(name, place)
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`ResultsArchive::file`], and [`ReadError::TooLarge`].
    pub fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let place = *self.index.files.get(name).ok_or_else(|| ReadError::Missing(name.to_owned()))?;
        self.source.read(name, place, limit)
    }

    /// Calls `each` with every file that `wanted` says yes to (by name and size), in the order of the archive, hence in one pass,
    /// until it breaks off.
    ///
    /// # Errors
    /// As [`ResultsArchive::file`]; an error of `each` comes back as [`ReadError::File`].
    pub fn visit(
        &mut self,
        wanted: &mut dyn FnMut(&str, u64) -> bool,
        each: &mut dyn FnMut(&str, &mut FileReader<'_>) -> io::Result<ControlFlow<()>>,
    ) -> Result<(), ReadError> {
        let mut files: Vec<(&str, Place)> = Vec::new();
        for (name, place) in &self.index.files {
            if wanted(name, place.size) {
                files.push((name, *place));
            }
        }
        files.sort_unstable_by_key(|(_, place)| place.offset);
        for (name, place) in files {
            let mut reader = self.source.open(name, place)?;
            let flow = each(name, &mut reader).map_err(|source| ReadError::File { member: name.to_owned(), source })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Source {
    fn open(&mut self, name: &str, place: Place) -> Result<FileReader<'_>, ReadError> {
        let opened = match self {
            Self::Stream(cursor) => FileReader::of_stream(cursor, place),
            Self::Directory(dir) => dir.open_with(name, &to_read()).and_then(FileReader::of_file),
        };
        opened.map_err(|source| ReadError::File { member: name.to_owned(), source })
    }

    fn read(&mut self, name: &str, place: Place, limit: u64) -> Result<Vec<u8>, ReadError> {
        let mut reader = self.open(name, place)?;
        let bytes = reader.size();
        if bytes > limit {
            return Err(ReadError::TooLarge { member: name.to_owned(), bytes, limit });
        }
        let mut content = Vec::new();
        reader.read_to_end(&mut content).map_err(|source| ReadError::File { member: name.to_owned(), source })?;
        Ok(content)
    }
}
