//! Follows the status of a run by watching its pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::runtime::watcher::{Config, Event};
use plumbline_core::run_status::RunStatus;
use tokio::sync::watch as latest;
use tokio_util::sync::CancellationToken;

use super::error::StatusError;
use super::read::{look, parse, sorted, with_events};
use super::seen::{Seen, Waiting};
use crate::aggregator_pod::choose;
use crate::cluster::Cluster;
use crate::names;
use crate::pod_view::{PodObject, PodView, pod_api};

/// The observed state of a run, or the error.
pub type Look = Result<Seen, StatusError>;

/// The latest observation of a run. The watch ends when this is dropped.
pub struct StatusWatch {
    latest: latest::Receiver<Option<Arc<Look>>>,
}

impl StatusWatch {
    /// Waits for an observation that is new since the last call. Intermediate ones are skipped.
    /// Returns `None` once the watch has stopped.
    pub async fn next(&mut self) -> Option<Arc<Look>> {
        self.latest.changed().await.ok()?;
        self.latest.borrow_and_update().clone()
    }
}

/// Watches the pods of the run in `namespace` until `stop` is cancelled.
///
/// An interrupted watch restarts by itself. It is reported as [`StatusError::Cluster`], followed by
/// the next observation.
///
/// Only pods with the label [`names::ROLE_LABEL`] are seen. Very old aggregators lack it (see
/// [`super::read`]).
#[must_use]
pub fn watch(cluster: &Cluster, namespace: &str, stop: CancellationToken) -> StatusWatch {
    let (sender, receiver) = latest::channel(None);
    let (cluster, namespace) = (cluster.clone(), namespace.to_owned());
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = sender.closed() => {}
            () = follow(&cluster, &namespace, &sender) => {}
        }
    });
    StatusWatch { latest: receiver }
}

async fn follow(cluster: &Cluster, namespace: &str, sender: &latest::Sender<Option<Arc<Look>>>) {
    let what = format!("watch the pods in namespace `{namespace}`");
    let config = Config::default().labels(names::ROLE_LABEL);
    let mut events = crate::watch::watch(pod_api(cluster, namespace), config, what);
    let mut cache = PodCache { namespace: namespace.to_owned(), ..PodCache::default() };
    let mut pending: Option<Box<Waiting>> = None;
    while let Some(event) = events.next().await {
        let look = match event {
            Ok(event) => {
                if !cache.take(event) {
                    continue;
                }
                cache.look()
            }
            Err(error) => Err(StatusError::Cluster(error)),
        };
        if let Err(StatusError::Pending { waiting, .. }) = &look {
            // Events are requested only when there is something new to explain.
            if waiting.is_some() && *waiting == pending {
                continue;
            }
            pending.clone_from(waiting);
        }
        let look = match look {
            Err(error) => Err(with_events(cluster, namespace, error).await),
            seen => seen,
        };
        sender.send_replace(Some(Arc::new(look)));
    }
}

/// The state of the pods, from which the status can be recomputed after each change.
#[derive(Default)]
struct PodCache {
    namespace: String,
    listed: bool,
    aggregators: BTreeMap<String, PodView>,
    waiting: BTreeMap<String, Waiting>,
    /// The annotation that was parsed last, because most events do not change it.
    read: Option<(String, Result<RunStatus, String>)>,
}

impl PodCache {
    /// Processes an event, and returns true if the observation may have changed.
    fn take(&mut self, event: Event<PodObject>) -> bool {
        match event {
            Event::Init => {
                self.listed = false;
                self.aggregators.clear();
                self.waiting.clear();
                false
            }
            Event::InitDone => {
                self.listed = true;
                true
            }
            Event::InitApply(pod) | Event::Apply(pod) => self.put(pod.into()) && self.listed,
            Event::Delete(pod) => {
                let name = pod.metadata.name.unwrap_or_default();
                let aggregator = self.aggregators.remove(&name).is_some();
                self.waiting.remove(&name).is_some() || aggregator
            }
        }
    }

    fn put(&mut self, pod: PodView) -> bool {
        let name = pod.name.clone();
        if pod.is_aggregator {
            self.aggregators.insert(name, pod);
            return true;
        }
        match Waiting::of(&pod) {
            Some(waiting) => {
                let before = self.waiting.insert(name, waiting.clone());
                before != Some(waiting)
            }
            None => self.waiting.remove(&name).is_some(),
        }
    }

    fn look(&mut self) -> Look {
        let Some(pod) = choose(self.aggregators.values().cloned().collect()) else {
            return Err(StatusError::NoPod { namespace: self.namespace.clone() });
        };
        let status = pod.run_status.as_deref().map(|text| match &self.read {
            Some((before, read)) if before == text => read.clone(),
            _ => {
                let read = parse(text);
                self.read = Some((text.to_owned(), read.clone()));
                read
            }
        });
        let mut seen = look(&self.namespace, &pod, status)?;
        if !seen.is_over() {
            seen.waiting = sorted(self.waiting.values().cloned().collect());
        }
        Ok(seen)
    }
}
