//! Selects pods, and collects the logs of their containers.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use jiff::Timestamp;
use kube::core::subresource::LogParams;
use plumbline_core::Config;
use plumbline_core::config::PodLogLimits;
use serde_json::Value;
use tokio::time::Instant;

use super::fetch::{AT_ONCE, Fetch};
use super::list::{Selection, collect};
use super::record::{Recorder, not_written};
use super::selection::{NamespaceFilter, selected, valid_selector};
use super::store::Scratch;
use crate::error::{ClusterError, chain};
use crate::log_copy::{CopyError, copy_log};
use crate::names::is_safe_name;
use crate::pod_view::{ContainerState, ContainerView, PodObject, PodView};

/// Maximum size of one container's log in bytes. A container in a crash loop must not produce an
/// archive that nobody can open.
const MAX_LOG: u64 = 64 << 20;

/// How long a log may be silent before its end. It is a file on the node, so it normally arrives at
/// once.
const SILENCE: Duration = Duration::from_secs(60);

/// Timeout for reading one log.
const WITHIN: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pod {
    namespace: String,
    name: String,
    /// The node that has its logs, or empty if it is on no node.
    node: String,
    /// The containers in start order: init containers first.
    containers: Vec<String>,
}

/// Collects the logs that `config` selects. Failures are recorded for each container.
pub(super) async fn pod_logs(
    fetch: &Fetch,
    record: &Recorder<'_>,
    scratch: &Arc<Scratch>,
    config: &Config,
    namespaces: &[String],
    away: &BTreeSet<String>,
) {
    let pods = select(fetch, record, config, namespaces).await;
    let mut logs = Vec::new();
    for pod in &pods {
        if away.contains(&pod.node) {
            let (name, node) = (&pod.name, &pod.node);
            let why = format!("not asked for the logs of pod `{name}`: its node `{node}` is not ready");
            record.pod_log(&pod.namespace, name, Instant::now(), Err(why));
            continue;
        }
        logs.extend(pod.containers.iter().map(|container| (pod, container.as_str())));
    }
    futures_util::stream::iter(logs)
        .for_each_concurrent(AT_ONCE, |(pod, container)| async move {
            let began = Instant::now();
            let taken =
                tokio::time::timeout(WITHIN, log(fetch, scratch, &config.limits.pod_logs, pod, container)).await;
            let result = taken.unwrap_or_else(|_| {
                let (name, within) = (&pod.name, WITHIN.as_secs());
                Err(format!("the log of container `{container}` of pod `{name}` did not end within {within} s"))
            });
            record.pod_log(&pod.namespace, &pod.name, began, result);
        })
        .await;
}

/// Returns all selected pods: by namespace, and by field selectors over all namespaces.
async fn select(fetch: &Fetch, record: &Recorder<'_>, config: &Config, namespaces: &[String]) -> Vec<Pod> {
    let wanted = &config.limits.pod_logs;
    let labels = valid_selector(record, "podlogs", "the label selector of pod logs", &wanted.label_selector);
    let selection = Selection { labels, ..Selection::default() };
    let (filter, previous) = (filter(wanted, &config.namespace, record), wanted.previous);
    let mut found = of_namespaces(fetch, record, &selection, &filter, namespaces, previous).await;
    for fields in &wanted.field_selectors {
        let selection = Selection { fields: fields.clone(), ..selection.clone() };
        match ask(fetch, "/api/v1/pods", &selection, None, previous).await {
            Ok(pods) => found.extend(pods),
            Err(error) => record.problem("podlogs", "", format!("field selector `{fields}`: {error}")),
        }
    }
    let mut seen = BTreeSet::new();
    let mut pods = Vec::new();
    for pod in found {
        match pod {
            Ok(pod) if seen.insert((pod.namespace.clone(), pod.name.clone())) => pods.push(pod),
            Ok(_) => {}
            Err(why) => record.problem("podlogs", "", why),
        }
    }
    pods
}

/// Returns the pods of the namespaces that `filter` selects. If it selects all of several, this
/// tries one list first.
async fn of_namespaces(
    fetch: &Fetch,
    record: &Recorder<'_>,
    selection: &Selection,
    filter: &NamespaceFilter,
    namespaces: &[String],
    previous: bool,
) -> Vec<Result<Pod, String>> {
    let (each, in_one_list) = selected(namespaces, filter);
    if in_one_list {
        match ask(fetch, "/api/v1/pods", selection, Some(filter.clone()), previous).await {
            Ok(pods) => return pods,
            // Permissions may be granted in each namespace, but not cluster-wide.
            Err(error) if error.is_forbidden() => {}
            Err(error) => {
                record.problem("podlogs", "", error.to_string());
                return Vec::new();
            }
        }
    }
    let mut found = Vec::new();
    for namespace in each {
        match ask(fetch, &format!("/api/v1/namespaces/{namespace}/pods"), selection, None, previous).await {
            Ok(pods) => found.extend(pods),
            Err(error) => record.problem("podlogs", &namespace, error.to_string()),
        }
    }
    found
}

async fn ask(
    fetch: &Fetch,
    path: &str,
    selection: &Selection,
    filter: Option<NamespaceFilter>,
    previous: bool,
) -> Result<Vec<Result<Pod, String>>, ClusterError> {
    let read = move |item| match read_pod(item, previous) {
        Ok(Some(pod)) if filter.as_ref().is_some_and(|filter| !filter.takes(&pod.namespace)) => None,
        pod => pod.transpose(),
    };
    collect(fetch, "list the pods whose logs are to be collected", path, selection, read).await
}

fn filter(wanted: &PodLogLimits, own: &str, record: &Recorder<'_>) -> NamespaceFilter {
    let mut filter = match wanted.namespaces.as_str() {
        "" => NamespaceFilter::default(),
        expression => NamespaceFilter::matching(expression).unwrap_or_else(|error| {
            record.problem(
                "podlogs",
                "",
                format!("invalid regular expression for the namespaces of pod logs: {error}"),
            );
            NamespaceFilter::default()
        }),
    };
    filter.also = wanted.sonobuoy_namespace.then(|| own.to_owned());
    filter
}

/// Parses a pod. Returns `None` if it has no logs: it is on no node, or it was evicted and its logs are
/// gone. `previous` asks for the logs of previous instances.
fn read_pod(item: Value, previous: bool) -> Result<Option<Pod>, String> {
    let object: PodObject = serde_json::from_value(item).map_err(|error| format!("failed to read a pod: {error}"))?;
    let pod = PodView::from(object);
    if pod.reason.as_deref() == Some("Evicted") || (pod.unscheduled.is_some() && pod.node.is_none()) {
        return Ok(None);
    }
    let refused = pod.unsafe_name().or(Some(pod.namespace.as_str()).filter(|namespace| !is_safe_name(namespace)));
    if let Some(name) = refused {
        return Err(format!("pod {:?} in namespace {:?} has the invalid name {name:?}", pod.name, pod.namespace));
    }
    let with_log = pod.containers.iter().filter(|container| may_have_log(container, previous));
    let names = with_log.map(|container| &container.name).chain(&pod.ephemeral);
    Ok(Some(Pod {
        containers: names.cloned().collect(),
        node: pod.node.unwrap_or_default(),
        namespace: pod.namespace,
        name: pod.name,
    }))
}

/// Returns whether a container may have a log. One that has not run has none, so nothing is missing.
fn may_have_log(container: &ContainerView, previous: bool) -> bool {
    match container.state {
        ContainerState::Unknown => true,
        _ if previous => container.last.is_some() || container.restarts > 0,
        _ => container.has_run(),
    }
}

fn params(options: &PodLogLimits, container: &str) -> LogParams {
    // A number beyond the server's maximum means everything, and so does the maximum.
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    LogParams {
        container: Some(container.to_owned()),
        previous: options.previous,
        since_seconds: options.since_seconds.map(count),
        // The client rounds to the nearest second. Rounding up would lose lines of the first
        // second.
        since_time: options.since_time.and_then(|at| Timestamp::from_second(at.as_second()).ok()),
        timestamps: options.timestamps,
        tail_lines: options.tail_lines.map(count),
        // One byte more shows whether the log is longer.
        limit_bytes: Some(count(options.limit_bytes.filter(|&bytes| bytes <= MAX_LOG).unwrap_or(MAX_LOG + 1))),
        ..LogParams::default()
    }
}

async fn log(
    fetch: &Fetch,
    scratch: &Scratch,
    options: &PodLogLimits,
    pod: &Pod,
    container: &str,
) -> Result<usize, String> {
    let Pod { namespace, name, .. } = pod;
    let what = format!("read the log of container `{container}` of pod `{name}`");
    let relative = format!("podlogs/{namespace}/{name}/logs/{container}.txt");
    let request = kube::core::Request::new(format!("/api/v1/namespaces/{namespace}/pods"))
        .logs(name, &params(options, container))
        .map_err(|error| format!("failed to {what}: {error}"))?;
    let (_seat, stream) = fetch.stream(&what, request).await.map_err(|error| error.to_string())?;
    let path = scratch.path();
    let disk = |error: &io::Error| not_written(&scratch.place(&relative), error);
    let mut file = File::create(&path).map_err(|error| disk(&error))?;
    let note = format!("\n[the log continues: only its first {} MiB are kept here]\n", MAX_LOG >> 20);
    let copied = copy_log(stream, &mut file, MAX_LOG, SILENCE, &note).await;
    drop(file);
    let broken = match copied {
        Ok(true) => None,
        Ok(false) => {
            let mib = MAX_LOG >> 20;
            Some(format!("the log of container `{container}` of pod `{name}` is longer than {mib} MiB, and cut there"))
        }
        Err(CopyError::Write(error)) => return Err(disk(&error)),
        Err(error) => Some(format!("failed to {what} to its end: {}", chain(&error))),
    };
    let files = keep(scratch, &path, &relative).map_err(|error| disk(&error))?;
    // The part that was read is kept, and the failure is recorded.
    broken.map_or(Ok(files), Err)
}

/// Moves a log to its final path, unless a longer one exists. That one was captured earlier, when
/// the pod had a longer log.
fn keep(scratch: &Scratch, path: &Path, relative: &str) -> io::Result<usize> {
    let new = std::fs::metadata(path)?.len();
    let old = std::fs::symlink_metadata(scratch.place(relative)).map(|old| old.len()).ok();
    if old.is_some_and(|old| old > new) {
        std::fs::remove_file(path)?;
        return Ok(0);
    }
    scratch.put(path, relative)?;
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_container_of_a_pod_has_a_log() {
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "c"}],
            "initContainers": [{"name": "i"}], "ephemeralContainers": null}});
        assert_eq!(read_pod(pod, false).unwrap().unwrap().containers, ["i", "c"]);
    }

    #[test]
    fn containers_that_have_not_run_have_no_log_that_could_be_missing() {
        let state = |name: &str, state: Value| json!({"name": name, "state": state});
        let again =
            json!({"name": "again", "restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": {}}});
        let pod = json!({"metadata": {"name": "p", "namespace": "n"},
            "spec": {"nodeName": "w1", "containers": [{"name": "waits"}, {"name": "runs"}, {"name": "again"}, {"name": "new"}]},
            "status": {"containerStatuses": [state("waits", json!({"waiting": {}})), state("runs", json!({"running": {}})), again]}});
        assert_eq!(read_pod(pod.clone(), false).unwrap().unwrap().containers, ["runs", "again", "new"]);
        assert_eq!(read_pod(pod, true).unwrap().unwrap().containers, ["again", "new"]);
        let pending = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "c"}]},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}});
        assert_eq!(read_pod(pending, false), Ok(None));
    }

    #[test]
    fn evicted_pods_have_none_and_names_are_checked() {
        assert_eq!(read_pod(json!({"metadata": {}, "spec": {}, "status": {"reason": "Evicted"}}), false), Ok(None));
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "../../x"}]}});
        assert!(read_pod(pod, false).unwrap_err().contains("../../x"));
        assert!(read_pod(json!(null), false).is_err());
    }

    #[test]
    fn times_are_rounded_down_and_bytes_bounded() {
        let options = PodLogLimits {
            since_time: Some("2026-01-01T00:00:00.9Z".parse().unwrap()),
            limit_bytes: Some(u64::MAX),
            ..PodLogLimits::default()
        };
        let params = params(&options, "c");
        assert_eq!(params.since_time.unwrap().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(params.limit_bytes, Some((64 << 20) + 1));
    }
}
