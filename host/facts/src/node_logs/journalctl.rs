//! Reads the journal with the machine's own `journalctl`, and explains missing logs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::program::{self, CANNOT_ENTER, CANNOT_EXECUTE, Exit, NOT_FOUND, StreamError};
use crate::source::{Source, Unreadable};

/// Default age of the oldest logs, in minutes. Other tools in the field also use one hour.
pub const DEFAULT_MINUTES: u64 = 60;

/// Default size limit of the logs: 256 MiB. An hour on a busy node is a few tens of MiB.
pub const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// Default timeout of `journalctl`.
///
/// It reads hundreds of MiB within seconds. The timeout kills one that hangs on a damaged file.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);

/// Search path for programs in another root.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin:/opt/bin";

/// The directories of the journal, on disk and in memory.
const DIRECTORIES: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

const MAX_NOTE: usize = 2 << 10;

/// Selects the logs and limits their size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The root directory of the machine's file system.
    pub root: PathBuf,
    /// The maximum age of the logs, or zero for everything.
    pub since: Duration,
    /// The maximum size of the logs in bytes. The newest lines are kept.
    pub max_bytes: u64,
    /// The timeout of `journalctl`.
    pub time_limit: Duration,
    /// The program that executes another program in a root, with its first arguments.
    ///
    /// It is called with a root, a program and the program's arguments (see
    /// [`crate::node_logs::enter`]). Without a helper, `journalctl` runs only for the root `/`.
    pub helper: Option<(PathBuf, Vec<String>)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            since: Duration::from_secs(60 * DEFAULT_MINUTES),
            max_bytes: DEFAULT_MAX_BYTES,
            time_limit: DEFAULT_TIME_LIMIT,
            helper: None,
        }
    }
}

/// Error while reading the logs: some or all of them are missing.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The root could not be opened.
    #[error("failed to open `{}`", root.display())]
    Root {
        /// The root.
        root: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// There is no journal. This is not a failure, because not every machine has one.
    #[error("no journal below `{}`: neither `var/log/journal` nor `run/log/journal` has journal files", .0.display())]
    NoJournal(PathBuf),
    /// A directory of the journal could not be read.
    #[error("failed to read `{path}` below `{}`", root.display())]
    Directory {
        /// The root.
        root: PathBuf,
        /// The directory.
        path: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// There is a journal, but `journalctl` could not be run.
    #[error("failed to run `journalctl` of `{}`, which reads the journal: {why}", root.display())]
    Journalctl {
        /// The root.
        root: PathBuf,
        /// The reason.
        why: String,
    },
    /// `journalctl` failed before it printed everything.
    #[error("`journalctl` did not print all logs: {0}")]
    Interrupted(String),
}

/// Writes the logs to `out`, oldest first, and returns notes about unexpected events.
///
/// Even after a failure, some lines may have been written. The outer error is that of writing to
/// `out`.
pub(super) fn collect(options: &Options, out: &mut dyn Write) -> io::Result<Result<Vec<String>, CollectError>> {
    let root = options.root.clone();
    if let Err(source) = std::fs::read_dir(&root) {
        return Ok(Err(CollectError::Root { root, source }));
    }
    let run = journalctl(options, out)?;
    let bytes = run.as_ref().map_or(0, |run| run.bytes);
    if bytes == 0 {
        match has_journal(&Source::new(&root)) {
            Ok(true) => {}
            Ok(false) => return Ok(Err(CollectError::NoJournal(root))),
            Err((path, source)) => return Ok(Err(CollectError::Directory { root, path, source })),
        }
    }
    Ok(match run {
        Err(why) => Err(CollectError::Journalctl { root, why }),
        Ok(Run { failure: Some(why), stderr, .. }) if stderr.is_empty() => Err(CollectError::Interrupted(why)),
        Ok(Run { failure: Some(why), stderr, .. }) => {
            Err(CollectError::Interrupted(format!("{why}; it printed: {stderr}")))
        }
        Ok(Run { failure: None, stderr, .. }) => {
            let mut notes = Vec::new();
            // Without the required permissions, the output is empty and this text explains why.
            if !stderr.is_empty() {
                let mut note = format!("`journalctl` printed: {stderr}");
                if note.len() > MAX_NOTE {
                    note.truncate(note.floor_char_boundary(MAX_NOTE));
                    note.push('…');
                }
                notes.push(note);
            }
            if bytes == 0 {
                notes.push("`journalctl` found no entries in this time range".to_owned());
            }
            Ok(notes)
        }
    })
}

struct Run {
    /// The number of bytes that it printed.
    bytes: u64,
    /// Why the output is incomplete, if it is.
    failure: Option<String>,
    /// Its stderr, in one line.
    stderr: String,
}

/// Runs `journalctl`. The inner error says why it could not be run.
fn journalctl(options: &Options, out: &mut dyn Write) -> io::Result<Result<Run, String>> {
    let Some(mut command) = command(options) else {
        return Ok(Err(format!("found no program that can execute it in `{}`", options.root.display())));
    };
    let mut bytes = 0;
    let mut write = |piece: &[u8]| {
        bytes += piece.len() as u64;
        out.write_all(piece)
    };
    let ended = match program::stream(&mut command, options.time_limit, &mut write) {
        Ok(ended) => ended,
        Err(StreamError::Start(error)) => return Ok(Err(format!("failed to start it: {error}"))),
        Err(StreamError::Write(error)) => return Err(error),
    };
    let lines = ended.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let stderr = lines.collect::<Vec<_>>().join("; ");
    // These exit codes say that the helper could not execute the program.
    let could_not = |code: i32| {
        bytes == 0
            && options.root != Path::new("/")
            && [CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND].map(i32::from).contains(&code)
    };
    let failure = match (ended.exit, ended.broken) {
        (Exit::Late, _) => Some(format!("it was killed after {} s", options.time_limit.as_secs())),
        (_, Some(error)) => Some(format!("failed to read its output: {error}")),
        (Exit::Status(status), None) if status.success() => None,
        (Exit::Status(status), None) if status.code().is_some_and(could_not) => return Ok(Err(stderr)),
        (Exit::Status(status), None) => Some(format!("it exited with {status}")),
        (Exit::Unknown(error), None) => Some(format!("failed to read its exit status: {error}")),
    };
    Ok(Ok(Run { bytes, failure, stderr }))
}

fn command(options: &Options) -> Option<Command> {
    let mut command = program::in_root(&options.root, options.helper.as_ref(), "journalctl")?;
    // The other variables of this process may hold secrets.
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "");
    command.args(["-o", "json", "-a", "--no-pager"]);
    if !options.since.is_zero() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = now.saturating_sub(options.since).as_secs();
        // Zero would be everything, which is the default.
        if since > 0 {
            command.arg(format!("--since=@{since}"));
        }
    }
    Some(command)
}

/// Returns true if there is a journal file. The error names the directory that could not be read.
fn has_journal(source: &Source) -> Result<bool, (String, io::Error)> {
    let names = |directory: &str| match source.names(directory) {
        Ok(names) => Ok(names),
        Err(Unreadable::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        Err(Unreadable::Io { path, source }) => Err((path, source)),
        Err(other) => Err((directory.to_owned(), io::Error::other(other))),
    };
    // journald appends `~` to a file that was not closed properly.
    let is_journal = |name: &String| name.strip_suffix('~').unwrap_or(name).ends_with(".journal");
    let is_id = |name: &String| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    for directory in DIRECTORIES {
        let entries = names(directory)?;
        if entries.iter().any(is_journal) {
            return Ok(true);
        }
        for id in entries.iter().filter(|name| is_id(name)) {
            if names(&format!("{directory}/{id}"))?.iter().any(is_journal) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn root(file: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        dir
    }

    #[test]
    fn a_journal_is_found_on_disk_and_in_memory() {
        for (file, found) in [
            (format!("var/log/journal/{ID}/system.journal"), true),
            (format!("run/log/journal/{ID}/user-1000@1.journal~"), true),
            ("var/log/journal/remote.journal".to_owned(), true),
            (format!("var/log/journal/{ID}/notes.txt"), false),
            ("var/log/journal/lost+found/x.journal".to_owned(), false),
            ("etc/machine-id".to_owned(), false),
        ] {
            let dir = root(&file);
            assert_eq!(has_journal(&Source::new(dir.path())).unwrap(), found, "{file}");
        }
    }

    #[test]
    fn absolute_links_start_at_the_root() {
        let dir = root(&format!("data/journal/{ID}/system.journal"));
        fs::create_dir_all(dir.path().join("var/log")).unwrap();
        symlink("/data/journal", dir.path().join("var/log/journal")).unwrap();
        assert!(has_journal(&Source::new(dir.path())).unwrap());
    }
}
