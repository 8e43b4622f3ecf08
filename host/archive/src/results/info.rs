//! What an archive says of itself.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::ReadError;
use super::index::Index;
use super::layout::Layout;
use super::limits::MAX_PLUGINS;
use crate::layout::{META_CONFIG, META_INFO, PLUGINS_DIR};

/// `config.json` of the first layout.
pub(super) const OLD_CONFIG: &str = "config.json";

/// What an archive says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveInfo {
    /// How it is laid out.
    pub layout: Layout,
    /// The version of the layout's tool, as written; for our own archives that whose layout we write.
    pub version: Option<String>,
    /// Our version, where the archive is ours.
    pub plumbline_version: Option<String>,
    /// The run, as written: a UUID unless someone chose another.
    pub run: Option<String>,
    /// When the run began, where the archive is ours.
    pub started: Option<Timestamp>,
    /// The plugins, in the order of `meta/info.json`; without that file, those that have a directory, in order of names.
    pub plugins: Vec<String>,
    /// Links, devices, attributes of macOS and files whose name is not UTF-8 or too long: in the archive, but not to be read.
    pub left_out: u64,
    /// Bytes after the end of the archive. Nothing of them is read.
    pub trailing: u64,
}

/// What we read of the configuration. Old and foreign archives write other types here and there; only these matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    #[serde(rename = "Version")]
    version: Option<String>,
    #[serde(rename = "PlumblineVersion")]
    plumbline_version: Option<String>,
    #[serde(rename = "UUID")]
    run: Option<String>,
    #[serde(rename = "PlumblineStarted")]
    started: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Info {
    /// Left out where there is none.
    #[serde(default)]
    plugins: Option<Vec<String>>,
}

/// Reads what an archive says of itself. `read` gives the content of a file, `None` where there is no such file.
pub(super) fn read_info(
    index: &Index,
    mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, ReadError>,
) -> Result<ArchiveInfo, ReadError> {
    let (at, config) = match read(META_CONFIG)? {
        Some(config) => (META_CONFIG, Some(config)),
        None => (OLD_CONFIG, read(OLD_CONFIG)?),
    };
    let is_old = at == OLD_CONFIG && config.is_some();
    let config: Config = config.map(|text| parse(at, &text)).transpose()?.unwrap_or_default();
    let layout = match &config.version {
        Some(version) => Layout::of_version(version),
        None if is_old => Layout::V08,
        None => Layout::V015,
    };
    let info: Option<Info> = read(META_INFO)?.map(|text| parse(META_INFO, &text)).transpose()?;
    let plugins = match info.map(|info| info.plugins.unwrap_or_default()) {
        Some(plugins) => named(plugins)?,
        None => found(index)?,
    };
    Ok(ArchiveInfo {
        layout,
        version: config.version,
        plumbline_version: config.plumbline_version,
        run: config.run,
        // One that is none tells nothing, which is no reason not to read the archive.
        started: config.started.and_then(|text| text.parse().ok()),
        plugins,
        left_out: index.left_out,
        trailing: index.trailing,
    })
}

fn parse<T: DeserializeOwned>(member: &str, text: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(text)
        .map_err(|error| ReadError::Meta { member: member.to_owned(), reason: error.to_string() })
}

/// The plugins that `meta/info.json` names, each once. They become parts of paths, and old tools allowed more than we do: only what
/// cannot be a directory's name is refused.
fn named(plugins: Vec<String>) -> Result<Vec<String>, ReadError> {
    if plugins.len() > MAX_PLUGINS {
        return Err(too_many(META_INFO, plugins.len()));
    }
    let mut seen = BTreeSet::new();
    let mut kept = Vec::with_capacity(plugins.len());
    for plugin in plugins {
        if matches!(plugin.as_str(), "" | "." | "..") || plugin.contains(['/', '\\', '\0']) {
            let reason = format!("{plugin:?} is not the name of a plugin");
            return Err(ReadError::Meta { member: META_INFO.to_owned(), reason });
        }
        if seen.insert(plugin.clone()) {
            kept.push(plugin);
        }
    }
    Ok(kept)
}

/// The plugins that have a directory with something in it.
fn found(index: &Index) -> Result<Vec<String>, ReadError> {
    let mut plugins: Vec<String> = Vec::new();
    let prefix = format!("{PLUGINS_DIR}/");
    for (name, _) in index.below(prefix.clone()) {
        let below = name.get(prefix.len()..).unwrap_or_default();
        if let Some((plugin, _)) = below.split_once('/')
            && plugins.last().is_none_or(|last| last != plugin)
        {
            plugins.push(plugin.to_owned());
        }
    }
    // In the order of paths, `a-b/` comes before `a/`, and the files of one directory stay together.
    plugins.sort_unstable();
    match plugins.len() {
        0..=MAX_PLUGINS => Ok(plugins),
        more => Err(too_many(PLUGINS_DIR, more)),
    }
}

fn too_many(member: &str, plugins: usize) -> ReadError {
    ReadError::Meta {
        member: member.to_owned(),
        reason: format!("it names {plugins} plugins, more than {MAX_PLUGINS}"),
    }
}
