//! Scheduled runs in their cluster: one run at a time, and the time of the last one.
//!
//! The pods of a Job are aggregators. Before an aggregator starts its run, it makes sure that no
//! other run is active in the namespace ([`clear`]). Pods are the evidence: a lock would need its own
//! rules for an owner that does not respond.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use plumbline_core::text::listed;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::events::{Events, Subject, warning};
use crate::names;
use crate::owned::{Kind, delete, get, text};
use crate::parts::object;
use crate::retry::{Listing, PATIENCE, list, send_with_retry};

/// How long the pods of an earlier run may take to end. The grace period of a plugin's pod is 60 s.
const CLEARANCE: Duration = Duration::from_secs(180);

/// Interval between looks at these pods.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// The most names in an error.
const MAX_NAMED: usize = 5;

/// How far the clocks of the control plane and of a node may differ, in seconds.
const CLOCK_SKEW: i64 = 300;

/// Keys of the ConfigMap.
const LAST: &str = "last";
const BEFORE: &str = "before";

/// The pod of a scheduled aggregator.
#[derive(Debug, Clone)]
pub struct ScheduledPod {
    /// The namespace.
    pub namespace: String,
    /// The name of the pod.
    pub name: String,
    /// The UID of the pod.
    pub uid: String,
    /// The name of its Job.
    pub job: String,
}

/// Why a scheduled run cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OverlapError {
    /// Another aggregator is active.
    #[error("another run is active in namespace `{namespace}`: pod `{pod}`")]
    Active {
        /// The namespace.
        namespace: String,
        /// The other aggregator.
        pod: String,
    },
    /// Pods of an earlier run have not ended.
    #[error("pods of an earlier run in namespace `{namespace}` have not ended: {pods}")]
    Remains {
        /// The namespace.
        namespace: String,
        /// The first few pods.
        pods: String,
    },
    /// The cluster cannot be asked.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// What matters of an object of a run.
struct Found {
    name: String,
    uid: String,
    is_aggregator: bool,
    job: Option<String>,
    session: Option<String>,
    has_ended: bool,
    owner: Option<String>,
    /// A DaemonSet owns the pod, and deletes it.
    is_controlled: bool,
}

impl Found {
    fn read(object: &Value) -> Self {
        let text = |path: &[&str]| text(object, path).map(str::to_owned);
        let of_owner = |key: &str| object.pointer("/metadata/ownerReferences/0")?.get(key)?.as_str().map(str::to_owned);
        Self {
            name: text(&["metadata", "name"]).unwrap_or_default(),
            uid: text(&["metadata", "uid"]).unwrap_or_default(),
            is_aggregator: text(&["metadata", "labels", names::ROLE_LABEL]).as_deref() == Some(names::AGGREGATOR),
            job: text(&["metadata", "labels", names::JOB_LABEL]),
            session: text(&["metadata", "labels", names::SESSION_LABEL]),
            has_ended: text(&["status", "phase"]).is_some_and(|phase| matches!(phase.as_str(), "Succeeded" | "Failed")),
            owner: of_owner("uid"),
            is_controlled: of_owner("kind").as_deref() == Some("DaemonSet"),
        }
    }
}

/// Makes sure that only this run is active in its namespace: returns an error if another aggregator
/// is active, and deletes what an aggregator that has ended left behind. Objects of this run, which
/// an earlier pod of its Job created, stay.
///
/// An aggregator exists before it looks for others. So of two that start at once, at least one sees
/// the other. If both do, neither starts: times of creation do not tell which one was first, because
/// several API servers set them.
///
/// # Errors
/// Returns [`OverlapError`], and then the run must not start.
pub async fn clear(cluster: &Cluster, own: &ScheduledPod) -> Result<(), OverlapError> {
    let deadline = Instant::now() + CLEARANCE;
    loop {
        let pods = objects(cluster, own, Kind::Pod).await?;
        let is_active = |pod: &&Found| pod.is_aggregator && !pod.has_ended && pod.uid != own.uid;
        if let Some(other) = pods.iter().find(is_active) {
            return Err(OverlapError::Active { namespace: own.namespace.clone(), pod: other.name.clone() });
        }
        let sets = objects(cluster, own, Kind::DaemonSet).await?;
        let left = remains(own, &pods, &sets);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let named: Vec<&str> = left.iter().map(|(_, found)| found.name.as_str()).collect();
            let pods = listed(&named, MAX_NAMED, ", ");
            return Err(OverlapError::Remains { namespace: own.namespace.clone(), pods });
        }
        for (kind, found) in left.into_iter().filter(|(_, found)| !found.is_controlled) {
            tracing::info!("deleting {} `{}` of an earlier run", kind.word(), found.name);
            delete(cluster, &own.namespace, kind, &found.name).await?;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Returns the objects of plugins that do not belong to this run.
fn remains<'a>(own: &ScheduledPod, pods: &'a [Found], sets: &'a [Found]) -> Vec<(Kind, &'a Found)> {
    let of_job = pods.iter().filter(|pod| pod.is_aggregator && pod.job.as_deref() == Some(own.job.as_str()));
    let owners: BTreeSet<&str> = of_job.map(|pod| pod.uid.as_str()).chain([own.uid.as_str()]).collect();
    let is_own = |found: &Found| found.owner.as_deref().is_some_and(|owner| owners.contains(owner));
    let sessions: BTreeSet<&str> =
        sets.iter().filter(|set| is_own(set)).filter_map(|set| set.session.as_deref()).collect();
    let stays = |found: &Found| match found.is_controlled {
        true => found.session.as_deref().is_some_and(|session| sessions.contains(session)),
        false => is_own(found),
    };
    let plugins = pods.iter().filter(|pod| !pod.is_aggregator).map(|pod| (Kind::Pod, pod));
    sets.iter().map(|set| (Kind::DaemonSet, set)).chain(plugins).filter(|(_, found)| !stays(found)).collect()
}

async fn objects(cluster: &Cluster, own: &ScheduledPod, kind: Kind) -> Result<Vec<Found>, ClusterError> {
    let selector = format!("{}={},{}", names::COMPONENT_LABEL, names::COMPONENT_VALUE, names::ROLE_LABEL);
    let what = format!("list the {}s of runs in namespace `{}`", kind.word(), own.namespace);
    let path = kind.path(&own.namespace);
    let listing = Listing { labels: Some(&selector), ..Listing::new(&what, &path) };
    list(cluster, &listing, |object| Found::read(&object)).await
}

/// Returns the time for which the CronJob created this Job: Kubernetes puts the minute into its name.
/// A Job that a user created from the CronJob has none.
#[must_use]
pub fn time_of_job(job: &str, now: Timestamp) -> Option<Timestamp> {
    let minutes = job.strip_prefix(names::SCHEDULE)?.strip_prefix('-')?;
    let is_number = !minutes.is_empty() && minutes.bytes().all(|byte| byte.is_ascii_digit());
    let minutes: i64 = is_number.then(|| minutes.parse().ok()).flatten()?;
    let time = Timestamp::from_second(minutes.checked_mul(60)?).ok()?;
    (time.as_second() <= now.as_second() + CLOCK_SKEW).then_some(time)
}

/// Records the time of a scheduled run. Returns that of the run before it, if one is known. A run
/// that continues in another pod gets the same answer.
///
/// # Errors
/// Returns an error if the ConfigMap cannot be read or written.
pub async fn record(cluster: &Cluster, namespace: &str, time: Timestamp) -> Result<Option<Timestamp>, ClusterError> {
    let collection = kube::core::Request::new(Kind::ConfigMap.path(namespace));
    let what = format!("read ConfigMap `{}`", names::SCHEDULE);
    let Some(found) = get(cluster, namespace, Kind::ConfigMap, names::SCHEDULE, &what).await? else {
        return create(cluster, namespace, &collection, time).await;
    };
    let found: ConfigMap =
        serde_json::from_value(found).map_err(|error| ClusterError::new(&what, error.to_string()))?;
    let stored = |key: &str| found.data.as_ref()?.get(key)?.parse::<Timestamp>().ok();
    let last = stored(LAST);
    if last == Some(time) {
        return Ok(stored(BEFORE));
    }
    let data = json!({"data": {LAST: time.to_string(), BEFORE: last.map(|time| time.to_string())}});
    let what = format!("write ConfigMap `{}`", names::SCHEDULE);
    let request = collection.patch(names::SCHEDULE, &PatchParams::default(), &Patch::Merge(data));
    send_with_retry::<Value>(cluster, &what, PATIENCE, request).await?;
    Ok(last)
}

async fn create(
    cluster: &Cluster,
    namespace: &str,
    collection: &kube::core::Request,
    time: Timestamp,
) -> Result<Option<Timestamp>, ClusterError> {
    let map = object(namespace, "v1", "ConfigMap", names::SCHEDULE, json!({"data": {LAST: time.to_string()}}));
    let what = format!("create ConfigMap `{}`", names::SCHEDULE);
    let request = collection.create(&PostParams::default(), map.to_string().into_bytes());
    match send_with_retry::<Value>(cluster, &what, PATIENCE, request).await {
        // The response to the first attempt was lost.
        Err(error) if !error.is_conflict() => Err(error),
        _ => Ok(None),
    }
}

/// Creates an event on the pod about runs that were missed.
pub async fn warn_missed(cluster: &Cluster, own: &ScheduledPod, message: &str) {
    let pod = Subject { name: own.name.clone(), uid: own.uid.clone() };
    Events::new(cluster, &own.namespace).create(&pod, warning("ScheduledRunsMissed", message.to_owned())).await;
}

/// The CronJob of scheduled runs, as it is in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleInCluster {
    /// The cron expression.
    pub cron: String,
    /// The time zone, if it is set.
    pub zone: Option<String>,
    /// Whether Kubernetes starts no runs.
    pub is_suspended: bool,
    /// The time of the last Job, or when the CronJob was created.
    pub since: Option<Timestamp>,
    /// The number of active Jobs.
    pub active: usize,
}

/// Returns the schedule in a namespace, if there is one.
///
/// # Errors
/// Returns an error if it cannot be read.
pub async fn in_cluster(cluster: &Cluster, namespace: &str) -> Result<Option<ScheduleInCluster>, ClusterError> {
    let api: Api<CronJob> = Api::namespaced(cluster.client(), namespace);
    let what = format!("read the schedule in namespace `{namespace}`");
    let found = api.get_opt(names::SCHEDULE).await.map_err(|error| ClusterError::api(what, &error))?;
    let Some(CronJob { metadata, spec: Some(spec), status }) = found else { return Ok(None) };
    let status = status.unwrap_or_default();
    let since = status.last_schedule_time.or(metadata.creation_timestamp);
    Ok(Some(ScheduleInCluster {
        cron: spec.schedule,
        zone: spec.time_zone,
        is_suspended: spec.suspend.unwrap_or_default(),
        since: since.map(|time| time.0),
        active: status.active.map_or(0, |active| active.len()),
    }))
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
