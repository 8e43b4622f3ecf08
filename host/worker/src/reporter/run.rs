//! The I/O of the reporter: observes, waits and writes, as the state machine decides.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_kubernetes::ClusterError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::access::Access;
use super::config::{Config, Pace};
use super::file_watch::FileWatch;
use super::machine::{Event, FileLook, Machine, Next, Rules};
use super::pod::PodNews;
use super::pod_watch::{Subject, follow};
use super::result::{Outcome, Read, last_changed, parse, read};
use super::write::{self, Author};

/// Parses a file of another format: takes its name and bytes, and returns a result or the reason
/// why it is invalid. Blocks.
pub type Processor = dyn Fn(&Path, &[u8]) -> Result<Outcome, String> + Send + Sync;

/// Timeout for reading the file. A volume that hangs must not delay the end.
const LOOK: Duration = Duration::from_secs(10);
/// Minimum interval between reads of a file that keeps changing.
const BREATH: Duration = Duration::from_millis(100);
/// How long a reporter that was asked to stop tries to write details and Event.
const BESIDE: Duration = Duration::from_secs(2);
/// A time beyond every wait.
const BEYOND: Duration = Duration::from_secs(365 * 24 * 3600);
/// How far the clock of a volume may be behind that of the node.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(10);
/// Capacity of the queue of pod observations.
const QUEUE: usize = 16;

/// The outcome of the reporter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The content of the condition.
    pub outcome: Outcome,
    /// Whether the condition already had this content, so that nothing was written.
    pub unchanged: bool,
}

/// Waits for a result or the end of the wait, and writes the condition.
///
/// `processor` parses results of formats other than the contract's. `terminate` completes when the
/// reporter is asked to stop.
///
/// # Errors
/// Returns an error if the condition could not be written. Every other failure becomes a condition.
pub async fn run(
    config: &Config,
    access: Arc<Access>,
    processor: Option<Arc<Processor>>,
    pace: Pace,
    terminate: impl Future<Output = ()>,
) -> Result<Reported, ClusterError> {
    let mut terminate = pin!(terminate);
    let observer = Observer::new(config, &access, processor, pace);
    let (outcome, author, mut terminated) = observer.run(terminate.as_mut()).await;
    let words = if outcome.success { "success" } else { "failure" };
    tracing::info!("{words}: {}: {}", outcome.reason, outcome.message);

    let patience = if terminated { pace.last_patience } else { pace.patience };
    let mut write = pin!(write::condition(&access, config, &outcome, &author, patience));
    let written = if terminated {
        last_try(config, pace, write).await
    } else {
        tokio::select! {
            biased;
            written = &mut write => written,
            () = &mut terminate => {
                tracing::info!("asked to stop while the condition is being written");
                terminated = true;
                last_try(config, pace, write).await
            }
        }
    }?;
    let state = if written.unchanged { "up to date" } else { "written" };
    tracing::info!("condition `{}` of job `{}` is {state}", config.condition_type, config.job);

    let details = write::details_and_event(&access, config, &outcome, &written);
    // Details and Event are not worth being killed for.
    let enough = async {
        if !terminated {
            terminate.await;
        }
        sleep(BESIDE).await;
    };
    tokio::select! {
        () = details => {}
        () = enough => tracing::warn!("asked to stop: details or the event may be missing, the condition is written"),
    }
    Ok(Reported { unchanged: written.unchanged, outcome: outcome.clone() })
}

/// Continues writing for the time that a reporter has after it was asked to stop.
async fn last_try<T>(
    config: &Config,
    pace: Pace,
    write: impl Future<Output = Result<T, ClusterError>>,
) -> Result<T, ClusterError> {
    match timeout(pace.last_patience, write).await {
        Ok(written) => written,
        Err(_) => Err(ClusterError::new(
            format!("write condition `{}` of job `{}`", config.condition_type, config.job),
            format!("stopped after {} s without success; see the log for the attempts", pace.last_patience.as_secs()),
        )),
    }
}

/// Observes file, pod and time until the machine has an outcome.
struct Observer<'a> {
    config: &'a Config,
    access: &'a Arc<Access>,
    pace: Pace,
    subject: Subject,
    file: File,
    files: FileWatch,
    machine: Machine,
    start: Instant,
    /// When the file was last read at an interval.
    looked: Instant,
    /// Observations of the pod, or `None` when the pod is no longer followed.
    news: Option<mpsc::Receiver<PodNews>>,
    /// Shortens the intervals at which the pod is read.
    hurry: watch::Sender<bool>,
    terminated: bool,
    /// Whether the end of this process was anticipated.
    anticipated: bool,
    /// Whether a provisional condition may have been written.
    is_written: bool,
    /// Whether the pod was read because of a file.
    is_asked: bool,
    /// Whether a file that is older than the pod was logged.
    is_refused: bool,
    /// The last logged state of the pod.
    logged: String,
}

impl<'a> Observer<'a> {
    fn new(config: &'a Config, access: &'a Arc<Access>, processor: Option<Arc<Processor>>, pace: Pace) -> Self {
        let now = Instant::now();
        Self {
            config,
            access,
            pace,
            subject: Subject::of(config),
            file: File { path: config.results_path.clone(), processor },
            files: FileWatch::new(config.results_path.parent().map(PathBuf::from).unwrap_or_default()),
            machine: Machine::new(Rules { max_wait: config.max_wait, settle: config.settle }),
            start: now,
            looked: now,
            news: None,
            hurry: watch::Sender::new(false),
            terminated: false,
            anticipated: false,
            is_written: false,
            is_asked: false,
            is_refused: false,
            logged: String::new(),
        }
    }

    /// Returns the outcome, who writes it, and whether the reporter was asked to stop.
    async fn run(mut self, mut terminate: Pin<&mut impl Future<Output = ()>>) -> (Outcome, Author, bool) {
        let (sender, news) = mpsc::channel(QUEUE);
        self.news = Some(news);
        let hurried = self.hurry.subscribe();
        let follower = tokio::spawn(follow(Arc::clone(self.access), self.subject.clone(), self.pace, hurried, sender));
        let mut event = Event::File(self.look().await);
        let mut is_result = false;
        let outcome = loop {
            let mut next = self.machine.on(self.start.elapsed(), event);
            if next == Next::Process {
                // A watch that broke silently shows an adapter that has crashed as running.
                self.confirm_pod().await;
                let look = self.look().await;
                next = self.machine.on(self.start.elapsed(), Event::File(look));
            }
            event = match next {
                Next::Done(outcome) => break outcome,
                Next::Process => {
                    let processed = self.file.process().await;
                    is_result = processed.is_ok();
                    Event::Processed(processed)
                }
                Next::Confirm { pod } => {
                    if pod {
                        self.confirm_pod().await;
                    }
                    Event::File(self.look().await)
                }
                Next::Wait(_) if self.terminated && !self.anticipated => self.anticipate().await,
                Next::Wait(until) => self.wait(until, terminate.as_mut()).await,
            };
        };
        follower.abort();
        // The task was just cancelled.
        let _ = follower.await;
        // Without the pod's owner, the condition could go to a later Job of the same name.
        if self.machine.pod().is_none() {
            self.confirm_pod().await;
        }
        let yields = !is_result && !self.machine.has_result() && !self.is_written;
        let created = self.machine.pod().and_then(|pod| pod.created).filter(|_| yields);
        (outcome, Author { job_uid: self.job_uid(), yields_since: created }, self.terminated)
    }

    /// Reads the file. Only the start of the pod shows whether the file is a result of this pod: its
    /// volume may outlive pods.
    async fn look(&mut self) -> FileLook {
        let mut look = self.file.look(self.oldest()).await;
        if look != FileLook::Absent && self.machine.pod().is_none() && !self.is_asked {
            self.is_asked = true;
            self.confirm_pod().await;
            look = self.file.look(self.oldest()).await;
        }
        if look == FileLook::Stale && !std::mem::replace(&mut self.is_refused, true) {
            tracing::warn!("ignored `{}`: it is older than the pod", self.file.path.display());
        }
        look
    }

    /// Returns the time before which no result of this pod was written, if known.
    fn oldest(&self) -> Option<Timestamp> {
        self.machine.pod()?.started?.checked_sub(CLOCK_SKEW).ok()
    }

    /// Writes what is known so far, if nothing in the pod explains why the reporter must stop.
    ///
    /// Then the kubelet evicts the pod or shuts down the node. The pod says so only after its
    /// containers have ended, within a single second.
    async fn anticipate(&mut self) -> Event {
        self.anticipated = true;
        self.confirm_pod().await;
        // A result that is there already decides, and so does an adapter that has ended.
        let file = Event::File(self.look().await);
        let is_open = matches!(self.machine.on(self.start.elapsed(), file.clone()), Next::Wait(_));
        if !is_open || self.machine.pod().is_some_and(|pod| pod.fate.is_some()) {
            return file;
        }
        self.look_at_node().await;
        let outcome = self.machine.provisional(self.start.elapsed());
        tracing::info!("provisional: {}: {}", outcome.reason, outcome.message);
        self.is_written = true;
        let author = Author { job_uid: self.job_uid(), yields_since: None };
        let write = write::condition(self.access, self.config, &outcome, &author, self.pace.last_look);
        match timeout(self.pace.last_look, write).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("{error}"),
            Err(_) => tracing::warn!("the provisional condition was not written within {:?}", self.pace.last_look),
        }
        Event::File(self.look().await)
    }

    fn job_uid(&self) -> Option<String> {
        self.machine.pod().and_then(|pod| pod.job_uid.clone())
    }

    async fn look_at_node(&mut self) {
        let Some(node) = self.machine.pod().and_then(|pod| pod.node.clone()) else { return };
        let asked = timeout(self.pace.last_look, self.subject.is_node_shutting_down(self.access, &node)).await;
        if asked == Ok(true) {
            self.machine.on(self.start.elapsed(), Event::NodeShutdown);
        }
    }

    /// Reads the pod once more before the end.
    async fn confirm_pod(&mut self) {
        let seen = match timeout(self.pace.last_look, self.subject.ask(self.access)).await {
            Ok(Ok((seen, _))) => seen,
            Ok(Err(error)) if error.is_not_found() && self.machine.pod().is_some() => PodNews::Gone,
            Ok(Err(error)) => PodNews::Unknown(error.cause),
            Err(_) => PodNews::Unknown(format!("no answer within {:?}", self.pace.last_look)),
        };
        self.machine.on(self.start.elapsed(), Event::Pod(seen));
    }

    /// Waits for the next event, until this time since the start, or until the next interval.
    async fn wait(&mut self, until: Duration, terminate: Pin<&mut impl Future<Output = ()>>) -> Event {
        // A time that the clock cannot represent counts as no limit.
        let far = Instant::now() + BEYOND;
        let poll = self.looked.checked_add(self.config.poll_interval).unwrap_or(far);
        let until = self.start.checked_add(until).unwrap_or(far).min(poll);
        let news = async {
            match &mut self.news {
                Some(news) => news.recv().await,
                None => std::future::pending().await,
            }
        };
        let changed = tokio::select! {
            biased;
            () = terminate, if !self.terminated => {
                self.terminated = true;
                tracing::info!("asked to stop");
                self.hurry.send_replace(true);
                return Event::Terminate;
            }
            seen = news => {
                let Some(seen) = seen else {
                    self.news = None;
                    return Event::Tick;
                };
                self.log(&seen);
                return Event::Pod(seen);
            }
            () = self.files.changed() => true,
            () = sleep_until(until) => false,
        };
        if changed {
            // Combine many writes into one read.
            sleep(BREATH).await;
        }
        self.files.rearm();
        self.looked = Instant::now();
        Event::File(self.look().await)
    }

    /// Logs the state of the pod if it has changed.
    fn log(&mut self, news: &PodNews) {
        let text = match news {
            PodNews::Look(look) => {
                let name = look.adapter.as_deref().unwrap_or("(none)");
                let fate = look.fate.as_ref().map(|fate| format!("; pod: {fate:?}")).unwrap_or_default();
                format!("adapter container `{name}`: {:?}{fate}", look.state)
            }
            PodNews::Gone => "the pod is gone".to_owned(),
            // The error was already logged where it occurred.
            PodNews::Unknown(_) => return,
        };
        if self.logged != text {
            tracing::info!("{text}");
            self.logged = text;
        }
    }
}

/// The file, and how it is parsed.
struct File {
    path: PathBuf,
    processor: Option<Arc<Processor>>,
}

impl File {
    /// Reads the file, and when it was last changed, if known.
    async fn read(&self) -> (Read, Option<Timestamp>) {
        let path = self.path.clone();
        // The time first, so that a file that is replaced in between does not make the earlier one new.
        let both = move || {
            let changed = last_changed(&path);
            (read(&path), changed)
        };
        match timeout(LOOK, tokio::task::spawn_blocking(both)).await {
            Ok(Ok(both)) => both,
            Ok(Err(error)) => (Read::unusable(format!("failed to read it: {error}")), None),
            Err(_) => (Read::unusable(format!("failed to read it within {} s", LOOK.as_secs())), None),
        }
    }

    /// Reads the file, which is stale if it was last changed before `oldest`.
    async fn look(&self, oldest: Option<Timestamp>) -> FileLook {
        let (read, changed) = self.read().await;
        let is_stale = oldest.is_some_and(|oldest| changed.is_some_and(|changed| changed < oldest));
        match read {
            Read::Absent => FileLook::Absent,
            _ if is_stale => FileLook::Stale,
            Read::Unusable { why, mark } => FileLook::Invalid { why, mark },
            Read::Bytes { mark, .. } if self.processor.is_some() => FileLook::Pending { mark },
            Read::Bytes { bytes, mark } => match parse(&bytes) {
                Ok(result) => FileLook::Valid(Box::new(result)),
                Err(error) => {
                    tracing::debug!("the result file is not a valid result yet: {error}");
                    FileLook::Invalid { why: error.to_string(), mark }
                }
            },
        }
    }

    async fn process(&self) -> Result<Box<Outcome>, String> {
        let Some(processor) = self.processor.clone() else { return Err("no credentials to read it with".to_owned()) };
        let bytes = match self.read().await.0 {
            Read::Bytes { bytes, .. } => bytes,
            Read::Unusable { why, .. } => return Err(why),
            Read::Absent => return Err("the file was removed again".to_owned()),
        };
        let name = self.path.file_name().map(PathBuf::from).unwrap_or_default();
        match tokio::task::spawn_blocking(move || processor(&name, &bytes)).await {
            Ok(result) => result.map(Box::new),
            Err(error) => Err(format!("failed to read it: {error}")),
        }
    }
}
