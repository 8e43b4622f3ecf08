//! How the process of an execution ended, on disk. A restart of this program may find results that
//! were received, and a process that it never started.

use std::fs;
use std::io;
use std::path::Path;

use plumbline_aggregator::{Exit, ExitKind};
use plumbline_archive::atomic::write_atomic;
use plumbline_core::{PluginName, ResultKey};
use serde::{Deserialize, Serialize};

/// The file in the directory of an execution.
const FILE: &str = "ended.json";

/// The end of a process, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// A sentence such as `process exited with code 3`.
    pub(crate) text: String,
    pub(crate) kind: ExitKind,
}

/// Writes how the process of the execution in `home` ended. `None` means that its end does not
/// matter: it went on after its results, and this program terminated it.
pub(crate) fn write(home: &Path, ended: Option<&Ended>) -> io::Result<()> {
    write_atomic(&home.join(FILE), &serde_json::to_vec(&ended)?)
}

/// Returns how the executions of `plugin` in `work` ended, which an earlier process of this run
/// started. An end that was not written is unknown.
pub(crate) fn read_all(work: &Path, plugin: &PluginName) -> Vec<Exit> {
    let Ok(homes) = fs::read_dir(work.join(plugin.as_str())) else { return Vec::new() };
    let node = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let exit = |key: ResultKey| {
        let path = work.join(plugin.as_str()).join(key.node.as_str()).join(FILE);
        let ended = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Option<Ended>>(&bytes).ok());
        match ended {
            Some(ended) => ended.map(|Ended { text, kind }| Exit { key, text, kind }),
            None => {
                let text = "the run was interrupted, and how the process ended is unknown".to_owned();
                Some(Exit { key, text, kind: ExitKind::Unknown })
            }
        }
    };
    homes.flatten().filter_map(node).filter_map(|node| exit(ResultKey::new(plugin.clone(), node))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_survives_a_restart_and_one_that_was_not_written_is_unknown() {
        let work = tempfile::tempdir().unwrap();
        let plugin: PluginName = "smoke".parse().unwrap();
        assert!(read_all(work.path(), &plugin).is_empty(), "never launched");
        let home = work.path().join("smoke/global");
        fs::create_dir_all(&home).unwrap();
        let kinds = || read_all(work.path(), &plugin).into_iter().map(|exit| exit.kind).collect::<Vec<_>>();
        assert_eq!(kinds(), [ExitKind::Unknown]);
        write(&home, Some(&Ended { text: "process exited with code 3".to_owned(), kind: ExitKind::Failure })).unwrap();
        assert_eq!(kinds(), [ExitKind::Failure]);
        write(&home, None).unwrap();
        assert!(kinds().is_empty());
        fs::write(home.join(FILE), "{").unwrap();
        assert_eq!(kinds(), [ExitKind::Unknown]);
    }
}
