//! Creates Kubernetes events on pods: on those of plugins whose results are late or lost, and on
//! that of the aggregator ([`crate::run_events`]).
//!
//! All their content is also in the status, so nothing depends on them, and their number is
//! limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Api;
use kube::api::PostParams;
use plumbline_core::text::excerpt;

use crate::cluster::Cluster;
use crate::pod_view::PodView;

/// Maximum number of events on the pods of plugins. An outage of many nodes must not overload the
/// API server.
const MAX_EVENTS: usize = 100;
/// Maximum length of a message in characters. With an ellipsis this is the limit of Kubernetes.
const MAX_MESSAGE: usize = 1023;
/// Timeout of one request.
const ATTEMPT: Duration = Duration::from_secs(10);
pub(crate) const COMPONENT: &str = "plumbline";

/// The pod that an event is about.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl Subject {
    pub(crate) fn of(pod: &PodView) -> Self {
        Self { name: pod.name.clone(), uid: pod.uid.clone() }
    }
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The type of the event: `Normal` or `Warning`.
    pub(crate) severity: &'static str,
    /// A word in camel case, which users and programs filter by.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

pub(crate) fn normal(reason: &'static str, message: String) -> Notice {
    Notice { severity: "Normal", reason, message }
}

pub(crate) fn warning(reason: &'static str, message: String) -> Notice {
    Notice { severity: "Warning", reason, message }
}

/// Creates the events of one run. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Events {
    api: Api<Event>,
    namespace: String,
    left: Arc<AtomicUsize>,
}

impl Events {
    pub(crate) fn new(cluster: &Cluster, namespace: &str) -> Self {
        Self::at_most(MAX_EVENTS, cluster, namespace)
    }

    /// Creates events in this namespace, at most `limit`.
    pub(crate) fn at_most(limit: usize, cluster: &Cluster, namespace: &str) -> Self {
        let api = Api::namespaced(cluster.client(), namespace);
        Self { api, namespace: namespace.to_owned(), left: Arc::new(AtomicUsize::new(limit)) }
    }

    /// Creates an event on a pod, unless the limit is reached.
    pub(crate) async fn create(&self, subject: &Subject, notice: Notice) {
        let one_less = |left: usize| left.checked_sub(1);
        let more = match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Err(_) => return,
            Ok(1) => " (the last event of this kind: `plumbline status` has everything)",
            Ok(_) => "",
        };
        let event = self.event(subject, Notice { message: notice.message + more, ..notice });
        let (parameters, limit) = (PostParams::default(), tokio::time::sleep(ATTEMPT));
        tokio::select! {
            created = self.api.create(&parameters, &event) => {
                if let Err(error) = created {
                    tracing::debug!(pod = %subject.name, "no event: {error}");
                }
            }
            () = limit => tracing::debug!(pod = %subject.name, "no event: the API server gave no answer"),
        }
    }

    fn event(&self, pod: &Subject, notice: Notice) -> Event {
        let now = Timestamp::now();
        let time = Some(Time(now));
        Event {
            metadata: ObjectMeta {
                // Clients name events like this: unique by time, and short enough.
                name: Some(format!("{}.{:016x}", pod.name.chars().take(200).collect::<String>(), now.as_nanosecond())),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: Some(pod.name.clone()),
                namespace: Some(self.namespace.clone()),
                uid: Some(pod.uid.clone()),
                ..ObjectReference::default()
            },
            type_: Some(notice.severity.to_owned()),
            reason: Some(notice.reason.to_owned()),
            message: Some(excerpt(&notice.message, MAX_MESSAGE)),
            source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
            first_timestamp: time.clone(),
            last_timestamp: time,
            count: Some(1),
            ..Event::default()
        }
    }
}
