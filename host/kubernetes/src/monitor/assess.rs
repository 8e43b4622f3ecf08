//! Determines the problem of a pod.

use std::time::Duration;

use super::options::GracePeriods;
use super::sentence;
use crate::names;
use crate::pod_view::{ContainerState, ContainerView, PodView, Role};
use crate::reasons;

/// The kind of problem that delays a result.
///
/// The order is the order of reporting, if several exceed their grace period at the same moment. A
/// kind that explains others comes before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// The node is no longer in the cluster.
    NodeRemoved,
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
    Image,
    /// A container cannot be created.
    Create,
    /// A container is being created, but does not start.
    Starting,
    /// A container crashes repeatedly.
    CrashLoop,
    /// The worker ended.
    WorkerEnded,
    /// The plugin's container ended.
    Ended,
    /// The node is not ready.
    NodeNotReady,
    /// The worker is running, but has never contacted the aggregator.
    Hello,
    /// The worker is running and contacted the aggregator earlier, but no longer sends heartbeats.
    Silent,
}

impl Kind {
    /// Returns the identifier that programs find under `reason` in the record.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::NodeRemoved => "NodeGone",
            Self::NodeNotReady => "NodeNotReady",
            Self::PodEvicted => "PodEvicted",
            Self::PodTerminating => "PodTerminating",
            Self::PodGone => "PodGone",
            Self::NoPod => "NoPod",
            Self::Unschedulable => "Unschedulable",
            Self::Image => "ImagePull",
            Self::Create => "CreateContainer",
            Self::Starting => "Starting",
            Self::CrashLoop => "CrashLoop",
            Self::WorkerEnded => "WorkerEnded",
            Self::Ended => "NoResult",
            Self::Hello => "Hello",
            Self::Silent => "Silent",
        }
    }

    pub(super) fn grace(self, graces: &GracePeriods) -> Duration {
        match self {
            Self::NodeRemoved | Self::NodeNotReady => graces.node_gone,
            Self::PodEvicted | Self::PodTerminating | Self::PodGone => graces.pod_gone,
            Self::NoPod => graces.no_pod,
            Self::Unschedulable => graces.unschedulable,
            Self::Image | Self::Create => graces.image_pull,
            Self::Starting => graces.starting,
            Self::CrashLoop => graces.crash_loop,
            Self::WorkerEnded | Self::Ended => graces.no_result,
            Self::Hello => graces.hello,
            Self::Silent => graces.silent_lost.map_or(Duration::MAX, |lost| graces.silent.saturating_add(lost)),
        }
    }

    /// Returns how long a problem lasts before it is reported as what the run waits for.
    fn quiet(self, graces: &GracePeriods) -> Duration {
        let quiet = match self {
            Self::Silent => graces.silent,
            // Only evidence shows whether a worker contacts the aggregator at all. After a restart
            // of the aggregator, every worker is silent until its next heartbeat.
            Self::Hello => graces.hello,
            // Most images are pulled by then.
            Self::Starting => SLOW_START,
            _ => PASSING,
        };
        quiet.min(self.grace(graces))
    }
}

/// Problems that pass within this time are not reported. The container of a plugin, for example,
/// ends a moment before its result arrives.
const PASSING: Duration = Duration::from_secs(10);

/// A container that has not started after this time is reported.
const SLOW_START: Duration = Duration::from_secs(60);

/// A problem, with the sentences that describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) kind: Kind,
    /// The grace period.
    pub(super) grace: Duration,
    /// How long the problem lasts before it is reported.
    pub(super) quiet: Duration,
    /// The reason for a missing result, once the grace period is over.
    pub(super) sentence: String,
    /// The same reason, as long as the result may still arrive.
    pub(super) so_far: String,
}

impl Problem {
    /// Creates a problem of this kind. `describe` gets its grace period once that is over, and
    /// `None` before.
    pub(super) fn new(kind: Kind, graces: &GracePeriods, describe: impl Fn(Option<Duration>) -> String) -> Self {
        Self::within(kind, kind.grace(graces), graces, describe)
    }

    /// Creates a problem with a grace period other than that of its kind.
    pub(super) fn within(
        kind: Kind,
        grace: Duration,
        graces: &GracePeriods,
        describe: impl Fn(Option<Duration>) -> String,
    ) -> Self {
        Self {
            kind,
            grace,
            quiet: kind.quiet(graces).min(grace),
            sentence: describe(Some(grace)),
            so_far: describe(None),
        }
    }
}

/// More restarts than this are a crash loop, whatever the state of the container. Sonobuoy uses the
/// same number.
const MAX_RESTARTS: u64 = 2;

/// The reason of the scheduler when it found no node.
const UNSCHEDULABLE: &str = "Unschedulable";

/// Returns the problem of a pod whose plugin runs in `container`, or `None` if none is visible.
pub(super) fn assess(pod: &PodView, container: &str, graces: &GracePeriods) -> Option<Problem> {
    if let Some(seconds) = pod.deleting {
        let grace = graces.pod_gone + Duration::from_secs(seconds);
        let describe = |lasted| sentence::terminating(pod, lasted);
        return Some(Problem::within(Kind::PodTerminating, grace, graces, describe));
    }
    if pod.phase == "Failed" && pod.reason.is_some() {
        return Some(Problem::new(Kind::PodEvicted, graces, |_| sentence::evicted(pod)));
    }
    let unschedulable = pod.unscheduled.as_ref().filter(|unscheduled| unscheduled.reason == UNSCHEDULABLE);
    if let (Some(unscheduled), None) = (unschedulable, &pod.node) {
        let message = unscheduled.message.as_deref().unwrap_or("no node fits");
        let describe = |lasted| sentence::unschedulable(pod, message, lasted);
        return Some(Problem::new(Kind::Unschedulable, graces, describe));
    }
    let waiting = |reasons: &[&str]| {
        pod.containers.iter().find_map(|container| match &container.state {
            ContainerState::Waiting { reason, message } if reasons.contains(&reason.as_str()) => {
                Some((container, reason.as_str(), message.as_deref()))
            }
            _ => None,
        })
    };
    if let Some((of, reason, message)) = waiting(&reasons::IMAGE) {
        let describe = |lasted| sentence::image(pod, of, reason, message, lasted);
        return Some(Problem::new(Kind::Image, graces, describe));
    }
    if let Some((of, reason, message)) = waiting(&reasons::CREATE) {
        let describe = |lasted| sentence::create(pod, of, reason, message, lasted);
        return Some(Problem::new(Kind::Create, graces, describe));
    }
    if let Some(of) = pod.containers.iter().find(|of| matters(pod, of, container) && is_looping(of)) {
        return Some(Problem::new(Kind::CrashLoop, graces, |_| sentence::crash_loop(pod, of)));
    }
    ended(pod, container, graces).or_else(|| starting(pod, container, graces))
}

fn starting(pod: &PodView, container: &str, graces: &GracePeriods) -> Option<Problem> {
    // While an init container runs, the others wait for it. It may take as long as it needs.
    if pod.containers.iter().any(|of| of.role == Role::Init && of.is_running()) {
        return None;
    }
    let mut waiting = pod.containers.iter().filter(|of| matters(pod, of, container)).filter_map(|of| match &of.state {
        ContainerState::Waiting { reason, .. } if reasons::STARTING.contains(&reason.as_str()) => Some((of, reason)),
        _ => None,
    });
    let (of, reason) = waiting.next()?;
    Some(Problem::new(Kind::Starting, graces, |lasted| sentence::starting(pod, of, reason, lasted)))
}

fn ended(pod: &PodView, container: &str, graces: &GracePeriods) -> Option<Problem> {
    let plugin = pod.container(container);
    let plugin_end = plugin.and_then(|of| Some((of, of.ended()?)));
    if let Some((worker, end)) = pod.container(names::WORKER_CONTAINER).and_then(|of| Some((of, of.ended()?)))
        && (end.code != 0 || plugin_end.is_none())
    {
        return Some(Problem::new(Kind::WorkerEnded, graces, |_| sentence::worker_ended(pod, worker, end)));
    }
    if let Some((of, end)) = plugin_end {
        return Some(Problem::new(Kind::Ended, graces, |lasted| sentence::plugin_ended(pod, of, end, lasted)));
    }
    // A failed init container that is not restarted means that the other containers never start.
    let init = pod.containers.iter().filter(|of| of.role == Role::Init && matters(pod, of, container));
    if let Some((of, end)) = init.filter_map(|of| Some((of, of.ended()?))).find(|(_, end)| end.code != 0) {
        return Some(Problem::new(Kind::Ended, graces, |_| sentence::init_ended(pod, of, end)));
    }
    match pod.phase.as_str() {
        "Failed" => Some(Problem::new(Kind::PodEvicted, graces, |_| sentence::evicted(pod))),
        "Succeeded" => Some(Problem::new(Kind::Ended, graces, |_| sentence::pod_succeeded(pod))),
        _ => None,
    }
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

fn is_looping(of: &ContainerView) -> bool {
    let backs_off = matches!(&of.state, ContainerState::Waiting { reason, .. } if reason == "CrashLoopBackOff");
    backs_off || of.restarts > MAX_RESTARTS
}

#[cfg(test)]
mod tests;
