//! The only task that owns the index. It receives observations and commands, and sends reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, future, stream};
use jiff::Timestamp;
use plumbline_aggregator::{Exit, Report, WorkerContact};
use plumbline_core::{PluginName, ResultKey};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assess::Kind;
use super::capture::{self, Capture};
use super::confirm::{Confirmation, Confirmer};
use super::events::{About, Events};
use super::evidence::{Evidence, WorkerSays, gather};
use super::exits::{ended_well, exits, have_ended};
use super::index::{Index, Now, Verdict};
use super::options::{MonitorOptions, Watched};
use super::watch::{self, Observation};
use crate::pod_view::PodView;

/// Maximum number of results to investigate at once. A wave of failures must not overload the API
/// server.
const AT_ONCE: usize = 8;

/// Maximum delay of a verdict while the API server does not answer.
const BLIND: Duration = Duration::from_secs(10);

/// How long to wait for the plugin's container to end after its result arrived. This is long enough
/// to learn its exit code, and short for a run.
const EXIT_WAIT: Duration = Duration::from_secs(5);

/// Delay before a report is offered again to a full queue of the run loop.
const NEWS_PAUSE: Duration = Duration::from_secs(1);

/// Timeout for capturing the logs of one plugin. The results wait meanwhile, and matter more.
const CAPTURE_TIME: Duration = Duration::from_secs(180);

/// Commands of the handle.
pub(super) enum Command {
    Watch(Box<Watched>, mpsc::Sender<Report>),
    Settle(PluginName, oneshot::Sender<Vec<Exit>>),
}

/// The outcome of a spawned task.
enum Done {
    Nothing,
    /// The verdict was not confirmed, and is reconsidered after this delay.
    Premature {
        key: ResultKey,
        kind: Kind,
        delay: Duration,
    },
    /// The workers of this result's plugin never contact the aggregator.
    NoHello(ResultKey),
}

/// A plugin with complete results whose container may not have ended yet.
struct Settling {
    watched: Watched,
    until: Instant,
    reply: oneshot::Sender<Vec<Exit>>,
}

/// The state of the task.
pub(super) struct Work {
    options: Arc<MonitorOptions>,
    started: Instant,
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
    gate: Arc<Semaphore>,
    beside: JoinSet<Done>,
}

impl Work {
    pub(super) fn new(options: MonitorOptions) -> Self {
        let capture = Capture::new(options.cluster.clone(), options.namespace.clone(), options.tree.clone());
        Self {
            index: Index::new(options.namespace.clone(), options.graces.clone()),
            events: Events::new(&options.cluster, &options.namespace),
            options: Arc::new(options),
            started: Instant::now(),
            reports: BTreeMap::new(),
            settling: Vec::new(),
            news: BTreeMap::new(),
            news_again: None,
            capture,
            gate: Arc::new(Semaphore::new(AT_ONCE)),
            beside: JoinSet::new(),
        }
    }

    /// Runs until it is stopped, or until all handles are dropped.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>, stop: CancellationToken) {
        let mut pods = watch::pods(&self.options.cluster, &self.options.namespace);
        let mut nodes = watch::nodes(&self.options.cluster);
        loop {
            let deadline = self.deadline();
            tokio::select! {
                () = stop.cancelled() => break,
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                Some(sight) = pods.next() => self.see(sight),
                Some(sight) = nodes.next() => self.see(sight),
                Some(done) = self.beside.join_next() => self.done(done),
                () = until(deadline) => self.tick(),
            }
            self.tell_news();
            self.settle_what_has_ended();
        }
        // Nothing receives the results of pending tasks.
        self.beside.shutdown().await;
    }

    fn now(&self) -> Now {
        Now { at: self.started.elapsed(), wall: Timestamp::now() }
    }

    fn deadline(&self) -> Option<Instant> {
        let verdict = self.index.next_deadline().and_then(|at| self.started.checked_add(at));
        verdict.into_iter().chain(self.news_again).chain(self.settling.iter().map(|settling| settling.until)).min()
    }

    /// Reports the problems that delay results. Never waits, because the run loop may itself be
    /// waiting for a disk or for this monitor.
    fn tell_news(&mut self) {
        self.news.extend(self.index.take_news());
        self.news_again = None;
        for (key, reason) in std::mem::take(&mut self.news) {
            // A plugin that is no longer watched needs no reports.
            let Some(sender) = self.reports.get(&key.plugin) else { continue };
            match sender.try_send(Report::Problem { key: key.clone(), reason: reason.clone() }) {
                Err(mpsc::error::TrySendError::Full(_)) => drop(self.news.insert(key, reason)),
                Err(mpsc::error::TrySendError::Closed(_)) => {}
                Ok(()) => self.tell_cluster(&key, reason),
            }
        }
        if !self.news.is_empty() {
            self.news_again = Some(Instant::now() + NEWS_PAUSE);
        }
    }

    /// Creates an event about a delayed result.
    fn tell_cluster(&mut self, key: &ResultKey, reason: Option<String>) {
        let (Some(reason), Some(pod)) = (reason, self.index.pod_for(key).cloned()) else { return };
        let (events, gate) = (self.events.clone(), Arc::clone(&self.gate));
        self.beside.spawn(async move {
            // The semaphore is never closed.
            let _permit = gate.acquire().await;
            events.warn(&pod, About::Delayed, &reason).await;
            Done::Nothing
        });
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Watch(watched, reports) => {
                self.reports.insert(watched.plugin.clone(), reports);
                let pods = self.index.pods_of(&watched.session);
                self.index.watch(*watched, self.now());
                pods.iter().for_each(|pod| self.tell_end(pod));
            }
            Command::Settle(plugin, reply) => match self.index.watched(&plugin).cloned() {
                Some(watched) => self.settling.push(Settling { watched, until: Instant::now() + EXIT_WAIT, reply }),
                // The plugin was not launched. The caller treats a missing answer as nothing to
                // report.
                None => drop(reply),
            },
        }
    }

    /// Reports that the plugin of a pod ended successfully, because its worker has no token to see
    /// that. Repeated reports are harmless.
    fn tell_end(&mut self, pod: &PodView) {
        let watched = pod.session.as_deref().and_then(|session| self.index.watched_in(session));
        let Some(key) = watched.and_then(|watched| ended_well(pod, watched)) else { return };
        let Some(reports) = self.reports.get(&key.plugin).cloned() else { return };
        self.beside.spawn(async move {
            // The run may be over.
            let _ = reports.send(Report::PluginEnded { key }).await;
            Done::Nothing
        });
    }

    fn see(&mut self, sight: Observation) {
        let now = self.now();
        match &sight {
            Observation::Pod(pod) => {
                self.options.workers.lock().apply(pod);
                self.tell_end(pod);
            }
            Observation::PodGone(pod, _) => self.options.workers.lock().remove(&pod.name),
            Observation::PodsBegin => self.options.workers.lock().begin_list(),
            Observation::PodsListed => self.options.workers.lock().end_list(),
            Observation::NodesBegin | Observation::Node(_) | Observation::NodeGone(_) | Observation::NodesListed => {}
        }
        match sight {
            Observation::PodsBegin => self.index.pods_list_begins(),
            Observation::Pod(pod) => self.index.pod_applied(pod, now),
            Observation::PodGone(pod, object) => self.index.pod_removed(pod, object, now),
            Observation::PodsListed => self.index.pods_listed(now),
            Observation::NodesBegin => self.index.nodes_list_begins(),
            Observation::Node(node) => self.index.node_applied(node, now),
            Observation::NodeGone(name) => self.index.node_removed(&name, now),
            Observation::NodesListed => self.index.nodes_listed(now),
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
            let case = Case {
                options: Arc::clone(&self.options),
                gate: Arc::clone(&self.gate),
                capture: self.capture.afresh(),
                events: self.events.clone(),
                heard: watched.heard.clone(),
                reports,
            };
            self.beside.spawn(case.close(verdict));
        }
    }

    fn done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        let now = self.now();
        match done {
            Ok(Done::Nothing) => {}
            Ok(Done::Premature { key, kind, delay }) => self.index.reprieve(&key, kind, delay, now),
            Ok(Done::NoHello(key)) => self.index.expect_no_hello(&key, now),
            Err(error) => tracing::error!("a task of the monitor ended early: {error}"),
        }
    }

    fn settle_what_has_ended(&mut self) {
        let now = Instant::now();
        for settling in std::mem::take(&mut self.settling) {
            let pods = self.index.pods_of(&settling.watched.session);
            // A per-node pod continues as long as its worker, and the plugin's container is made to
            // wait in it.
            if settling.watched.per_node || now >= settling.until || have_ended(&pods, &settling.watched) {
                self.settle(settling, pods);
            } else {
                self.settling.push(settling);
            }
        }
    }

    fn settle(&mut self, settling: Settling, pods: Vec<PodView>) {
        let Settling { watched, reply, .. } = settling;
        // A result with a verdict already has its error.
        let told = exits(&pods, &watched).into_iter().filter(|exit| !self.index.was_given_up(&exit.key)).collect();
        self.index.forget(&watched.plugin);
        self.reports.remove(&watched.plugin);
        let capture = self.capture.afresh();
        // Each log of an unresponsive node would delay the end of the run until its timeout.
        let is_away = |pod: &PodView| pod.node.as_deref().is_some_and(|node| self.index.is_away(node));
        let (away, pods): (Vec<_>, Vec<_>) = pods.into_iter().partition(is_away);
        for PodView { name, node, .. } in away {
            let node = node.unwrap_or_default();
            tracing::warn!(pod = %name, "its logs are not in the archive: node `{node}` is not ready");
        }
        self.beside.spawn(async move {
            let mut left = pods.len();
            // The pods are processed as a stream, because pending requests for 5,000 pods would
            // need much memory.
            let all = stream::iter(pods)
                .map(|pod| {
                    let capture = capture.clone();
                    async move { capture.pod(&pod).await }
                })
                .buffer_unordered(capture::AT_ONCE)
                .for_each(|()| {
                    left -= 1;
                    future::ready(())
                });
            if tokio::time::timeout(CAPTURE_TIME, all).await.is_err() {
                let (plugin, seconds) = (&watched.plugin, CAPTURE_TIME.as_secs());
                tracing::warn!(%plugin, "logs of {left} pods are not in the archive: reading them took longer than {seconds} s");
            }
            // The receiver may be gone.
            let _ = reply.send(told);
            Done::Nothing
        });
    }
}

/// The investigation of one result that is about to count as missing.
struct Case {
    options: Arc<MonitorOptions>,
    gate: Arc<Semaphore>,
    capture: Capture,
    events: Events,
    heard: WorkerContact,
    reports: mpsc::Sender<Report>,
}

impl Case {
    async fn close(self, verdict: Verdict) -> Done {
        let (key, kind) = (verdict.key.clone(), verdict.kind);
        let heard_before = self.heard.at(&key);
        // The semaphore is never closed.
        let permit = self.gate.acquire().await;
        let options = &self.options;
        let asker = Confirmer { cluster: &options.cluster, namespace: &options.namespace, graces: &options.graces };
        let (sentence, pod) = match asker.look_again(&verdict).await {
            Confirmation::Holds { sentence, pod } => (sentence, pod),
            Confirmation::Over => return Done::Premature { key, kind, delay: kind.grace(&options.graces) },
            Confirmation::Blind(error) => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "not given up yet, because of a failure to look again: {error}");
                return Done::Premature { key, kind, delay: BLIND.min(kind.grace(&options.graces)) };
            }
        };
        let evidence = match &verdict.pod {
            // When the node is gone, so is the kubelet that serves the logs. When the pod is gone,
            // so are its logs.
            Some(seen) => {
                let reachable = !matches!(kind, Kind::NodeRemoved | Kind::NodeNotReady | Kind::PodGone);
                let newer = pod.as_ref().and_then(PodView::read);
                gather(&options.cluster, &options.namespace, newer.as_ref().unwrap_or(seen), reachable).await
            }
            None => Evidence::default(),
        };
        drop(permit);
        if kind == Kind::Hello {
            match evidence.worker_says() {
                WorkerSays::Ours(_) => {}
                WorkerSays::Foreign => {
                    tracing::info!(plugin = %key.plugin, "its workers are of another implementation and send no heartbeats, which is not a failure");
                    return Done::NoHello(key);
                }
                // A run with other workers must not fail because their logs are unreadable.
                WorkerSays::Nothing => return Done::Premature { key, kind, delay: kind.grace(&options.graces) },
            }
        }
        // A large image takes long over a slow connection, while the kubelet makes progress.
        if kind == Kind::Starting && evidence.is_pulling() {
            return Done::Premature { key, kind, delay: kind.grace(&options.graces) };
        }
        // The steps above take time, and the result may have arrived by now.
        let spoke = match kind {
            Kind::Hello => self.heard.at(&key).is_some(),
            Kind::Silent => self.heard.at(&key) != heard_before,
            _ => false,
        };
        if !self.heard.is_missing(&key) || spoke {
            return Done::Premature { key, kind, delay: kind.grace(&options.graces) };
        }
        let error = evidence.record(&verdict, &sentence, pod);
        if self.reports.send(Report::Failed { key, error }).await.is_err() {
            return Done::Nothing;
        }
        if let (Kind::Hello, Some(token)) = (kind, &options.fail_fast) {
            token.cancel();
        }
        if let Some(pod) = &verdict.pod {
            self.events.warn(pod, About::Lost, &sentence).await;
        }
        // Capture the log immediately, because a cleanup of the node may remove it.
        if let Some(pod) = &verdict.pod
            && !matches!(kind, Kind::NodeRemoved | Kind::NodeNotReady | Kind::PodGone)
        {
            self.capture.pod(pod).await;
        }
        Done::Nothing
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
