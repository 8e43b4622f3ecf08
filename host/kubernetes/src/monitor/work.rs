//! The monitor: a handle, and the only task that owns the index. The task receives observations and
//! commands, and sends reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::core::ApiResource;
use kube::runtime::watcher::{Config, Event};
use plumbline_aggregator::{Exit, Report, WorkerContact};
use plumbline_core::timeline::Change;
use plumbline_core::{PluginName, ResultKey};
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::capture::{Capture, capture_logs};
use super::exits::{Ends, all_unknown, ended_and_gone, ended_well, have_ended, list_pods};
use super::index::Index;
use super::investigate::{Investigation, Outcome};
use super::options::{MonitorOptions, SettledPlugin, Watched};
use super::tracked::Now;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::events::{Events, Subject, warning};
use crate::names;
use crate::nodes::{NODES_PAGE, NodeView};
use crate::object_text::ObjectText;
use crate::pod_view::PodView;
use crate::retry::PAGE;
use crate::timeline::{Before, Observer, Recorder};
use crate::watch::{Watch, watch};

/// Capacity of the command queue. There is one command for the start and one for the end of each
/// plugin.
const COMMANDS: usize = 64;

/// Watches the pods and nodes of one run, until it is stopped or dropped.
pub struct Monitor {
    commands: mpsc::Sender<Command>,
    recorder: Recorder,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    _guard: DropGuard,
}

impl Monitor {
    /// Starts watching and returns at once. API server errors are logged and retried.
    ///
    /// Must be called within a Tokio runtime.
    #[must_use]
    pub fn start(options: MonitorOptions) -> Self {
        let (commands, received) = mpsc::channel(COMMANDS);
        let stop = CancellationToken::new();
        let recorder = Recorder::start(&options);
        let work = Work::new(options, recorder.observer.clone());
        let task = tokio::spawn(work.run(received, stop.clone()));
        Self { commands, recorder, _guard: stop.clone().drop_guard(), stop, task: Mutex::new(Some(task)) }
    }

    /// Watches a plugin, and reports each of its missing results once through `reports`.
    pub async fn watch(&self, watched: Watched, reports: mpsc::Sender<Report>) {
        let plugin = watched.plugin.clone();
        if self.commands.send(Command::Watch(Box::new(watched), reports)).await.is_err() {
            tracing::warn!(%plugin, "not watched: the monitor was stopped");
        }
    }

    /// Captures the logs of a plugin whose results are complete, and stops watching it, if it is
    /// watched.
    ///
    /// Returns how its own containers ended. May take some minutes while there are logs to read.
    pub async fn settle(&self, plugin: SettledPlugin) -> Vec<Exit> {
        let (reply, exits) = oneshot::channel();
        // There is no answer if the monitor ended meanwhile.
        let answer = match self.commands.send(Command::Settle(Box::new(plugin.clone()), reply)).await {
            Ok(()) => exits.await.ok(),
            Err(_) => None,
        };
        answer.unwrap_or_else(|| all_unknown(&plugin, "the monitor of the run ended early"))
    }

    /// Stops watching, and completes the cluster timeline.
    pub async fn stop(&self) {
        self.stop.cancel();
        if let Some(task) = self.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!("the monitor ended early: {error}");
        }
        self.recorder.stop().await;
    }
}

enum Command {
    Watch(Box<Watched>, mpsc::Sender<Report>),
    Settle(Box<SettledPlugin>, oneshot::Sender<Vec<Exit>>),
}

/// Seconds after which a watch is restarted. A connection that broke silently is noticed after this
/// time, so it is less than the usual five minutes.
const WATCH_SECONDS: u32 = 120;

/// Maximum number of results to investigate at once. A wave of failures must not overload the API
/// server.
const AT_ONCE: usize = 8;

/// How long to wait for the plugin's container to end after its result arrived. This is long enough
/// to learn its exit code, and short for a run.
const EXIT_WAIT: Duration = Duration::from_secs(5);

/// Delay before a report is offered again to a full queue of the run loop.
const NEWS_PAUSE: Duration = Duration::from_secs(1);

/// A plugin with complete results whose container may not have ended yet.
struct Settling {
    plugin: SettledPlugin,
    until: Instant,
    reply: oneshot::Sender<Vec<Exit>>,
}

struct Work {
    options: Arc<MonitorOptions>,
    started: Instant,
    /// The clock of the heartbeats. All plugins of a run share it.
    clock: Option<WorkerContact>,
    index: Index,
    reports: BTreeMap<PluginName, mpsc::Sender<Report>>,
    settling: Vec<Settling>,
    /// Problems that delay results and were not reported yet. Only the latest of each result is
    /// kept.
    news: BTreeMap<ResultKey, Option<String>>,
    /// When to retry reporting.
    news_again: Option<Instant>,
    capture: Capture,
    events: Events,
    observer: Observer,
    gate: Arc<Semaphore>,
    tasks: JoinSet<Outcome>,
}

impl Work {
    fn new(options: MonitorOptions, observer: Observer) -> Self {
        let capture = Capture::new(options.cluster.clone(), options.namespace.clone(), options.tree.clone());
        Self {
            index: Index::new(options.namespace.clone(), options.graces.clone()),
            events: Events::new(&options.cluster, &options.namespace),
            options: Arc::new(options),
            started: Instant::now(),
            clock: None,
            reports: BTreeMap::new(),
            settling: Vec::new(),
            news: BTreeMap::new(),
            news_again: None,
            capture,
            observer,
            gate: Arc::new(Semaphore::new(AT_ONCE)),
            tasks: JoinSet::new(),
        }
    }

    /// Runs until it is stopped, or until all handles are dropped.
    async fn run(mut self, mut commands: mpsc::Receiver<Command>, stop: CancellationToken) {
        let (mut pods, mut nodes) = (self.watch_pods(), watch_nodes(&self.options.cluster));
        loop {
            let deadline = self.deadline();
            tokio::select! {
                () = stop.cancelled() => break,
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                Some(event) = pods.next() => self.pods_changed(event),
                Some(event) = nodes.next() => self.nodes_changed(event),
                Some(done) = self.tasks.join_next() => self.finished(done),
                () = sleep_until(deadline) => self.tick(),
            }
            self.report_news();
            self.settle_what_has_ended();
        }
        // Nothing receives the results of pending tasks.
        self.tasks.shutdown().await;
    }

    fn now(&self) -> Now {
        let wall = self.clock.as_ref().map_or_else(Timestamp::now, WorkerContact::now);
        Now { at: self.started.elapsed(), wall }
    }

    fn deadline(&self) -> Option<Instant> {
        let verdict = self.index.next_deadline().and_then(|at| self.started.checked_add(at));
        verdict.into_iter().chain(self.news_again).chain(self.settling.iter().map(|settling| settling.until)).min()
    }

    /// Reports the problems that delay results. Never waits, because the run loop may itself be
    /// waiting for a disk or for this monitor.
    fn report_news(&mut self) {
        self.news.extend(self.index.take_news());
        self.news_again = None;
        for (key, reason) in std::mem::take(&mut self.news) {
            // A plugin that is no longer watched needs no reports.
            let Some(sender) = self.reports.get(&key.plugin) else { continue };
            match sender.try_send(Report::Problem { key: key.clone(), reason: reason.clone() }) {
                Err(mpsc::error::TrySendError::Full(_)) => drop(self.news.insert(key, reason)),
                Err(mpsc::error::TrySendError::Closed(_)) => {}
                Ok(()) => self.create_event(&key, reason),
            }
        }
        if !self.news.is_empty() {
            self.news_again = Some(Instant::now() + NEWS_PAUSE);
        }
    }

    fn create_event(&mut self, key: &ResultKey, reason: Option<String>) {
        let (Some(reason), Some(pod)) = (reason, self.index.pod_for(key).map(Subject::of)) else { return };
        let (events, gate) = (self.events.clone(), Arc::clone(&self.gate));
        self.tasks.spawn(async move {
            // The semaphore is never closed.
            let _permit = gate.acquire().await;
            events.create(&pod, warning("ResultDelayed", reason)).await;
            Outcome::Done
        });
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Watch(watched, reports) => {
                self.observer.plugin(watched.plugin.as_str(), Change::Start);
                self.reports.insert(watched.plugin.clone(), reports);
                self.clock = Some(watched.heard.clone());
                let pods = self.index.pods_of(&watched.session);
                self.index.watch(*watched, self.now());
                pods.iter().for_each(|pod| self.report_end(pod));
            }
            Command::Settle(plugin, reply) => {
                // After a restart, an earlier monitor watched it.
                if self.index.watched(&plugin.plugin).is_some() {
                    self.observer.plugin(plugin.plugin.as_str(), Change::End);
                }
                self.settling.push(Settling { plugin: *plugin, until: Instant::now() + EXIT_WAIT, reply });
            }
        }
    }

    /// Reports that the plugin of a pod ended successfully, because its worker has no token to see
    /// that. Repeated reports are harmless.
    fn report_end(&mut self, pod: &PodView) {
        let watched = pod.session.as_deref().and_then(|session| self.index.watched_in(session));
        let Some(key) = watched.and_then(|watched| ended_well(pod, watched)) else { return };
        let Some(reports) = self.reports.get(&key.plugin).cloned() else { return };
        self.tasks.spawn(async move {
            // The run may be over.
            let _ = reports.send(Report::PluginEnded { key }).await;
            Outcome::Done
        });
    }

    fn watch_pods(&self) -> Watch {
        let MonitorOptions { cluster, namespace, .. } = &*self.options;
        let api = Api::namespaced_with(cluster.client(), namespace, &ApiResource::erase::<Pod>(&()));
        let config = watch_config(PAGE).labels(&names::plugin_pods_selector());
        watch(api, config, format!("watch the pods of plugins in namespace `{namespace}`"))
    }

    fn pods_changed(&mut self, event: Result<Event<ObjectText>, ClusterError>) {
        let now = self.now();
        match event {
            Ok(Event::Init) => {
                self.options.workers.lock().begin_list();
                self.index.pods.begin_list();
            }
            Ok(Event::InitDone) => {
                self.options.workers.lock().end_list();
                self.index.pods_listed(now);
            }
            Ok(Event::InitApply(object)) => {
                if let Some(pod) = PodView::parse(object.as_str()) {
                    self.pod_applied(pod, now);
                }
            }
            Ok(Event::Apply(object)) => {
                // Many changes of a pod, such as that of its address, are not part of the view.
                if let Some(pod) = PodView::parse(object.as_str())
                    && self.index.is_news(&pod)
                {
                    self.pod_applied(pod, now);
                }
            }
            Ok(Event::Delete(object)) => {
                let Some(pod) = PodView::parse(object.as_str()) else { return };
                self.options.workers.lock().remove(&pod.name);
                self.index.pod_removed(pod, object.into_text(), now);
            }
            Err(error) => warn_interrupted(&error, "their state is unknown"),
        }
    }

    fn pod_applied(&mut self, pod: PodView, now: Now) {
        self.options.workers.lock().apply(&pod);
        self.report_end(&pod);
        self.observer.pod(self.index.pods.objects.get(&pod.name).map(|known| &**known), &pod);
        self.index.pod_applied(pod, now);
    }

    fn nodes_changed(&mut self, event: Result<Event<ObjectText>, ClusterError>) {
        let now = self.now();
        match event {
            Ok(Event::Init) => self.index.nodes.begin_list(),
            Ok(Event::InitDone) => {
                self.observer.nodes_listed();
                self.index.nodes_listed(now).iter().for_each(|name| self.observer.node_removed(name));
            }
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                if let Some(node) = NodeView::read(&object.value()) {
                    self.observer.node(self.index.node(&node.name), &node);
                    self.index.node_applied(node, now);
                }
            }
            Ok(Event::Delete(object)) => {
                let name = object.name();
                if matches!(self.index.node(name), Before::Seen(_)) {
                    self.observer.node_removed(name);
                }
                self.index.node_removed(name, now);
            }
            Err(error) => warn_interrupted(&error, "nodes that disappear or are not ready are not noticed"),
        }
    }

    fn tick(&mut self) {
        let now = self.now();
        for verdict in self.index.tick(now) {
            let (Some(reports), Some(watched)) =
                (self.reports.get(&verdict.key.plugin).cloned(), self.index.watched(&verdict.key.plugin))
            else {
                continue;
            };
            let investigation = Investigation {
                options: Arc::clone(&self.options),
                gate: Arc::clone(&self.gate),
                capture: self.capture.afresh(),
                events: self.events.clone(),
                heard: watched.heard.clone(),
                reports,
            };
            self.tasks.spawn(investigation.run(verdict));
        }
    }

    fn finished(&mut self, done: Result<Outcome, JoinError>) {
        let now = self.now();
        match done {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Premature { key, kind, delay }) => self.index.reprieve(&key, kind, delay, now),
            Ok(Outcome::NoHello(key)) => self.index.expect_no_hello(&key, now),
            Err(error) => tracing::error!("a task of the monitor ended early: {error}"),
        }
    }

    fn settle_what_has_ended(&mut self) {
        let now = Instant::now();
        for settling in std::mem::take(&mut self.settling) {
            let plugin = &settling.plugin;
            let pods = self.index.pods_of(&plugin.session);
            // A per-node pod continues as long as its worker, and the plugin's container is made to
            // wait in it. Without a result, there is no end to wait for.
            let is_awaited = !plugin.per_node && !plugin.received.is_empty() && now < settling.until;
            if is_awaited && !(self.index.pods.complete && have_ended(&pods, &plugin.container)) {
                self.settling.push(settling);
            } else {
                self.settle(settling, pods);
            }
        }
    }

    /// Settles a plugin whose pods were last seen as `seen`.
    fn settle(&mut self, settling: Settling, seen: Vec<Arc<PodView>>) {
        let Settling { mut plugin, reply, .. } = settling;
        // A verdict of this monitor already has the error.
        plugin.failed.retain(|key| !self.index.was_given_up(key));
        self.index.forget(&plugin.plugin);
        self.reports.remove(&plugin.plugin);
        let (options, capture) = (Arc::clone(&self.options), self.capture.afresh());
        let (ready, seen_all) = (self.index.ready_nodes(), self.index.pods.complete);
        self.tasks.spawn(async move {
            let (pods, gone, fault) = match list_pods(&options, &plugin.session).await {
                Ok(pods) => {
                    let gone = ended_and_gone(&plugin, seen, &pods);
                    (pods, gone, None)
                }
                Err(error) => {
                    tracing::warn!(plugin = %plugin.plugin, "{error}");
                    // Pods that continue as long as their workers change little.
                    (seen, Vec::new(), Some(error.to_string()).filter(|_| !(plugin.per_node && seen_all)))
                }
            };
            let known: Vec<_> = pods.iter().cloned().chain(gone).collect();
            let exits = Ends { plugin: &plugin, pods: &known, fault: fault.as_deref(), ready: ready.as_ref() }.exits();
            capture_logs(&capture, &plugin.plugin, pods, ready.as_ref()).await;
            // The receiver may be gone.
            let _ = reply.send(exits);
            Outcome::Done
        });
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Watches the nodes. If the account may not list them, there is only an error.
fn watch_nodes(cluster: &Cluster) -> Watch {
    let api = Api::all_with(cluster.client(), &ApiResource::erase::<Node>(&()));
    watch(api, watch_config(NODES_PAGE), "watch the nodes".to_owned())
}

fn watch_config(page: u32) -> Config {
    // Lists come from the storage and not from a cache. A pod that a stale list lacks would look
    // deleted.
    Config::default().page_size(page).timeout(WATCH_SECONDS)
}

fn warn_interrupted(error: &ClusterError, consequence: &str) {
    let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
    tracing::warn!("{error}; retrying: until then {consequence}{hint}");
}
