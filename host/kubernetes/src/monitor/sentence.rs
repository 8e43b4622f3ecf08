//! Sentences for missing results. Each names the object, and what the cluster says about it.

use std::time::Duration;

use plumbline_core::duration::format_duration;

use crate::names;
use crate::node_view::NodeView;
use crate::pod_view::{ContainerView, Ended, PodView};

/// Quotes text of the cluster within a sentence.
///
/// A record whose sentence contains the word `timeout` counts as a timeout of the plugin. Registry
/// errors often contain that word, so it is spelled differently here. The pod and its events in the
/// record keep the original message.
fn told(text: &str) -> String {
    text.replace("timeout", "time-out")
}

fn because(text: Option<&str>) -> String {
    text.map(|text| format!(": {}", told(text))).unwrap_or_default()
}

fn pod_on(pod: &PodView) -> String {
    match &pod.node {
        Some(node) => format!("pod `{}` on node `{node}`", pod.name),
        None => format!("pod `{}`", pod.name),
    }
}

fn in_pod(pod: &PodView, of: &ContainerView) -> String {
    format!("container `{}` of {}", of.name, pod_on(pod))
}

fn taints(node: Option<&NodeView>) -> String {
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

/// Formats an exit code, such as `exit code 3 (OOMKilled)`.
fn code(end: &Ended) -> String {
    match end.reason.as_deref() {
        Some(reason) if reason != "Error" && reason != "Completed" => {
            format!("exit code {} ({})", end.code, told(reason))
        }
        _ => format!("exit code {}", end.code),
    }
}

/// Formats an end, such as `ended with exit code 3`.
pub(super) fn how_it_ended(of: &ContainerView, end: &Ended) -> String {
    if !end.was_out_of_memory() {
        return format!("ended with {}", code(end));
    }
    // The container's shell may exit successfully after the cluster killed a child of it.
    let was = if end.code == 0 { "ended after one of its processes was" } else { "was" };
    match &of.memory_limit {
        Some(limit) => format!("{was} killed because it used more memory than its limit of {limit}, {}", code(end)),
        None => format!("{was} killed because its node ran out of memory, {}", code(end)),
    }
}

/// Returns the advice for the end of a sentence.
fn advice(of: &ContainerView, end: &Ended) -> &'static str {
    if end.was_out_of_memory() && of.memory_limit.is_some() {
        "; raise `resources.limits.memory` of the container"
    } else {
        ""
    }
}

pub(super) fn node_removed(node: &str) -> String {
    format!("node `{node}` was removed from the cluster before its result arrived")
}

pub(super) fn node_not_ready(node: &NodeView, lasted: Option<Duration>) -> String {
    let (name, reason) = (&node.name, because(node.reason.as_deref()));
    match lasted {
        Some(lasted) => format!(
            "node `{name}` has not been ready for {}, and its worker was not heard of meanwhile{reason}",
            format_duration(lasted)
        ),
        None => format!("node `{name}` is not ready{reason}"),
    }
}

pub(super) fn pod_gone(pod: &str, node: Option<&str>, why: Option<&str>) -> String {
    let on = node.map(|node| format!(" on node `{node}`")).unwrap_or_default();
    format!("pod `{pod}`{on} was deleted before its result arrived, and was not replaced{}", because(why))
}

pub(super) fn no_pod_on(name: &str, node: Option<&NodeView>, lasted: Option<Duration>) -> String {
    let when = lasted.map_or_else(|| "yet".to_owned(), |lasted| format!("within {}", format_duration(lasted)));
    format!("no pod was made for node `{name}` {when}{}", taints(node))
}

pub(super) fn no_pod(session: &str) -> String {
    format!("the plugin has no pod: none carries the label `{}={session}`, so it was deleted", names::SESSION_LABEL)
}

pub(super) fn terminating(pod: &PodView, lasted: Option<Duration>) -> String {
    let why = because(pod.disruption.as_deref());
    let lasted = lasted.map(|lasted| format!(", and has not ended within {}", format_duration(lasted)));
    format!("{} is being deleted{}{why}", pod_on(pod), lasted.unwrap_or_default())
}

pub(super) fn evicted(pod: &PodView) -> String {
    let reason = pod.reason.as_deref().map_or_else(|| "Failed".to_owned(), told);
    let message = because(pod.message.as_deref().or(pod.disruption.as_deref()));
    format!("{} was ended by the cluster, and not replaced: {reason}{message}", pod_on(pod))
}

pub(super) fn unschedulable(pod: &PodView, message: &str, lasted: Option<Duration>) -> String {
    let meant = pod.target.as_deref().map(|node| format!(" for node `{node}`")).unwrap_or_default();
    let scheduled = match lasted {
        Some(lasted) => format!("could not be scheduled for {}", format_duration(lasted)),
        None => "cannot be scheduled".to_owned(),
    };
    format!("pod `{}`{meant} {scheduled}: {}", pod.name, told(message))
}

/// Returns what cannot be done now, or could not be done within the grace period.
fn could_not(be: &str, lasted: Option<Duration>) -> String {
    match lasted {
        Some(lasted) => format!("could not be {be} within {}", format_duration(lasted)),
        None => format!("cannot be {be}"),
    }
}

pub(super) fn image(
    pod: &PodView,
    of: &ContainerView,
    reason: &str,
    message: Option<&str>,
    lasted: Option<Duration>,
) -> String {
    let image = if of.image.is_empty() { "the image".to_owned() } else { format!("image `{}`", told(&of.image)) };
    format!("{image} of {} {}: {reason}{}", in_pod(pod, of), could_not("pulled", lasted), because(message))
}

pub(super) fn create(
    pod: &PodView,
    of: &ContainerView,
    reason: &str,
    message: Option<&str>,
    lasted: Option<Duration>,
) -> String {
    let image = told(&of.image);
    let of = in_pod(pod, of);
    format!("{of} (image `{image}`) {}: {reason}{}", could_not("started", lasted), because(message))
}

pub(super) fn starting(pod: &PodView, of: &ContainerView, reason: &str, lasted: Option<Duration>) -> String {
    let when = lasted.map_or_else(|| "yet".to_owned(), |lasted| format!("within {}", format_duration(lasted)));
    format!("{} has not started {when}: {}", in_pod(pod, of), told(reason))
}

/// Appends the last warning about the pod to the sentence.
pub(super) fn starting_says(sentence: &str, warning: &str) -> String {
    format!("{sentence}; the last warning about the pod is {}", told(warning))
}

pub(super) fn crash_loop(pod: &PodView, of: &ContainerView) -> String {
    let last = of
        .ended()
        .or(of.last.as_ref())
        .map(|end| format!("; the last time it {}{}", how_it_ended(of, end), advice(of, end)));
    let times = if of.restarts == 1 { "once".to_owned() } else { format!("{} times", of.restarts) };
    format!("{} crashes again and again: it was restarted {times}{}", in_pod(pod, of), last.unwrap_or_default())
}

pub(super) fn worker_ended(pod: &PodView, of: &ContainerView, end: &Ended) -> String {
    let message = because(end.message.as_deref());
    format!("the worker, {}, {} before the result arrived{message}", in_pod(pod, of), how_it_ended(of, end))
}

pub(super) fn plugin_ended(pod: &PodView, of: &ContainerView, end: &Ended, lasted: Option<Duration>) -> String {
    let message = because(end.message.as_deref());
    if lasted.is_none() {
        let (of, how, advice) = (in_pod(pod, of), how_it_ended(of, end), advice(of, end));
        return format!("{of} {how}, and its result has not arrived yet{message}{advice}");
    }
    if end.code == 0 && !end.was_out_of_memory() {
        return format!(
            "{} finished without results: no result arrived after it ended with exit code 0{message}",
            in_pod(pod, of)
        );
    }
    format!("{} {} and left no results{message}{}", in_pod(pod, of), how_it_ended(of, end), advice(of, end))
}

pub(super) fn init_ended(pod: &PodView, of: &ContainerView, end: &Ended) -> String {
    let message = because(end.message.as_deref());
    format!("init {} {}, so the plugin was never started{message}", in_pod(pod, of), how_it_ended(of, end))
}

pub(super) fn pod_succeeded(pod: &PodView) -> String {
    format!("{} finished without results", pod_on(pod))
}

pub(super) fn hello(pod: &PodView, namespace: &str, lasted: Option<Duration>) -> String {
    let pod = pod_on(pod);
    let unheard = match lasted {
        Some(lasted) => {
            format!("the worker of {pod} has run for {} and did not reach the aggregator", format_duration(lasted))
        }
        None => format!("the worker of {pod} runs and has not reached the aggregator yet"),
    };
    format!(
        "{unheard}; what may stand in between: the Service `{}`, a NetworkPolicy of namespace `{namespace}`, the cluster's DNS",
        names::AGGREGATOR_SERVICE
    )
}

/// Returns the sentence for a silent worker. `after` is how long it is silent before it is
/// reported.
pub(super) fn silent(pod: &PodView, after: Duration, lasted: Option<Duration>) -> String {
    let (pod, silent) = (pod_on(pod), format_duration(lasted.unwrap_or(after)));
    format!(
        "the worker of {pod} has sent no heartbeat for more than {silent}, although its container runs; its process may be frozen, or \
         the network between the pod and the aggregator may be down"
    )
}

/// Appends the worker's own message to the sentence.
pub(super) fn hello_says(sentence: &str, line: &str) -> String {
    format!("{sentence}; the worker says: {}", told(line))
}
