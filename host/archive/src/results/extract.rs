//! Unpacks the results of one plugin to disk, as if they had just been received.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use plumbline_core::GLOBAL;

use super::archive::ResultsArchive;
use super::error::ReadError;
use super::index::{Unread, is_of_results};
use crate::disk::Disk;
use crate::extract::{ExtractError, ExtractLimits, Extracted, Sink, link_path, write_error};
use crate::layout::{ERRORS_DIR, LEFT_OUT_FILE, PLUGINS_DIR, RESULTS_DIR};
use crate::member::{COMPONENT_BYTES, MemberName, StreamError, is_read_alike, shown};

/// The directory with one directory per node.
const HOSTS_DIR: &str = "hosts";

/// The number of bytes copied at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// The maximum number of entries that a list of what cannot be read contains.
const MAX_LISTED: usize = 10;

impl ResultsArchive {
    /// Writes the results and errors of `plugin` into the existing directory `dest`, as
    /// `results/NODE/...` and `errors/NODE/...`. This is the input of post-processing.
    ///
    /// Old layouts are converted. If the archive knows a node with the name of a file directly in
    /// `results` or `errors`, the file belongs to that node, and is renamed after the plugin.
    /// Otherwise it belongs to the cluster as a whole. `dest` should be a new directory, and no
    /// link in it is followed.
    ///
    /// Links and other entries whose content cannot be read, and data after the end of the archive,
    /// are listed in [`LEFT_OUT_FILE`], as in an upload. A symbolic link is not listed if its
    /// content is in the same results, under a name that the same formats read.
    ///
    /// # Errors
    /// [`ReadError::Extract`] if a file cannot be written, or exceeds the limits, which are checked
    /// before the first byte is written.
    pub fn extract_plugin(
        &mut self,
        plugin: &str,
        dest: &Path,
        limits: &ExtractLimits,
    ) -> Result<Extracted, ReadError> {
        let failed = |source| ReadError::Extract(plugin.to_owned(), source);
        let nodes = self.nodes();
        let base = format!("{PLUGINS_DIR}/{plugin}/");
        let (mut entries, mut bytes) = (0_u64, 0_u64);
        for (_, place) in
            self.index.below(base.clone()).filter(|(name, _)| placed(name, &base, plugin, &nodes).is_some())
        {
            entries = entries.saturating_add(1);
            bytes = bytes.saturating_add(place.size);
        }
        if entries > limits.entries {
            return Err(failed(StreamError::TooManyEntries(limits.entries).into()));
        }
        if bytes > limits.unpacked_bytes {
            return Err(failed(StreamError::TooManyBytes(limits.unpacked_bytes).into()));
        }
        let mut sink = Sink::open(&Disk::default(), dest).map_err(failed)?;
        let mut extracted = Extracted::default();
        let mut refused = None;
        let mut chunk = vec![0; CHUNK_BYTES];
        self.visit(&mut |name, _| placed(name, &base, plugin, &nodes).is_some(), &mut |name, reader| {
            let Some(place) = placed(name, &base, plugin, &nodes) else { return Ok(ControlFlow::Continue(())) };
            let file = match MemberName::parse(place.as_bytes(), &limits.names) {
                Ok(place) => sink.file(&place, false),
                Err(fault) => Err(ExtractError::Hostile { member: shown(name.as_bytes()), why: fault.into() }),
            };
            let mut refuse = |error| {
                refused = Some(error);
                Ok(ControlFlow::Break(()))
            };
            let mut file = match file {
                Ok(file) => file,
                Err(error) => return refuse(error),
            };
            loop {
                let read = reader.read(&mut chunk)?;
                if read == 0 {
                    break;
                }
                if let Err(source) = file.write_all(chunk.get(..read).unwrap_or_default()) {
                    return refuse(ExtractError::Write(shown(place.as_bytes()), source));
                }
            }
            extracted.files += 1;
            extracted.bytes += reader.size();
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(error) = refused {
            return Err(failed(error));
        }
        self.list_unread(plugin, &nodes, limits, &mut sink).map_err(failed)?;
        Ok(extracted)
    }

    /// Lists the results of `plugin` that cannot be read, by node.
    fn list_unread(
        &self,
        plugin: &str,
        nodes: &BTreeSet<String>,
        limits: &ExtractLimits,
        sink: &mut Sink,
    ) -> Result<(), ExtractError> {
        let base = format!("{PLUGINS_DIR}/{plugin}/");
        let mut unread: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in self.index.unread.iter().filter(|entry| !self.is_elsewhere(entry, &base)) {
            let Some(path) = entry.path.strip_prefix(&base) else { continue };
            let place = placed(&entry.path, &base, plugin, nodes);
            let node = place.as_deref().and_then(|place| place.split('/').nth(1));
            // A name that is shown escaped may be too long for a directory.
            let node = node.filter(|node| node.len() <= COMPONENT_BYTES).unwrap_or(GLOBAL);
            unread.entry(node.to_owned()).or_default().push(format!("`{path}` ({})", entry.why));
        }
        if self.index.more_unread > 0 {
            let more = format!("{} more entries of the archive", self.index.more_unread);
            unread.entry(GLOBAL.to_owned()).or_default().push(more);
        }
        if self.index.trailing > 0 {
            let rest = format!("{} bytes after the end of the archive", self.index.trailing);
            unread.entry(GLOBAL.to_owned()).or_default().push(rest);
        }
        for (node, entries) in unread {
            let list = format!("{RESULTS_DIR}/{node}/{LEFT_OUT_FILE}");
            // The list of a worker has the same effect.
            if self.index.files.contains_key(&format!("{base}{list}")) {
                continue;
            }
            let first = entries.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = entries.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let name = MemberName::parse(list.as_bytes(), &limits.names)
                .map_err(|fault| ExtractError::Hostile { member: shown(list.as_bytes()), why: fault.into() })?;
            let text = format!("not in the results: {first}{more}\n");
            sink.file(&name, false)?.write_all(text.as_bytes()).map_err(|source| write_error(&name, source))?;
        }
        Ok(())
    }

    /// Returns whether an entry is a symbolic link whose content is in the same results, which start with
    /// `base`.
    fn is_elsewhere(&self, entry: &Unread, base: &str) -> bool {
        let target = entry.target.as_deref().and_then(|target| link_path(&entry.path, target));
        let Some(path) = target.filter(|path| path.starts_with(base) && is_of_results(path)) else { return false };
        let is_file = self.index.files.contains_key(&path) && is_read_alike(Path::new(&entry.path), Path::new(&path));
        is_file || self.index.below(format!("{path}/")).next().is_some()
    }

    /// Returns the name in an old layout of the file that is now `file` of `plugin`: the inverse of
    /// [`placed`].
    pub(super) fn old_place(&self, plugin: &str, file: &str) -> Option<String> {
        let is_node = |name: &str| self.index.below(format!("{HOSTS_DIR}/{name}/")).next().is_some();
        let (kind, place) = file.split_once('/')?;
        match place.split_once('/')? {
            (GLOBAL, name) if !name.contains('/') && !is_node(name) => Some(format!("{kind}/{name}")),
            (node, name) if name == plugin && is_node(node) => Some(format!("{kind}/{node}")),
            _ => None,
        }
    }

    /// Returns the nodes in the archive: those whose configuration was queried.
    fn nodes(&self) -> BTreeSet<String> {
        let prefix = format!("{HOSTS_DIR}/");
        let hosts = self.index.below(prefix.clone()).filter_map(|(name, _)| name.get(prefix.len()..)?.split_once('/'));
        hosts.map(|(node, _)| node.to_owned()).collect()
    }
}

/// Returns the new path of the file `name` of `plugin`, or `None` if it is neither a result nor an
/// error.
fn placed(name: &str, base: &str, plugin: &str, nodes: &BTreeSet<String>) -> Option<String> {
    let name = name.strip_prefix(base)?;
    let (kind, rest) = name.split_once('/')?;
    if kind != RESULTS_DIR && kind != ERRORS_DIR {
        return None;
    }
    Some(if rest.contains('/') {
        name.to_owned()
    } else if nodes.contains(rest) {
        format!("{kind}/{rest}/{plugin}")
    } else {
        format!("{kind}/{GLOBAL}/{rest}")
    })
}
