//! Writes the outcome: first the condition, with retries, and then the optional details and Event
//! for a limited time.

use std::time::Duration;

use jiff::Timestamp;
use plumbline_kubernetes::{ClusterError, Refusal};
use serde_json::{Map, Value, json};

use crate::reporter::access::{Access, Verb};
use crate::reporter::condition::{Condition, merge};
use crate::reporter::config::{Config, DetailsTo};
use crate::reporter::machine::Outcome;
use crate::reporter::retry::send_with_retry;
use crate::reporter::{details, event};

/// How long details and Event are retried. The condition is already written, so nobody has to wait
/// for them.
const PATIENCE_BESIDE: Duration = Duration::from_secs(10);

/// The result of writing the condition.
#[derive(Debug)]
pub(crate) struct Written {
    /// The current Job.
    job: Value,
    /// Whether everything was already there, so that nothing was written.
    pub(crate) unchanged: bool,
}

/// Writes the condition, with the annotation if details go there. `owner` is the UID of the Job
/// that owns the pod, if known.
///
/// This is one patch of `jobs/status` with the resource version that was read, so concurrent writes
/// of others are not lost.
pub(crate) async fn condition(
    access: &Access,
    config: &Config,
    outcome: &Outcome,
    owner: Option<&str>,
    patience: Duration,
) -> Result<Written, ClusterError> {
    let mut annotate = config.details_to == DetailsTo::Annotation;
    let mut tried = false;
    send_with_retry(patience, async || {
        let written = attempt(access, config, outcome, owner, annotate).await;
        // If the response to a patch was lost, only the next read shows whether it arrived. Then
        // the condition is the reporter's own.
        let again = std::mem::replace(&mut tried, true);
        match written {
            Err(refusal) if annotate && matches!(refusal.error.code, Some(413 | 422)) => {
                tracing::warn!("the details are not kept: {}", refusal.error.cause);
                annotate = false;
                attempt(access, config, outcome, owner, false).await
            }
            Ok(written) => Ok(Written { unchanged: written.unchanged && !again, ..written }),
            refused => refused,
        }
    })
    .await
}

fn job_path(config: &Config) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs/{}", config.namespace, config.job)
}

async fn attempt(
    access: &Access,
    config: &Config,
    outcome: &Outcome,
    owner: Option<&str>,
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
    if let (Some(owner), Some(uid)) = (owner, uid)
        && owner != uid
    {
        let mut error = ClusterError::new(what, "the pod belongs to an earlier Job of this name, which is gone");
        error.code = Some(410);
        return Err(Refusal::of(error));
    }
    let new = Condition {
        kind: config.condition_type.clone(),
        success: outcome.success,
        reason: outcome.reason.clone(),
        message: outcome.message.clone(),
    };
    let existing = job.pointer("/status/conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let conditions = merge(existing, &new, Timestamp::now());
    let details = outcome.details.as_deref().filter(|_| annotate).map(details::for_annotation);
    let annotation = details.filter(|details| annotation(&job) != Some(details.as_str()));
    if conditions.is_none() && annotation.is_none() {
        return Ok(Written { job, unchanged: true });
    }
    let mut metadata = Map::new();
    for field in ["uid", "resourceVersion"] {
        if let Some(value) = job.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(details) = &annotation {
        metadata.insert("annotations".to_owned(), json!({details::ANNOTATION: details}));
    }
    let mut patch = Map::from_iter([("metadata".to_owned(), Value::Object(metadata))]);
    if let Some(conditions) = conditions {
        patch.insert("status".to_owned(), json!({"conditions": conditions}));
    }
    let job = access.once(&what, Verb::Merge(&Value::Object(patch)), &format!("{path}/status")).await?;
    Ok(Written { job, unchanged: false })
}

fn annotation(job: &Value) -> Option<&str> {
    job.pointer("/metadata/annotations").and_then(|all| all.get(details::ANNOTATION)).and_then(Value::as_str)
}

/// Writes details and Event. Failures are logged.
pub(crate) async fn beside(access: &Access, config: &Config, outcome: &Outcome, written: &Written) {
    if let Some(details) = outcome.details.as_deref()
        && let Err(error) = keep(access, config, &written.job, details).await
    {
        tracing::warn!("{error}; the condition is written");
    }
    if written.unchanged {
        return;
    }
    let event = event::event(config, &written.job, outcome, Timestamp::now());
    let path = format!("/api/v1/namespaces/{}/events", config.namespace);
    let what = format!("create an event on job `{}`", config.job);
    match send_with_retry(PATIENCE_BESIDE, async || match access.once(&what, Verb::Create(&event), &path).await {
        // This permission does not appear later, because users grant it in advance if they want
        // events.
        Err(refusal) if refusal.error.is_forbidden() => Ok(Err(refusal.error)),
        // An earlier attempt succeeded, but its response was lost.
        Err(refusal) if refusal.error.is_conflict() => Ok(Ok(())),
        answer => answer.map(|_| Ok(())),
    })
    .await
    {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("{error}"),
        Err(error) => tracing::warn!("{error}; the condition is written"),
    }
}

async fn keep(access: &Access, config: &Config, job: &Value, details: &str) -> Result<(), ClusterError> {
    match config.details_to {
        DetailsTo::ConfigMap => {
            send_with_retry(PATIENCE_BESIDE, async || details::to_config_map(access, config, job, details).await).await
        }
        // An API server that ignores metadata in status updates needs a separate request.
        DetailsTo::Annotation if annotation(job).is_none() => {
            let what = format!("keep the details in an annotation of job `{}`", config.job);
            let patch = json!({"metadata": {"annotations": {details::ANNOTATION: details::for_annotation(details)}}});
            let path = job_path(config);
            let patch = async || access.once(&what, Verb::Merge(&patch), &path).await.map(|_| ());
            send_with_retry(PATIENCE_BESIDE, patch).await
        }
        DetailsTo::Annotation | DetailsTo::Event | DetailsTo::Nowhere => Ok(()),
    }
}
