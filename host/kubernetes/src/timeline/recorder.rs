//! The recorder: a handle, and the task that watches warnings and writes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event as CoreEvent;
use kube::Api;
use kube::core::ApiResource;
use kube::runtime::watcher::{Config, Event};
use plumbline_archive::layout::META_TIMELINE;
use plumbline_core::timeline::{ApiRequests, Change, TimelineEntry, TimelineKind};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::events;
use super::file::{OpenState, TimelineFile, note};
use super::nodes::{Before, node_changes, node_removed};
use super::pending::Pending;
use super::pods::pod_changes;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::monitor::MonitorOptions;
use crate::nodes::NodeView;
use crate::object_text::ObjectText;
use crate::pod_view::PodView;
use crate::retry::PAGE;
use crate::watch::{Watch, watch};

/// How often entries that are due are written.
const FLUSH: Duration = Duration::from_secs(1);

/// The interval over which requests to the API server are counted.
const API_INTERVAL: Duration = Duration::from_secs(10);

/// How long the end of a run waits for the last entries. The disk may be stuck.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// Seconds after which the watch of warnings is restarted, which costs one request.
const WATCH_SECONDS: u32 = 240;

/// Records the cluster timeline of one run, until it is stopped or dropped.
pub(crate) struct Recorder {
    /// Takes observations.
    pub(crate) observer: Observer,
    stop: CancellationToken,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    _guard: DropGuard,
}

impl Recorder {
    /// Starts recording into the tree of the run. Reads what an earlier process of the run recorded.
    /// Errors are logged.
    ///
    /// Must be called within a Tokio runtime.
    pub(crate) fn start(options: &MonitorOptions) -> Self {
        let (file, earlier) = TimelineFile::open(&options.tree.join(META_TIMELINE));
        let state = State { pending: Pending::default(), open: earlier.open };
        let observer = Observer { started: Instant::now(), state: Arc::new(Mutex::new(state)) };
        let since = earlier.last.unwrap_or_else(Timestamp::now);
        if earlier.last.is_some() {
            observer.lock().pending.add_state(note("resumed", "the aggregator restarted"));
        }
        let stop = CancellationToken::new();
        let work = Work {
            cluster: options.cluster.clone(),
            namespace: options.namespace.clone(),
            all_warnings: options.all_warnings,
            observer: observer.clone(),
            file: Some(file),
            since,
            alive: since,
            window: (Timestamp::now(), Instant::now()),
        };
        let task = tokio::spawn(work.run(stop.clone()));
        Self { observer, _guard: stop.clone().drop_guard(), stop, task: tokio::sync::Mutex::new(Some(task)) }
    }

    /// Writes the last entries, and stops.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        let Some(task) = self.task.lock().await.take() else { return };
        match tokio::time::timeout(STOP_WAIT, task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!("the recorder of the cluster timeline ended early: {error}"),
            Err(_) => tracing::warn!("the cluster timeline is incomplete: writing it took more than {STOP_WAIT:?}"),
        }
    }
}

struct State {
    pending: Pending,
    /// The states of nodes that an earlier process recorded and that were not seen again yet.
    open: BTreeSet<OpenState>,
}

/// Takes observations. Never waits for the disk. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Observer {
    started: Instant,
    state: Arc<Mutex<State>>,
}

impl Observer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Records what changed in a pod of the run.
    pub(crate) fn pod(&self, before: Option<&PodView>, after: &PodView) {
        let entries = pod_changes(before, after, Timestamp::now());
        if !entries.is_empty() {
            let (mut state, now) = (self.lock(), self.now());
            entries.into_iter().for_each(|entry| state.pending.add(entry, now));
        }
    }

    /// Records what changed in a node.
    pub(crate) fn node(&self, before: Before<'_>, after: &NodeView) {
        if matches!(before, Before::Seen(before) if before == after) {
            return;
        }
        let entries = node_changes(before, after, Timestamp::now());
        if !entries.is_empty() {
            let mut state = self.lock();
            for entry in entries {
                // An earlier process recorded the start of this state.
                let key = (after.name.clone(), entry.kind, entry.name.clone());
                let is_known = matches!(before, Before::Unknown) && state.open.remove(&key);
                if !is_known {
                    state.pending.add_state(entry);
                }
            }
        }
    }

    pub(crate) fn node_removed(&self, name: &str) {
        self.lock().pending.add_state(node_removed(name, Timestamp::now()));
    }

    /// Ends the states that an earlier process recorded and that the first list did not have.
    pub(crate) fn nodes_listed(&self) {
        let mut state = self.lock();
        for (node, kind, name) in std::mem::take(&mut state.open) {
            let text = format!("{name} ended before the aggregator restarted");
            let entry = TimelineEntry::new(Timestamp::now(), kind, &name, &text).change(Change::End);
            state.pending.add_state(entry.on_node(Some(&node)));
        }
    }

    /// Records that a plugin was launched, or that its results are complete.
    pub(crate) fn plugin(&self, plugin: &str, change: Change) {
        let text = match change {
            Change::Start => format!("plugin {plugin} was launched"),
            Change::End => format!("the results of plugin {plugin} are complete"),
        };
        let entry = TimelineEntry::new(Timestamp::now(), TimelineKind::Plugin, "", &text).change(change);
        self.lock().pending.add_state(entry.of_plugin(Some(plugin)));
    }
}

/// The namespaces whose warnings are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    Run,
    None,
}

struct Work {
    cluster: Cluster,
    namespace: String,
    all_warnings: bool,
    observer: Observer,
    /// The file, which is away while a thread writes to it.
    file: Option<TimelineFile>,
    /// Listed events that are older were seen, or happened before the run.
    since: Timestamp,
    /// When the watch of warnings last sent something.
    alive: Timestamp,
    /// When the interval for requests started.
    window: (Timestamp, Instant),
}

impl Work {
    async fn run(mut self, stop: CancellationToken) {
        let mut scope = if self.all_warnings { Scope::All } else { Scope::Run };
        let mut warnings = self.watch(scope);
        let mut flush = tokio::time::interval(FLUSH);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(event) = warnings.next() => {
                    if let Some(error) = self.warned(event) {
                        scope = self.narrow(scope, &error);
                        warnings = self.watch(scope);
                    }
                }
                _ = flush.tick() => {
                    if self.window.1.elapsed() >= API_INTERVAL {
                        self.count_requests();
                    }
                    let due = self.take(Pending::take);
                    self.write(due, false).await;
                }
            }
        }
        self.count_requests();
        let rest = self.take(Pending::take_all);
        self.write(rest, true).await;
    }

    fn watch(&self, scope: Scope) -> Watch {
        let (client, resource) = (self.cluster.client(), ApiResource::erase::<CoreEvent>(&()));
        let (api, of) = match scope {
            Scope::All => (Api::all_with(client, &resource), "all namespaces".to_owned()),
            Scope::Run => {
                (Api::namespaced_with(client, &self.namespace, &resource), format!("namespace `{}`", self.namespace))
            }
            Scope::None => return stream::pending().boxed(),
        };
        // Other events, such as pulled images and started containers, are ten times as many.
        let config = Config::default().page_size(PAGE).timeout(WATCH_SECONDS).fields("type=Warning");
        watch(api, config, format!("watch the warnings in {of}"))
    }

    /// Processes what the watch sent. Returns an error if the account lacks the permission.
    fn warned(&mut self, event: Result<Event<ObjectText>, ClusterError>) -> Option<ClusterError> {
        match event {
            Ok(Event::Init) => {
                // Everything before was received, or is older than the run.
                self.since = self.alive;
            }
            Ok(Event::InitApply(object)) => self.add(&object, true),
            Ok(Event::Apply(object)) => {
                self.alive = Timestamp::now();
                self.add(&object, false);
            }
            Ok(Event::InitDone | Event::Delete(_)) => self.alive = Timestamp::now(),
            Err(error) if error.code == Some(403) => return Some(error),
            Err(error) => tracing::debug!("{error}; retrying: until then warnings are not recorded"),
        }
        None
    }

    fn add(&self, object: &ObjectText, is_listed: bool) {
        let Some(warning) = events::read(&object.value(), Timestamp::now()) else { return };
        if is_listed && warning.entry.time <= self.since {
            return;
        }
        let now = self.observer.now();
        self.observer.lock().pending.add_warning(warning, self.since, now);
    }

    /// Watches less, because the account may not watch more.
    fn narrow(&self, scope: Scope, error: &ClusterError) -> Scope {
        let (narrower, missing) = match scope {
            Scope::All => (Scope::Run, "other namespaces and of nodes"),
            Scope::Run | Scope::None => (Scope::None, "the run's namespace"),
        };
        let text = format!("warnings of {missing} are not recorded: {}", error.cause);
        tracing::info!("{text}");
        self.observer.lock().pending.add_state(note("forbidden", &text));
        narrower
    }

    fn count_requests(&mut self) {
        let (from, until) = (self.window.0, Timestamp::now());
        self.window = (until, Instant::now());
        if let Some(requests) = self.cluster.traffic.take_trouble() {
            let entry = TimelineEntry::new(from, TimelineKind::Api, "", &in_words(&requests));
            let until = Some(until).filter(|until| until.duration_since(from) > SignedDuration::ZERO);
            self.observer.lock().pending.add_state(TimelineEntry { until, api: Some(requests), ..entry });
        }
    }

    fn take(&mut self, take: fn(&mut Pending, Duration) -> Vec<TimelineEntry>) -> Vec<TimelineEntry> {
        let now = self.observer.now();
        let (taken, dropped) = {
            let mut state = self.observer.lock();
            (take(&mut state.pending, now), state.pending.take_dropped())
        };
        if let Some(file) = &mut self.file {
            file.count_dropped(dropped);
        }
        taken
    }

    /// Writes on a thread for blocking calls, because a disk may be slow.
    async fn write(&mut self, entries: Vec<TimelineEntry>, is_last: bool) {
        if entries.is_empty() && !is_last {
            return;
        }
        let Some(mut file) = self.file.take() else { return };
        let write = move || {
            file.append(&entries);
            if is_last {
                file.finish();
            }
            file
        };
        match tokio::task::spawn_blocking(write).await {
            Ok(file) => self.file = Some(file),
            Err(error) => tracing::error!("the cluster timeline is incomplete: {error}"),
        }
    }
}

/// Returns a sentence such as `3 of 40 requests failed: 503 ×2, no-response ×1; slowest 1.2 s`.
fn in_words(requests: &ApiRequests) -> String {
    let ApiRequests { requests, errors, slowest_ms } = requests;
    let failed: u64 = errors.values().sum();
    let listed: Vec<String> = errors.iter().map(|(code, count)| format!("{code} ×{count}")).collect();
    let failed = match listed.is_empty() {
        true => format!("none of {requests} requests failed"),
        false => format!("{failed} of {requests} requests failed: {}", listed.join(", ")),
    };
    format!("{failed}; slowest {}.{} s", slowest_ms / 1000, slowest_ms % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_described_in_words() {
        let errors = [("503".to_owned(), 2), ("no-response".to_owned(), 1)].into();
        let some = ApiRequests { requests: 40, errors, slowest_ms: 1234 };
        assert_eq!(in_words(&some), "3 of 40 requests failed: 503 ×2, no-response ×1; slowest 1.2 s");
        let slow = ApiRequests { requests: 2, slowest_ms: 61_050, ..ApiRequests::default() };
        assert_eq!(in_words(&slow), "none of 2 requests failed; slowest 61.0 s");
    }
}
