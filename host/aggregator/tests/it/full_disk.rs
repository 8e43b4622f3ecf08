//! Tests with a disk that is full for a while: a small file system in memory, which is filled and
//! emptied again. Others use a disk that has space only without the reserve of the run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumbline_archive::disk::{Disk, Faults, Step};
use plumbline_core::Verdict;
use plumbline_core::ledger::{ErrorRecord, Event};
use plumbline_phonehome::ClientError;

use crate::harness::{Archive, PATIENCE, RunFixture, TestDispatcher, file, key, send, source};

/// A small file system, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts the file system. If that is not possible, returns `None` and prints a message.
    fn mount(at: &Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(at).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            Ok(output) => {
                eprintln!("skipped: no file system can be mounted: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: `mount` cannot be run: {error}");
                None
            }
        }
    }

    /// Fills all remaining space.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut filler = File::create(&path).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "`{}` stays mounted", self.0.display());
    }
}

async fn until(what: &str, mut wish: impl FnMut() -> bool) {
    let wait = async {
        while !wish() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_for_a_while_delays_the_run_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path()) else { return };
    let fixture = RunFixture::within(dir);
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2", "n3"]).await;
    let access = live.launch().await.access;
    send(&access, "p/n1", &file("a.txt", "before")).await.unwrap();

    let filler = disk.fill();
    // More than the reserve.
    let error = ErrorRecord::new("the node is gone").with("log", "x".repeat(2 << 20));
    live.state.apply(Event::Failed { key: key("p/n3"), error }).unwrap();
    until("no trouble is reported", || live.state.trouble().is_some()).await;
    let status = live.state.status();
    let failure = status.failure.expect("the status says why");
    assert!(failure.reason.contains("journal"), "{failure:?}");
    for result in ["p/n1", "p/n2"] {
        // Even results that were received before are not acknowledged, because it is not known
        // which part of the journal is on disk.
        let refused = send(&access, result, &file("a.txt", "meanwhile")).await.unwrap_err();
        assert!(matches!(refused, ClientError::Refused { status, .. } if status == 503), "{refused}");
    }

    fs::remove_file(filler).unwrap();
    until("the journal does not recover", || live.state.trouble().is_none()).await;
    send(&access, "p/n2", &file("a.txt", "after")).await.unwrap();
    assert_eq!(live.state.status().failure, None);
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let archive = Archive::of(&finished);
    assert_eq!(archive.text("plugins/p/results/n1/a.txt"), "before");
    assert_eq!(archive.text("plugins/p/results/n2/a.txt"), "after");
    assert_eq!(archive.json("plugins/p/errors/n3/error.json")["error"], "the node is gone");
    drop(disk);
}

/// A disk that becomes full: it has no space for uploads, and space for the rest only after the run
/// has released its reserve.
struct Full {
    root: PathBuf,
    is_full: AtomicBool,
}

impl Full {
    fn on(fixture: &mut RunFixture) -> Arc<Self> {
        let full = Arc::new(Self { root: fixture.root(), is_full: AtomicBool::new(false) });
        fixture.disk = Disk::faulty(full.clone());
        full
    }

    fn reserve(&self) -> PathBuf {
        self.root.join("journal.reserve")
    }

    fn fill(&self) {
        assert!(self.reserve().exists(), "no space is reserved");
        self.is_full.store(true, Ordering::Relaxed);
    }
}

impl Faults for Full {
    fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let (Step::Create(path) | Step::CreateTemporary(path) | Step::CreateDirectory(path) | Step::Write(path, _)) =
            step
        else {
            return act();
        };
        let is_upload = path.starts_with(self.root.join("incoming"));
        let is_reserved = path != self.reserve() && self.reserve().exists();
        if self.is_full.load(Ordering::Relaxed) && (is_upload || is_reserved) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        act()
    }
}

#[tokio::test]
async fn results_wait_on_a_full_disk_and_errors_and_the_end_of_the_run_have_the_reserve() {
    let mut fixture = RunFixture::new();
    let disk = Full::on(&mut fixture);
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2"]).await;
    let access = live.launch().await.access;
    send(&access, "p/n1", &file("a.txt", "before")).await.unwrap();

    disk.fill();
    let refused = send(&access, "p/n2", &file("a.txt", "late")).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused { status, .. } if status == 503), "{refused}");
    let error = ErrorRecord::new("the node is gone");
    live.state.apply_durable(Event::Failed { key: key("p/n2"), error }).await.unwrap();

    let archive = Archive::of(&live.finished().await);
    assert_eq!(archive.text("plugins/p/results/n1/a.txt"), "before");
    assert_eq!(archive.json("plugins/p/errors/n2/error.json")["error"], "the node is gone");
}

#[tokio::test]
async fn partial_results_without_space_are_dropped_with_a_reason_and_the_run_ends() {
    let mut fixture = RunFixture::new();
    let disk = Full::on(&mut fixture);
    let written = fixture.dir.path().join("written");
    fs::create_dir(&written).unwrap();
    fs::write(written.join("a.txt"), "partial").unwrap();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let dispatcher = dispatcher.with_unsent("p/global", &written);
    let mut live = fixture.live_with(vec![source("p", "Job", "")], dispatcher, launched).await;
    live.launch().await;

    disk.fill();
    // An interrupted run does not wait for space.
    let archive = Archive::of(&live.interrupt().await);
    let error = archive.json("plugins/p/errors/global/error.json");
    let reason = error["partial-results"]["error"].as_str().unwrap_or_else(|| panic!("no reason: {error}"));
    assert!(reason.starts_with("failed to store the files"), "{reason}");
}
