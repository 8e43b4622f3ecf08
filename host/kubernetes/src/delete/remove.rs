//! Deletes the planned objects, waits until they are gone, and reports what blocks the deletion.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{DeleteParams, ObjectMeta, Preconditions};
use serde_json::Value;
use tokio::time::Instant;

use super::kinds::{NAMESPACE, OF_RUN};
use super::plan::{Object, Plan};
use crate::cluster::Cluster;
use crate::error::ClusterError;

/// Maximum number of blockers to list for one namespace.
const MAX_NAMED: usize = 10;

/// Maximum number of consecutive failed checks: two minutes at intervals of five seconds.
const MAX_FAILED_LOOKS: u32 = 24;

/// Allowance in seconds for a node to remove a pod after its grace period, and for differences
/// between clocks.
const SLACK_SECONDS: i64 = 30;

/// The outcome of deleting one object.
#[derive(Debug)]
pub enum Removed<'a> {
    /// The cluster accepted the deletion: the object is gone, or will be.
    Started(&'a Object),
    /// The object was already gone.
    WasGone(&'a Object),
    /// The object stays, because of this error.
    Failed(&'a Object, ClusterError),
}

/// Deletes the objects of the plan one after the other, and calls `on_removed` after each. A
/// failure does not stop the others.
///
/// An object that has replaced a planned one under the same name stays.
pub async fn remove<'a>(
    cluster: &Cluster,
    plan: &'a Plan,
    on_removed: &mut (dyn FnMut(&Removed<'a>) + Send),
) -> Vec<ClusterError> {
    let mut failed = Vec::new();
    for object in &plan.objects {
        let removed = one(cluster, object).await;
        on_removed(&removed);
        if let Removed::Failed(_, error) = removed {
            failed.push(error);
        }
    }
    failed
}

async fn one<'a>(cluster: &Cluster, object: &'a Object) -> Removed<'a> {
    if object.terminating {
        // Deleting it again would change nothing.
        return Removed::Started(object);
    }
    let uid = Preconditions { uid: object.uid.clone(), resource_version: None };
    let params = DeleteParams::background().preconditions(uid);
    match object.kind.api(cluster, object.namespace.as_deref()).delete(&object.name, &params).await {
        Ok(_) => Removed::Started(object),
        Err(kube::Error::Api(status)) if status.code == 404 => Removed::WasGone(object),
        Err(error) => {
            let failure = ClusterError::api(format!("delete {object}"), &error);
            let failure = match failure.code {
                // This is a namespace that is already terminating, which is the goal.
                Some(409) if object.is_namespace() => return Removed::Started(object),
                Some(409) => failure.hint("it was created again meanwhile: run the same command again"),
                _ => failure,
            };
            Removed::Failed(object, failure)
        }
    }
}

/// Something that blocks the deletion of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// The object, as text.
    pub object: String,
    /// What it waits for, as text.
    pub why: String,
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.why)
    }
}

/// Waits until every object of the plan is gone, for at most `limit`.
///
/// Checks at intervals of `look`, and calls `on_blocked` with the blockers after each check that
/// found some. Returns the objects that are left, which is empty on success.
///
/// # Errors
/// Returns an error if the cluster cannot be reached for a longer time.
pub async fn wait(
    cluster: &Cluster,
    plan: &Plan,
    limit: Option<Duration>,
    look: Duration,
    on_blocked: &mut (dyn FnMut(&[Blocker]) + Send),
) -> Result<Vec<Blocker>, ClusterError> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut failed = 0;
    loop {
        let left = match remaining(cluster, plan).await {
            Ok(left) => {
                failed = 0;
                left
            }
            Err(error) if error.is_transient() && failed < MAX_FAILED_LOOKS => {
                failed += 1;
                vec![Blocker { object: "the cluster".to_owned(), why: format!("failed to query it: {}", error.cause) }]
            }
            Err(error) => return Err(error),
        };
        if left.is_empty() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(left);
        }
        on_blocked(&left);
        tokio::time::sleep(look).await;
    }
}

async fn remaining(cluster: &Cluster, plan: &Plan) -> Result<Vec<Blocker>, ClusterError> {
    let mut blockers = Vec::new();
    for object in &plan.objects {
        let api = object.kind.api(cluster, object.namespace.as_deref());
        let found = match api.get_opt(&object.name).await {
            Ok(found) => found,
            // Permissions may be gone with the deleted roles.
            Err(kube::Error::Api(status)) if status.code == 403 => None,
            Err(error) => return Err(ClusterError::api(format!("check whether {object} is gone"), &error)),
        };
        let Some(found) = found.filter(|found| object.uid.is_none() || found.metadata.uid == object.uid) else {
            continue;
        };
        if object.is_namespace() {
            blockers.extend(namespace_blockers(object, &found.data));
            blockers.extend(contents(cluster, &object.name).await);
        } else {
            let why = holds(&found.metadata, Timestamp::now());
            blockers.push(Blocker { object: object.to_string(), why });
        }
    }
    Ok(blockers)
}

/// Returns the reasons in a namespace's conditions, or else the fact that it still exists.
fn namespace_blockers(object: &Object, data: &Value) -> Vec<Blocker> {
    let blocker = |why: String| Blocker { object: object.to_string(), why };
    let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
    let text = |condition: &Value, key: &str| Some(condition.get(key)?.as_str()?.to_owned());
    let blockers: Vec<_> = conditions
        .into_iter()
        .flatten()
        .filter(|condition| text(condition, "status").as_deref() == Some("True"))
        .filter_map(|condition| text(condition, "message").or_else(|| text(condition, "reason")))
        .take(MAX_NAMED)
        .map(blocker)
        .collect();
    if blockers.is_empty() { vec![blocker("is being deleted".to_owned())] } else { blockers }
}

/// Returns what is left in a namespace and waits for something. Kinds that cannot be listed are
/// skipped, because this is only information for the user.
async fn contents(cluster: &Cluster, namespace: &str) -> Vec<Blocker> {
    let now = Timestamp::now();
    let mut blockers = Vec::new();
    for kind in &OF_RUN {
        let objects = kind.list(cluster, Some(namespace), None).await.map(|listed| listed.objects);
        for object in objects.unwrap_or_default() {
            let metadata = &object.metadata;
            let held = kind.word == "pod" || metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty());
            if let Some(shown) = Object::new(kind, metadata).filter(|object| object.terminating && held) {
                blockers.push(Blocker { object: shown.to_string(), why: holds(metadata, now) });
            }
        }
    }
    let more = blockers.len().saturating_sub(MAX_NAMED);
    blockers.truncate(MAX_NAMED);
    if more > 0 {
        let object = format!("{} `{namespace}`", NAMESPACE.word);
        blockers.push(Blocker { object, why: format!("{more} more objects remain in it") });
    }
    blockers
}

/// Returns what an object waits for.
fn holds(metadata: &ObjectMeta, now: Timestamp) -> String {
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    if !finalizers.is_empty() {
        let plural = if finalizers.len() == 1 { "finalizer" } else { "finalizers" };
        return format!(
            "waits for {plural} `{}`, to be removed by the controllers that set them",
            finalizers.join("`, `")
        );
    }
    // The timestamp is the end of the grace period.
    let Some(due) = &metadata.deletion_timestamp else { return "still exists".to_owned() };
    let late = now.duration_since(due.0).as_secs();
    match (late, metadata.deletion_grace_period_seconds) {
        (..=0, Some(grace @ 1..)) => {
            format!("is terminating, at most {} s more of its grace period of {grace} s", -late)
        }
        (..=0, _) => format!("is terminating, at most {} s more", -late),
        (..=SLACK_SECONDS, _) => format!("is terminating: its grace period ended {late} s ago"),
        (_, _) => format!("is terminating, although its grace period ended {late} s ago: its node may be down"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blockers_are_listed() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let meta = |json: Value| serde_json::from_value::<ObjectMeta>(json).unwrap();
        for (metadata, want) in [
            (
                json!({"finalizers": ["a/b", "c"]}),
                "waits for finalizers `a/b`, `c`, to be removed by the controllers that set them",
            ),
            (
                json!({"deletionTimestamp": "2026-01-01T00:00:29Z", "deletionGracePeriodSeconds": 90}),
                "is terminating, although its grace period ended 31 s ago: its node may be down",
            ),
            (
                json!({"deletionTimestamp": "2026-01-01T00:00:58Z", "deletionGracePeriodSeconds": 90}),
                "is terminating: its grace period ended 2 s ago",
            ),
            (
                json!({"deletionTimestamp": "2026-01-01T00:02:10Z", "deletionGracePeriodSeconds": 90}),
                "is terminating, at most 70 s more of its grace period of 90 s",
            ),
            (json!({"deletionTimestamp": "2026-01-01T00:01:20Z"}), "is terminating, at most 20 s more"),
            (json!({}), "still exists"),
        ] {
            assert_eq!(holds(&meta(metadata), now), want);
        }
    }

    #[test]
    fn a_namespace_tells_its_conditions() {
        let object = Object::new(&NAMESPACE, &ObjectMeta { name: Some("ns".into()), ..ObjectMeta::default() }).unwrap();
        let data = json!({"status": {"conditions": [
            {"type": "NamespaceFinalizersRemaining", "status": "True", "message": "Some content has finalizers remaining: x in 1"},
            {"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "All resources discovered"},
        ]}});
        let blockers: Vec<_> = namespace_blockers(&object, &data).iter().map(ToString::to_string).collect();
        assert_eq!(blockers, ["namespace `ns`: Some content has finalizers remaining: x in 1"]);
        assert_eq!(namespace_blockers(&object, &Value::Null)[0].why, "is being deleted");
    }
}
