//! The one task that owns the index: sights and commands in, reports out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, future, stream};
use jiff::Timestamp;
use plumbline_aggregator::{Exit, Heard, Report};
use plumbline_core::{PluginName, ResultKey};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assess::Kind;
use super::capture::{self, Capture};
use super::confirm::{Asker, SecondLook};
use super::events::{About, Events};
use super::evidence::{Evidence, WorkerSays, gather};
use super::exits::{ended_well, exits, have_ended};
use super::index::{Index, Now, Verdict};
use super::options::{MonitorOptions, Watched};
use super::watch::{self, Sight};
use crate::pod_view::PodView;

/// Results that are looked into at once: a wave of failures must not load the API server.
const AT_ONCE: usize = 8;

/// How long a verdict waits at most if the API server does not answer.
const BLIND: Duration = Duration::from_secs(10);

/// How long the plugin's container may take to end once its result is in: long enough to learn its exit code, and little in a run.
const EXIT_WAIT: Duration = Duration::from_secs(5);

/// How long to wait before offering news again to a run loop that has no room for it.
const NEWS_PAUSE: Duration = Duration::from_secs(1);

/// How long the logs of one plugin may take. The results wait meanwhile, and matter more.
const CAPTURE_TIME: Duration = Duration::from_secs(180);

/// What others ask for.
pub(super) enum Command {
    Watch(Box<Watched>, mpsc::Sender<Report>),
    Settle(PluginName, oneshot::Sender<Vec<Exit>>),
}

/// What a task beside this one has to say.
enum Done {
    Nothing,
    /// A verdict that does not stand, and when it is to be thought of again.
    Premature {
        key: ResultKey,
        kind: Kind,
        delay: Duration,
    },
    /// The workers of the plugin of this result never say hello.
    NoHello(ResultKey),
}

/// A plugin whose results are in, and whose container may still end.
struct Settling {
    watched: Watched,
    until: Instant,
    reply: oneshot::Sender<Vec<Exit>>,
}

/// The task's own things.
pub(super) struct Work {
    options: Arc<MonitorOptions>,
    started: Instant,
    index: Index,
    reports: BTreeMap<PluginName, mpsc::Sender<Report>>,
    settling: Vec<Settling>,
    /// What keeps results from arriving and was not reported yet. The last word on each counts.
    news: BTreeMap<ResultKey, Option<String>>,
    /// When to offer the news again.
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

    /// Until it is stopped, or nobody can give commands any more.
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
        // What is under way has nobody left to tell.
        self.beside.shutdown().await;
    }

    fn now(&self) -> Now {
        Now { at: self.started.elapsed(), wall: Timestamp::now() }
    }

    fn deadline(&self) -> Option<Instant> {
        let verdict = self.index.next_deadline().and_then(|at| self.started.checked_add(at));
        verdict.into_iter().chain(self.news_again).chain(self.settling.iter().map(|settling| settling.until)).min()
    }

    /// Reports what keeps results from arriving. Never waits: the run loop may itself be waiting,
    /// for a disk or for this monitor.
    fn tell_news(&mut self) {
        self.news.extend(self.index.take_news());
        self.news_again = None;
        for (key, reason) in std::mem::take(&mut self.news) {
            // Of a plugin that is not watched any more, nobody wants to know.
            let Some(sender) = self.reports.get(&key.plugin) else { continue };
            match sender.try_send(Report::Trouble { key: key.clone(), reason: reason.clone() }) {
                Err(mpsc::error::TrySendError::Full(_)) => drop(self.news.insert(key, reason)),
                Err(mpsc::error::TrySendError::Closed(_)) => {}
                Ok(()) => self.tell_cluster(&key, reason),
            }
        }
        if !self.news.is_empty() {
            self.news_again = Some(Instant::now() + NEWS_PAUSE);
        }
    }

    /// Creates an event about a result that is delayed.
    fn tell_cluster(&mut self, key: &ResultKey, reason: Option<String>) {
        let (Some(reason), Some(pod)) = (reason, self.index.pod_for(key).cloned()) else { return };
        let (events, gate) = (self.events.clone(), Arc::clone(&self.gate));
        self.beside.spawn(async move {
            // Never closed.
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
                // Never launched, or failed to: there is nothing to tell, and the caller takes no answer for that.
                None => drop(reply),
            },
        }
    }

    /// Reports that the plugin of a pod has ended well, whose worker has no token to see it. More than once is harmless.
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

    fn see(&mut self, sight: Sight) {
        let now = self.now();
        match &sight {
            Sight::Pod(pod) => {
                self.options.workers.lock().apply(pod);
                self.tell_end(pod);
            }
            Sight::PodGone(pod, _) => self.options.workers.lock().remove(&pod.name),
            Sight::PodsBegin => self.options.workers.lock().begin_list(),
            Sight::PodsListed => self.options.workers.lock().end_list(),
            Sight::NodesBegin | Sight::Node(_) | Sight::NodeGone(_) | Sight::NodesListed => {}
        }
        match sight {
            Sight::PodsBegin => self.index.pods_list_begins(),
            Sight::Pod(pod) => self.index.pod_applied(pod, now),
            Sight::PodGone(pod, object) => self.index.pod_removed(pod, object, now),
            Sight::PodsListed => self.index.pods_listed(now),
            Sight::NodesBegin => self.index.nodes_list_begins(),
            Sight::Node(node) => self.index.node_applied(node, now),
            Sight::NodeGone(name) => self.index.node_removed(&name, now),
            Sight::NodesListed => self.index.nodes_listed(now),
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
            // A pod of every node goes on as long as its worker does, and the plugin's container is made to wait in it.
            if settling.watched.per_node || now >= settling.until || have_ended(&pods, &settling.watched) {
                self.settle(settling, pods);
            } else {
                self.settling.push(settling);
            }
        }
    }

    fn settle(&mut self, settling: Settling, pods: Vec<PodView>) {
        let Settling { watched, reply, .. } = settling;
        // A result that was given up has its error already.
        let told = exits(&pods, &watched).into_iter().filter(|exit| !self.index.was_given_up(&exit.key)).collect();
        self.index.forget(&watched.plugin);
        self.reports.remove(&watched.plugin);
        let capture = self.capture.afresh();
        // Every log of a node that does not answer would hold up the end of the run for as long as its silence is borne.
        let is_away = |pod: &PodView| pod.node.as_deref().is_some_and(|node| self.index.is_away(node));
        let (away, pods): (Vec<_>, Vec<_>) = pods.into_iter().partition(is_away);
        for PodView { name, node, .. } in away {
            let node = node.unwrap_or_default();
            tracing::warn!(pod = %name, "its logs are not in the archive: node `{node}` is not ready");
        }
        self.beside.spawn(async move {
            let mut left = pods.len();
            // Not all at once: what waits for its turn would be 5,000 requests in memory.
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
                tracing::warn!(%plugin, "logs of {left} pods are not in the archive: reading them exceeded {seconds} s");
            }
            // Nobody may be waiting any more.
            let _ = reply.send(told);
            Done::Nothing
        });
    }
}

/// One result that is about to be given up.
struct Case {
    options: Arc<MonitorOptions>,
    gate: Arc<Semaphore>,
    capture: Capture,
    events: Events,
    heard: Heard,
    reports: mpsc::Sender<Report>,
}

impl Case {
    async fn close(self, verdict: Verdict) -> Done {
        let (key, kind) = (verdict.key.clone(), verdict.kind);
        let heard_before = self.heard.at(&key);
        // Never closed.
        let permit = self.gate.acquire().await;
        let options = &self.options;
        let asker = Asker { cluster: &options.cluster, namespace: &options.namespace, graces: &options.graces };
        let (sentence, pod) = match asker.look_again(&verdict).await {
            SecondLook::Holds { sentence, pod } => (sentence, pod),
            SecondLook::Over => return Done::Premature { key, kind, delay: kind.grace(&options.graces) },
            SecondLook::Blind(error) => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "not given up yet, because of a failure to look again: {error}");
                return Done::Premature { key, kind, delay: BLIND.min(kind.grace(&options.graces)) };
            }
        };
        let evidence = match &verdict.pod {
            // With its node goes the agent that logs come from, and with the pod its logs.
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
                    tracing::info!(plugin = %key.plugin, "its workers are not of this make: that they send no signs of life is not a failure");
                    return Done::NoHello(key);
                }
                // A run with workers of another make must not fail because their logs may not be read.
                WorkerSays::Nothing => return Done::Premature { key, kind, delay: kind.grace(&options.graces) },
            }
        }
        // A large image over a slow line: the kubelet is at work.
        if kind == Kind::Starting && evidence.is_pulling() {
            return Done::Premature { key, kind, delay: kind.grace(&options.graces) };
        }
        // Everything above takes time, and the result may be in by now.
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
        // At once: whoever cleans up the node next may take the log with it.
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
