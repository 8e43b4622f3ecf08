//! A process and its descendants in one process group, terminated as a whole, also by records.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::NamedTempFile;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::output::{self, Captured};

/// How long a process may take to end after SIGTERM before it is killed.
const TERMINATE: Duration = Duration::from_secs(5);

/// The time that a worker needs to end by itself after its result was accepted.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// How long to wait for the end of captured output after the process has ended.
const CAPTURE: Duration = Duration::from_secs(5);

/// How long to wait for the end of the output, since a child process may hold the pipe.
const DRAIN: Duration = Duration::from_millis(500);

pub(crate) struct Program<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [OsString],
    pub(crate) directory: &'a Path,
    pub(crate) variables: BTreeMap<String, String>,
    /// Whether to inherit the environment of this process.
    pub(crate) inherit: bool,
    /// Variables that are not inherited.
    pub(crate) unset: &'a [String],
    /// The log file for the output.
    pub(crate) log: PathBuf,
    /// An additional file for the standard output.
    pub(crate) stdout: Option<PathBuf>,
}

/// A running process and its group.
pub(crate) struct Process {
    /// A wait for its end may be dropped and started again.
    pub(crate) child: Child,
    group: Option<Pid>,
    output: Option<JoinHandle<String>>,
    captured: Option<oneshot::Receiver<Option<String>>>,
    /// The tail of the output, once it is complete.
    last_output: String,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessExit {
    pub(crate) status: ExitStatus,
    pub(crate) tail: String,
}

impl Process {
    /// Starts the program in a new process group, with standard output and standard error in one
    /// file.
    pub(crate) fn start(program: Program<'_>) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let captured = program.stdout.map(|path| io::pipe().map(|pipe| (path, pipe))).transpose()?;
        let stdout = match &captured {
            Some((_, (_, stdout))) => stdout.try_clone()?,
            None => writer.try_clone()?,
        };
        let mut command = Command::new(program.program);
        if !program.inherit {
            command.env_clear();
        }
        for name in program.unset {
            command.env_remove(name);
        }
        let child = command
            .args(program.args)
            .current_dir(program.directory)
            .envs(program.variables)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        // The command holds the write ends of the pipes, which would keep them open.
        drop(command);
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (captured, complete) = match captured {
            Some((path, (stdout, _))) => {
                let (complete, done) = oneshot::channel();
                (Some(Captured { from: Receiver::from_owned_fd(stdout.into())?, path, complete }), Some(done))
            }
            None => (None, None),
        };
        let errors = Receiver::from_owned_fd(reader.into())?;
        let output = Some(tokio::spawn(output::keep(errors, captured, program.log)));
        Ok(Self { child, group, output, captured: complete, last_output: String::new() })
    }

    /// Waits shortly until the captured output of an ended process is complete. Returns why not.
    pub(crate) async fn captured(&mut self) -> Option<String> {
        let captured = self.captured.take()?;
        // After a timeout, another process holds the pipe. What it writes later is not a result.
        tokio::time::timeout(CAPTURE, captured).await.ok()?.ok()?
    }

    /// Returns the tail of the output once the process and all its descendants have ended, and an
    /// empty string before.
    pub(crate) async fn tail(&mut self) -> String {
        match &mut self.output {
            Some(output) => match tokio::time::timeout(DRAIN, output).await {
                Ok(tail) => {
                    self.output = None;
                    let tail = tail.unwrap_or_default();
                    self.last_output.clone_from(&tail);
                    tail
                }
                Err(_) => String::new(),
            },
            None => self.last_output.clone(),
        }
    }

    /// Returns whether the process has ended successfully, or is about to.
    pub(crate) async fn has_succeeded(&mut self) -> bool {
        matches!(tokio::time::timeout(EXIT_GRACE, self.child.wait()).await, Ok(Ok(status)) if status.success())
    }

    /// Terminates the rest of the group, with SIGTERM first, and returns how the process itself
    /// ended.
    pub(crate) async fn finish(self) -> io::Result<ProcessExit> {
        self.signal(Signal::TERM);
        self.end_within(TERMINATE).await
    }

    /// Kills the process at once, unless it is about to end: after SIGTERM, a worker would wait on.
    pub(crate) async fn abandon(self) -> io::Result<ProcessExit> {
        self.end_within(EXIT_GRACE).await
    }

    async fn end_within(mut self, time: Duration) -> io::Result<ProcessExit> {
        let status = match tokio::time::timeout(time, self.child.wait()).await {
            Ok(status) => status?,
            Err(_) => {
                self.signal(Signal::KILL);
                self.child.wait().await?
            }
        };
        // Child processes that outlive it would keep the pipe and memory.
        self.signal(Signal::KILL);
        let tail = self.tail().await;
        self.group = None;
        Ok(ProcessExit { status, tail })
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An error means that the group has already ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Records that process `id` is the leader of a process group of this run. On a full disk, no
/// record is written, because a part of one would identify another process.
///
/// # Errors
/// The caller must then end the process, because nothing ends it if this program is killed.
pub(crate) fn record_process(dir: &Path, id: u32) -> io::Result<()> {
    let Some(started) = start_time(id) else { return Ok(()) };
    fs::create_dir_all(dir)?;
    let mut record = NamedTempFile::new_in(dir)?;
    record.write_all(started.as_bytes())?;
    // Without a sync, which would take long between the start and the record: if the machine crashes,
    // the process ends, too.
    record.persist(dir.join(id.to_string()))?;
    Ok(())
}

/// Kills every recorded process group whose leader is still the same, by its start time.
pub(crate) fn kill_recorded(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let id = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(id) = id
            && start_time(id).is_some_and(|now| fs::read_to_string(entry.path()).is_ok_and(|then| then == now))
            && let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw)
        {
            tracing::info!("stopping process group {id} of this run");
            // An error means that the group has already ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        fs::remove_file(entry.path())?;
    }
    Ok(())
}

/// Returns field 22 of `/proc/ID/stat` (proc(5)). Fields are counted after the command's name,
/// which may contain spaces and parentheses.
fn start_time(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(dir: &Path, script: &str) -> Process {
        Process::start(Program {
            program: Path::new("/bin/sh"),
            args: &["-c".into(), script.into()],
            directory: dir,
            variables: BTreeMap::from([("COLOUR".to_owned(), "blue".to_owned())]),
            inherit: false,
            unset: &[],
            log: dir.join("log"),
            stdout: Some(dir.join("stdout")),
        })
        .unwrap()
    }

    /// Returns the number of live processes in the group, without zombies.
    fn alive(group: u32) -> usize {
        let stats = fs::read_dir("/proc").unwrap();
        let stats = stats.filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("stat")).ok());
        let group = group.to_string();
        stats
            .filter(|stat| {
                let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
                !matches!(fields[0], "Z" | "X") && fields[2] == group
            })
            .count()
    }

    /// A killed process disappears soon, but not immediately.
    async fn is_empty(group: u32) -> bool {
        for _ in 0..1000 {
            if alive(group) == 0 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    #[tokio::test]
    async fn the_output_of_a_process_is_kept_and_its_environment_is_isolated() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = shell(
            dir.path(),
            "echo $COLOUR ${HOME-homeless}; exec >&-; while [ ! -s log ]; do :; done; echo bad >&2; exit 3",
        );
        assert_eq!(process.child.wait().await.unwrap().code(), Some(3));
        process.captured().await;
        assert_eq!(process.tail().await, "blue homeless\nbad");
        assert_eq!(process.finish().await.unwrap().tail, "blue homeless\nbad");
        assert_eq!(fs::read_to_string(dir.path().join("log")).unwrap(), "blue homeless\nbad\n");
        assert_eq!(fs::read_to_string(dir.path().join("stdout")).unwrap(), "blue homeless\n");
    }

    #[tokio::test]
    async fn children_that_outlive_it_are_ended_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = shell(dir.path(), "sleep 600 & sleep 600 & exit 0");
        let group = process.child.id().unwrap();
        assert!(process.child.wait().await.unwrap().success());
        assert_eq!(alive(group), 2);
        process.finish().await.unwrap();
        assert!(is_empty(group).await);
    }

    #[tokio::test]
    async fn one_that_is_dropped_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let process = shell(dir.path(), "sleep 600 & wait");
        let group = process.child.id().unwrap();
        assert!(alive(group) > 0);
        drop(process);
        assert!(is_empty(group).await);
    }

    #[tokio::test]
    async fn an_abandoned_process_is_killed_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = shell(dir.path(), "trap '' TERM; echo up; while :; do sleep 600; done");
        let group = process.child.id().unwrap();
        while !fs::read_to_string(dir.path().join("log")).is_ok_and(|log| log == "up\n") {
            assert!(tokio::time::timeout(Duration::from_millis(10), process.child.wait()).await.is_err());
        }
        let end = process.abandon().await.unwrap();
        assert!(!end.status.success());
        assert!(is_empty(group).await);
    }

    #[test]
    fn a_process_is_recorded_completely_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let id = std::process::id();
        let (record, earlier) = (dir.path().join(id.to_string()), dir.path().join("earlier"));
        fs::write(&record, "1").unwrap();
        fs::hard_link(&record, &earlier).unwrap();
        record_process(dir.path(), id).unwrap();
        assert_eq!(fs::read_to_string(&record).ok(), start_time(id));
        // A file that is written in place is empty, or ends early, on a full disk.
        assert_eq!(fs::read_to_string(&earlier).unwrap(), "1");
        fs::remove_file(&record).unwrap();
        fs::create_dir_all(record.join("in-the-way")).unwrap();
        record_process(dir.path(), id).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "a part of a record is left");
    }

    #[test]
    fn only_the_very_process_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let spawn = || {
            let mut command = std::process::Command::new("sleep");
            std::os::unix::process::CommandExt::process_group(command.arg("600"), 0).spawn().unwrap()
        };
        let (mut ours, mut other) = (spawn(), spawn());
        record_process(dir.path(), ours.id()).unwrap();
        fs::write(dir.path().join(other.id().to_string()), "1").unwrap();
        kill_recorded(dir.path()).unwrap();
        assert!(!ours.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "a process that only has the same id lives on");
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
