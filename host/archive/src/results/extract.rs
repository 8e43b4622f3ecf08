//! Unpacks the results of one plugin to disk, as if they had just been received.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use plumbline_core::GLOBAL;

use super::archive::ResultsArchive;
use super::error::ReadError;
use crate::disk::Disk;
use crate::extract::{ExtractError, ExtractLimits, Extracted, Sink};
use crate::layout::{ERRORS_DIR, PLUGINS_DIR, RESULTS_DIR};
use crate::member::{MemberName, StreamError, shown};

/// The directory with one directory per node.
const HOSTS_DIR: &str = "hosts";

/// The number of bytes copied at a time.
const CHUNK_BYTES: usize = 64 << 10;

impl ResultsArchive {
    /// Writes the results and errors of `plugin` into the existing directory `dest`, as
    /// `results/NODE/...` and `errors/NODE/...`. This is the input of post-processing.
    ///
    /// Old layouts are converted. If the archive knows a node with the name of a file directly in
    /// `results` or `errors`, the file belongs to that node, and is renamed after the plugin.
    /// Otherwise it belongs to the cluster as a whole. `dest` should be a new directory, and no
    /// link in it is followed.
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
        match refused {
            Some(error) => Err(failed(error)),
            None => Ok(extracted),
        }
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
