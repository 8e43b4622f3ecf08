//! The problems that delay results: when each exists, how long it may last, and what is reported.
//!
//! [`Kind`] lists them in the order of reporting, and [`Kind::timing`] has their grace periods. The
//! functions below recognize them, each with the sentence that names the object, and what the
//! cluster says about it.

use std::time::Duration;

use plumbline_core::duration::format_duration;
use serde::Serialize;

use super::options::GracePeriods;
use crate::names;
use crate::nodes::NodeView;
use crate::pod_view::{
    CREATE_REASONS, ContainerState, ContainerView, Ended, IMAGE_REASONS, PodView, Role, STARTING_REASONS,
};

/// The kind of problem that delays a result. Programs find its name under `reason` in the record.
///
/// The order is the order of reporting, if several exceed their grace period at the same moment. A
/// kind that explains others comes before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Kind {
    /// The node is no longer in the cluster.
    NodeGone,
    /// The cluster terminated the pod: it was evicted, preempted, or shut down with its node.
    PodEvicted,
    /// The pod is being deleted, but does not terminate.
    PodTerminating,
    /// The pod was deleted and not replaced.
    PodGone,
    /// There is no pod.
    NoPod,
    /// The pod cannot be scheduled.
    Unschedulable,
    /// An image cannot be pulled.
    ImagePull,
    /// A container cannot be created.
    CreateContainer,
    /// A container is being created, but does not start.
    Starting,
    /// A container crashes repeatedly.
    CrashLoop,
    /// The worker ended.
    WorkerEnded,
    /// The plugin's container ended.
    NoResult,
    /// The node is not ready.
    NodeNotReady,
    /// The worker is running, but has never contacted the aggregator.
    Hello,
    /// The worker is running and contacted the aggregator earlier, but no longer sends heartbeats.
    Silent,
}

/// Problems that pass within this time are not reported. The container of a plugin, for example,
/// ends a moment before its result arrives.
const PASSING: Duration = Duration::from_secs(10);

/// A container that has not started after this time is reported. Most images are pulled by then.
const SLOW_START: Duration = Duration::from_secs(60);

impl Kind {
    /// Returns the grace period, and how long the problem lasts before it is reported as what the run
    /// waits for.
    fn timing(self, graces: &GracePeriods) -> (Duration, Duration) {
        match self {
            Self::NodeGone | Self::NodeNotReady => (graces.node_gone, PASSING),
            Self::PodEvicted | Self::PodTerminating | Self::PodGone => (graces.pod_gone, PASSING),
            Self::NoPod => (graces.no_pod, PASSING),
            Self::Unschedulable => (graces.unschedulable, PASSING),
            Self::ImagePull | Self::CreateContainer => (graces.image_pull, PASSING),
            Self::Starting => (graces.starting, SLOW_START),
            Self::CrashLoop => (graces.crash_loop, PASSING),
            Self::WorkerEnded | Self::NoResult => (graces.no_result, PASSING),
            // Only evidence shows whether a worker contacts the aggregator at all. After a restart
            // of the aggregator, every worker is silent until its next heartbeat.
            Self::Hello => (graces.hello, graces.hello),
            Self::Silent => {
                let lost = graces.silent_lost.map_or(Duration::MAX, |lost| graces.silent.saturating_add(lost));
                (lost, graces.silent)
            }
        }
    }

    pub(super) fn grace(self, graces: &GracePeriods) -> Duration {
        self.timing(graces).0
    }

    /// Returns true if the kubelet, which serves the logs of the pod, is gone, or the pod is gone
    /// with its logs.
    pub(super) fn has_no_logs(self) -> bool {
        matches!(self, Self::NodeGone | Self::NodeNotReady | Self::PodGone)
    }
}

/// A problem that delays a result. It is described only when it is reported.
pub(super) struct Problem<'a> {
    pub(super) kind: Kind,
    pub(super) grace: Duration,
    /// How long the problem lasts before it is reported.
    pub(super) quiet: Duration,
    describe: Box<dyn Fn(Option<Duration>) -> String + 'a>,
}

impl<'a> Problem<'a> {
    /// Creates a problem of this kind. `describe` gets its grace period once that is over, and
    /// `None` before.
    fn new(kind: Kind, graces: &GracePeriods, describe: impl Fn(Option<Duration>) -> String + 'a) -> Self {
        Self::within(kind, kind.grace(graces), graces, describe)
    }

    /// Creates a problem with a grace period other than that of its kind.
    fn within(
        kind: Kind,
        grace: Duration,
        graces: &GracePeriods,
        describe: impl Fn(Option<Duration>) -> String + 'a,
    ) -> Self {
        let (usual, quiet) = kind.timing(graces);
        let quiet = quiet.min(usual).min(grace);
        Self { kind, grace, quiet, describe: Box::new(describe) }
    }

    /// Returns the reason for a missing result, once the grace period is over.
    pub(super) fn sentence(&self) -> String {
        (self.describe)(Some(self.grace))
    }

    /// Returns the same reason, as long as the result may still arrive.
    pub(super) fn so_far(&self) -> String {
        (self.describe)(None)
    }
}

/// Returns the problem of a node, or `None` if it is ready. `node` is `None` if it does not exist.
pub(super) fn assess_node(name: &str, node: Option<&NodeView>, graces: &GracePeriods) -> Option<Problem<'static>> {
    let Some(node) = node else {
        let name = name.to_owned();
        return Some(Problem::new(Kind::NodeGone, graces, move |_| {
            format!("node `{name}` was removed from the cluster before its result arrived")
        }));
    };
    if node.ready {
        return None;
    }
    let (name, reason) = (name.to_owned(), because(node.reason.as_deref()));
    Some(Problem::new(Kind::NodeNotReady, graces, move |lasted| match lasted {
        Some(lasted) => format!(
            "node `{name}` has not been ready for {}, and its worker sent no heartbeat meanwhile{reason}",
            format_duration(lasted)
        ),
        None => format!("node `{name}` is not ready{reason}"),
    }))
}

pub(super) fn pod_gone(pod: &PodView, graces: &GracePeriods) -> Problem<'static> {
    let (pod, why) = (pod_on(pod), because(pod.disruption.as_deref().or(pod.message.as_deref())));
    Problem::new(Kind::PodGone, graces, move |_| {
        format!("{pod} was deleted before its result arrived, and was not replaced{why}")
    })
}

/// Returns the problem of a run-once plugin that has no pod.
///
/// The dispatcher creates this pod itself before it is watched, so no controller is late here.
pub(super) fn no_pod<'a>(session: &'a str, graces: &GracePeriods) -> Problem<'a> {
    Problem::within(Kind::NoPod, graces.pod_gone, graces, move |_| {
        format!("the plugin has no pod: none carries the label `{}={session}`, so it was deleted", names::SESSION_LABEL)
    })
}

pub(super) fn no_pod_on<'a>(name: &'a str, node: Option<&NodeView>, graces: &GracePeriods) -> Problem<'a> {
    let hint = match node {
        Some(node) if !node.taints.is_empty() => format!(
            "; the node has the taints {}: add tolerations to `podSpec.tolerations`, or leave the node out",
            node.taints.join(", ")
        ),
        _ => String::new(),
    };
    Problem::new(Kind::NoPod, graces, move |lasted| format!("no pod was made for node `{name}` {}{hint}", when(lasted)))
}

pub(super) fn no_hello<'a>(pod: &'a PodView, namespace: &'a str, graces: &GracePeriods) -> Problem<'a> {
    Problem::new(Kind::Hello, graces, move |lasted| {
        let pod = pod_on(pod);
        let unheard = match lasted {
            Some(lasted) => {
                format!("the worker of {pod} has run for {} and did not reach the aggregator", format_duration(lasted))
            }
            None => format!("the worker of {pod} runs and has not reached the aggregator yet"),
        };
        format!(
            "{unheard}; check the Service `{}`, network policies of namespace `{namespace}`, and the cluster's DNS",
            names::AGGREGATOR_SERVICE
        )
    })
}

pub(super) fn silent<'a>(pod: &'a PodView, graces: &'a GracePeriods) -> Problem<'a> {
    Problem::new(Kind::Silent, graces, move |lasted| {
        let (pod, silent) = (pod_on(pod), format_duration(lasted.unwrap_or(graces.silent)));
        format!(
            "the worker of {pod} has sent no heartbeat for more than {silent}, although its container runs; its process or its network may hang"
        )
    })
}

/// Returns the problem of a pod whose plugin runs in `container`, or `None` if none is visible.
pub(super) fn assess<'a>(pod: &'a PodView, container: &str, graces: &GracePeriods) -> Option<Problem<'a>> {
    terminated(pod, graces)
        .or_else(|| unschedulable(pod, graces))
        .or_else(|| not_created(pod, graces))
        .or_else(|| crash_loop(pod, container, graces))
        .or_else(|| ended(pod, container, graces))
        .or_else(|| starting(pod, container, graces))
}

fn terminated<'a>(pod: &'a PodView, graces: &GracePeriods) -> Option<Problem<'a>> {
    if let Some(seconds) = pod.deleting {
        let grace = graces.pod_gone + Duration::from_secs(seconds);
        let why = because(pod.disruption.as_deref());
        return Some(Problem::within(Kind::PodTerminating, grace, graces, move |lasted| {
            let lasted = lasted.map(|lasted| format!(", and has not ended within {}", format_duration(lasted)));
            format!("{} is being deleted{}{why}", pod_on(pod), lasted.unwrap_or_default())
        }));
    }
    (pod.phase == "Failed" && pod.reason.is_some()).then(|| evicted(pod, graces))
}

fn evicted<'a>(pod: &'a PodView, graces: &GracePeriods) -> Problem<'a> {
    let reason = pod.reason.as_deref().map_or_else(|| "Failed".to_owned(), quote);
    let message = because(pod.message.as_deref().or(pod.disruption.as_deref()));
    Problem::new(Kind::PodEvicted, graces, move |_| {
        format!("{} was terminated by the cluster, and not replaced: {reason}{message}", pod_on(pod))
    })
}

fn unschedulable<'a>(pod: &'a PodView, graces: &GracePeriods) -> Option<Problem<'a>> {
    let found = pod.unscheduled.as_ref().filter(|found| found.reason == "Unschedulable" && pod.node.is_none())?;
    let message = quote(found.message.as_deref().unwrap_or("no node fits"));
    let target = pod.target.as_deref().map(|node| format!(" for node `{node}`")).unwrap_or_default();
    Some(Problem::new(Kind::Unschedulable, graces, move |lasted| {
        let scheduled = match lasted {
            Some(lasted) => format!("could not be scheduled for {}", format_duration(lasted)),
            None => "cannot be scheduled".to_owned(),
        };
        format!("pod `{}`{target} {scheduled}: {message}", pod.name)
    }))
}

fn not_created<'a>(pod: &'a PodView, graces: &GracePeriods) -> Option<Problem<'a>> {
    let waiting = |reasons: &[&str]| {
        pod.containers.iter().find_map(|of| match &of.state {
            ContainerState::Waiting { reason, message } if reasons.contains(&reason.as_str()) => {
                Some((of, format!("{reason}{}", because(message.as_deref()))))
            }
            _ => None,
        })
    };
    let could_not = |be: &str, lasted: Option<Duration>| match lasted {
        Some(lasted) => format!("could not be {be} within {}", format_duration(lasted)),
        None => format!("cannot be {be}"),
    };
    if let Some((of, why)) = waiting(&IMAGE_REASONS) {
        let image = if of.image.is_empty() { "the image".to_owned() } else { format!("image `{}`", quote(&of.image)) };
        return Some(Problem::new(Kind::ImagePull, graces, move |lasted| {
            format!("{image} of {} {}: {why}", in_pod(pod, of), could_not("pulled", lasted))
        }));
    }
    let (of, why) = waiting(&CREATE_REASONS)?;
    Some(Problem::new(Kind::CreateContainer, graces, move |lasted| {
        format!("{} (image `{}`) {}: {why}", in_pod(pod, of), quote(&of.image), could_not("started", lasted))
    }))
}

/// More restarts than this are a crash loop, whatever the state of the container. Sonobuoy uses the
/// same number.
const MAX_RESTARTS: u64 = 2;

fn crash_loop<'a>(pod: &'a PodView, container: &str, graces: &GracePeriods) -> Option<Problem<'a>> {
    let of = pod.containers.iter().filter(|of| matters(pod, of, container)).find(|of| {
        let backs_off = matches!(&of.state, ContainerState::Waiting { reason, .. } if reason == "CrashLoopBackOff");
        backs_off || of.restarts > MAX_RESTARTS
    })?;
    let last = of.ended().or(of.last.as_ref());
    let last = last.map(|end| format!("; the last time it {}{}", how_it_ended(of, end), advice(of, end)));
    let times = if of.restarts == 1 { "once".to_owned() } else { format!("{} times", of.restarts) };
    Some(Problem::new(Kind::CrashLoop, graces, move |_| {
        let last = last.as_deref().unwrap_or_default();
        format!("{} keeps crashing: it was restarted {times}{last}", in_pod(pod, of))
    }))
}

fn ended<'a>(pod: &'a PodView, container: &str, graces: &GracePeriods) -> Option<Problem<'a>> {
    let plugin_end = pod.container(container).and_then(|of| Some((of, of.ended()?)));
    if let Some((worker, end)) = pod.container(names::WORKER_CONTAINER).and_then(|of| Some((of, of.ended()?)))
        && (end.code != 0 || plugin_end.is_none())
    {
        let (worker, how, message) = (in_pod(pod, worker), how_it_ended(worker, end), because(end.message.as_deref()));
        return Some(Problem::new(Kind::WorkerEnded, graces, move |_| {
            format!("the worker, {worker}, {how} before the result arrived{message}")
        }));
    }
    if let Some((of, end)) = plugin_end {
        let (message, advice, how) = (because(end.message.as_deref()), advice(of, end), how_it_ended(of, end));
        let of = in_pod(pod, of);
        return Some(Problem::new(Kind::NoResult, graces, move |lasted| match lasted {
            None => format!("{of} {how}, and its result has not arrived yet{message}{advice}"),
            Some(_) if end.went_well() => {
                format!("{of} finished without results: no result arrived after it ended with exit code 0{message}")
            }
            Some(_) => format!("{of} {how} and left no results{message}{advice}"),
        }));
    }
    // A failed init container that is not restarted means that the other containers never start.
    let init = pod.containers.iter().filter(|of| of.role == Role::Init && matters(pod, of, container));
    if let Some((of, end)) = init.filter_map(|of| Some((of, of.ended()?))).find(|(_, end)| end.code != 0) {
        let (of, how, message) = (in_pod(pod, of), how_it_ended(of, end), because(end.message.as_deref()));
        return Some(Problem::new(Kind::NoResult, graces, move |_| {
            format!("init {of} {how}, so the plugin was never started{message}")
        }));
    }
    match pod.phase.as_str() {
        "Failed" => Some(evicted(pod, graces)),
        "Succeeded" => {
            Some(Problem::new(Kind::NoResult, graces, move |_| format!("{} finished without results", pod_on(pod))))
        }
        _ => None,
    }
}

fn starting<'a>(pod: &'a PodView, container: &str, graces: &GracePeriods) -> Option<Problem<'a>> {
    // While an init container runs, the others wait for it. It may take as long as it needs.
    if pod.containers.iter().any(|of| of.role == Role::Init && of.is_running()) {
        return None;
    }
    let mut waiting = pod.containers.iter().filter(|of| matters(pod, of, container)).filter_map(|of| match &of.state {
        ContainerState::Waiting { reason, .. } if STARTING_REASONS.contains(&reason.as_str()) => Some((of, reason)),
        _ => None,
    });
    let (of, reason) = waiting.next()?;
    Some(Problem::new(Kind::Starting, graces, move |lasted| {
        format!("{} has not started {}: {}", in_pod(pod, of), when(lasted), quote(reason))
    }))
}

/// Returns true if the end of a container is the end of the plugin.
///
/// This holds for the plugin's own container, and for the worker's in any role. It holds for an
/// init container or sidecar as long as the plugin's container has not run. Other containers do not
/// count.
fn matters(pod: &PodView, of: &ContainerView, container: &str) -> bool {
    match of.role {
        _ if of.name == names::WORKER_CONTAINER => true,
        Role::Main => of.name == container,
        Role::Init | Role::Sidecar => pod.container(container).is_none_or(|plugin| !plugin.has_run()),
    }
}

/// Quotes text of the cluster within a sentence.
///
/// A record whose sentence contains the word `timeout` counts as a timeout of the plugin. Registry
/// errors often contain that word, so it is spelled differently here. The pod and its events in the
/// record keep the original message.
pub(super) fn quote(text: &str) -> String {
    text.replace("timeout", "time-out")
}

fn because(text: Option<&str>) -> String {
    text.map(|text| format!(": {}", quote(text))).unwrap_or_default()
}

fn when(lasted: Option<Duration>) -> String {
    lasted.map_or_else(|| "yet".to_owned(), |lasted| format!("within {}", format_duration(lasted)))
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

/// Formats an end, such as `ended with exit code 3` or `ended with exit code 128 (StartError)`.
pub(super) fn how_it_ended(of: &ContainerView, end: &Ended) -> String {
    let code = match end.reason.as_deref() {
        Some(reason) if reason != "Error" && reason != "Completed" => {
            format!("exit code {} ({})", end.code, quote(reason))
        }
        _ => format!("exit code {}", end.code),
    };
    if !end.was_out_of_memory() {
        return format!("ended with {code}");
    }
    // The container's shell may exit successfully after the cluster killed a child of it.
    let was = if end.code == 0 { "ended after one of its processes was" } else { "was" };
    match &of.memory_limit {
        Some(limit) => format!("{was} killed because it used more memory than its limit of {limit}, {code}"),
        None => format!("{was} killed because its node ran out of memory, {code}"),
    }
}

fn advice(of: &ContainerView, end: &Ended) -> &'static str {
    if end.was_out_of_memory() && of.memory_limit.is_some() {
        "; raise `resources.limits.memory` of the container"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests;
