//! Space for uploads: the limits of a plugin and of the run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use plumbline_archive::layout;
use plumbline_core::{PluginName, ReceiveLimits};

/// Error for an upload that would exceed a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBudget {
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

/// Space that uploads use, and its limits.
pub(super) struct Budget {
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
    /// Creates a budget, and counts the results and partial results that are already below `tree`, as
    /// their uploads did. Errors and result trees have no limit.
    pub(super) fn of(tree: &Path, limits: &ReceiveLimits) -> io::Result<Self> {
        let mut used = Used::default();
        for plugin in paths_in(&tree.join(layout::PLUGINS_DIR))? {
            let mut of_plugin = 0;
            for kind in [layout::RESULTS_DIR, layout::PARTIAL_DIR] {
                for result in paths_in(&plugin.join(kind))? {
                    let Measured { entries, bytes, .. } = measure(&result)?;
                    used.entries += entries;
                    of_plugin += bytes;
                }
            }
            used.bytes += of_plugin;
            let name = plugin.file_name().unwrap_or_default();
            used.plugins.insert(name.to_string_lossy().into_owned(), of_plugin);
        }
        Ok(Self { limits: limits.clone(), used: Mutex::new(used) })
    }

    /// Returns an empty reservation for a new upload of `plugin`.
    pub(super) fn reserve(self: &Arc<Self>, plugin: &PluginName) -> Reservation {
        Reservation { budget: Arc::clone(self), plugin: plugin.to_string(), entries: 0, bytes: 0 }
    }
}

/// Space of one upload in a [`Budget`]. Dropping it releases the space.
pub(super) struct Reservation {
    budget: Arc<Budget>,
    plugin: String,
    entries: u64,
    bytes: u64,
}

impl Reservation {
    /// Reserves more space, unless that exceeds a limit.
    pub(super) fn take(&mut self, entries: u64, bytes: u64) -> Result<(), OverBudget> {
        let limits = &self.budget.limits;
        let mut used = self.budget.used.lock();
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
        let limits = &self.budget.limits;
        let used = self.budget.used.lock();
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

    /// Releases the space of an earlier upload of the same plugin in `dir`, if it can be counted.
    pub(super) fn replace(&self, dir: &Path) {
        let Measured { entries, bytes, .. } = measure(dir).unwrap_or_default();
        self.release(entries, bytes);
    }

    /// Keeps the space permanently, because the upload has become a result.
    pub(super) fn keep(mut self) {
        (self.entries, self.bytes) = (0, 0);
    }

    fn release(&self, entries: u64, bytes: u64) {
        let mut used = self.budget.used.lock();
        used.entries = used.entries.saturating_sub(entries);
        used.bytes = used.bytes.saturating_sub(bytes);
        if let Some(of_plugin) = used.plugins.get_mut(&self.plugin) {
            *of_plugin = of_plugin.saturating_sub(bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release(self.entries, self.bytes);
    }
}

/// Returns the paths in a directory, or none if it does not exist.
fn paths_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// What is below a directory.
#[derive(Default)]
struct Measured {
    /// The number of files and directories.
    entries: u64,
    files: u64,
    /// The bytes of the files.
    bytes: u64,
}

pub(crate) fn count_files(dir: &Path) -> io::Result<u64> {
    measure(dir).map(|measured| measured.files)
}

fn measure(dir: &Path) -> io::Result<Measured> {
    let mut measured = Measured::default();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            measured.entries += 1;
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                measured.files += 1;
                measured.bytes += metadata.len();
            }
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_uploaded_counts_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            ("results/n1/a.txt", 100),
            ("partial/n2/b.txt", 50),
            ("errors/n2/error.json", 1_000),
            ("sonobuoy_results.yaml", 1_000),
        ] {
            let path = dir.path().join("plugins/p").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![b'x'; bytes]).unwrap();
        }
        let limits = ReceiveLimits { plugin_bytes: 200, run_entries: 3, ..ReceiveLimits::default() };
        let budget = Arc::new(Budget::of(dir.path(), &limits).unwrap());
        let mut space = budget.reserve(&"p".parse().unwrap());
        space.take(1, 50).unwrap();
        assert!(matches!(space.take(0, 1), Err(OverBudget::PluginBytes(200))));
        assert!(matches!(space.take(1, 0), Err(OverBudget::RunEntries(3))));
        assert!(Budget::of(&dir.path().join("none"), &limits).is_ok());
    }
}
