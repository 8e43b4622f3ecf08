//! Transports the modules of bundles in ConfigMaps. They are compressed and split on the user's
//! machine, and joined in the aggregator.
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
use k8s_openapi::ByteString;
use plumbline_core::size::Bytes;
use plumbline_core::{Config, PluginName};
use serde_json::{Map, Value, json};

use super::error::{MAX_MODULE_BYTES, MAX_MODULES, MAX_PACKED_BYTES, ManifestError};
use super::options::ManifestPlugin;
use crate::names;
use crate::parts::object;

/// Size of a chunk: 700 KiB, which become 934 KiB in the JSON of a ConfigMap. The limit there is 1
/// MiB.
const CHUNK: usize = 700 << 10;

/// Maximum length of a module's file name. With plugin and number it forms a key of at most 253
/// characters.
const MAX_FILE_NAME: usize = 100;

/// Maximum number of files in the directory of chunks. Every module may add one chunk that is not
/// full.
const MAX_CHUNKS: usize = MAX_MODULES + MAX_PACKED_BYTES / CHUNK + 1;

/// Returns the ConfigMaps with the modules of `plugins`.
pub(super) fn pack(config: &Config, plugins: &[&ManifestPlugin]) -> Result<Vec<Value>, ManifestError> {
    let count = plugins.iter().map(|plugin| plugin.modules.len()).sum();
    if count > MAX_MODULES {
        return Err(ManifestError::TooManyModules(count));
    }
    let mut maps: Vec<Map<String, Value>> = Vec::new();
    let (mut filled, mut total) = (CHUNK, 0);
    for plugin in plugins {
        for (file, bytes) in &plugin.modules {
            for (key, chunk) in chunks_of(&plugin.definition.name, file, bytes)? {
                total += chunk.len();
                if filled + chunk.len() > CHUNK {
                    maps.push(Map::new());
                    filled = 0;
                }
                filled += chunk.len();
                if let Some(map) = maps.last_mut() {
                    map.insert(key, json!(ByteString(chunk)));
                }
            }
            if total > MAX_PACKED_BYTES {
                return Err(ManifestError::ModulesTooLarge(total));
            }
        }
    }
    let objects = maps.into_iter().enumerate().map(|(at, data)| {
        let name = format!("{}-{at}", names::MODULES_CONFIG_MAP);
        object(&config.namespace, "v1", "ConfigMap", &name, json!({"binaryData": data}))
    });
    Ok(objects.collect())
}

/// Returns the chunks of a module with their keys. Each fits into a ConfigMap.
pub(crate) fn chunks_of(
    plugin: &PluginName,
    file: &str,
    bytes: &[u8],
) -> Result<Vec<(String, Vec<u8>)>, ManifestError> {
    check(plugin, file, bytes)?;
    let packed = compress(bytes).map_err(|error| ManifestError::Write(error.to_string()))?;
    if packed.len() > MAX_PACKED_BYTES {
        return Err(ManifestError::ModulesTooLarge(packed.len()));
    }
    let key = |number: usize| format!("{plugin}_{file}.gz.{number:03}");
    Ok(packed.chunks(CHUNK).enumerate().map(|(number, chunk)| (key(number), chunk.to_vec())).collect())
}

fn check(plugin: &PluginName, file: &str, bytes: &[u8]) -> Result<(), ManifestError> {
    let plugin = plugin.clone();
    // The key `<plugin>_<file>.gz.<number>` has at most 253 characters.
    let room = 253usize.saturating_sub(plugin.as_str().len() + "_.gz.000".len()).min(MAX_FILE_NAME);
    let good = (1..=room).contains(&file.len())
        && file.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if !good {
        return Err(ManifestError::ModuleName(plugin, file.chars().take(200).collect()));
    }
    if bytes.len() as u64 > MAX_MODULE_BYTES {
        return Err(ManifestError::ModuleSize(plugin, file.to_owned(), bytes.len()));
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

/// A module of a plugin.
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
    let mut modules = Unpacked::new();
    for (module, chunks) in chunks(dir)? {
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
    use std::sync::Arc;

    use plumbline_core::Definition;
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn plugin(name: &str, modules: Vec<(String, Vec<u8>)>) -> ManifestPlugin {
        let yaml = format!("sonobuoy-config: {{driver: Job, plugin-name: {name}}}\nspec: {{image: i}}");
        ManifestPlugin { definition: Arc::new(Definition::parse(&yaml).unwrap().definition), modules }
    }

    /// Creates the directory as the kubelet does, with files in a hidden directory and links to
    /// them.
    fn mounted(maps: &[Value]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("..2026_01_01");
        std::fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink(&data, dir.path().join("..data")).unwrap();
        for map in maps {
            assert!(map.to_string().len() < 1 << 20, "an API server refuses it");
            for (key, value) in map["binaryData"].as_object().unwrap() {
                assert!(key.len() <= 253);
                let bytes: ByteString = serde_json::from_value(value.clone()).unwrap();
                std::fs::write(data.join(key), bytes.0).unwrap();
                std::os::unix::fs::symlink(dir.path().join("..data").join(key), dir.path().join(key)).unwrap();
            }
        }
        dir
    }

    /// Returns bytes that do not compress.
    fn noise(count: usize, seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn modules_arrive_as_they_were_sent(sizes in proptest::collection::vec((0usize..3, 0usize..2_000_000), 0..5), seed: u64) {
            let names = ["a", "a.b", "x-1"];
            let mut sent: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
            for (at, (plugin, size)) in sizes.into_iter().enumerate() {
                let module = (format!("b_{at}.c.wasm"), noise(size, seed.wrapping_add(at as u64)));
                sent.entry(names[plugin].to_owned()).or_default().push(module);
            }
            let plugins: Vec<_> = sent.iter().map(|(name, modules)| plugin(name, modules.clone())).collect();
            let maps = pack(&Config::default(), &plugins.iter().collect::<Vec<_>>()).unwrap();
            let dir = mounted(&maps);
            prop_assert_eq!(unpack_modules(dir.path()).unwrap(), sent);
        }

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
    fn what_is_missing_or_damaged_is_named() {
        let of = |modules| {
            let plugin = plugin("p", modules);
            mounted(&pack(&Config::default(), &[&plugin]).unwrap())
        };
        let told = |dir: &TempDir| unpack_modules(dir.path()).unwrap_err().to_string();
        let large = || vec![("m.wasm".to_owned(), noise(CHUNK * 2 + 1000, 7))];

        let dir = of(large());
        std::fs::remove_file(dir.path().join("p_m.wasm.gz.001")).unwrap();
        assert!(told(&dir).starts_with("chunk 1 of module `m.wasm` of plugin `p` is missing"), "{}", told(&dir));

        let dir = of(large());
        std::fs::remove_file(dir.path().join("p_m.wasm.gz.002")).unwrap();
        assert_eq!(told(&dir), "module `m.wasm` of plugin `p` is damaged or incomplete");

        let dir = of(large());
        std::fs::write(dir.path().join("notes.txt"), "x").unwrap();
        assert!(told(&dir).starts_with("`notes.txt` is not a chunk"), "{}", told(&dir));
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

    #[test]
    fn what_a_cluster_cannot_keep_is_refused() {
        let told = |file: &str, size| {
            let plugin = plugin("p", vec![(file.to_owned(), noise(size, 3))]);
            pack(&Config::default(), &[&plugin]).unwrap_err().to_string()
        };
        assert!(told("a b.wasm", 1).contains("has a name that ConfigMaps do not allow"));
        assert!(told(&"a".repeat(101), 1).contains("at most 100 characters"));
        assert!(told("m.wasm", MAX_PACKED_BYTES + 1).contains("ConfigMaps carry at most 32 MiB"));
    }
}
