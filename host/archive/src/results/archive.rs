//! A results archive as a set of files.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::{ReadError, ReadLimits};
use super::index::{ArchiveInfo, Index, MemberLocation, OLD_CONFIG, read_info};
use crate::gzip::Gunzip;
use crate::layout::{DEFINITION_FILE, PLUGINS_DIR, TREE_FILE};
use crate::walk::to_read;

/// The number of bytes unpacked at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// The misspelt name of `definition.json` before v0.56.6.
const MISSPELT_DEFINITION_FILE: &str = "defintion.json";

/// A results archive: a `.tar.gz`, or a directory with its unpacked content.
///
/// Opening reads the whole archive once. This verifies it to its last byte and collects the names
/// of its files.
///
/// Reading a file of a `.tar.gz` continues in the unpacked stream after the previous file. A file
/// at an earlier position requires reading from the start. Files are therefore best read in order
/// of names, which is the order of the archive. Nothing is unpacked to disk, and memory does not
/// depend on sizes.
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
    source: Source,
    pub(super) index: Index,
    info: ArchiveInfo,
}

enum Source {
    Stream(Cursor),
    Directory(Dir),
}

impl ResultsArchive {
    /// Opens the archive at `path` with the default limits.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_with(path, &ReadLimits::default())
    }

    /// Opens the archive at `path`.
    pub fn open_with(path: &Path, limits: &ReadLimits) -> Result<Self, ReadError> {
        Self::open_visiting(path, limits, &mut |_, _| false, &mut |_, _| Ok(()))
    }

    /// Opens the archive at `path`, and calls `each` for every file that `wanted` accepts by name
    /// and size. For a `.tar.gz`, this takes one pass over the archive.
    ///
    /// A damaged archive may pass files to `each` before the damage is found. If a name occurs
    /// twice, the last file with it is the one that counts. Files named `._…` are left out, because
    /// macOS keeps attributes in them.
    ///
    /// # Errors
    /// Returns the same errors as [`ResultsArchive::open`]. An error of `each` becomes
    /// [`ReadError::File`].
    pub fn open_visiting(
        path: &Path,
        limits: &ReadLimits,
        wanted: &mut dyn FnMut(&str, u64) -> bool,
        each: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
    ) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Open(path.to_owned(), source);
        let metadata = fs::metadata(path).map_err(failed)?;
        let (source, index) = if metadata.is_dir() {
            let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
            let index = Index::of_directory(&dir, path, limits)?;
            let mut source = Source::Directory(dir);
            visit(&mut source, &index, wanted, &mut |name, reader| {
                each(name, reader).map(|()| ControlFlow::Continue(()))
            })?;
            (source, index)
        } else if metadata.is_file() {
            return Self::of_stream(File::open(path).map_err(failed)?, path, limits, wanted, each);
        } else {
            return Err(ReadError::Special(path.to_owned()));
        };
        Self::checked(source, index, path)
    }

    /// Reads the archive in `file`, a `.tar.gz` that the caller opened at `path`.
    pub fn of_file(file: File, path: &Path, limits: &ReadLimits) -> Result<Self, ReadError> {
        Self::of_stream(file, path, limits, &mut |_, _| false, &mut |_, _| Ok(()))
    }

    fn of_stream(
        file: File,
        path: &Path,
        limits: &ReadLimits,
        wanted: &mut dyn FnMut(&str, u64) -> bool,
        each: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
    ) -> Result<Self, ReadError> {
        let cursor = Cursor { file, stream: None, at: 0 };
        let begin = cursor.rewound().map_err(|source| ReadError::Open(path.to_owned(), source))?;
        let index = Index::of_stream(begin, path, limits, wanted, each)?;
        Self::checked(Source::Stream(cursor), index, path)
    }

    fn checked(mut source: Source, index: Index, path: &Path) -> Result<Self, ReadError> {
        let has = |prefix: &str| index.below(prefix.to_owned()).next().is_some();
        if !has("meta/") && !has("plugins/") && !index.files.contains_key(OLD_CONFIG) {
            return Err(ReadError::NotResults(path.to_owned()));
        }
        let info = read_info(&index, |member| match index.files.get(member) {
            None => Ok(None),
            Some(place) => source.read(member, *place, MAX_META_BYTES).map(Some),
        })?;
        Ok(Self { source, index, info })
    }

    /// Returns the metadata of the archive.
    pub fn info(&self) -> &ArchiveInfo {
        &self.info
    }

    /// Returns all files with their sizes, ordered by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.index.files.iter().map(|(name, place)| (name.as_str(), place.size))
    }

    /// Returns the files in a directory and its subdirectories with their sizes, ordered by name.
    pub fn files_below(&self, dir: &str) -> impl Iterator<Item = (&str, u64)> {
        let prefix = format!("{}/", dir.trim_end_matches('/'));
        self.index.below(prefix).map(|(name, place)| (name, place.size))
    }

    /// Returns the size of a file, or `None` if it does not exist.
    pub fn size(&self, file: &str) -> Option<u64> {
        self.index.files.get(file).map(|place| place.size)
    }

    /// Returns the name of `plugin`'s result tree, if there is one. Layouts before v0.15 have none.
    pub fn tree(&self, plugin: &str) -> Option<String> {
        self.of_plugin(plugin, TREE_FILE)
    }

    /// Returns the name of `plugin`'s definition in either spelling, if there is one.
    pub fn definition(&self, plugin: &str) -> Option<String> {
        self.of_plugin(plugin, DEFINITION_FILE).or_else(|| self.of_plugin(plugin, MISSPELT_DEFINITION_FILE))
    }

    /// Returns the name of the archive file that an item of `plugin`'s tree refers to by its
    /// `file`.
    ///
    /// It accepts Windows separators, for trees that were written there. It also maps names from a
    /// tree that was computed from an old layout ([`ResultsArchive::extract_plugin`]). Returns
    /// `None` if the archive has no such file.
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
    /// Returns [`ReadError::Missing`], or [`ReadError::File`] if the archive has changed since it
    /// was opened.
    pub fn file(&mut self, name: &str) -> Result<FileReader<'_>, ReadError> {
        let place = *self.index.files.get(name).ok_or_else(|| ReadError::Missing(name.to_owned()))?;
        self.source.open(name, place)
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let place = *self.index.files.get(name).ok_or_else(|| ReadError::Missing(name.to_owned()))?;
        self.source.read(name, place, limit)
    }

    /// Calls `each` for every file that `wanted` accepts by name and size, until it breaks. The
    /// files are visited in the order of the archive, so in one pass.
    ///
    /// # Errors
    /// Returns the same errors as [`ResultsArchive::file`]. An error of `each` becomes
    /// [`ReadError::File`].
    pub fn visit(
        &mut self,
        wanted: &mut dyn FnMut(&str, u64) -> bool,
        each: &mut dyn FnMut(&str, &mut FileReader<'_>) -> io::Result<ControlFlow<()>>,
    ) -> Result<(), ReadError> {
        visit(&mut self.source, &self.index, wanted, each)
    }
}

fn visit(
    source: &mut Source,
    index: &Index,
    wanted: &mut dyn FnMut(&str, u64) -> bool,
    each: &mut dyn FnMut(&str, &mut FileReader<'_>) -> io::Result<ControlFlow<()>>,
) -> Result<(), ReadError> {
    let mut files: Vec<(&str, MemberLocation)> = Vec::new();
    for (name, place) in &index.files {
        if wanted(name, place.size) {
            files.push((name, *place));
        }
    }
    files.sort_unstable_by_key(|(_, place)| place.offset);
    for (name, place) in files {
        let mut reader = source.open(name, place)?;
        let flow = each(name, &mut reader).map_err(|source| ReadError::File(name.to_owned(), source))?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

impl Source {
    fn open(&mut self, name: &str, place: MemberLocation) -> Result<FileReader<'_>, ReadError> {
        let opened = match self {
            Self::Stream(cursor) => FileReader::of_stream(cursor, place),
            Self::Directory(dir) => dir.open_with(name, &to_read()).and_then(FileReader::of_file),
        };
        opened.map_err(|source| ReadError::File(name.to_owned(), source))
    }

    fn read(&mut self, name: &str, place: MemberLocation, limit: u64) -> Result<Vec<u8>, ReadError> {
        let mut reader = self.open(name, place)?;
        let bytes = reader.size();
        if bytes > limit {
            return Err(ReadError::TooLarge { member: name.to_owned(), bytes, limit });
        }
        let mut content = Vec::new();
        reader.read_to_end(&mut content).map_err(|source| ReadError::File(name.to_owned(), source))?;
        Ok(content)
    }
}

/// The maximum size of `meta/config.json` and `meta/info.json` in bytes, which are read completely.
/// Default 16 MiB: typical names of 10,000 plugins take less than 1 MiB.
const MAX_META_BYTES: u64 = 16 << 20;

/// A position in the unpacked stream of a `.tar.gz`. It only moves forward, and restarts at the
/// beginning to reach an earlier position.
struct Cursor {
    file: File,
    stream: Option<BufReader<Gunzip<File>>>,
    at: u64,
}

impl Cursor {
    /// Returns a reader at the start of the file.
    fn rewound(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    fn go(&mut self, offset: u64) -> io::Result<()> {
        if self.stream.is_none() || self.at > offset {
            // A clone shares its position with the original, so only one stream exists at a time.
            self.stream = None;
            self.stream = Some(BufReader::with_capacity(CHUNK_BYTES, Gunzip::or_tar(self.rewound()?)));
            self.at = 0;
        }
        let distance = offset - self.at;
        let skipped = self.advance(|stream| io::copy(&mut stream.take(distance), &mut io::sink()))?;
        if skipped < distance { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Calls `read`, which returns how many bytes it has read.
    fn advance(&mut self, read: impl FnOnce(&mut BufReader<Gunzip<File>>) -> io::Result<u64>) -> io::Result<u64> {
        let Some(stream) = &mut self.stream else { return Err(io::Error::other("the archive is not open")) };
        // A failed stream stays failed, so the next one starts again.
        let taken = read(stream).inspect_err(|_| self.stream = None)?;
        self.at += taken;
        Ok(taken)
    }
}

/// The content of one file. Its size was determined when the archive was opened, and a source that
/// ends earlier is an error.
pub struct FileReader<'a> {
    source: FileSource<'a>,
    size: u64,
    left: u64,
}

enum FileSource<'a> {
    Stream(&'a mut Cursor),
    File(cap_std::fs::File),
}

impl<'a> FileReader<'a> {
    fn of_stream(cursor: &'a mut Cursor, place: MemberLocation) -> io::Result<Self> {
        cursor.go(place.offset)?;
        Ok(Self { source: FileSource::Stream(cursor), size: place.size, left: place.size })
    }

    fn of_file(file: cap_std::fs::File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file any more"));
        }
        Ok(Self { source: FileSource::File(file), size: metadata.len(), left: metadata.len() })
    }

    /// Returns the size of the whole file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let Some(out) = out.get_mut(..most).filter(|out| !out.is_empty()) else { return Ok(0) };
        let read = match &mut self.source {
            FileSource::File(file) => file.read(out)? as u64,
            FileSource::Stream(cursor) => cursor.advance(|stream| stream.read(out).map(|read| read as u64))?,
        };
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(read);
        Ok(usize::try_from(read).unwrap_or(most))
    }
}
