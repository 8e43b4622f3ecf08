//! Follows the status of a run by watching its pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::runtime::watcher::{Config, Event};
use plumbline_core::run_status::RunStatus;
use tokio::sync::watch as latest;
use tokio_util::sync::CancellationToken;

use super::error::StatusError;
use super::pod::{look, parse};
use super::read::{sorted, with_events};
use super::seen::Seen;
use super::waiting::Waiting;
use crate::aggregator_pod::choose;
use crate::cluster::Cluster;
use crate::names;
use crate::pod_view::{PodObject, PodView, pod_api};

/// What was seen, or why nothing was.
pub type Look = Result<Seen, StatusError>;

/// The latest look at a run. The watch ends when this is dropped.
pub struct Watching {
    latest: latest::Receiver<Option<Arc<Look>>>,
}

impl Watching {
    /// Waits for a look that is new since the last call. Looks that nobody asked for in time are skipped: the latest counts. `None`
    /// once the watch was stopped.
    pub async fn next(&mut self) -> Option<Arc<Look>> {
        self.latest.changed().await.ok()?;
        self.latest.borrow_and_update().clone()
    }
}

/// Watches the pods of the run in `namespace` until `stop` is cancelled. A watch that breaks off begins again by itself; that it does is
/// told as [`StatusError::Cluster`] and followed by the next look.
///
/// Only pods with the label [`names::ROLE_LABEL`] are seen: very old aggregators do not have it (see [`super::read`]).
#[must_use]
pub fn watch(cluster: &Cluster, namespace: &str, stop: CancellationToken) -> Watching {
    let (sender, receiver) = latest::channel(None);
    let (cluster, namespace) = (cluster.clone(), namespace.to_owned());
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = sender.closed() => {}
            () = follow(&cluster, &namespace, &sender) => {}
        }
    });
    Watching { latest: receiver }
}

async fn follow(cluster: &Cluster, namespace: &str, sender: &latest::Sender<Option<Arc<Look>>>) {
    let what = format!("watch the pods in namespace `{namespace}`");
    let config = Config::default().labels(names::ROLE_LABEL);
    let mut seen = crate::watch::watch(pod_api(cluster, namespace), config, what);
    let mut board = Board::new(namespace);
    let mut pending: Option<Waiting> = None;
    while let Some(event) = seen.next().await {
        let look = match event {
            Ok(event) => {
                if !board.take(event) {
                    continue;
                }
                board.look()
            }
            Err(error) => Err(StatusError::Cluster(error)),
        };
        let look = match look {
            // Events are asked for only when there is something new to explain.
            Err(StatusError::Pending { waiting, .. })
                if waiting.as_deref() == pending.as_ref() && pending.is_some() =>
            {
                continue;
            }
            Err(error @ StatusError::Pending { .. }) => {
                if let StatusError::Pending { waiting, .. } = &error {
                    pending = waiting.as_deref().cloned();
                }
                Err(with_events(cluster, namespace, error).await)
            }
            other => other,
        };
        sender.send_replace(Some(Arc::new(look)));
    }
}

/// What is on the pods: enough to tell the status anew when one of them changes.
struct Board {
    namespace: String,
    listed: bool,
    aggregators: BTreeMap<String, PodView>,
    waiting: BTreeMap<String, Waiting>,
    /// The annotation that was read last: most events leave it as it is.
    read: Option<(String, Result<RunStatus, String>)>,
}

impl Board {
    fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            listed: false,
            aggregators: BTreeMap::new(),
            waiting: BTreeMap::new(),
            read: None,
        }
    }

    /// Whether something is to be told that may be new.
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
