//! Tests with a disk that is full for a while: a small file system in memory, which is filled and
//! emptied again. Others use a disk that has space only without the reserve of the run.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_archive::disk::{Disk, Faults, Step};
use plumbline_core::ledger::{ErrorRecord, Event, KeyState};
use plumbline_core::limits::{DISK_RESERVE_SHARE, FAILED_UPLOADS};
use plumbline_core::{ReceiveLimits, Verdict};
use plumbline_phonehome::{Bytes, ClientError, Outcome, Source, Upload};
use tokio::sync::oneshot;

use crate::harness::{Archive, PATIENCE, Raw, RunFixture, TestDispatcher, chunked_put, file, key, send, source};

const MIB: usize = 1 << 20;

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
    let mut fixture = RunFixture::within(dir);
    fixture.settings.receive.body_bytes = MIB as u64;
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
        assert_refused(send(&access, result, &file("a.txt", "meanwhile")).await, 503, "journal");
    }
    // This one is rejected however long the disk stays full.
    assert_refused(send(&access, "p/n2", &file("a.txt", vec![b'x'; 2 * MIB])).await, 413, "more than 1048576 bytes");

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

fn assert_refused(sent: Result<Outcome, ClientError>, code: u16, reason: &str) {
    match sent {
        Err(ClientError::Refused { status, body, .. }) if status == code && body.contains(reason) => {}
        other => panic!("not {code} with `{reason}`: {other:?}"),
    }
}

/// Returns an archive of files with so many zeros each.
fn zeros(sizes: &[usize]) -> Upload {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (number, size) in sizes.iter().enumerate() {
        let mut header = tar::Header::new_ustar();
        header.set_size(*size as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("{number}"), io::repeat(0).take(*size as u64)).unwrap();
    }
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    Upload::result(Source::Bytes(Bytes::from(bytes)), "application/gzip", Some("results.tar.gz".to_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_that_never_fit_are_rejected_for_good_and_others_wait_for_space() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path()) else { return };
    let filler = dir.path().join("filler");
    let mut fixture = RunFixture::within(dir);
    fixture.settings.receive.unpacked_bytes = 32 * MIB as u64;
    let mut live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let access = live.launch().await.access;

    // The first file does not fit on the file system, which has 24 MiB.
    let above = send(&access, "p/global", &zeros(&[24 * MIB, 9 * MIB])).await;
    assert_refused(above, 413, "more than 33554432 bytes unpacked");
    let never = send(&access, "p/global", &zeros(&[30 * MIB])).await;
    assert_refused(never, 413, "the file system of the aggregator has 25165824");
    fs::write(&filler, vec![0_u8; 14 * MIB]).unwrap();
    assert_refused(send(&access, "p/global", &zeros(&[12 * MIB])).await, 503, "unpacks to 12582912 bytes");
    // It is not unpacked again before it may fit.
    assert_refused(send(&access, "p/global", &zeros(&[12 * MIB])).await, 503, "bytes of disk space, and ");

    fs::remove_file(filler).unwrap();
    send(&access, "p/global", &zeros(&[12 * MIB])).await.unwrap();
    assert_eq!(Archive::of(&live.finished().await).text("plugins/p/results/global/0").len(), 12 * MIB);
    drop(disk);
}

/// A disk of 16 MiB that becomes full: it then has no space but the reserve of the run.
struct Full {
    root: PathBuf,
    is_full: AtomicBool,
    pause: Mutex<Option<Pause>>,
}

/// Holds up the first step on an error document in released space.
struct Pause {
    reached: oneshot::Sender<()>,
    over: mpsc::Receiver<()>,
}

impl Full {
    fn on(fixture: &mut RunFixture) -> Arc<Self> {
        let full = Arc::new(Self { root: fixture.root(), is_full: AtomicBool::new(false), pause: Mutex::default() });
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

    fn empty(&self) {
        self.is_full.store(false, Ordering::Relaxed);
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Pauses the run while it writes an error document into the released reserve. The receiver
    /// learns when that happens, and the sender ends the pause.
    fn pause(&self) -> (oneshot::Receiver<()>, mpsc::Sender<()>) {
        let ((reached, paused), (proceed, over)) = (oneshot::channel(), mpsc::channel());
        *self.pause.lock().unwrap() = Some(Pause { reached, over });
        (paused, proceed)
    }
}

impl Faults for Full {
    fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let (Step::Create(path) | Step::CreateTemporary(path) | Step::CreateDirectory(path) | Step::Write(path, _)) =
            step
        else {
            return act();
        };
        if !self.is_full() || path == self.reserve() {
            return act();
        }
        if self.reserve().exists() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let is_error = path.starts_with(self.root.join("tree/plugins/p/errors"));
        let pause = if is_error { self.pause.lock().unwrap().take() } else { None };
        if let Some(Pause { reached, over }) = pause {
            reached.send(()).unwrap();
            over.recv_timeout(PATIENCE).unwrap();
        }
        act()
    }

    fn free_bytes(&self) -> u64 {
        match (self.is_full(), self.reserve().exists()) {
            (false, _) => self.size_bytes(),
            (true, true) => 0,
            // That of the reserve.
            (true, false) => self.size_bytes() / DISK_RESERVE_SHARE,
        }
    }

    fn size_bytes(&self) -> u64 {
        16 * MIB as u64
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
    assert_refused(send(&access, "p/n2", &file("a.txt", "late")).await, 503, "");
    let error = ErrorRecord::new("the node is gone");
    live.state.apply_durable(Event::Failed { key: key("p/n2"), error }).await.unwrap();

    let archive = Archive::of(&live.finished().await);
    assert_eq!(archive.text("plugins/p/results/n1/a.txt"), "before");
    assert_eq!(archive.json("plugins/p/errors/n2/error.json")["error"], "the node is gone");
}

#[tokio::test]
async fn uploads_that_do_not_fit_now_are_rejected_before_they_start() {
    let mut fixture = RunFixture::new();
    let disk = Full::on(&mut fixture);
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2", "n3"]).await;
    let access = live.launch().await.access;
    disk.fill();
    for _ in 0..=FAILED_UPLOADS {
        assert_refused(
            send(&access, "p/n1", &file("a.txt", "late")).await,
            503,
            "4 bytes of disk space, and 0 are free",
        );
    }
    assert_eq!(live.state.read(|ledger| ledger.state(&key("p/n1"))), Some(KeyState::Waiting));
    let problem = || live.state.read(|ledger| ledger.problem(&key("p/n1")).map(str::to_owned));
    assert_eq!(problem().as_deref(), Some("the aggregator has no disk space for the result"));
    // The first attempt shows how much space a body of unknown length takes.
    let chunked = chunked_put("by-node/n2/p", &["Transfer-Encoding: chunked"]);
    for _ in 0..3 {
        assert_eq!(Raw::exchange(&access, &chunked).await.status, 503);
    }
    let error = ErrorRecord::new("the node is gone");
    live.state.apply_durable(Event::Failed { key: key("p/n3"), error }).await.unwrap();
    let journal = fs::read_to_string(fixture.root().join("journal")).unwrap();
    assert_eq!(journal.matches("upload-started").count(), 1, "{journal}");

    disk.empty();
    until("the journal does not recover", || live.state.trouble().is_none()).await;
    send(&access, "p/n1", &file("a.txt", "late")).await.unwrap();
    assert_eq!(problem(), None);
    assert_eq!(Raw::exchange(&access, &chunked).await.status, 200);
    let archive = Archive::of(&live.finished().await);
    assert_eq!(archive.text("plugins/p/results/n1/a.txt"), "late");
    assert_eq!(archive.text("plugins/p/results/n2/result").len(), 100 << 10);
}

/// A disk on which uploads exceed a quota, although space is free.
struct Quota {
    incoming: PathBuf,
    is_exceeded: AtomicBool,
}

impl Faults for Quota {
    fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        match step {
            Step::Write(path, _) if path.starts_with(&self.incoming) && self.is_exceeded.load(Ordering::Relaxed) => {
                Err(io::ErrorKind::QuotaExceeded.into())
            }
            _ => act(),
        }
    }
}

#[tokio::test]
async fn uploads_that_this_machine_cannot_store_do_not_count_as_failed() {
    let mut fixture = RunFixture::new();
    let quota = Arc::new(Quota { incoming: fixture.root().join("incoming"), is_exceeded: AtomicBool::new(true) });
    fixture.disk = Disk::faulty(quota.clone());
    let mut live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let access = live.launch().await.access;
    for _ in 0..=FAILED_UPLOADS {
        assert_refused(send(&access, "p/global", &file("a.txt", "late")).await, 503, "");
    }
    quota.is_exceeded.store(false, Ordering::Relaxed);
    send(&access, "p/global", &file("a.txt", "late")).await.unwrap();
    assert_eq!(Archive::of(&live.finished().await).text("plugins/p/results/global/a.txt"), "late");
}

#[tokio::test]
async fn uploads_do_not_take_the_reserve_while_it_is_released() {
    let mut fixture = RunFixture::new();
    let disk = Full::on(&mut fixture);
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2"]).await;
    let access = live.launch().await.access;
    let (paused, proceed) = disk.pause();

    disk.fill();
    let error = ErrorRecord::new("the node is gone");
    live.state.apply(Event::Failed { key: key("p/n2"), error }).unwrap();
    tokio::time::timeout(PATIENCE, paused).await.expect("the error is not written").unwrap();
    assert_refused(send(&access, "p/n1", &file("a.txt", "early")).await, 503, "reserved");
    proceed.send(()).unwrap();

    disk.empty();
    send(&access, "p/n1", &file("a.txt", "late")).await.unwrap();
    let archive = Archive::of(&live.finished().await);
    assert_eq!(archive.text("plugins/p/results/n1/a.txt"), "late");
    assert_eq!(archive.json("plugins/p/errors/n2/error.json")["error"], "the node is gone");
}

#[tokio::test]
async fn bodies_that_never_fit_are_rejected_for_good_on_a_full_disk() {
    let few = ReceiveLimits { plugin_bytes: 10_000, ..ReceiveLimits::default() };
    for (limits, bytes, reason) in [
        (few, 10_001, "more than 10000 bytes (limit `plugin-bytes`)"),
        (ReceiveLimits::default(), 17 * MIB, "the file system of the aggregator has 16777216"),
    ] {
        let mut fixture = RunFixture::new();
        fixture.settings.receive = limits;
        let disk = Full::on(&mut fixture);
        let mut live = fixture.live(vec![source("p", "Job", "")], &[]).await;
        let access = live.launch().await.access;
        disk.fill();
        assert_refused(send(&access, "p/global", &file("a.txt", vec![b'x'; bytes])).await, 413, reason);
        assert_refused(send(&access, "p/global", &file("a.txt", "small")).await, 503, "");
        disk.empty();
        send(&access, "p/global", &file("a.txt", "small")).await.unwrap();
        live.finished().await;
    }
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
