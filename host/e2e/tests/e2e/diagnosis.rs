//! Collects information about a failed test, before its objects are deleted.

use std::fmt::Write;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client};

/// Number of lines of each log to show.
const LINES: i64 = 40;
/// Timeout of the collection, because the cluster itself may be broken.
const DEADLINE: Duration = Duration::from_secs(30);

/// Returns the pods with the states of their containers and the ends of their logs, and the events
/// of the namespace.
pub(crate) async fn of(client: &Client, namespace: &str) -> String {
    match tokio::time::timeout(DEADLINE, look(client, namespace)).await {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => format!("cannot be looked at: {error}"),
        Err(_) => "cannot be looked at: the cluster does not answer".to_owned(),
    }
}

async fn look(client: &Client, namespace: &str) -> kube::Result<String> {
    let mut text = String::new();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for pod in pods.list(&ListParams::default()).await? {
        let name = pod.metadata.name.unwrap_or_default();
        let status = pod.status.unwrap_or_default();
        let _ = writeln!(text, "pod {name}: {}", status.phase.unwrap_or_default());
        for container in status.container_statuses.unwrap_or_default() {
            let _ = writeln!(text, "  container {}: {}", container.name, state(&container));
            let params = LogParams { container: Some(container.name), tail_lines: Some(LINES), ..LogParams::default() };
            let log = pods.logs(&name, &params).await.unwrap_or_else(|error| format!("no log: {error}"));
            log.lines().for_each(|line| {
                let _ = writeln!(text, "    {line}");
            });
        }
    }
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    for event in events.list(&ListParams::default()).await? {
        let (object, reason) = (event.involved_object.name.unwrap_or_default(), event.reason.unwrap_or_default());
        let _ = writeln!(text, "event {object}: {reason}: {}", event.message.unwrap_or_default());
    }
    Ok(text)
}

fn state(container: &ContainerStatus) -> String {
    let Some(state) = &container.state else { return "unknown".to_owned() };
    if let Some(ended) = &state.terminated {
        return format!("ended with {} ({})", ended.exit_code, ended.reason.as_deref().unwrap_or_default());
    }
    match &state.waiting {
        Some(waiting) => format!("waits: {}", waiting.reason.as_deref().unwrap_or_default()),
        None => format!("runs, restarts: {}", container.restart_count),
    }
}
