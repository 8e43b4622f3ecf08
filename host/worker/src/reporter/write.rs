//! Writes the outcome: first the condition on the Job, with retries, and then the optional details
//! and Event for a limited time. Without the permission for those, there are none, and that is not
//! an error.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_kubernetes::{ClusterError, Refusal, retry_while};
use serde_json::{Value, json};

use super::access::{Access, Verb};
use super::config::{Config, DetailsTo};
use super::pod::PodNews;
use super::pod_watch::Subject;
use super::result::{Outcome, clipped};

/// How long a missing permission is retried.
const FORBIDDEN: Duration = Duration::from_secs(10);
/// How long details and Event are retried, after the condition is written.
const DETAILS_PATIENCE: Duration = Duration::from_secs(10);

/// The annotation on the Job and on its ConfigMap.
const ANNOTATION: &str = "plumbline.dev/adapter-details";
/// The key in the ConfigMap.
const DETAILS_KEY: &str = "details.json";
/// The label that marks the ConfigMap as the reporter's.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "plumbline-reporter");
/// The suffix of the ConfigMap's name.
const SUFFIX: &str = "-adapter-details";
/// Maximum size of an annotation in bytes. All of an object share 256 KiB.
const MAX_ANNOTATION: usize = 64 << 10;
/// Maximum size of the data in a ConfigMap, in bytes, of 1 MiB with metadata.
const MAX_CONFIG_MAP: usize = 768 << 10;
/// Number of bytes to keep from the start of details that are too large.
const MAX_BEGINNING: usize = 1 << 10;

/// Maximum length of a message in characters, which is the limit of Kubernetes for events.
const MAX_EVENT_MESSAGE: usize = 1024;
/// Maximum length of a reason in characters, which is the limit of Kubernetes for events.
const MAX_EVENT_REASON: usize = 128;
/// The reporting component.
const COMPONENT: &str = "plumbline-reporter";

/// The result of writing the condition.
#[derive(Debug)]
pub(crate) struct Written {
    /// The current Job.
    job: Value,
    /// Whether everything was already there, so that nothing was written.
    pub(crate) unchanged: bool,
}

/// What is known of the pod that writes.
#[derive(Debug)]
pub(crate) struct Author {
    /// The UID of the Job that owns the pod.
    pub(crate) job_uid: Option<String>,
    /// When the pod was created, if it has no result. A pod that was replaced must then leave the
    /// condition that a later one wrote.
    pub(crate) yields_since: Option<Timestamp>,
}

/// Writes the condition, with the annotation if details go there.
///
/// One patch with the resource version that was read, so no concurrent write is lost.
pub(crate) async fn condition(
    access: &Access,
    config: &Config,
    outcome: &Outcome,
    author: &Author,
    patience: Duration,
) -> Result<Written, ClusterError> {
    let (annotate, tried) = (Cell::new(config.details_to == DetailsTo::Annotation), Cell::new(false));
    retry_while(patience, may_pass, || async {
        let written = attempt(access, config, outcome, author, annotate.get()).await;
        // If the response to a patch was lost, the next read shows the reporter's own condition.
        let again = tried.replace(true);
        match written {
            Err(refusal) if annotate.get() && matches!(refusal.error.code, Some(413 | 422)) => {
                tracing::warn!("the details are not stored: {}", refusal.error.cause);
                annotate.set(false);
                attempt(access, config, outcome, author, false).await
            }
            Ok(written) => Ok(Written { unchanged: written.unchanged && !again, ..written }),
            refused => refused,
        }
    })
    .await
}

/// Returns true for errors that may pass: rate limiting, server errors, no response, a conflict, or
/// a token that is being replaced.
///
/// A missing permission is retried for a short time: role bindings take a moment.
fn may_pass(error: &ClusterError, tried: Duration) -> bool {
    match error.code {
        Some(401 | 408 | 409) => true,
        Some(403) => tried < FORBIDDEN,
        _ => error.is_transient(),
    }
}

fn job_path(config: &Config) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs/{}", config.namespace, config.job)
}

async fn attempt(
    access: &Access,
    config: &Config,
    outcome: &Outcome,
    author: &Author,
    annotate: bool,
) -> Result<Written, Refusal> {
    let place = format!("job `{}` in namespace `{}`", config.job, config.namespace);
    let what = format!("write condition `{}` of {place}", config.condition_type);
    let path = job_path(config);
    let job = access.once(&format!("read {place}"), Verb::Get, &path).await.map_err(|mut refusal| {
        if refusal.error.is_not_found() {
            refusal.error = refusal.error.hint("check JOB_NAME and JOB_NAMESPACE; the Job may have been deleted");
        }
        refusal
    })?;
    let uid = job.pointer("/metadata/uid").and_then(Value::as_str);
    if let (Some(owner), Some(uid)) = (author.job_uid.as_deref(), uid)
        && owner != uid
    {
        let mut error = ClusterError::new(what, "the pod belongs to an earlier Job of this name, which is gone");
        error.code = Some(410);
        return Err(Refusal::of(error));
    }
    let existing = job.pointer("/status/conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let conditions = merge(existing, &config.condition_type, outcome, Timestamp::now());
    if conditions.is_some()
        && is_newer(existing, &config.condition_type, author.yields_since)
        && is_leaving(access, config).await?
    {
        tracing::info!("the condition stays: another pod of the job wrote it, and this one is being deleted");
        return Ok(Written { job, unchanged: true });
    }
    let details = outcome.details.as_deref().filter(|_| annotate).map(|details| bounded(details, MAX_ANNOTATION));
    let annotation = details.filter(|details| annotation(&job) != Some(details.as_str()));
    if conditions.is_none() && annotation.is_none() {
        return Ok(Written { job, unchanged: true });
    }
    let metadata = json!({
        "uid": uid,
        "resourceVersion": job.pointer("/metadata/resourceVersion"),
        "annotations": annotation.map(|details| json!({ANNOTATION: details})),
    });
    let status = conditions.map(|conditions| json!({"conditions": conditions}));
    let patch = without_null(json!({"metadata": without_null(metadata), "status": status}));
    let job = access.once(&what, Verb::Merge(&patch), &format!("{path}/status")).await?;
    Ok(Written { job, unchanged: false })
}

/// Returns whether the condition was written after `since`.
fn is_newer(existing: &[Value], kind: &str, since: Option<Timestamp>) -> bool {
    let ours = existing.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind));
    let written = ours.and_then(|ours| ours.get("lastProbeTime")?.as_str()?.parse::<Timestamp>().ok());
    since.zip(written).is_some_and(|(since, written)| written > since)
}

/// Returns whether the reporter's own pod is being deleted, or is gone.
async fn is_leaving(access: &Access, config: &Config) -> Result<bool, Refusal> {
    match Subject::of(config).ask(access).await {
        Ok((PodNews::Look(look), _)) => Ok(look.deleted),
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) if error.is_transient() => Err(Refusal::of(error)),
        Ok(_) | Err(_) => Ok(false),
    }
}

/// Removes the fields that are `null`, which a merge patch would delete.
fn without_null(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

fn annotation(job: &Value) -> Option<&str> {
    job.pointer("/metadata/annotations").and_then(|all| all.get(ANNOTATION)).and_then(Value::as_str)
}

/// Writes details and Event. Failures are logged.
pub(crate) async fn details_and_event(access: &Access, config: &Config, outcome: &Outcome, written: &Written) {
    if let Some(details) = outcome.details.as_deref()
        && let Err(error) = keep_details(access, config, &written.job, details).await
    {
        tracing::warn!("{error}; the condition is written");
    }
    if written.unchanged {
        return;
    }
    let event = event(config, &written.job, outcome, Timestamp::now());
    let path = format!("/api/v1/namespaces/{}/events", config.namespace);
    let what = format!("create an event on job `{}`", config.job);
    // The permission does not appear later, because users grant it in advance if they want events.
    let may_pass = |error: &ClusterError, tried| !error.is_forbidden() && may_pass(error, tried);
    let create = || async {
        match access.once(&what, Verb::Create(&event), &path).await {
            // An earlier attempt succeeded, but its response was lost.
            Err(refusal) if refusal.error.is_conflict() => Ok(()),
            answer => answer.map(|_| ()),
        }
    };
    match retry_while(DETAILS_PATIENCE, may_pass, create).await {
        Err(error) if error.is_forbidden() => tracing::debug!("{error}"),
        Err(error) => tracing::warn!("{error}; the condition is written"),
        Ok(()) => {}
    }
}

async fn keep_details(access: &Access, config: &Config, job: &Value, details: &str) -> Result<(), ClusterError> {
    match config.details_to {
        DetailsTo::ConfigMap => {
            retry_while(DETAILS_PATIENCE, may_pass, || details_to_config_map(access, config, job, details)).await
        }
        // An API server that ignores metadata in status updates needs a separate request.
        DetailsTo::Annotation if annotation(job).is_none() => {
            let what = format!("store the details in an annotation of job `{}`", config.job);
            let patch = json!({"metadata": {"annotations": {ANNOTATION: bounded(details, MAX_ANNOTATION)}}});
            let path = job_path(config);
            let write = || async { access.once(&what, Verb::Merge(&patch), &path).await.map(|_| ()) };
            retry_while(DETAILS_PATIENCE, may_pass, write).await
        }
        DetailsTo::Annotation | DetailsTo::Event | DetailsTo::Nowhere => Ok(()),
    }
}

/// Returns the conditions of the Job including the reporter's, or `None` if that already exists
/// with the same content.
///
/// Other conditions keep their content and order. `lastTransitionTime` changes only with the
/// status, and `lastProbeTime` with every write.
fn merge(existing: &[Value], kind: &str, outcome: &Outcome, now: Timestamp) -> Option<Vec<Value>> {
    let (now, status) = (in_seconds(now), if outcome.success { "True" } else { "False" });
    let place = existing.iter().position(|condition| condition.get("type").and_then(Value::as_str) == Some(kind));
    let mut condition =
        place.and_then(|place| existing.get(place)).and_then(Value::as_object).cloned().unwrap_or_default();
    // An empty field may be omitted.
    let said = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
    let same_status = said("status") == status;
    if place.is_some() && same_status && said("reason") == outcome.reason && said("message") == outcome.message {
        return None;
    }
    let since = Some(said("lastTransitionTime").to_owned()).filter(|since| same_status && !since.is_empty());
    for (field, value) in [
        ("type", kind),
        ("status", status),
        ("reason", &outcome.reason),
        ("message", &outcome.message),
        ("lastProbeTime", &now),
        ("lastTransitionTime", since.as_deref().unwrap_or(&now)),
    ] {
        condition.insert(field.to_owned(), value.into());
    }
    let mut merged = existing.to_vec();
    match place.and_then(|place| merged.get_mut(place)) {
        Some(old) => *old = Value::Object(condition),
        None => merged.push(Value::Object(condition)),
    }
    Some(merged)
}

/// Formats a time as Kubernetes does, in whole seconds.
fn in_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Replaces oversized details with JSON that contains their size and their start.
fn bounded(details: &str, max: usize) -> String {
    if details.len() <= max {
        return details.to_owned();
    }
    let beginning = details.get(..details.floor_char_boundary(MAX_BEGINNING)).unwrap_or_default();
    json!({"truncated": true, "bytes": details.len(), "beginning": beginning}).to_string()
}

/// Stores the details in a ConfigMap that the Job owns. An existing one without the reporter's
/// label is not changed.
async fn details_to_config_map(access: &Access, config: &Config, job: &Value, details: &str) -> Result<(), Refusal> {
    let name = config_map_name(&config.job);
    let what = format!("store the details in ConfigMap `{name}` in namespace `{}`", config.namespace);
    let all = format!("/api/v1/namespaces/{}/configmaps", config.namespace);
    let uid = job.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    let data = json!({DETAILS_KEY: bounded(details, MAX_CONFIG_MAP)});
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "labels": {LABEL.0: LABEL.1},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": config.job, "uid": uid}],
        },
        "data": data,
    });
    match access.once(&what, Verb::Create(&object), &all).await {
        Err(refusal) if refusal.error.code == Some(409) => {}
        done => return done.map(|_| ()),
    }
    let one = format!("{all}/{name}");
    let there = access.once(&what, Verb::Get, &one).await?;
    let label = there.pointer("/metadata/labels").and_then(|labels| labels.get(LABEL.0)).and_then(Value::as_str);
    if label != Some(LABEL.1) {
        // Set a status code, so that this is not retried.
        let mut error = ClusterError::new(what, "it exists, and this reporter did not create it");
        error.code = Some(422);
        return Err(Refusal::of(error));
    }
    let owners = object.pointer("/metadata/ownerReferences");
    let patch = json!({"metadata": {"ownerReferences": owners}, "data": data});
    access.once(&what, Verb::Merge(&patch), &one).await.map(|_| ())
}

/// Returns the name of a Job's ConfigMap, with at most 253 characters.
fn config_map_name(job: &str) -> String {
    let room = 253 - SUFFIX.len();
    let job: String = job.chars().take(room).collect();
    format!("{}{SUFFIX}", job.trim_end_matches(['.', '-']))
}

/// Builds the Event on the Job. `job` is the Job as it was read.
fn event(config: &Config, job: &Value, outcome: &Outcome, now: Timestamp) -> Value {
    let field = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let time = in_seconds(now);
    // Clients name events like this: unique by time. The Job's name is cut to leave space for it.
    let job_name: String = config.job.chars().take(220).collect();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": format!("{}.{:016x}", job_name.trim_end_matches(['.', '-']), now.as_nanosecond()),
            "namespace": config.namespace,
        },
        "involvedObject": {
            "apiVersion": "batch/v1", "kind": "Job", "name": config.job, "namespace": config.namespace,
            "uid": field("/metadata/uid"), "resourceVersion": field("/metadata/resourceVersion"),
        },
        "type": if outcome.success { "Normal" } else { "Warning" },
        "reason": clipped(&outcome.reason, MAX_EVENT_REASON),
        "message": event_message(config, outcome),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": clipped(&config.pod, MAX_EVENT_REASON),
        "action": "Report",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    })
}

fn event_message(config: &Config, outcome: &Outcome) -> String {
    let details = outcome.details.as_deref().filter(|_| config.details_to == DetailsTo::Event);
    let Some(details) = details else { return clipped(&outcome.message, MAX_EVENT_MESSAGE) };
    let whole = format!("{}; details: {details}", outcome.message);
    if whole.chars().count() <= MAX_EVENT_MESSAGE {
        return whole;
    }
    // An incomplete JSON document would be useless.
    let note = format!("; details: {} bytes, too many for an event", details.len());
    format!("{}{note}", clipped(&outcome.message, MAX_EVENT_MESSAGE - note.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const EARLIER: &str = "2026-01-01T00:00:00Z";
    const NOW: &str = "2026-01-02T03:04:05Z";

    fn now() -> Timestamp {
        "2026-01-02T03:04:05.678Z".parse().unwrap()
    }

    fn new(success: bool, reason: &str) -> Outcome {
        Outcome { success, reason: reason.into(), message: "m".into(), details: None }
    }

    fn there(status: &str, reason: &str) -> Value {
        json!({"type": "Available", "status": status, "reason": reason, "message": "m", "lastTransitionTime": EARLIER})
    }

    #[test]
    fn a_new_condition_comes_last() {
        let other = json!({"type": "Suspended", "status": "False", "future": [1]});
        let merged = merge(std::slice::from_ref(&other), "Available", &new(true, "r"), now()).unwrap();
        let ours = json!({"type": "Available", "status": "True", "reason": "r", "message": "m",
            "lastProbeTime": NOW, "lastTransitionTime": NOW});
        assert_eq!(merged, [other, ours]);
    }

    #[test]
    fn an_unchanged_condition_is_not_written() {
        assert_eq!(merge(&[there("True", "r")], "Available", &new(true, "r"), now()), None);
        let empty = Outcome { message: String::new(), ..new(true, "r") };
        assert_eq!(
            merge(&[json!({"type": "Available", "status": "True", "reason": "r"})], "Available", &empty, now()),
            None
        );
    }

    #[test]
    fn the_transition_moves_only_with_the_status_and_the_place_never() {
        let (a, z) = (json!({"type": "A"}), json!("no condition at all"));
        let of = |old: Value, new: Outcome| {
            let merged = merge(&[a.clone(), old, z.clone()], "Available", &new, now()).unwrap();
            assert_eq!((&merged[0], &merged[2], merged.len()), (&a, &z, 3));
            merged[1].clone()
        };
        let same = of(there("True", "old"), new(true, "r"));
        assert_eq!((&same["lastTransitionTime"], &same["lastProbeTime"]), (&json!(EARLIER), &json!(NOW)));
        let flipped = of(there("True", "r"), new(false, "r"));
        assert_eq!((&flipped["status"], &flipped["lastTransitionTime"]), (&json!("False"), &json!(NOW)));
        let from_unknown = of(there("Unknown", "r"), new(false, "r"));
        assert_eq!(from_unknown["lastTransitionTime"], NOW);
    }

    #[test]
    fn unknown_fields_are_kept() {
        let mut old = there("True", "old");
        old["observedGeneration"] = json!(3);
        assert_eq!(merge(&[old], "Available", &new(true, "r"), now()).unwrap()[0]["observedGeneration"], 3);
    }

    #[test]
    fn short_details_are_unchanged() {
        assert_eq!(bounded(r#"{"a": 1.50}"#, MAX_ANNOTATION), r#"{"a": 1.50}"#);
    }

    #[test]
    fn truncated_details_are_still_json() {
        let large = format!("\"{}\"", "ä".repeat(MAX_ANNOTATION));
        let kept = bounded(&large, MAX_ANNOTATION);
        assert!(kept.len() < MAX_ANNOTATION);
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!((&kept["truncated"], &kept["bytes"]), (&json!(true), &json!(large.len())));
        assert!(large.starts_with(kept["beginning"].as_str().unwrap()));
    }

    #[test]
    fn the_name_of_a_config_map_is_always_one() {
        assert_eq!(config_map_name("j"), "j-adapter-details");
        assert_eq!(config_map_name(&"a".repeat(253)).len(), 253);
    }

    fn config(details_to: &str) -> Config {
        let env = [("JOB_NAME", "j"), ("JOB_NAMESPACE", "n"), ("POD_NAME", "p"), ("DETAILS_TO", details_to)];
        let env: BTreeMap<String, String> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Config::from_env(&env).unwrap()
    }

    fn outcome(details: Option<&str>) -> Outcome {
        let details = details.map(Box::from);
        Outcome { success: false, reason: "R".into(), message: "m".repeat(1024), details }
    }

    #[test]
    fn an_event_is_about_the_job() {
        let job = json!({"metadata": {"uid": "u", "resourceVersion": "7"}});
        let event = event(&config(""), &job, &outcome(None), "2026-01-02T03:04:05Z".parse().unwrap());
        assert_eq!(event["involvedObject"]["uid"], "u");
        assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("R")));
        assert_eq!(event["lastTimestamp"], "2026-01-02T03:04:05Z");
        assert!(event["metadata"]["name"].as_str().unwrap().starts_with("j."));
    }

    #[test]
    fn details_go_along_if_they_are_wanted_and_fit() {
        let short = Outcome { message: "m".into(), ..outcome(Some("[1]")) };
        assert_eq!(event_message(&config("event"), &short), "m; details: [1]");
        assert_eq!(event_message(&config("annotation"), &short), "m");
        let long = event_message(&config("event"), &outcome(Some("[1]")));
        assert!(long.chars().count() <= 1024 && long.ends_with("m; details: 3 bytes, too many for an event"), "{long}");
    }
}
