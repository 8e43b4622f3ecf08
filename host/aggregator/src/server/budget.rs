//! Disk space for results: bytes per plugin and per run, and files and directories per run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumbline_archive::layout;
use plumbline_core::{PluginName, ReceiveLimits};

/// Error for an upload that would exceed a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum OverBudget {
    /// The plugin has sent too many bytes.
    #[error("with this result, the plugin would have more than {0} bytes (limit `plugin-bytes`)")]
    PluginBytes(u64),
    /// The plugins of the run together have sent too many bytes.
    #[error("with this result, the run would have more than {0} bytes (limit `run-bytes`)")]
    RunBytes(u64),
    /// The plugins of the run together have sent too many files and directories.
    #[error("with this result, the run would have more than {0} files and directories (limit `run-entries`)")]
    RunEntries(u64),
}

/// Space that uploads use, and its limits. Cheap to clone.
#[derive(Clone)]
pub(super) struct Budget(Arc<Inner>);

struct Inner {
    limits: ReceiveLimits,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    entries: u64,
    bytes: u64,
    plugins: BTreeMap<String, u64>,
}

impl Budget {
    /// Creates a budget, and counts the results that are already below `tree`.
    pub(super) fn of(tree: &Path, limits: &ReceiveLimits) -> io::Result<Self> {
        let mut used = Used::default();
        let plugins = tree.join(layout::PLUGINS_DIR);
        if plugins.is_dir() {
            for plugin in fs::read_dir(plugins)? {
                let plugin = plugin?;
                let (entries, bytes) = measure(&plugin.path())?;
                used.entries += entries;
                used.bytes += bytes;
                used.plugins.insert(plugin.file_name().to_string_lossy().into_owned(), bytes);
            }
        }
        Ok(Self(Arc::new(Inner { limits: limits.clone(), used: Mutex::new(used) })))
    }

    /// Returns an empty share for a new upload of `plugin`.
    pub(super) fn share(&self, plugin: &PluginName) -> Share {
        Share { budget: self.clone(), plugin: plugin.to_string(), entries: 0, bytes: 0 }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Space of one upload in a [`Budget`]. Dropping it releases the space.
pub(super) struct Share {
    budget: Budget,
    plugin: String,
    entries: u64,
    bytes: u64,
}

impl Share {
    /// Reserves more space, unless that exceeds a limit.
    pub(super) fn take(&mut self, entries: u64, bytes: u64) -> Result<(), OverBudget> {
        let limits = &self.budget.0.limits;
        let mut used = self.budget.used();
        let of_plugin = used.plugins.get(&self.plugin).copied().unwrap_or_default().saturating_add(bytes);
        let all = (used.entries.saturating_add(entries), used.bytes.saturating_add(bytes));
        if all.0 > limits.run_entries {
            return Err(OverBudget::RunEntries(limits.run_entries));
        }
        if of_plugin > limits.plugin_bytes {
            return Err(OverBudget::PluginBytes(limits.plugin_bytes));
        }
        if all.1 > limits.run_bytes {
            return Err(OverBudget::RunBytes(limits.run_bytes));
        }
        (used.entries, used.bytes) = all;
        match used.plugins.get_mut(&self.plugin) {
            Some(bytes) => *bytes = of_plugin,
            None => drop(used.plugins.insert(self.plugin.clone(), of_plugin)),
        }
        drop(used);
        self.entries += entries;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns the remaining bytes, and the limit that applies.
    pub(super) fn left(&self) -> (u64, OverBudget) {
        let limits = &self.budget.0.limits;
        let used = self.budget.used();
        let of_plugin = used.plugins.get(&self.plugin).copied().unwrap_or_default();
        let plugin = (limits.plugin_bytes.saturating_sub(of_plugin), OverBudget::PluginBytes(limits.plugin_bytes));
        let run = (limits.run_bytes.saturating_sub(used.bytes), OverBudget::RunBytes(limits.run_bytes));
        if plugin.0 <= run.0 { plugin } else { run }
    }

    /// Releases `bytes` that are no longer on disk.
    pub(super) fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.release(0, bytes);
    }

    /// Keeps the space permanently, because the upload has become a result.
    pub(super) fn keep(mut self) {
        (self.entries, self.bytes) = (0, 0);
    }

    fn release(&self, entries: u64, bytes: u64) {
        let mut used = self.budget.used();
        used.entries = used.entries.saturating_sub(entries);
        used.bytes = used.bytes.saturating_sub(bytes);
        if let Some(of_plugin) = used.plugins.get_mut(&self.plugin) {
            *of_plugin = of_plugin.saturating_sub(bytes);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release(self.entries, self.bytes);
    }
}

/// Returns the number of files and directories below `dir`, and the bytes of the files.
fn measure(dir: &Path) -> io::Result<(u64, u64)> {
    let (mut entries, mut bytes) = (0, 0);
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let metadata = entry.as_ref().map_err(|error| io::Error::from(error.kind()))?.metadata()?;
            entries += 1;
            if metadata.is_dir() {
                open.push(entry?.path());
            } else {
                bytes += metadata.len();
            }
        }
    }
    Ok((entries, bytes))
}
