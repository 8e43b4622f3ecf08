//! Creates Kubernetes events: on the pods of plugins whose results are late or lost, and on an
//! aggregator about missed runs.
//!
//! All their content is also in the status, so nothing depends on them, and their number is
//! limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Api;
use kube::api::PostParams;
use plumbline_core::text::excerpt;

use crate::cluster::Cluster;
use crate::pod_view::PodView;

/// Maximum number of events of one run. An outage of many nodes must not overload the API server.
const MAX_EVENTS: usize = 100;
/// Maximum length of a message in characters. With an ellipsis this is the limit of Kubernetes.
const MAX_MESSAGE: usize = 1023;
pub(super) const COMPONENT: &str = "plumbline";

#[derive(Debug, Clone, Copy)]
pub(crate) enum About {
    /// A problem delays a result.
    Delayed,
    /// A result will not arrive.
    Lost,
    /// Scheduled runs did not start.
    Missed,
}

impl About {
    /// Returns the reason of the event, which users and programs filter by.
    fn reason(self) -> &'static str {
        match self {
            Self::Delayed => "ResultDelayed",
            Self::Lost => "ResultLost",
            Self::Missed => "ScheduledRunsMissed",
        }
    }
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
        let api = Api::namespaced(cluster.client(), namespace);
        Self { api, namespace: namespace.to_owned(), left: Arc::new(AtomicUsize::new(MAX_EVENTS)) }
    }

    /// Creates an event on `pod`, unless the limit of the run is reached.
    pub(crate) async fn warn(&self, pod: &PodView, about: About, message: &str) {
        let one_less = |left: usize| left.checked_sub(1);
        let message = match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Err(_) => return,
            Ok(1) => format!("{message} (the last event of this run: `plumbline status` has everything)"),
            Ok(_) => message.to_owned(),
        };
        if let Err(error) = self.api.create(&PostParams::default(), &self.event(pod, about, &message)).await {
            tracing::debug!(pod = %pod.name, "no event: {error}");
        }
    }

    fn event(&self, pod: &PodView, about: About, message: &str) -> Event {
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
            type_: Some("Warning".to_owned()),
            reason: Some(about.reason().to_owned()),
            message: Some(excerpt(message, MAX_MESSAGE)),
            source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
            first_timestamp: time.clone(),
            last_timestamp: time,
            count: Some(1),
            ..Event::default()
        }
    }
}
