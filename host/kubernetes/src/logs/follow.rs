//! Follows the logs of all containers at once, until the run is over.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use kube::Client;
use kube::runtime::watcher::{Config, Event};
use serde_json::Value;
use tokio::sync::watch::{self, Sender};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::lines::LogSource;
use super::show::{Emit, LogEvent, LogOptions, LogSummary, LogsError, wanted};
use super::tail::{State, Tail};
use crate::cluster::Cluster;
use crate::pod_view::{PodObject, PodView, pod_api, text_at};
use crate::watch::Seen;

/// Maximum number of logs followed at once. Each one is a connection to a node. Others wait until
/// one ends.
const MAX_STREAMS: usize = 500;

/// Maximum number of lines in the queue, over all containers. A slow printer slows down the
/// readers.
const QUEUE: usize = 64;

/// Emits the lines of all selected containers as they arrive.
///
/// This includes pods that start later, and containers that restart. Ends when the run is over,
/// after everything written until then. Drop the future to end earlier.
///
/// # Errors
/// Returns an error if the pods cannot be listed or watched, if there is none at the start, or if
/// `emit` fails.
pub async fn follow(cluster: &Cluster, options: &LogOptions, emit: Emit<'_>) -> Result<LogSummary, LogsError> {
    // Fail early if there is no pod at all. The plugin's pods may start later than the command.
    wanted(cluster, &LogOptions { plugin: None, ..options.clone() }).await?;
    let what = format!("watch the pods in namespace `{}`", options.namespace);
    let mut events = crate::watch::watch(pod_api(cluster, &options.namespace), Config::default(), what);
    let (to, mut lines) = mpsc::channel(QUEUE);
    let mut followed = Followed {
        client: cluster.client(),
        options: options.clone(),
        to,
        over: CancellationToken::new(),
        permits: Arc::new(Semaphore::new(MAX_STREAMS)),
        pods: Seen::default(),
        tails: JoinSet::new(),
        count: 0,
        full_reported: false,
    };
    let mut summary = LogSummary::default();
    while !followed.over.is_cancelled() {
        tokio::select! {
            Some(event) = lines.recv() => deliver(event, emit, &mut summary)?,
            event = events.next() => match event {
                Some(Ok(event)) => {
                    for notice in followed.take(event) {
                        deliver(LogEvent::Notice(notice), emit, &mut summary)?;
                    }
                }
                // A retry does not change this response.
                Some(Err(error)) if error.is_forbidden() => return Err(error.into()),
                Some(Err(error)) => deliver(LogEvent::Notice(format!("{error}; trying again")), emit, &mut summary)?,
                None => break,
            },
            Some(_) = followed.tails.join_next() => {}
        }
    }
    summary.containers = followed.count;
    // The other senders are gone: the queue closes with the last tail.
    let mut tails = followed.finish();
    while let Some(event) = lines.recv().await {
        deliver(event, emit, &mut summary)?;
    }
    while tails.join_next().await.is_some() {}
    Ok(summary)
}

fn deliver(event: LogEvent, emit: Emit<'_>, summary: &mut LogSummary) -> Result<(), LogsError> {
    if matches!(event, LogEvent::Line { .. }) {
        summary.lines += 1;
    }
    emit(event).map_err(LogsError::Output)
}

struct Followed {
    client: Client,
    options: LogOptions,
    to: mpsc::Sender<LogEvent>,
    over: CancellationToken,
    permits: Arc<Semaphore>,
    /// The pods that exist, by identity.
    pods: Seen<FollowedPod>,
    tails: JoinSet<()>,
    count: usize,
    full_reported: bool,
}

#[derive(Default)]
struct FollowedPod {
    is_aggregator: bool,
    /// The state of each container whose log is followed.
    states: BTreeMap<String, Sender<State>>,
}

impl Followed {
    /// Processes a watch event, and returns notices to print.
    fn take(&mut self, event: Event<PodObject>) -> Vec<String> {
        let mut notices = Vec::new();
        match event {
            Event::Init => self.pods.begin_list(),
            Event::InitApply(pod) | Event::Apply(pod) => notices.extend(self.apply(pod)),
            Event::Delete(pod) => {
                if let Some(pod) = PodView::checked(pod) {
                    self.pods.objects.remove(pod.identity());
                    if pod.is_aggregator {
                        notices.push("the aggregator's pod is gone: the run is over".to_owned());
                        self.over.cancel();
                    }
                }
            }
            Event::InitDone => {
                self.pods.end_list();
                if !self.pods.objects.values().any(|pod| pod.is_aggregator) {
                    notices.push("no run is active: found no aggregator pod".to_owned());
                    self.over.cancel();
                }
            }
        }
        notices
    }

    fn apply(&mut self, object: PodObject) -> Option<String> {
        let pod = PodView::checked(object)?;
        let mut followed = self.pods.objects.remove(pod.identity()).unwrap_or_default();
        followed.is_aggregator |= pod.is_aggregator;
        if self.options.selects(&pod) {
            for container in &pod.containers {
                self.container(&mut followed, &pod, &container.name, State::of(&pod, container));
            }
        }
        self.pods.put(pod.identity(), followed);
        if is_run_over(&pod) {
            self.over.cancel();
        }
        let full = self.count > MAX_STREAMS && !self.full_reported;
        self.full_reported |= full;
        full.then(|| {
            format!("Plumbline follows at most {MAX_STREAMS} logs at once: others wait until one of these ends")
        })
    }

    fn container(&mut self, followed: &mut FollowedPod, pod: &PodView, container: &str, state: State) {
        if let Some(known) = followed.states.get(container) {
            known.send_if_modified(|old| std::mem::replace(old, state) != state);
            return;
        }
        let (sender, receiver) = watch::channel(state);
        followed.states.insert(container.to_owned(), sender);
        self.count += 1;
        let source = Arc::new(LogSource {
            namespace: self.options.namespace.clone(),
            pod: pod.name.clone(),
            container: container.to_owned(),
        });
        let tail = Tail {
            client: self.client.clone(),
            source,
            state: receiver,
            to: self.to.clone(),
            over: self.over.clone(),
            permits: Arc::clone(&self.permits),
            start: self.options.start(),
        };
        self.tails.spawn(tail.run());
    }

    /// Requests no more lines, and returns the tails that still read.
    fn finish(self) -> JoinSet<()> {
        self.over.cancel();
        self.tails
    }
}

fn is_run_over(pod: &PodView) -> bool {
    let status = pod.run_status.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let phase = status.as_ref().map(|status| text_at(status, "/status"));
    pod.is_aggregator && (pod.has_ended() || matches!(phase, Some("complete" | "failed")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_aggregator_tells_when_the_run_is_over() {
        let pod = |annotation: &str, phase: &str| {
            let pod = json!({"metadata": {"name": "p", "labels": {"sonobuoy-component": "aggregator"},
                "annotations": {"sonobuoy.hept.io/status": annotation}}, "spec": {}, "status": {"phase": phase}});
            is_run_over(&PodView::read(&pod).unwrap())
        };
        assert!(pod(r#"{"status":"complete"}"#, "Running") && pod(r#"{"status":"failed"}"#, "Running"));
        assert!(pod("", "Failed"));
        assert!(!pod(r#"{"status":"running"}"#, "Running") && !pod("{", "Running"));
    }
}
