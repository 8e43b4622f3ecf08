//! The index of the files in an archive, and its metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::ops::{Bound, ControlFlow};
use std::path::Path;

use cap_std::fs::Dir;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{ReadError, ReadLimits};
use crate::layout::{ERRORS_DIR, META_CONFIG, META_INFO, PLUGINS_DIR, RESULTS_DIR};
use crate::member::{Kind, MemberName, NameFault, NameLimits, SkipReason, Skipped, StreamError, each_member};
use crate::walk::{WalkEntry, WalkError, walk};

/// The maximum number of plugins in one archive. Default 10,000, far more than any run has.
const MAX_PLUGINS: usize = 10_000;

/// The first bytes of a file in which macOS keeps attributes of another file (AppleSingle and
/// AppleDouble formats, version 2). Archives packed on macOS contain such files, named `._` plus
/// the name of the other file.
const APPLE_DOUBLE: [u8; 4] = [0, 5, 0x16, 7];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberLocation {
    pub(super) size: u64,
    /// The offset in the unpacked stream, or for a directory, its number in the traversal.
    pub(super) offset: u64,
}

/// The maximum number of entries of results that are kept although they cannot be read.
const MAX_UNREAD: usize = 10_000;

/// An entry of the results or errors of a plugin that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    /// The path. If it is not a valid name, it is cut and escaped.
    pub(super) path: String,
    pub(super) why: SkipReason,
    /// The target of a symbolic link.
    pub(super) target: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    pub(super) files: BTreeMap<String, MemberLocation>,
    /// The number of links, devices and files with names that are not valid paths.
    pub(super) left_out: u64,
    /// The first [`MAX_UNREAD`] of these that may have had content for a post-processor.
    pub(super) unread: Vec<Unread>,
    /// The number of further ones.
    pub(super) more_unread: u64,
    /// The number of bytes after the end of the archive.
    pub(super) trailing: u64,
}

impl Index {
    /// Reads the whole `.tar.gz` at `path`, which verifies it. Passes the files that `wanted`
    /// accepts to `each`.
    pub(super) fn of_stream(
        source: impl Read,
        path: &Path,
        limits: &ReadLimits,
        wanted: &mut dyn FnMut(&str, u64) -> bool,
        each: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
    ) -> Result<Self, ReadError> {
        let mut index = Self::default();
        let mut stopped = None;
        let seen = each_member(source, &limits.extract(), true, |member| -> Result<_, StreamError> {
            let place = MemberLocation { size: member.size, offset: member.offset };
            match (member.kind, &member.name) {
                // The name points outside of the archive's root, which no legitimate tool writes.
                (_, Err(why @ (NameFault::Absolute | NameFault::Parent | NameFault::Nul))) => {
                    let (member, why) = (member.shown.clone(), *why);
                    stopped = Some(ReadError::Hostile { path: path.to_owned(), member, why });
                    return Ok(ControlFlow::Break(()));
                }
                (Kind::Dir, _) => {}
                (Kind::File { .. }, Ok(name)) if !name.is_root() => {
                    let name = name.clone();
                    if index.add(&name, place, member)
                        && wanted(name.as_str(), place.size)
                        && let Err(error) = each(name.as_str(), member)
                    {
                        stopped = Some(ReadError::File(name.as_str().to_owned(), error));
                        return Ok(ControlFlow::Break(()));
                    }
                }
                (kind, name) => {
                    let why = match (kind, name) {
                        (Kind::Skip(why), _) => why,
                        (_, Err(fault)) => SkipReason::Name(*fault),
                        (_, Ok(_)) => SkipReason::Other,
                    };
                    let path = name.as_ref().map_or(&*member.shown, MemberName::as_str);
                    let target = member.target.clone().and_then(|target| String::from_utf8(target).ok());
                    index.leave_out(path, why, target);
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        let seen = seen.map_err(|source| ReadError::Stream { path: path.to_owned(), source })?;
        if let Some(error) = stopped {
            return Err(error);
        }
        index.trailing = seen.trailing;
        Ok(index)
    }

    /// Traverses the directory at `path` with the content of an archive.
    pub(super) fn of_directory(root: &Dir, path: &Path, limits: &ReadLimits) -> Result<Self, ReadError> {
        let mut index = Self::default();
        let mut number = 0;
        let walked = walk(root, limits.entries, &NameLimits::default(), &mut |met| -> Result<(), WalkError> {
            match met {
                WalkEntry::Dir { .. } => {}
                WalkEntry::Skipped(Skipped { member, why }) => {
                    let target = root.read_link(&*member).ok().filter(|_| why == SkipReason::Symlink);
                    let target = target.and_then(|target| target.into_os_string().into_string().ok());
                    index.leave_out(&member, why, target);
                }
                WalkEntry::File { name, mut file, metadata } => {
                    let place = MemberLocation { size: metadata.len(), offset: number };
                    number += 1;
                    // A file that cannot be read here fails when it is requested.
                    index.add(name, place, &mut file);
                }
            }
            Ok(())
        });
        walked.map_err(|error| ReadError::Walk(path.to_owned(), error.to_string()))?;
        Ok(index)
    }

    /// Adds a file, unless it has attributes of another one. As in tar, the last file with a name
    /// wins. Returns whether all of its content is still to be read.
    fn add(&mut self, name: &MemberName, place: MemberLocation, content: &mut dyn Read) -> bool {
        let mut begin = [0; APPLE_DOUBLE.len()];
        // A file that is shorter has no attributes. Any other error will occur again.
        let is_suspect = name.split().is_some_and(|(_, base)| base.starts_with("._"));
        let is_attributes = is_suspect && content.read_exact(&mut begin).is_ok() && begin == APPLE_DOUBLE;
        if is_attributes {
            self.left_out = self.left_out.saturating_add(1);
        } else {
            self.files.insert(name.as_str().to_owned(), place);
        }
        !is_suspect
    }

    /// Counts an entry that cannot be read, and keeps it if a post-processor would have read it.
    fn leave_out(&mut self, path: &str, why: SkipReason, target: Option<String>) {
        self.left_out = self.left_out.saturating_add(1);
        let path = path.trim_start_matches("./");
        // As in packing, some kinds of entries have no content to lose.
        let is_empty = matches!(why, SkipReason::Vanished | SkipReason::Socket | SkipReason::Device);
        if is_empty || !is_of_results(path) {
            return;
        }
        if self.unread.len() < MAX_UNREAD {
            self.unread.push(Unread { path: path.to_owned(), why, target });
        } else {
            self.more_unread = self.more_unread.saturating_add(1);
        }
    }

    /// Returns the files whose name starts with `prefix`, ordered by name.
    pub(super) fn below(&self, prefix: String) -> impl Iterator<Item = (&str, MemberLocation)> {
        let from = self.files.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        from.take_while(move |(name, _)| name.starts_with(&prefix)).map(|(name, place)| (name.as_str(), *place))
    }
}

/// Returns whether `path` is the directory of a plugin's results or errors, or something in it.
pub(super) fn is_of_results(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some(PLUGINS_DIR)
        && parts.next().is_some()
        && matches!(parts.next(), Some(RESULTS_DIR | ERRORS_DIR))
}

/// The path of `config.json` in the first layout.
pub(super) const OLD_CONFIG: &str = "config.json";

/// The metadata of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveInfo {
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
struct Config {
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
struct Info {
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
    let config: Config = config.map(|text| parse(at, &text)).transpose()?.unwrap_or_default();
    let info: Option<Info> = read(META_INFO)?.map(|text| parse(META_INFO, &text)).transpose()?;
    let plugins = match info.map(|info| info.plugins.unwrap_or_default()) {
        Some(plugins) => named(plugins)?,
        None => found(index)?,
    };
    Ok(ArchiveInfo {
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
