//! Follows the pod with a watch if that is permitted, or else by polling.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{TryStreamExt as _, pin_mut};
use kube::api::WatchParams;
use kube::core::WatchEvent;
use plumbline_kubernetes::ClusterError;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::access::{Access, Verb};
use super::config::{Config, Pace};
use super::pod::{Naming, PodNews, is_shutting_down, look};

/// Seconds after which a watch is restarted, because a connection can break silently.
const WATCH_SECONDS: u32 = 60;
/// Additional time before the client abandons the watch.
const WATCH_SLACK: Duration = Duration::from_secs(10);

/// The pod to follow, and how to find the adapter in it.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) job: String,
    pub(crate) naming: Naming,
}

impl Subject {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            namespace: config.namespace.clone(),
            pod: config.pod.clone(),
            job: config.job.clone(),
            naming: Naming { adapter: config.adapter_container.clone(), reporter: config.reporter_container.clone() },
        }
    }

    fn what(&self) -> String {
        format!("read pod `{}` in namespace `{}`", self.pod, self.namespace)
    }

    fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }

    /// Reads the pod once, with its version. A missing one is an error: it may not exist yet.
    pub(crate) async fn ask(&self, access: &Access) -> Result<(PodNews, String), ClusterError> {
        let path = format!("{}/{}", self.pods(), self.pod);
        let pod = access.once(&self.what(), Verb::Get, &path).await.map_err(|refusal| refusal.error)?;
        let version = pod.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok((self.news(&pod), version))
    }

    /// Returns true if the node is being shut down, as far as the permissions show it.
    pub(crate) async fn is_node_shutting_down(&self, access: &Access, node: &str) -> bool {
        let what = format!("look at node `{node}`");
        match access.once(&what, Verb::Get, &format!("/api/v1/nodes/{node}")).await {
            Ok(node) => is_shutting_down(&node),
            Err(refusal) => {
                tracing::debug!("{}", refusal.error);
                false
            }
        }
    }

    fn news(&self, pod: &Value) -> PodNews {
        PodNews::Look(Box::new(look(pod, &self.naming, &self.job)))
    }
}

struct ReceiverDropped;

/// Follows the pod until it is gone, or the receiver is dropped. `hurry` shortens the intervals.
pub(crate) async fn follow(
    access: Arc<Access>,
    subject: Subject,
    pace: Pace,
    mut hurry: watch::Receiver<bool>,
    news: mpsc::Sender<PodNews>,
) {
    let mut follower = Follower { subject, news, may_watch: true, uid: None, reported: None };
    loop {
        let pause = match follower.round(&access).await {
            Ok(true) => pace.again,
            Ok(false) => pace.pod,
            Err(ReceiverDropped) => return,
        };
        let pause = if *hurry.borrow() { pause.min(pace.hurry) } else { pause };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            // When the sender is dropped, the next send ends this.
            _ = hurry.changed() => {}
        }
    }
}

struct Follower {
    subject: Subject,
    news: mpsc::Sender<PodNews>,
    may_watch: bool,
    uid: Option<String>,
    /// The error that was reported last.
    reported: Option<String>,
}

impl Follower {
    async fn send(&self, news: PodNews) -> Result<(), ReceiverDropped> {
        self.news.send(news).await.map_err(|_| ReceiverDropped)
    }

    /// Reads the pod, and watches it if permitted. Returns true after a watch has ended.
    async fn round(&mut self, access: &Access) -> Result<bool, ReceiverDropped> {
        let (news, version) = match self.subject.ask(access).await {
            Ok(seen) => seen,
            Err(error) if error.is_not_found() && self.uid.is_some() => {
                self.send(PodNews::Gone).await?;
                return Err(ReceiverDropped);
            }
            Err(error) => {
                self.trouble(&error.to_string());
                self.send(PodNews::Unknown(error.cause)).await?;
                return Ok(false);
            }
        };
        self.reported = None;
        self.send_current(news).await?;
        if !self.may_watch || version.is_empty() {
            return Ok(false);
        }
        self.watch(access, &version).await
    }

    /// Sends the state of the pod. If another pod has its name, the pod is gone.
    async fn send_current(&mut self, news: PodNews) -> Result<(), ReceiverDropped> {
        if let PodNews::Look(look) = &news {
            if self.uid.is_some() && self.uid != look.uid {
                self.send(PodNews::Gone).await?;
                return Err(ReceiverDropped);
            }
            self.uid.clone_from(&look.uid);
        }
        self.send(news).await
    }

    async fn watch(&mut self, access: &Access, version: &str) -> Result<bool, ReceiverDropped> {
        let params =
            WatchParams::default().fields(&format!("metadata.name={}", self.subject.pod)).timeout(WATCH_SECONDS);
        let Ok(request) = kube::core::Request::new(self.subject.pods()).watch(&params, version) else {
            return Ok(false);
        };
        let stream = match access.watch(request).await {
            Ok(stream) => stream,
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 405) => {
                tracing::debug!("no permission to watch pods, so the pod is polled instead: {}", status.message);
                self.may_watch = false;
                return Ok(false);
            }
            Err(error) => {
                tracing::debug!("{}", ClusterError::api(self.subject.what(), &error));
                return Ok(false);
            }
        };
        pin_mut!(stream);
        let limit = tokio::time::sleep(Duration::from_secs(WATCH_SECONDS.into()) + WATCH_SLACK);
        pin_mut!(limit);
        loop {
            let event = tokio::select! {
                event = stream.try_next() => event,
                () = &mut limit => return Ok(true),
            };
            match event {
                Ok(Some(WatchEvent::Added(pod) | WatchEvent::Modified(pod))) => {
                    self.send_current(self.subject.news(&pod)).await?
                }
                Ok(Some(WatchEvent::Deleted(pod))) => {
                    self.send_current(self.subject.news(&pod)).await?;
                    self.send(PodNews::Gone).await?;
                    return Err(ReceiverDropped);
                }
                Ok(Some(WatchEvent::Bookmark(_))) => {}
                // Another read brings the state up to date.
                Ok(Some(WatchEvent::Error(_)) | None) | Err(_) => return Ok(true),
            }
        }
    }

    /// Reports a persistent error once.
    fn trouble(&mut self, what: &str) {
        if self.reported.as_deref() != Some(what) {
            tracing::warn!("{what}; until this succeeds, only the result file is checked");
            self.reported = Some(what.to_owned());
        }
    }
}
