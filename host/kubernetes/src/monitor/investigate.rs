//! Investigates a result that is about to count as missing: asks the API server whether the problem
//! still exists, collects evidence, and reports the result as lost.
//!
//! An interrupted watch shows an old state of the cluster without noticing it.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::core::Request as Path;
use kube::core::params::{GetParams, ListParams};
use plumbline_aggregator::{Report, WorkerContact};
use plumbline_core::{Driver, ResultKey};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use super::assess::{Kind, assess};
use super::capture::Capture;
use super::evidence::{Evidence, WorkerSays, gather, gather_of_daemon_set};
use super::options::MonitorOptions;
use super::tracked::Verdict;
use crate::error::ClusterError;
use crate::events::{Events, Subject, warning};
use crate::names;
use crate::nodes::NodeView;
use crate::pod_view::{PodView, text_at};
use crate::retry::get;

/// Timeout of a request.
const ANSWER: Duration = Duration::from_secs(10);

/// Maximum delay of a verdict while the API server does not answer.
const BLIND: Duration = Duration::from_secs(10);

/// Minimum delay until an unconfirmed problem is checked again. A grace period may be zero.
const AGAIN: Duration = Duration::from_secs(1);

/// The outcome of a task of the monitor.
pub(super) enum Outcome {
    /// There is nothing more to do.
    Done,
    /// The verdict was not confirmed, and is reconsidered after this delay.
    Premature { key: ResultKey, kind: Kind, delay: Duration },
    /// The workers of this result's plugin never contact the aggregator.
    NoHello(ResultKey),
}

/// What the investigation of one result needs.
pub(super) struct Investigation {
    pub(super) options: Arc<MonitorOptions>,
    pub(super) gate: Arc<Semaphore>,
    pub(super) capture: Capture,
    pub(super) events: Events,
    pub(super) heard: WorkerContact,
    pub(super) reports: mpsc::Sender<Report>,
}

/// A problem that still exists: its sentence, and the pod or its last known state, if any.
type Confirmed = (String, Option<Value>);

impl Investigation {
    /// Investigates the result of `verdict`, and reports it as lost if that is confirmed.
    pub(super) async fn run(self, verdict: Verdict) -> Outcome {
        let (key, kind) = (verdict.key.clone(), verdict.kind);
        let heard_before = self.heard.at(&key);
        let (evidence, sentence, pod) = match self.collect(&verdict).await {
            Ok(found) => found,
            Err(outcome) => return outcome,
        };
        // Collecting takes time, and the result may have arrived by now.
        let spoke = match kind {
            Kind::Hello => self.heard.at(&key).is_some(),
            Kind::Silent => self.heard.at(&key) != heard_before,
            _ => false,
        };
        if !self.heard.is_missing(&key) || spoke {
            return self.premature(&verdict);
        }
        let error = evidence.record(&verdict, &sentence, pod);
        if self.reports.send(Report::Failed { key, error }).await.is_err() {
            return Outcome::Done;
        }
        if let (Kind::Hello, Some(token)) = (kind, &self.options.fail_fast) {
            token.cancel();
        }
        if let Some(pod) = &verdict.pod {
            self.events.create(&Subject::of(pod), warning("ResultLost", sentence)).await;
            // Capture the log immediately, because a cleanup of the node may remove it.
            if !kind.has_no_logs() {
                self.capture.pod(pod).await;
            }
        }
        Outcome::Done
    }

    fn premature(&self, verdict: &Verdict) -> Outcome {
        let Verdict { key, kind, .. } = verdict;
        Outcome::Premature { key: key.clone(), kind: *kind, delay: kind.grace(&self.options.graces).max(AGAIN) }
    }

    /// Confirms the problem and collects evidence. Fails with the outcome if the result does not
    /// count as missing now.
    async fn collect(&self, verdict: &Verdict) -> Result<(Evidence, String, Option<Value>), Outcome> {
        // The semaphore is never closed.
        let _permit = self.gate.acquire().await;
        let (sentence, pod) = self.confirm(verdict).await?;
        let evidence = match &verdict.pod {
            Some(seen) => {
                let newer = pod.as_ref().and_then(PodView::read);
                let (cluster, namespace) = (&self.options.cluster, &self.options.namespace);
                gather(cluster, namespace, newer.as_ref().unwrap_or(seen), !verdict.kind.has_no_logs()).await
            }
            None if verdict.kind == Kind::NoPod && verdict.node.is_some() => {
                let name = names::workload(&verdict.key.plugin, Driver::DaemonSet, &verdict.session);
                gather_of_daemon_set(&self.options.cluster, &self.options.namespace, &name).await
            }
            None => Evidence::default(),
        };
        match (verdict.kind, evidence.worker_says()) {
            (Kind::Hello, WorkerSays::Foreign) => {
                tracing::info!(plugin = %verdict.key.plugin, "its workers are from another implementation and send no heartbeats, which is not a failure");
                Err(Outcome::NoHello(verdict.key.clone()))
            }
            // A run with other workers must not fail because their logs are unreadable.
            (Kind::Hello, WorkerSays::Nothing) => Err(self.premature(verdict)),
            // A large image takes long over a slow connection, while the kubelet makes progress.
            (Kind::Starting, _) if evidence.is_pulling() => Err(self.premature(verdict)),
            _ => Ok((evidence, sentence, pod)),
        }
    }

    /// Asks whether the problem still exists.
    async fn confirm(&self, verdict: &Verdict) -> Result<Confirmed, Outcome> {
        match self.look_again(verdict).await {
            Ok(Some(confirmed)) => Ok(confirmed),
            Ok(None) => Err(self.premature(verdict)),
            // While the API server does not answer, no decision is possible.
            Err(error) if error.is_transient() => {
                let Verdict { key, kind, .. } = verdict;
                tracing::warn!(plugin = %key.plugin, node = %key.node, "the result is not reported as lost yet, because a check failed: {error}");
                let delay = BLIND.min(kind.grace(&self.options.graces)).max(AGAIN);
                Err(Outcome::Premature { key: key.clone(), kind: *kind, delay })
            }
            // The account may watch but not get the object. The state from the watch is all there
            // is.
            Err(error) => {
                tracing::debug!("failed to check again: {error}");
                Ok((verdict.sentence.clone(), self.last_seen(verdict)))
            }
        }
    }

    /// Returns `None` if the problem is over, or has changed.
    async fn look_again(&self, verdict: &Verdict) -> Result<Option<Confirmed>, ClusterError> {
        let holds = |pod| Ok(Some((verdict.sentence.clone(), pod)));
        match verdict.kind {
            Kind::NodeGone | Kind::NodeNotReady => {
                let Some(name) = &verdict.node else { return Ok(None) };
                let still = match self.node(name).await?.as_ref().and_then(NodeView::read) {
                    None => verdict.kind == Kind::NodeGone,
                    Some(node) => verdict.kind == Kind::NodeNotReady && !node.ready,
                };
                if !still {
                    return Ok(None);
                }
                // The pod is reported too. It may be gone with its node.
                let pod = match &verdict.pod {
                    Some(pod) => self.pod(&pod.name).await.unwrap_or_default().filter(|object| is_same(object, pod)),
                    None => None,
                };
                holds(pod.or_else(|| self.last_seen(verdict)))
            }
            Kind::PodGone | Kind::NoPod => {
                let by_name = match &verdict.pod {
                    Some(pod) => self.pod(&pod.name).await?.is_some(),
                    None => false,
                };
                if by_name || self.has_pod(verdict).await? { Ok(None) } else { holds(self.last_seen(verdict)) }
            }
            kind => {
                let Some(pod) = &verdict.pod else { return Ok(None) };
                let Some(object) = self.pod(&pod.name).await?.filter(|object| is_same(object, pod)) else {
                    return Ok(None);
                };
                let Some(now) = PodView::read(&object) else { return Ok(None) };
                match assess(&now, &verdict.container, &self.options.graces) {
                    Some(problem) if problem.kind == kind => Ok(Some((problem.sentence(), Some(object)))),
                    None if matches!(kind, Kind::Hello | Kind::Silent) && now.worker_runs() => holds(Some(object)),
                    _ => Ok(None),
                }
            }
        }
    }

    async fn pod(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        let what = format!("read pod `{name}` in namespace `{}`", self.options.namespace);
        self.get(&what, self.pods().get(name, &GetParams::default())).await
    }

    async fn node(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        self.get(&format!("read node `{name}`"), Path::new("/api/v1/nodes").get(name, &GetParams::default())).await
    }

    async fn has_pod(&self, verdict: &Verdict) -> Result<bool, ClusterError> {
        let labels = format!("{}={}", names::SESSION_LABEL, verdict.session);
        let mut params = ListParams::default().labels(&labels).limit(1);
        if !verdict.key.node.is_global() {
            params = params.fields(&format!("spec.nodeName={}", verdict.key.node));
        }
        let (plugin, namespace) = (&verdict.key.plugin, &self.options.namespace);
        let what = format!("list the pods of plugin `{plugin}` in namespace `{namespace}`");
        let list = self.get(&what, self.pods().list(&params)).await?;
        Ok(list.is_some_and(|list| list.pointer("/items/0").is_some()))
    }

    fn pods(&self) -> Path {
        Path::new(format!("/api/v1/namespaces/{}/pods", self.options.namespace))
    }

    async fn get(
        &self,
        what: &str,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Option<Value>, ClusterError> {
        match tokio::time::timeout(ANSWER, get(&self.options.cluster, what, request)).await {
            Ok(Ok(mut object)) => {
                // Nobody reads the managed fields, which may be half of an object.
                if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                    metadata.remove("managedFields");
                }
                Ok(Some(object))
            }
            Ok(Err(error)) if error.is_not_found() => Ok(None),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ClusterError::new(what, format!("no answer within {} s", ANSWER.as_secs()))),
        }
    }

    /// Returns the last known state of the pod, or what is known of it.
    fn last_seen(&self, verdict: &Verdict) -> Option<Value> {
        let object = verdict.last.as_ref().and_then(|last| serde_json::from_str(&last.object).ok());
        object.or_else(|| {
            let pod = verdict.pod.as_ref()?;
            Some(json!({
                "metadata": {"name": pod.name, "namespace": self.options.namespace, "uid": pod.uid},
                "spec": {"nodeName": pod.node},
                "status": {"phase": pod.phase},
            }))
        })
    }
}

fn is_same(object: &Value, pod: &PodView) -> bool {
    text_at(object, "/metadata/uid") == pod.uid
}
