//! Chunks of modules and checks, as ConfigMaps carry them: a component is compressed and split where
//! it is sent, and joined where it is used.
//!
//! A chunk has the key `<plugin>_<file>.gz.<number>`, with three digits counted from 000. Plugin
//! names contain no `_`, so the first `_` ends the name. The checksum at the end of the compressed
//! stream shows that the last chunk is present.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use plumbline_core::PluginName;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::size::Bytes;

use crate::names;

/// Maximum size of a component in bytes, which is the limit of the sandbox.
pub const MAX_MODULE_BYTES: u64 = MAX_COMPONENT_BYTES;

/// Maximum size of all components together, compressed: 32 MiB. A cluster's data store has a few
/// GiB for everything.
pub(crate) const MAX_PACKED_BYTES: usize = 32 << 20;

/// Maximum number of components in a run.
pub(crate) const MAX_MODULES: usize = 256;

/// Size of a chunk: 700 KiB, which become 934 KiB in the JSON of a ConfigMap. The limit there is 1
/// MiB.
pub(crate) const CHUNK: usize = 700 << 10;

/// Maximum length of a component's file name. With plugin and number it forms a key of at most 253
/// characters.
const MAX_FILE_NAME: usize = 100;

/// Maximum number of files in the directory of chunks. Every component may add one chunk that is
/// not full.
const MAX_CHUNKS: usize = MAX_MODULES + MAX_PACKED_BYTES / CHUNK + 1;

/// Error while splitting a component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The file name of a component, which is truncated here, cannot be a ConfigMap key.
    #[error(
        "module file `{1}` of plugin `{0}` has a name that ConfigMaps do not allow: use letters, digits, `-`, `_` and `.`, at most 100 characters"
    )]
    Name(PluginName, String),
    /// A file with this size exceeds the limit for loading.
    #[error(
        "module file `{1}` of plugin `{0}` has {size}, more than the limit of {limit}",
        size = Bytes(*.2 as u64),
        limit = Bytes(MAX_MODULE_BYTES)
    )]
    Size(PluginName, String, usize),
    /// All components together are too large for the cluster's data store.
    #[error(
        "the modules have {size} when compressed: ConfigMaps carry at most {limit}",
        size = Bytes(*.0 as u64),
        limit = Bytes(MAX_PACKED_BYTES as u64)
    )]
    TooLarge(usize),
    /// Compression failed. This is not known to happen.
    #[error("failed to compress a module: {0}")]
    Compress(String),
}

/// Returns the chunks of a module with their keys. Each fits into a ConfigMap.
pub(crate) fn chunks_of(plugin: &PluginName, file: &str, bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, ChunkError> {
    check(plugin, file, bytes)?;
    let packed = compress(bytes).map_err(|error| ChunkError::Compress(error.to_string()))?;
    if packed.len() > MAX_PACKED_BYTES {
        return Err(ChunkError::TooLarge(packed.len()));
    }
    let key = |number: usize| format!("{plugin}_{file}.gz.{number:03}");
    Ok(packed.chunks(CHUNK).enumerate().map(|(number, chunk)| (key(number), chunk.to_vec())).collect())
}

fn check(plugin: &PluginName, file: &str, bytes: &[u8]) -> Result<(), ChunkError> {
    let plugin = plugin.clone();
    // The key `<plugin>_<file>.gz.<number>` has at most 253 characters.
    let room = 253usize.saturating_sub(plugin.as_str().len() + "_.gz.000".len()).min(MAX_FILE_NAME);
    let good = (1..=room).contains(&file.len())
        && file.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if !good {
        return Err(ChunkError::Name(plugin, file.chars().take(200).collect()));
    }
    if bytes.len() as u64 > MAX_MODULE_BYTES {
        return Err(ChunkError::Size(plugin, file.to_owned(), bytes.len()));
    }
    Ok(())
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns the number of bytes that a module takes in a ConfigMap's data.
#[must_use]
pub fn packed_bytes(module: &[u8]) -> usize {
    // Compression into memory does not fail. If it did, packing would report it.
    compress(module).map_or(usize::MAX, |packed| packed.len())
}

/// Error while joining modules.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// A file or the directory could not be read.
    #[error("failed to read `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// There are more files than a run can have.
    #[error("`{}` has more than {MAX_CHUNKS} files: it is not the modules of a run", .0.display())]
    TooMany(PathBuf),
    /// A file is not a chunk of a module.
    #[error("`{0}` is not a chunk of a module: expected `PLUGIN_FILE.gz.NUMBER`")]
    Foreign(String),
    /// A chunk is missing, with its number counted from 0.
    #[error("chunk {1} of {0} is missing: check that all ConfigMaps `{names}-…` exist", names = names::MODULES_CONFIG_MAP)]
    Missing(ModuleFile, usize),
    /// The chunks do not form a valid module.
    #[error("{0} is damaged or incomplete")]
    Damaged(ModuleFile, #[source] io::Error),
    /// A module exceeds the size limit for loading.
    #[error("{0} has more than {limit}", limit = Bytes(MAX_MODULE_BYTES))]
    TooLarge(ModuleFile),
}

/// A file of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleFile {
    plugin: String,
    file: String,
}

impl fmt::Display for ModuleFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "module `{}` of plugin `{}`", self.file, self.plugin)
    }
}

/// Modules by plugin, with the file name and content of each.
pub type Unpacked = BTreeMap<String, Vec<(String, Vec<u8>)>>;

/// Joins the modules whose chunks are in `dir`.
///
/// Returns file names and contents by plugin, in name order. A missing directory counts as empty.
///
/// # Errors
/// Returns [`UnpackError`], which names the plugin and the file.
pub fn unpack_modules(dir: &Path) -> Result<Unpacked, UnpackError> {
    unpack_files(dir, |_| true)
}

/// Joins the files whose chunks are in `dir` and whose names are `wanted`, like [`unpack_modules`].
///
/// # Errors
/// Returns [`UnpackError`], which names the plugin and the file.
pub fn unpack_files(dir: &Path, wanted: impl Fn(&str) -> bool) -> Result<Unpacked, UnpackError> {
    let mut modules = Unpacked::new();
    for (module, chunks) in chunks(dir)?.into_iter().filter(|(module, _)| wanted(&module.file)) {
        if let Some(number) = (0..chunks.len()).find(|number| !chunks.contains_key(number)) {
            return Err(UnpackError::Missing(module, number));
        }
        let content = join(&module, chunks.into_values())?;
        modules.entry(module.plugin).or_default().push((module.file, content));
    }
    Ok(modules)
}

type Chunks = BTreeMap<ModuleFile, BTreeMap<usize, PathBuf>>;

fn chunks(dir: &Path) -> Result<Chunks, UnpackError> {
    let failed = |error| UnpackError::Read(dir.to_owned(), error);
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Chunks::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut chunks = Chunks::new();
    for (count, entry) in entries.enumerate() {
        // The kubelet keeps two further entries next to the files.
        if count >= MAX_CHUNKS + 2 {
            return Err(UnpackError::TooMany(dir.to_owned()));
        }
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // These are `..data` and its target directory. The kubelet swaps them when a ConfigMap
        // changes.
        if name.starts_with("..") {
            continue;
        }
        let (module, number) = parse(&name).ok_or(UnpackError::Foreign(name))?;
        chunks.entry(module).or_default().insert(number, entry.path());
    }
    Ok(chunks)
}

fn parse(key: &str) -> Option<(ModuleFile, usize)> {
    let (plugin, rest) = key.split_once('_')?;
    plugin.parse::<PluginName>().ok()?;
    let (rest, number) = rest.rsplit_once('.')?;
    let file = rest.strip_suffix(".gz").filter(|file| !file.is_empty())?;
    let number = Some(number).filter(|number| number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()))?;
    Some((ModuleFile { plugin: plugin.to_owned(), file: file.to_owned() }, number.parse().ok()?))
}

fn join(module: &ModuleFile, chunks: impl Iterator<Item = PathBuf>) -> Result<Vec<u8>, UnpackError> {
    let mut packed: Box<dyn Read> = Box::new(io::empty());
    for path in chunks {
        let chunk = File::open(&path).map_err(|error| UnpackError::Read(path, error))?;
        packed = Box::new(packed.chain(chunk));
    }
    let mut content = Vec::new();
    let read = GzDecoder::new(packed).take(MAX_MODULE_BYTES + 1).read_to_end(&mut content);
    read.map_err(|error| UnpackError::Damaged(module.clone(), error))?;
    if content.len() as u64 > MAX_MODULE_BYTES {
        return Err(UnpackError::TooLarge(module.clone()));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_file_name_makes_it_panic(name in "[a-z0-9._-]{1,40}(\\.gz)?(\\.[0-9]{1,4})?") {
            let _ = parse(&name);
        }
    }

    #[test]
    fn without_a_directory_there_are_no_modules() {
        assert!(unpack_modules(Path::new("/does/not/exist")).unwrap().is_empty());
    }

    #[test]
    fn a_small_file_that_unfolds_to_a_large_one_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let zeros = vec![0; usize::try_from(MAX_MODULE_BYTES).unwrap() + 1];
        std::fs::write(dir.path().join("p_m.wasm.gz.000"), compress(&zeros).unwrap()).unwrap();
        assert_eq!(
            unpack_modules(dir.path()).unwrap_err().to_string(),
            "module `m.wasm` of plugin `p` has more than 64 MiB"
        );
    }
}
