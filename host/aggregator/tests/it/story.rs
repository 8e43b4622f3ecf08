//! A whole run with real workers, over several lives of its aggregator. It checks two invariants.
//! The archive has exactly the bytes of each acknowledged upload, once. Once an archive has its
//! name, its bytes never change.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use plumbline_aggregator::{ArchivedRun, Run, RunError, Settings, State, WorkDir, WorkerAccess};
use plumbline_archive::disk::Disk;
use plumbline_core::ResultKey;
use plumbline_core::ledger::{Event, KeyState};
use plumbline_phonehome::{
    Bytes, Heartbeat, HeartbeatAnswer, Hello, Outcome, Phase, RetryPolicy, RunCa, Source, Timestamp, Upload,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::harness::{Crash, Hook, PATIENCE, Plan, Raw, TestDispatcher, client, key, modules, put_head, source, until};

/// Creates a directory in memory, if possible. Real syncs would take most of the time without a
/// benefit.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The timeout of the plugin that sends only partial results.
const TIMEOUT: &str = "plumbline:\n  timeout: 500ms";
const HEARTBEAT: Duration = Duration::from_millis(20);

/// What workers know about the results that they sent. Partial results count as results, because
/// their plugin sends no others.
#[derive(Default)]
struct Sent {
    all: BTreeMap<ResultKey, BTreeSet<String>>,
    acknowledged: BTreeMap<ResultKey, BTreeSet<String>>,
}

/// A run over several lives of its aggregator.
pub(crate) struct Story {
    pub(crate) dir: TempDir,
    sent: Arc<Mutex<Sent>>,
    life: usize,
    /// Whether there is a plugin that times out and sends only partial results.
    partial: bool,
    /// The archives that earlier lives left, by file name.
    finished: BTreeMap<OsString, Vec<u8>>,
}

impl Story {
    pub(crate) fn new() -> Self {
        let dir = directory();
        fs::create_dir(dir.path().join("output")).unwrap();
        Self { dir, sent: Arc::default(), life: 0, partial: false, finished: BTreeMap::new() }
    }

    /// Creates a run with an additional plugin that times out and sends only partial results.
    pub(crate) fn with_partial() -> Self {
        Self { partial: true, ..Self::new() }
    }

    /// Returns how many partial results were acknowledged.
    pub(crate) fn partial_results(&self) -> usize {
        self.sent.lock().unwrap().acknowledged.get(&key("r/global")).map_or(0, BTreeSet::len)
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn marker(&self) -> PathBuf {
        self.dir.path().join("marker")
    }

    /// Returns the archives that are there, by file name. Hidden files are not finished.
    fn archives(&self) -> BTreeMap<OsString, Vec<u8>> {
        let entries = fs::read_dir(self.dir.path().join("output")).unwrap().map(|entry| entry.unwrap());
        let archives = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
        archives.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
    }

    /// Runs to the end, or until the disk stops at step `at`. `after` then has the remaining state.
    /// Returns the number of steps.
    pub(crate) async fn until_crash(&mut self, at: usize, crash: Crash, event: Option<(usize, Hook)>) -> usize {
        let after = directory();
        let mut plan = Plan::stop(self.dir.path(), at, crash, after.path());
        if let Some((before, event)) = event {
            plan = plan.with_event(before, event);
        }
        let plan = Arc::new(plan);
        let result = self.live(Some(plan.clone())).await;
        if plan.stopped.is_cancelled() {
            self.dir = after;
        } else {
            result.unwrap_or_else(|error| panic!("before step {at}: {error}"));
        }
        plan.steps()
    }

    /// Runs to the end.
    pub(crate) async fn play(&mut self) {
        self.live(None).await.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Runs to the end on a disk that follows `plan`, or until the disk stops.
    pub(crate) async fn live(&mut self, plan: Option<Arc<Plan>>) -> Result<(), RunError> {
        self.life += 1;
        for (name, bytes) in self.archives() {
            self.finished.entry(name).or_insert(bytes);
        }
        let root = self.root();
        let stopped = plan.as_ref().map_or_else(CancellationToken::new, |plan| plan.stopped.clone());
        tokio::select! {
            biased;
            lived = tokio::time::timeout(PATIENCE, Box::pin(self.run(plan, &stopped))) => lived.unwrap_or_else(|_| panic!("the run does not end: {}", journal(&root))),
            // The process is gone, so nobody waits any more.
            () = stopped.cancelled() => Ok(()),
        }
    }

    async fn run(&self, plan: Option<Arc<Plan>>, stopped: &CancellationToken) -> Result<(), RunError> {
        let disk = plan.clone().map_or_else(Disk::default, |plan| Disk::faulty(plan));
        let marker = self.marker();
        if marker.exists() && !self.root().exists() {
            return Ok(());
        }
        let (dispatcher, mut launched) = TestDispatcher::new(&["n1", "n2", "n3"]);
        let marking = disk.clone();
        let keep = move |run: &ArchivedRun<'_>| marking.replace(&marker, run.status.tar_info.name.as_bytes(), 0o644);
        let output = self.dir.path().join("output");
        let settings = Settings { output, on_archived: Some(Arc::new(keep)), collect: PATIENCE, ..Settings::default() };
        let mut sources = vec![source("p", "DaemonSet", ""), source("q", "Job", "")];
        sources.extend(self.partial.then(|| source("r", "Job", TIMEOUT)));
        let work = WorkDir::open_on(disk, self.root())?;
        let run = match Run::begin(work, sources, settings, &modules(), Arc::new(dispatcher)).await {
            // Only the marker and the removal were left to do after the crash.
            Err(RunError::Finished { archive, .. }) => {
                assert!(archive.is_file(), "the run is finished, and its archive is not there");
                return Ok(());
            }
            begun => begun?.0,
        };
        let state = run.state();
        let of_plan = plan.map(|plan| {
            plan.state.set(state.clone()).ok();
            (plan.hang_up.clone(), plan.cancel.clone())
        });
        let (hang_up, cancel) = of_plan.unwrap_or_default();
        let worker = |key: ResultKey, access: &WorkerAccess| Worker {
            key,
            life: self.life,
            access: access.clone(),
            state: state.clone(),
            sent: Arc::clone(&self.sent),
            stopped: stopped.clone(),
            hang_up: hang_up.clone(),
        };
        let surviving = self.surviving(&state, run.url());
        let workers = async {
            let mut workers = JoinSet::new();
            let mut awaited: BTreeSet<ResultKey> = state.read(|ledger| {
                ["p", "q", "r"].iter().flat_map(|p| ledger.missing(&p.parse().unwrap())).cloned().collect()
            });
            if let Some(access) = &surviving {
                awaited.remove(&key("r/global"));
                workers.spawn(worker(key("r/global"), access).work());
            }
            while !awaited.is_empty() {
                let Some(launch) = launched.next_within(stopped).await else { return };
                // A worker that survived is not started again.
                for key in launch.missing.into_iter().filter(|key| awaited.remove(key)) {
                    workers.spawn(worker(key, &launch.access).work());
                }
            }
            while let Some(worker) = workers.join_next().await {
                worker.unwrap();
            }
        };
        let execution = Box::pin(run.execute(cancel));
        tokio::select! {
            result = execution => result.map(drop),
            () = async { workers.await; std::future::pending().await } => Ok(()),
        }
    }

    /// Returns the access of the worker of `r/global` that an earlier life launched. It outlives
    /// aggregators, and no later one launches it if its time is up.
    fn surviving(&self, state: &State, url: &str) -> Option<WorkerAccess> {
        let plugin = "r".parse().unwrap();
        let is_waiting = state.read(|ledger| ledger.launched(&plugin).is_some() && !ledger.missing(&plugin).is_empty());
        is_waiting.then(|| {
            let ca = RunCa::from_pem(&fs::read_to_string(self.root().join("ca.pem")).unwrap()).unwrap();
            let client = ca.issue_client(&plugin).unwrap();
            WorkerAccess {
                aggregator_url: url.to_owned(),
                ca_cert: ca.certificate_pem().to_owned(),
                client_cert: client.certificate_pem,
                client_key: client.key_pem,
            }
        })
    }

    pub(crate) fn check(&self, what: &str, may_fail: &[&str]) {
        let archives = self.archives();
        for (name, bytes) in &self.finished {
            assert!(archives.get(name) == Some(bytes), "{what}: the bytes of the archive {name:?} changed");
        }
        let entries = fs::read_dir(self.dir.path().join("output")).unwrap();
        let entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        let [archive] = entries.as_slice() else { panic!("{what}: there is not just one archive: {entries:?}") };
        if let Ok(name) = fs::read_to_string(self.marker()) {
            assert!(archive.ends_with(&name), "{what}: archive `{name}` not found: {entries:?}");
        }
        let found = results(archive);
        for key in ["p/n1", "p/n2", "p/n3", "q/global"].map(key) {
            let may_fail = may_fail.contains(&key.to_string().as_str());
            self.check_result(&key, &found, may_fail, &format!("{what}: {key} in `{}`", archive.display()));
        }
        if self.partial {
            self.check_partial(&found, what);
        }
    }

    /// Checks that the archive has the partial result that was acknowledged. The response to it may
    /// have been lost.
    fn check_partial(&self, found: &BTreeMap<String, Vec<u8>>, what: &str) {
        let key = key("r/global");
        let sent = self.sent.lock().unwrap();
        let files = found.iter().filter(|(name, _)| name.starts_with("plugins/r/partial/global/"));
        let texts: Vec<String> = files.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        assert!(found.contains_key("plugins/r/errors/global/error.json"), "{what}: a timeout without an error");
        match sent.acknowledged.get(&key) {
            Some(acknowledged) => {
                assert_eq!(acknowledged.len(), 1, "{what}: two partial results were acknowledged: {acknowledged:?}");
                assert!(texts.iter().eq(acknowledged), "{what}: {texts:?} instead of {acknowledged:?}");
            }
            None => {
                assert!(texts.len() <= 1, "{what}: {texts:?}");
                let all = sent.all.get(&key);
                assert!(
                    texts.iter().all(|text| all.is_some_and(|all| all.contains(text))),
                    "{what}: {texts:?} was never sent"
                );
            }
        }
    }

    fn check_result(&self, key: &ResultKey, found: &BTreeMap<String, Vec<u8>>, may_fail: bool, what: &str) {
        let sent = self.sent.lock().unwrap();
        let below = |kind: &str| format!("plugins/{}/{kind}/{}/", key.plugin, key.node);
        let files: Vec<(&String, &Vec<u8>)> =
            found.iter().filter(|(name, _)| name.starts_with(&below("results"))).collect();
        let failed = found.contains_key(&format!("{}error.json", below("errors")));
        let texts: BTreeSet<String> =
            files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        let expected_files = if key.node.as_str() == "n2" { 2 } else { 1 };
        match sent.acknowledged.get(key) {
            Some(acknowledged) => {
                assert_eq!(acknowledged.len(), 1, "{what}: two uploads were acknowledged: {acknowledged:?}");
                assert_eq!(&texts, acknowledged, "{what}");
                assert_eq!(files.len(), expected_files, "{what}: {files:?}");
                assert!(!failed, "{what}: acknowledged, and failed as well");
            }
            // The plugin's time was up, or the run was over.
            None if may_fail && failed => {
                assert!(files.is_empty(), "{what}: failed, and there are {files:?}")
            }
            // The response was lost. A later attempt was rejected because there is a result.
            None => {
                assert!(!failed, "{what}: it could be sent again, and failed");
                assert_eq!((texts.len(), files.len()), (1, expected_files), "{what}: {texts:?}");
                assert!(texts.is_subset(&sent.all[key]), "{what}: {texts:?} was never sent");
            }
        }
    }
}

/// The worker of one result.
struct Worker {
    key: ResultKey,
    life: usize,
    access: WorkerAccess,
    state: State,
    sent: Arc<Mutex<Sent>>,
    stopped: CancellationToken,
    /// Makes the clients of `p/n1` and `r/global` close their connections and retry.
    hang_up: CancellationToken,
}

impl Worker {
    async fn work(self) {
        match self.key.to_string().as_str() {
            "p/n2" => {
                self.abandon().await;
                self.send_until_received("").await;
            }
            "p/n3" => {
                // The time of the plugin is up while this result is being sent.
                let timeout = async {
                    let others = ["p/n1", "p/n2"].map(key);
                    let received = |state: Option<KeyState>| matches!(state, Some(KeyState::Received { .. }));
                    until(&self.state, |ledger| others.iter().all(|key| received(ledger.state(key)))).await;
                    // Rejected if the run is interrupted, or the disk has stopped.
                    let _ = self.state.apply(Event::TimedOut { plugin: self.key.plugin.clone() });
                };
                let uploads = async {
                    let others = ["p/n1", "p/n2"].map(key);
                    let received = |state: Option<KeyState>| matches!(state, Some(KeyState::Received { .. }));
                    until(&self.state, |ledger| others.iter().any(|key| received(ledger.state(key)))).await;
                    self.send_until_received("").await;
                };
                tokio::select! {
                    _ = async { tokio::join!(timeout, uploads) } => {}
                    () = self.stopped.cancelled() => {}
                }
            }
            "q/global" => {
                // A duplicate with other bytes.
                tokio::join!(self.send_until_received("first"), self.send_until_received("second"));
            }
            "r/global" => Box::pin(self.send_partial()).await,
            _ => self.send_until_received("").await,
        }
    }

    /// Sends heartbeats until the aggregator asks for a partial result, and then sends two at once.
    async fn send_partial(&self) {
        let client = client(&self.access);
        let (version, results_dir) = ("test".to_owned(), "/results".to_owned());
        let hello = Hello { version, pid: None, started: Timestamp::now(), results_dir };
        // The aggregator may be stopping.
        let _ = client.hello(&self.key, &hello).await;
        let mut heartbeats = tokio::time::interval(HEARTBEAT);
        let mut attempt = 0;
        while self.state.read(|ledger| ledger.missing(&self.key.plugin).contains(&&self.key)) {
            heartbeats.tick().await;
            let heartbeat = Heartbeat { phase: Phase::Waiting, since: Timestamp::now() };
            let answer = client.heartbeat(&self.key, &heartbeat).await;
            if answer.is_ok_and(|answer| HeartbeatAnswer::read(&answer.body).send_partial) {
                let [first, second] = ["first", "second"].map(|which| Box::pin(self.send_partial_once(which, attempt)));
                tokio::join!(first, second);
                attempt += 1;
            }
        }
    }

    async fn send_partial_once(&self, which: &str, attempt: usize) {
        let text = format!("{} {which}, partial, of life {}, attempt {attempt}", self.key, self.life);
        self.sent.lock().unwrap().all.entry(self.key.clone()).or_default().insert(text.clone());
        let upload = crate::harness::file("a", text.clone());
        let answer = tokio::select! {
            answer = async { client(&self.access).put_partial(&self.key, &upload, &RetryPolicy::never()).await } => answer,
            () = self.hang_up.cancelled(), if attempt == 0 => return,
        };
        // The other one was first, or the disk fails: the next heartbeat shows whether to retry.
        if let Ok(Outcome::Stored) = answer {
            self.sent.lock().unwrap().acknowledged.entry(self.key.clone()).or_default().insert(text);
        }
    }

    /// Closes the connection in the middle of an upload.
    async fn abandon(&self) {
        let head = put_head(
            &format!("by-node/{}/{}", self.key.node, self.key.plugin),
            &["Content-Length: 1000", "Content-Type: application/gzip"],
        );
        let hang_up = async {
            if let Ok(mut raw) = Raw::try_connect(&self.access).await {
                let _ = raw.send(head).await;
                let _ = raw.send([0; 500]).await;
            }
        };
        tokio::select! {
            () = hang_up => {}
            () = self.stopped.cancelled() => {}
        }
    }

    async fn send_until_received(&self, which: &str) {
        for attempt in 0.. {
            let text = format!("{} {which} of life {}, attempt {attempt}", self.key, self.life);
            self.sent.lock().unwrap().all.entry(self.key.clone()).or_default().insert(text.clone());
            let upload =
                if self.key.node.as_str() == "n2" { archive(&text) } else { crate::harness::file("a", text.clone()) };
            let mut changes = self.state.changes();
            let answer = tokio::select! {
                answer = async { client(&self.access).put_result(&self.key, &upload, &RetryPolicy::never()).await } => answer,
                () = self.stopped.cancelled() => return,
                () = self.hang_up.cancelled(), if attempt == 0 && self.key.node.as_str() == "n1" => continue,
            };
            match answer {
                Ok(Outcome::Stored) => {
                    self.sent.lock().unwrap().acknowledged.entry(self.key.clone()).or_default().insert(text);
                    return;
                }
                Ok(Outcome::AlreadyReceived | Outcome::OtherReceived) => return,
                // The disk fails, or another upload is in progress. Retry after a change.
                Err(_) => {
                    let _ = tokio::time::timeout(Duration::from_millis(100), changes.changed()).await;
                }
            }
            assert!(attempt < 1000, "{} is refused again and again", self.key);
        }
    }
}

fn journal(root: &Path) -> String {
    fs::read_to_string(root.join("journal")).unwrap_or_else(|error| error.to_string())
}

/// Returns an archive of two files with the same text.
pub(crate) fn archive(text: &str) -> Upload {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for name in ["a", "below/b"] {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    Upload::result(Source::Bytes(Bytes::from(bytes)), "application/gzip", Some("results.tar.gz".to_owned()))
}

/// Returns the files of an archive, and checks that they are unique.
fn results(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut tar = tar::Archive::new(GzDecoder::new(File::open(archive).unwrap()));
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if entry.header().entry_type().is_file() {
            assert!(files.insert(name.clone(), bytes).is_none(), "`{name}` comes twice");
        }
    }
    files
}

/// Returns another number below `limit` for each `n`, in no particular order.
pub(crate) fn scattered(n: usize, limit: usize) -> usize {
    let digest = Sha256::digest(n.to_le_bytes());
    usize::from(u16::from_le_bytes([digest[0], digest[1]])) % limit.max(1)
}

/// Number of concurrent runs.
const AT_ONCE: usize = 12;

/// Calls `point` with 0, 1, … until it returns that the run was over before that step.
pub(crate) async fn walk(point: impl AsyncFn(usize) -> bool) -> usize {
    let mut points = 0;
    for first in (0..).step_by(AT_ONCE) {
        let hit = futures_util::future::join_all((first..first + AT_ONCE).map(|at| point(at))).await;
        points += hit.iter().filter(|hit| **hit).count();
        // The number of steps varies a little between runs.
        if !hit.contains(&true) {
            return points;
        }
    }
    unreachable!("the walk is endless")
}
