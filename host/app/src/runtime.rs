//! The process of a use case: its threads, its memory limit, and its credentials.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{AppError, Explain as _};

const NO_THREADS: &str = "failed to start the threads of this command";

/// Starts a runtime with as many threads as the machine has processors.
pub fn runtime() -> Result<Runtime, AppError> {
    Runtime::new().system_error(NO_THREADS)
}

/// Starts a runtime on the calling thread alone: for processes that wait for hours, and for single
/// requests.
pub fn one_thread() -> Result<Runtime, AppError> {
    Builder::new_current_thread().enable_all().build().system_error(NO_THREADS)
}

/// SIGTERM and SIGINT, which no longer end this process. The first process of a container receives
/// them only with a handler.
pub struct Termination {
    terminate: Signal,
    interrupt: Signal,
}

impl Termination {
    /// Installs the handlers. Needs a runtime.
    pub fn catch() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for either signal.
    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Makes `/proc/PID/environ`, `/proc/PID/root` and the memory of this process unreadable without
/// `CAP_SYS_PTRACE`. A plugin that sees the processes of its node could otherwise read the
/// certificates of other plugins.
pub fn conceal() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!("other processes of this user can read the credentials of this one: {error}");
    }
}

/// From here on, version 1 of control groups means that there is no limit.
const NONE: u64 = 1 << 60;

/// The limit in bytes. `None` if there is no limit, or if reading it failed.
pub(crate) fn memory_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_below(Path::new("/sys/fs/cgroup"), &groups)
}

/// The smallest limit of the groups in `groups`, the text of `/proc/self/cgroup`, and of their
/// ancestors.
fn limit_below(root: &Path, groups: &str) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = if controllers.is_empty() {
            (root.to_owned(), "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        // In a container, the path may be that of the host and not exist. The root is then the
        // group of the container.
        let group = root.join(path.trim_start_matches('/'));
        limits.extend(
            group
                .ancestors()
                .take_while(|group| group.starts_with(&root))
                .filter_map(|group| read_limit(group.join(file))),
        );
    }
    limits.into_iter().min()
}

fn read_limit(file: PathBuf) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok().filter(|limit| *limit < NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_the_groups_around_a_process_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let limit = |groups: &str| limit_below(root.path(), groups);
        assert_eq!(limit("0::/a/b\n"), None);
        write("a/b/memory.max", "max\n");
        assert_eq!(limit("0::/a/b\n"), None);
        write("a/memory.max", "1000\n");
        assert_eq!(limit("0::/a/b\n"), Some(1000));
        write("memory.max", "2000\n");
        assert_eq!(limit("0::/a/b\n"), Some(1000));
        assert_eq!(limit("0::/not/seen/from/here\n"), Some(2000));
        write("memory/x/memory.limit_in_bytes", "500\n");
        assert_eq!(limit("5:cpu,memory:/x\n1:name=systemd:/x\n"), Some(500));
        write("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit("5:memory:/x\n"), None);
    }
}
