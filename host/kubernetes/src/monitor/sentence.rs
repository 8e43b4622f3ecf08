//! The sentences that stand in the place of a result: each names the object, and what the cluster says about it.

use std::time::Duration;

use plumbline_core::duration::format_duration;

use super::facts::{ContainerFacts, Ended, NodeFacts, PodFacts};
use crate::names;

/// Text of the cluster within one of our sentences. A record whose sentence contains the word `timeout` counts as a timeout of the plugin,
/// and the message of a registry that does not answer contains it often: here it is spelled otherwise. The pod and its events, which
/// stand beside the sentence, keep the message as it is.
fn told(text: &str) -> String {
    text.replace("timeout", "time-out")
}

fn because(text: Option<&str>) -> String {
    text.map(|text| format!(": {}", told(text))).unwrap_or_default()
}

fn pod_on(pod: &PodFacts) -> String {
    match &pod.node {
        Some(node) => format!("pod `{}` on node `{node}`", pod.name),
        None => format!("pod `{}`", pod.name),
    }
}

fn in_pod(pod: &PodFacts, of: &ContainerFacts) -> String {
    format!("container `{}` of {}", of.name, pod_on(pod))
}

fn taints(node: Option<&NodeFacts>) -> String {
    match node {
        Some(node) if !node.taints.is_empty() => {
            format!(
                "; the node has the taints {}: add tolerations to `podSpec.tolerations`, or leave the node out",
                node.taints.join(", ")
            )
        }
        Some(_) => "; the node has no taints: look at the events of the DaemonSet".to_owned(),
        None => String::new(),
    }
}

/// `exit code 3 (Error)`.
fn code(end: &Ended) -> String {
    match end.reason.as_deref() {
        Some(reason) if reason != "Error" && reason != "Completed" => {
            format!("exit code {} ({})", end.code, told(reason))
        }
        _ => format!("exit code {}", end.code),
    }
}

/// `ended with exit code 3`.
pub(super) fn how_it_ended(of: &ContainerFacts, end: &Ended) -> String {
    if !was_out_of_memory(end) {
        return format!("ended with {}", code(end));
    }
    match &of.memory_limit {
        Some(limit) => format!("was killed because it used more memory than its limit of {limit}, {}", code(end)),
        None => format!("was killed because its node ran out of memory, {}", code(end)),
    }
}

fn was_out_of_memory(end: &Ended) -> bool {
    end.reason.as_deref() == Some("OOMKilled")
}

/// What is to be done about it, for the end of a sentence.
fn advice(of: &ContainerFacts, end: &Ended) -> &'static str {
    if was_out_of_memory(end) && of.memory_limit.is_some() {
        "; raise `resources.limits.memory` of the container"
    } else {
        ""
    }
}

pub(super) fn node_removed(node: &str) -> String {
    format!("node `{node}` was removed from the cluster before its result arrived")
}

pub(super) fn node_not_ready(node: &NodeFacts, grace: Duration) -> String {
    let reason = because(node.reason.as_deref());
    format!(
        "node `{}` has not been ready for {}, and its worker was not heard of meanwhile{reason}",
        node.name,
        format_duration(grace)
    )
}

pub(super) fn pod_gone(pod: &str, node: Option<&str>, why: Option<&str>) -> String {
    let on = node.map(|node| format!(" on node `{node}`")).unwrap_or_default();
    format!("pod `{pod}`{on} was deleted before its result arrived, and was not replaced{}", because(why))
}

pub(super) fn no_pod_on(node: &str, facts: Option<&NodeFacts>, grace: Duration) -> String {
    format!("no pod was made for node `{node}` within {}{}", format_duration(grace), taints(facts))
}

pub(super) fn no_pod(session: &str) -> String {
    format!("the plugin has no pod: none carries the label `{}={session}`, so it was deleted", names::SESSION_LABEL)
}

pub(super) fn terminating(pod: &PodFacts, grace: Duration) -> String {
    let why = because(pod.disruption.as_deref());
    format!("{} is being deleted, and has not ended within {}{why}", pod_on(pod), format_duration(grace))
}

pub(super) fn evicted(pod: &PodFacts) -> String {
    let reason = pod.reason.as_deref().map_or_else(|| "Failed".to_owned(), told);
    let message = because(pod.message.as_deref().or(pod.disruption.as_deref()));
    format!("{} was ended by the cluster, and not replaced: {reason}{message}", pod_on(pod))
}

pub(super) fn unschedulable(pod: &PodFacts, message: &str, grace: Duration) -> String {
    let meant = pod.target.as_deref().map(|node| format!(" for node `{node}`")).unwrap_or_default();
    format!("pod `{}`{meant} could not be scheduled for {}: {}", pod.name, format_duration(grace), told(message))
}

pub(super) fn image(
    pod: &PodFacts,
    of: &ContainerFacts,
    reason: &str,
    message: Option<&str>,
    grace: Duration,
) -> String {
    let image = if of.image.is_empty() { "the image".to_owned() } else { format!("image `{}`", told(&of.image)) };
    let (of, grace) = (in_pod(pod, of), format_duration(grace));
    format!("{image} of {of} could not be pulled within {grace}: {reason}{}", because(message))
}

pub(super) fn create(
    pod: &PodFacts,
    of: &ContainerFacts,
    reason: &str,
    message: Option<&str>,
    grace: Duration,
) -> String {
    let image = told(&of.image);
    let (of, grace) = (in_pod(pod, of), format_duration(grace));
    format!("{of} (image `{image}`) could not be started within {grace}: {reason}{}", because(message))
}

pub(super) fn starting(pod: &PodFacts, of: &ContainerFacts, reason: &str, grace: Duration) -> String {
    format!("{} has not started within {}: {}", in_pod(pod, of), format_duration(grace), told(reason))
}

/// The last warning about the pod, added to the sentence above.
pub(super) fn starting_says(sentence: &str, warning: &str) -> String {
    format!("{sentence}; the last warning about the pod is {}", told(warning))
}

pub(super) fn crash_loop(pod: &PodFacts, of: &ContainerFacts) -> String {
    let last = of
        .ended()
        .or(of.last.as_ref())
        .map(|end| format!("; the last time it {}{}", how_it_ended(of, end), advice(of, end)));
    let times = if of.restarts == 1 { "once".to_owned() } else { format!("{} times", of.restarts) };
    format!("{} crashes again and again: it was restarted {times}{}", in_pod(pod, of), last.unwrap_or_default())
}

pub(super) fn worker_ended(pod: &PodFacts, of: &ContainerFacts, end: &Ended) -> String {
    let message = because(end.message.as_deref());
    format!("the worker, {}, {} before the result arrived{message}", in_pod(pod, of), how_it_ended(of, end))
}

pub(super) fn plugin_ended(pod: &PodFacts, of: &ContainerFacts, end: &Ended) -> String {
    let message = because(end.message.as_deref());
    if end.code == 0 {
        return format!(
            "{} finished without results: no result arrived after it ended with exit code 0{message}",
            in_pod(pod, of)
        );
    }
    format!("{} {} and left no results{message}{}", in_pod(pod, of), how_it_ended(of, end), advice(of, end))
}

pub(super) fn init_ended(pod: &PodFacts, of: &ContainerFacts, end: &Ended) -> String {
    let message = because(end.message.as_deref());
    format!("init {} {}, so the plugin was never started{message}", in_pod(pod, of), how_it_ended(of, end))
}

pub(super) fn pod_succeeded(pod: &PodFacts) -> String {
    format!("{} finished without results", pod_on(pod))
}

pub(super) fn hello(pod: &PodFacts, namespace: &str, grace: Duration) -> String {
    format!(
        "the worker of {} has run for {} and did not reach the aggregator; what may stand in between: the Service `{}`, a NetworkPolicy of \
         namespace `{namespace}`, the cluster's DNS",
        pod_on(pod),
        format_duration(grace),
        names::AGGREGATOR_SERVICE
    )
}

/// What the worker itself says about it, added to the sentence above.
pub(super) fn hello_says(sentence: &str, line: &str) -> String {
    format!("{sentence}; the worker says: {}", told(line))
}
