//! How the process of an execution ended, on disk. A restart of this program may find results that
//! were received, and a process that it never started.

use std::fs;
use std::io;
use std::path::Path;

use plumbline_aggregator::{Exit, ExitKind};
use plumbline_archive::atomic::write_atomic;
use plumbline_core::ResultKey;
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

/// Writes how the process of the execution in `home` ended. `None`: its end does not matter.
pub(crate) fn write(home: &Path, ended: Option<&Ended>) -> io::Result<()> {
    write_atomic(&home.join(FILE), &serde_json::to_vec(&ended)?)
}

/// Returns how the execution in `home`, of `key`, ended, which is unknown if it was not written.
pub(crate) fn read(home: &Path, key: &ResultKey) -> Option<Exit> {
    let ended = fs::read(home.join(FILE)).ok().and_then(|bytes| serde_json::from_slice::<Option<Ended>>(&bytes).ok());
    let unknown = || Ended {
        text: "the run was interrupted, and how the process ended is unknown".to_owned(),
        kind: ExitKind::Unknown,
    };
    ended.unwrap_or_else(|| Some(unknown())).map(|Ended { text, kind }| Exit { key: key.clone(), text, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_survives_a_restart_and_one_that_was_not_written_is_unknown() {
        let work = tempfile::tempdir().unwrap();
        let home = work.path().join("smoke/global");
        let kind = || read(&home, &"smoke/global".parse().unwrap()).map(|exit| exit.kind);
        assert_eq!(kind(), Some(ExitKind::Unknown), "the directory is gone");
        fs::create_dir_all(&home).unwrap();
        assert_eq!(kind(), Some(ExitKind::Unknown));
        write(&home, Some(&Ended { text: "process exited with code 3".to_owned(), kind: ExitKind::Failure })).unwrap();
        assert_eq!(kind(), Some(ExitKind::Failure));
        write(&home, None).unwrap();
        assert_eq!(kind(), None);
        fs::write(home.join(FILE), "{").unwrap();
        assert_eq!(kind(), Some(ExitKind::Unknown));
    }
}
