//! The metadata of an archive.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::ReadError;
use super::index::Index;
use super::layout::Layout;
use super::limits::MAX_PLUGINS;
use crate::layout::{META_CONFIG, META_INFO, PLUGINS_DIR};

/// The path of `config.json` in the first layout.
pub(super) const OLD_CONFIG: &str = "config.json";

/// The metadata of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveInfo {
    /// The layout of the archive.
    pub layout: Layout,
    /// The version of the tool that defines the layout, as written. For Plumbline's archives, the
    /// version whose layout Plumbline writes.
    pub version: Option<String>,
    /// The version of Plumbline that wrote the archive, if it did.
    pub plumbline_version: Option<String>,
    /// The ID of the run as written, a UUID unless someone chose another.
    pub run: Option<String>,
    /// When the run started, if Plumbline wrote the archive.
    pub started: Option<Timestamp>,
    /// The plugins in the order of `meta/info.json`. Without that file, those that have a
    /// directory, ordered by name.
    pub plugins: Vec<String>,
    /// The number of entries that cannot be read: links, devices, macOS attributes, and files whose
    /// name is too long or not UTF-8.
    pub left_out: u64,
    /// The number of bytes after the end of the archive, which are ignored.
    pub trailing: u64,
}

/// The relevant keys of the configuration. Old and foreign archives use other types for some keys,
/// so only these are read.
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
    /// Absent if there are none.
    #[serde(default)]
    plugins: Option<Vec<String>>,
}

/// Reads the metadata of an archive. `read` returns the content of a file, or `None` if it does not
/// exist.
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
        // An invalid time is ignored, because the archive is still readable.
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

/// Returns the plugins listed in `meta/info.json`, without duplicates. They become parts of paths.
/// Old tools allowed more names than Plumbline, so only invalid directory names are rejected.
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

/// Returns the plugins that have a directory which is not empty.
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
    // In the order of paths, `a-b/` comes before `a/`, and the files of one directory are adjacent.
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
