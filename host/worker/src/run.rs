//! The lifecycle of a worker: send a hello, wait for the done file, gather, upload, and possibly
//! keep running.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plumbline_core::{ReceiveLimits, ResultKey};
use plumbline_phonehome::{
    Client, Heartbeat, Hello, Outcome, Phase, RetryPolicy, Timestamp, Upload, certificate_start,
};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::{Mode, WorkerConfig};
use crate::done_file::{Timing, has_done_file, named_twice, wait_for_done};
use crate::error::{GatherError, WorkerError, chain};
use crate::gather::gather;
use crate::heartbeat::{HeartbeatPolicy, HeartbeatSender, Peer, from_now};
use crate::progress::{LogWatch, PostedUpdates};
use crate::relay::Relay;
use crate::shutdown::Shutdown;

/// How a worker ended without an error. The process then exits with code 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The result was uploaded.
    Sent(Outcome),
    /// The worker was asked to stop, and the plugin had not finished by the end of the drain
    /// period.
    GaveUp,
}

/// Settings of a worker that do not come from its environment. Each has a default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Interval between checks for the done file. The default is 1 s.
    pub poll: Duration,
    /// How often an empty done file is checked again before it counts as an error. The default is
    /// 10.
    pub empty_looks: u32,
    /// The drain period: how long a worker that was asked to stop waits for the done file, and then
    /// for the upload.
    ///
    /// The default is 60 s, the usual grace period of its pods.
    pub drain: Duration,
    /// The intervals of hellos and heartbeats.
    pub rhythm: HeartbeatPolicy,
    /// Interval between reads of the log in which tests are counted, and so the minimum interval
    /// between updates. The default is 5 s.
    pub log_interval: Duration,
    /// Returns the retry policy of an upload that starts now. The default is
    /// [`WorkerConfig::retry_policy`].
    pub retry: fn(&WorkerConfig) -> RetryPolicy,
    /// How long to wait for the plugin's last writes after the aggregator reported its end. The
    /// default is 5 s.
    pub last_writes: Duration,
    /// Maximum size in bytes of the archive of a directory. The default is 4 GiB, the limit of
    /// aggregators.
    ///
    /// The volume needs space for the archive and its source.
    pub archive_bytes: u64,
}

/// Further events that the worker waits for, in addition to the done file.
struct Awaited {
    /// Signals that the last progress update was sent. It is dropped if nothing is counted.
    counted: oneshot::Receiver<()>,
    /// Whether the aggregator asks for the partial result.
    partial_wanted: watch::Receiver<bool>,
    /// Whether the aggregator reports that the plugin has ended.
    plugin_ended: watch::Receiver<bool>,
    /// Completes when the other containers of the pod have ended, if they can be watched.
    companions: Option<Companions>,
}

impl Default for Settings {
    fn default() -> Self {
        let timing = Timing::with_settle(Duration::ZERO);
        Self {
            poll: timing.poll,
            empty_looks: timing.empty_looks,
            drain: Duration::from_secs(60),
            rhythm: HeartbeatPolicy::default(),
            log_interval: Duration::from_secs(5),
            last_writes: Duration::from_secs(5),
            retry: |config| config.retry_policy(Timestamp::now()),
            archive_bytes: ReceiveLimits::default().body_bytes,
        }
    }
}

/// A worker that is ready to run.
pub struct Worker {
    config: WorkerConfig,
    mode: Mode,
    settings: Settings,
    client: Client,
    /// No file of the run is older. Nodes whose clocks differ more cannot connect either.
    oldest: Option<Timestamp>,
    // The mutex is only for the compiler: this is taken out before the worker is shared.
    companions: Mutex<Option<Companions>>,
}

/// Completes when the containers next to the worker have all ended successfully.
type Companions = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Returns once the containers next to the worker have ended successfully.
///
/// The worker observes that itself, or the aggregator reports it, with `last_writes` for the rest.
async fn ended(companions: Option<Companions>, mut plugin_ended: watch::Receiver<bool>, last_writes: Duration) {
    let watched = async {
        match companions {
            Some(companions) => companions.await,
            None => std::future::pending().await,
        }
    };
    let notified = async {
        if plugin_ended.wait_for(|ended| *ended).await.is_err() {
            // Heartbeats are over, for example because the aggregator does not support them.
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(last_writes).await;
    };
    tokio::select! {
        () = watched => {}
        () = notified => {}
    }
}

/// Returns the output of `work`, or `None` if `limit` completes first.
async fn within<T>(work: impl Future<Output = T>, limit: impl Future<Output = ()>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = limit => None,
    }
}

impl Worker {
    /// Creates a worker with this configuration.
    ///
    /// # Errors
    /// Returns [`WorkerError::Client`] if the URL, a certificate or the key is invalid.
    pub fn new(config: WorkerConfig, mode: Mode, settings: Settings) -> Result<Self, WorkerError> {
        let client = Client::new(&config.client).map_err(WorkerError::Client)?;
        let oldest = certificate_start(&config.client.ca_cert);
        Ok(Self { config, mode, settings, client, oldest, companions: Mutex::default() })
    }

    /// Sends the whole results directory if `ended` completes and there is still no done file.
    ///
    /// The plugin has then ended successfully without one (docs/protocol.md, "Without a done
    /// file").
    #[must_use]
    pub fn with_companions(mut self, ended: impl Future<Output = ()> + Send + 'static) -> Self {
        self.companions = Mutex::new(Some(Box::pin(ended)));
        self
    }

    /// Runs until the result is uploaded and the sleep of the [`Mode`] is over, or until `shutdown`
    /// asks to stop.
    ///
    /// In the latter case, the worker waits for the upload during the drain period, and in
    /// [`Mode::Global`] for the done file too.
    ///
    /// # Errors
    /// Returns [`WorkerError`] if there is a done file, but the aggregator did not get a result.
    pub async fn run(mut self, shutdown: Shutdown) -> Result<Ended, WorkerError> {
        let key = self.config.key();
        let (results_dir, aggregator) = (self.config.results_dir.display(), &self.config.client.aggregator_url);
        tracing::info!(%key, %results_dir, %aggregator, "worker started");
        let stop = CancellationToken::new();
        let quiet = stop.clone();
        let mut helpers = JoinSet::new();
        let relay = self.listen().await;
        let posts = relay.as_ref().map(Relay::posts).unwrap_or_default();
        if let Some(relay) = relay {
            helpers.spawn(relay.serve(self.client.clone(), key.clone(), stop.clone()));
        }
        let (doing, doing_seen) = watch::channel(from_now(Phase::Waiting));
        let (finished, counted) = oneshot::channel();
        if let Some(watch) = self.log_watch(&key, posts) {
            let (quiet, doing) = (stop.clone(), doing_seen.clone());
            helpers.spawn(
                async move { quiet.run_until_cancelled(watch.watch(doing, finished)).await.unwrap_or_default() },
            );
        } else {
            drop(finished);
        }
        let (peer, peer_seen) = watch::channel(Peer::Unknown);
        let (partial, partial_wanted) = watch::channel(false);
        let (ended, plugin_ended) = watch::channel(false);
        let signs = HeartbeatSender {
            client: self.client.clone(),
            key: key.clone(),
            hello: Hello {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: Some(std::process::id()),
                started: Timestamp::now(),
                results_dir: self.config.results_dir.to_string_lossy().into_owned(),
            },
            rhythm: self.settings.rhythm,
            doing: doing_seen,
            peer,
            partial,
            ended,
        };
        // Hellos to an aggregator that is gone may continue forever.
        helpers.spawn(async move { quiet.run_until_cancelled(signs.send()).await.unwrap_or_default() });

        let companions = self.companions.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let result = self
            .work(&key, &doing, &peer_seen, Awaited { counted, partial_wanted, plugin_ended, companions }, &shutdown)
            .await;
        if let Ok(Ended::Sent(_)) = result {
            doing.send_replace(from_now(Phase::Done));
            self.stay(&shutdown).await;
        }
        stop.cancel();
        while helpers.join_next().await.is_some() {}
        result
    }

    /// Returns the retry policy of an upload that starts now. A plugin may run for hours before, and
    /// the policy counts from its first attempt.
    fn retry(&self) -> RetryPolicy {
        (self.settings.retry)(&self.config)
    }

    /// Returns the log watch of the plugin, if its definition has a log to count in.
    fn log_watch(&self, key: &ResultKey, posts: PostedUpdates) -> Option<LogWatch> {
        let progress = self.config.log_progress.as_ref()?;
        let (client, interval) = (self.client.clone(), self.settings.log_interval);
        match LogWatch::new(client, key.clone(), progress, &self.config.results_dir, interval, posts) {
            Ok(watch) => Some(watch),
            Err(error) => {
                tracing::warn!(%key, error = chain(&error), "failed to count progress in the log");
                None
            }
        }
    }

    async fn listen(&self) -> Option<Relay> {
        match Relay::bind(&self.config.progress_bind, self.config.progress_port).await {
            Ok(relay) => Some(relay),
            Err(error) => {
                // A result without progress is still a result. Two workers may share a network
                // namespace.
                tracing::warn!(error = chain(&error), "no progress relay: progress of this plugin is not shown");
                None
            }
        }
    }

    async fn work(
        &self,
        key: &ResultKey,
        doing: &watch::Sender<Heartbeat>,
        peer: &watch::Receiver<Peer>,
        awaited: Awaited,
        shutdown: &Shutdown,
    ) -> Result<Ended, WorkerError> {
        let Awaited { counted, partial_wanted, plugin_ended, companions } = awaited;
        let timing = Timing {
            poll: self.settings.poll,
            settle: self.config.done_file_delay,
            empty_looks: self.settings.empty_looks,
            oldest: self.oldest,
        };
        let named = tokio::select! {
            biased;
            named = wait_for_done(&self.config.results_dir, timing) => named,
            // This never completes, because the plugin may still finish. The result does not wait for
            // it.
            never = self.send_partial(key, partial_wanted) => match never {},
            () = self.ended_without_done_file(companions, plugin_ended) => {
                tracing::info!(%key, "the plugin exited with code 0 and left no done file: sending its whole results directory");
                Ok(".".to_owned())
            }
            () = self.replaced(shutdown) => {
                tracing::warn!(%key, "asked to stop before the plugin finished: no result is sent, because the next pod on this node runs the plugin again");
                return Ok(Ended::GaveUp);
            }
            named = self.named_in_a_hurry(shutdown) => {
                tracing::warn!(%key, "asked to stop: sending the result without waiting for the delay of the done file");
                named
            }
            () = self.drained(shutdown) => {
                tracing::warn!(%key, "asked to stop before the plugin finished: no result is sent");
                return Ok(Ended::GaveUp);
            }
        };
        doing.send_replace(from_now(Phase::Uploading));
        let deliver = async {
            // The last update arrives before the result. The error of a dropped sender is the
            // normal case.
            let _ = counted.await;
            self.deliver(key, named, peer).await
        };
        let result = within(Box::pin(deliver), self.drained(shutdown)).await;
        result.unwrap_or_else(|| Err(WorkerError::CutOff { key: key.clone() }))
    }

    /// Returns once the plugin has ended without a done file.
    ///
    /// A done file takes precedence, even if the plugin ended before the settle delay was over.
    async fn ended_without_done_file(&self, companions: Option<Companions>, plugin_ended: watch::Receiver<bool>) {
        ended(companions, plugin_ended, self.settings.last_writes).await;
        while has_done_file(&self.config.results_dir, self.oldest) {
            tokio::time::sleep(self.settings.poll).await;
        }
    }

    /// Sends the content of the results directory when the aggregator asks for partial results.
    async fn send_partial(&self, key: &ResultKey, mut wanted: watch::Receiver<bool>) -> std::convert::Infallible {
        if wanted.wait_for(|wanted| *wanted).await.is_ok() {
            tracing::info!(%key, "the plugin timed out: sending its partial results");
            match gather(&self.config.results_dir, ".", self.settings.archive_bytes).await {
                Ok(gathered) => {
                    let retry = self.retry();
                    let sent = self.client.put_partial(key, &gathered.upload, &retry);
                    match Box::pin(sent).await {
                        Ok(Outcome::Stored) => tracing::info!(%key, "the aggregator received the partial results"),
                        Ok(Outcome::AlreadyReceived | Outcome::OtherReceived) => {
                            tracing::warn!(%key, "the aggregator does not need partial results any more");
                        }
                        Err(error) => tracing::warn!(%key, error = chain(&error), "failed to send partial results"),
                    }
                }
                Err(error) => tracing::warn!(%key, error = chain(&error), "failed to pack partial results"),
            }
        }
        std::future::pending().await
    }

    /// Completes when a worker on a node is asked to stop.
    ///
    /// A plugin that is asked to stop may write what it has so far, and nothing tells this from a
    /// complete result. The DaemonSet replaces the pod, and its plugin starts again.
    async fn replaced(&self, shutdown: &Shutdown) {
        match self.mode {
            Mode::SingleNode { .. } => shutdown.draining().await,
            Mode::Global { .. } => std::future::pending().await,
        }
    }

    /// Returns what the done file names as soon as it stays the same in the last quarter of the
    /// drain period. Its delay could end after the period, and the result would be lost.
    async fn named_in_a_hurry(&self, shutdown: &Shutdown) -> Result<String, GatherError> {
        shutdown.draining().await;
        tokio::time::sleep(self.settings.drain.saturating_mul(3) / 4).await;
        named_twice(&self.config.results_dir, self.settings.poll, self.oldest).await
    }

    /// Completes at the end of the drain period, or at once if an immediate stop is requested.
    ///
    /// The period starts now or with the request to stop, whichever is later.
    async fn drained(&self, shutdown: &Shutdown) {
        let drain = async {
            shutdown.draining().await;
            tokio::time::sleep(self.settings.drain).await;
        };
        tokio::select! {
            () = drain => {}
            () = shutdown.ending() => {}
        }
    }

    async fn deliver(
        &self,
        key: &ResultKey,
        named: Result<String, GatherError>,
        peer: &watch::Receiver<Peer>,
    ) -> Result<Ended, WorkerError> {
        let gathered = match named {
            Ok(named) => gather(&self.config.results_dir, &named, self.settings.archive_bytes).await,
            Err(error) => Err(error),
        };
        let gathered = match gathered {
            Ok(gathered) => gathered,
            Err(source) => {
                self.tell_failure(key, &source.explained(), peer).await;
                return Err(WorkerError::Gather { key: key.clone(), source });
            }
        };
        tracing::info!(%key, file = %gathered.path.display(), "sending the result");
        match self.client.put_result(key, &gathered.upload, &self.retry()).await {
            Ok(outcome) => {
                match outcome {
                    Outcome::Stored => tracing::info!(%key, "the aggregator received the result"),
                    Outcome::AlreadyReceived => {
                        tracing::warn!(%key, "the aggregator already has a result or an error, and keeps it");
                    }
                    Outcome::OtherReceived => tracing::warn!(
                        %key,
                        "the aggregator stored another result or an error before this result, which is not in the archive"
                    ),
                }
                Ok(Ended::Sent(outcome))
            }
            Err(source) => {
                if let Some(answer) = source.rejection() {
                    self.tell_failure(key, &format!("the aggregator rejected the result: {answer}"), peer).await;
                }
                Err(WorkerError::Upload { key: key.clone(), path: gathered.path, source: Box::new(source) })
            }
        }
    }

    /// Reports to the aggregator why there will be no result, so that it does not wait for one.
    ///
    /// Sonobuoy's aggregator gets no report: it would store it as a result that passes.
    async fn tell_failure(&self, key: &ResultKey, reason: &str, peer: &watch::Receiver<Peer>) {
        tracing::error!(%key, error = reason, "the plugin has no result");
        if *peer.borrow() == Peer::Plain {
            return;
        }
        if let Err(error) = self.client.put_result(key, &Upload::failure(reason), &self.retry()).await {
            tracing::error!(%key, error = chain(&error), "failed to report to the aggregator that the plugin has no result");
        }
    }

    /// Keeps running as long as the mode requires, or until asked to stop.
    async fn stay(&self, shutdown: &Shutdown) {
        let (Mode::Global { sleep } | Mode::SingleNode { sleep }) = self.mode;
        let sleep = async {
            match u64::try_from(sleep) {
                Ok(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sleep => {}
            () = shutdown.draining() => {}
        }
    }
}

/// Runs a worker as the purpose of this process, with default settings and handling of SIGTERM and
/// SIGINT.
///
/// `companions` completes when the other containers of the pod have ended successfully.
///
/// # Errors
/// Returns the same errors as [`Worker::run`], or [`WorkerError::Signals`] if signals cannot be
/// handled.
pub async fn run_worker_process(
    config: WorkerConfig,
    mode: Mode,
    companions: Option<impl Future<Output = ()> + Send + 'static>,
) -> Result<Ended, WorkerError> {
    let shutdown = Shutdown::new();
    let mut worker = Worker::new(config, mode, Settings::default())?;
    if let Some(companions) = companions {
        worker = worker.with_companions(companions);
    }
    tokio::select! {
        result = worker.run(shutdown.clone()) => result,
        error = shutdown.follow_signals() => Err(WorkerError::Signals(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn an_upload_that_is_complete_counts_even_if_the_drain_period_is_over() {
        for _ in 0..64 {
            assert_eq!(within(ready("stored"), ready(())).await, Some("stored"));
        }
        assert_eq!(within(pending::<()>(), ready(())).await, None);
    }
}
