//! Confirms a verdict: before a result counts as missing, the API server is asked whether the
//! problem still exists.
//!
//! An interrupted watch shows an old state of the cluster without noticing it.

use std::time::Duration;

use http::Request;
use kube::core::Request as Path;
use kube::core::params::{GetParams, ListParams};
use serde_json::{Value, json};

use super::assess::{Kind, assess};
use super::index::Verdict;
use super::options::GracePeriods;
use super::watch::slim;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::node_view::NodeView;
use crate::pod_view::PodView;

/// Timeout of a request.
const ANSWER: Duration = Duration::from_secs(10);

/// The outcome of the second look.
#[derive(Debug)]
pub(super) enum Confirmation {
    /// The problem still exists. Contains its sentence, and the pod or its last known state, if
    /// any.
    Holds { sentence: String, pod: Option<Value> },
    /// The problem is over, or has changed.
    Over,
    /// The API server does not answer, so no decision is possible now.
    Blind(ClusterError),
}

/// The cluster, namespace and grace periods for the second look.
pub(super) struct Confirmer<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) namespace: &'a str,
    pub(super) graces: &'a GracePeriods,
}

impl Confirmer<'_> {
    pub(super) async fn look_again(&self, verdict: &Verdict) -> Confirmation {
        match self.look(verdict).await {
            Ok(look) => look,
            Err(error) if error.is_transient() => Confirmation::Blind(error),
            // The account may watch but not get the object. The state from the watch is all there
            // is.
            Err(error) => {
                tracing::debug!("cannot look again: {error}");
                Confirmation::Holds { sentence: verdict.sentence.clone(), pod: self.as_seen(verdict) }
            }
        }
    }

    async fn look(&self, verdict: &Verdict) -> Result<Confirmation, ClusterError> {
        let holds = |pod| Confirmation::Holds { sentence: verdict.sentence.clone(), pod };
        match verdict.kind {
            Kind::NodeRemoved | Kind::NodeNotReady => {
                let Some(name) = &verdict.node else { return Ok(Confirmation::Over) };
                let node = self.node(name).await?;
                let still = match node.as_ref().and_then(NodeView::read) {
                    None => verdict.kind == Kind::NodeRemoved,
                    Some(node) => verdict.kind == Kind::NodeNotReady && !node.ready,
                };
                if !still {
                    return Ok(Confirmation::Over);
                }
                // The pod is reported too. It may be gone with its node.
                let pod = match &verdict.pod {
                    Some(pod) => self.pod(&pod.name).await.unwrap_or_default().filter(|object| is_same(object, pod)),
                    None => None,
                };
                Ok(holds(pod.or_else(|| self.as_seen(verdict))))
            }
            Kind::NoPod => Ok(if self.has_pod(verdict).await? { Confirmation::Over } else { holds(None) }),
            Kind::PodGone => {
                let Some(pod) = &verdict.pod else { return Ok(Confirmation::Over) };
                let there = self.pod(&pod.name).await?.is_some() || self.has_pod(verdict).await?;
                Ok(if there { Confirmation::Over } else { holds(self.as_seen(verdict)) })
            }
            _ => {
                let Some(pod) = &verdict.pod else { return Ok(Confirmation::Over) };
                let Some(object) = self.pod(&pod.name).await?.filter(|object| is_same(object, pod)) else {
                    return Ok(Confirmation::Over);
                };
                let Some(now) = PodView::read(&object) else { return Ok(Confirmation::Over) };
                Ok(match assess(&now, &verdict.container, self.graces) {
                    Some(trouble) if trouble.kind == verdict.kind => {
                        Confirmation::Holds { sentence: trouble.sentence, pod: Some(object) }
                    }
                    None if matches!(verdict.kind, Kind::Hello | Kind::Silent) && worker_runs(&now) => {
                        holds(Some(object))
                    }
                    _ => Confirmation::Over,
                })
            }
        }
    }

    async fn pod(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        let what = format!("read pod `{name}` in namespace `{}`", self.namespace);
        let request = Path::new(format!("/api/v1/namespaces/{}/pods", self.namespace)).get(name, &GetParams::default());
        self.get(&what, request).await
    }

    async fn node(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        self.get(&format!("read node `{name}`"), Path::new("/api/v1/nodes").get(name, &GetParams::default())).await
    }

    /// Returns true if any pod exists for this result.
    async fn has_pod(&self, verdict: &Verdict) -> Result<bool, ClusterError> {
        let mut params =
            ListParams::default().labels(&format!("{}={}", names::SESSION_LABEL, verdict.session)).limit(1);
        if !verdict.key.node.is_global() {
            params = params.fields(&format!("spec.nodeName={}", verdict.key.node));
        }
        let what = format!("list the pods of plugin `{}` in namespace `{}`", verdict.key.plugin, self.namespace);
        let request = Path::new(format!("/api/v1/namespaces/{}/pods", self.namespace)).list(&params);
        let list = self.get(&what, request).await?.unwrap_or_default();
        Ok(list.pointer("/items/0").is_some())
    }

    async fn get(
        &self,
        what: &str,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Option<Value>, ClusterError> {
        let request = request.map_err(|error| ClusterError::new(what, error.to_string()))?;
        let late = |_| ClusterError::new(what, format!("no answer within {} s", ANSWER.as_secs()));
        let client = self.cluster.client();
        let answer = tokio::time::timeout(ANSWER, client.request_text(request)).await.map_err(late)?;
        match answer {
            Ok(text) => {
                let mut object: Value = serde_json::from_str(&text)
                    .map_err(|error| ClusterError::new(what, format!("the answer is not JSON: {error}")))?;
                slim(&mut object);
                Ok(Some(object))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(ClusterError::api(what, &error)),
        }
    }

    /// Returns the last known state of the pod, or what is known of it.
    fn as_seen(&self, verdict: &Verdict) -> Option<Value> {
        let object = verdict.last.as_ref().and_then(|last| serde_json::from_str(&last.object).ok());
        object.or_else(|| {
            let pod = verdict.pod.as_ref()?;
            Some(json!({
                "metadata": {"name": pod.name, "namespace": self.namespace, "uid": pod.uid},
                "spec": {"nodeName": pod.node},
                "status": {"phase": pod.phase},
            }))
        })
    }
}

fn is_same(object: &Value, pod: &PodView) -> bool {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default() == pod.uid
}

fn worker_runs(pod: &PodView) -> bool {
    pod.container(names::WORKER_CONTAINER).is_some_and(|worker| worker.is_running())
}
