//! Which trouble a pod is in.

use std::time::Duration;

use super::options::Graces;
use super::sentence;
use crate::names;
use crate::pod_view::{ContainerState, ContainerView, PodView, Role};
use crate::reasons;

/// What keeps a result from arriving. In the order in which they are told if several last too long at the same moment: what explains
/// the others comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// The node is not in the cluster any more.
    NodeRemoved,
    /// The cluster ended the pod: evicted, preempted, shut down with its node.
    PodEvicted,
    /// The pod is being deleted and does not end.
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
    /// A container is being created, and does not start.
    Starting,
    /// A container crashes again and again.
    CrashLoop,
    /// The worker ended.
    WorkerEnded,
    /// The plugin's container ended.
    Ended,
    /// The node is not ready.
    NodeNotReady,
    /// The worker runs and was not heard of.
    Hello,
    /// The worker runs, was heard of, and sends no heartbeat any more.
    Silent,
}

impl Kind {
    /// The word that programs find under `reason` in the record.
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

    pub(super) fn grace(self, graces: &Graces) -> Duration {
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

    /// How long a trouble lasts before it is reported as what the run waits for.
    fn quiet(self, graces: &Graces) -> Duration {
        let quiet = match self {
            Self::Silent => graces.silent,
            // Only evidence tells whether a worker says hello at all, and after a restart of the
            // aggregator, every worker is silent until its next heartbeat.
            Self::Hello => graces.hello,
            // Most images are there by then.
            Self::Starting => SLOW_START,
            _ => PASSING,
        };
        quiet.min(self.grace(graces))
    }
}

/// Troubles that pass within this time are not reported: the container of a plugin ends a moment
/// before its result arrives.
const PASSING: Duration = Duration::from_secs(10);

/// A container that has not started by then is reported.
const SLOW_START: Duration = Duration::from_secs(60);

/// A trouble, with the sentences that describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) kind: Kind,
    /// How long it may last.
    pub(super) grace: Duration,
    /// How long it lasts before it is reported.
    pub(super) quiet: Duration,
    /// Why the result is given up once the grace period is over.
    pub(super) sentence: String,
    /// The same as long as the result may still arrive.
    pub(super) so_far: String,
}

impl Trouble {
    /// A trouble of this kind. `describe` gets its grace period once that is over, and `None`
    /// before.
    pub(super) fn new(kind: Kind, graces: &Graces, describe: impl Fn(Option<Duration>) -> String) -> Self {
        Self::within(kind, kind.grace(graces), graces, describe)
    }

    /// The same with another grace period than that of its kind.
    pub(super) fn within(
        kind: Kind,
        grace: Duration,
        graces: &Graces,
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

/// More restarts than this are a loop, whatever the container does right now: the number that users of Sonobuoy know.
const MAX_RESTARTS: u64 = 2;

/// The scheduler looked for a node and found none.
const UNSCHEDULABLE: &str = "Unschedulable";

/// What is wrong with a pod whose plugin runs in `container`; `None`: nothing that can be seen.
pub(super) fn assess(pod: &PodView, container: &str, graces: &Graces) -> Option<Trouble> {
    if let Some(seconds) = pod.deleting {
        let grace = graces.pod_gone + Duration::from_secs(seconds);
        let describe = |lasted| sentence::terminating(pod, lasted);
        return Some(Trouble::within(Kind::PodTerminating, grace, graces, describe));
    }
    if pod.phase == "Failed" && pod.reason.is_some() {
        return Some(Trouble::new(Kind::PodEvicted, graces, |_| sentence::evicted(pod)));
    }
    let unschedulable = pod.unscheduled.as_ref().filter(|unscheduled| unscheduled.reason == UNSCHEDULABLE);
    if let (Some(unscheduled), None) = (unschedulable, &pod.node) {
        let message = unscheduled.message.as_deref().unwrap_or("no node fits");
        let describe = |lasted| sentence::unschedulable(pod, message, lasted);
        return Some(Trouble::new(Kind::Unschedulable, graces, describe));
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
        return Some(Trouble::new(Kind::Image, graces, describe));
    }
    if let Some((of, reason, message)) = waiting(&reasons::CREATE) {
        let describe = |lasted| sentence::create(pod, of, reason, message, lasted);
        return Some(Trouble::new(Kind::Create, graces, describe));
    }
    if let Some(of) = pod.containers.iter().find(|of| matters(pod, of, container) && is_looping(of)) {
        return Some(Trouble::new(Kind::CrashLoop, graces, |_| sentence::crash_loop(pod, of)));
    }
    ended(pod, container, graces).or_else(|| starting(pod, container, graces))
}

fn starting(pod: &PodView, container: &str, graces: &Graces) -> Option<Trouble> {
    // While an init container runs the others wait for it, and how long that takes is its own affair.
    if pod.containers.iter().any(|of| of.role == Role::Init && of.is_running()) {
        return None;
    }
    let mut waiting = pod.containers.iter().filter(|of| matters(pod, of, container)).filter_map(|of| match &of.state {
        ContainerState::Waiting { reason, .. } if reasons::STARTING.contains(&reason.as_str()) => Some((of, reason)),
        _ => None,
    });
    let (of, reason) = waiting.next()?;
    Some(Trouble::new(Kind::Starting, graces, |lasted| sentence::starting(pod, of, reason, lasted)))
}

fn ended(pod: &PodView, container: &str, graces: &Graces) -> Option<Trouble> {
    let plugin = pod.container(container);
    let plugin_end = plugin.and_then(|of| Some((of, of.ended()?)));
    if let Some((worker, end)) = pod.container(names::WORKER_CONTAINER).and_then(|of| Some((of, of.ended()?)))
        && (end.code != 0 || plugin_end.is_none())
    {
        return Some(Trouble::new(Kind::WorkerEnded, graces, |_| sentence::worker_ended(pod, worker, end)));
    }
    if let Some((of, end)) = plugin_end {
        return Some(Trouble::new(Kind::Ended, graces, |lasted| sentence::plugin_ended(pod, of, end, lasted)));
    }
    // An init container that is not started again: the others never will be.
    let init = pod.containers.iter().filter(|of| of.role == Role::Init && matters(pod, of, container));
    if let Some((of, end)) = init.filter_map(|of| Some((of, of.ended()?))).find(|(_, end)| end.code != 0) {
        return Some(Trouble::new(Kind::Ended, graces, |_| sentence::init_ended(pod, of, end)));
    }
    match pod.phase.as_str() {
        "Failed" => Some(Trouble::new(Kind::PodEvicted, graces, |_| sentence::evicted(pod))),
        "Succeeded" => Some(Trouble::new(Kind::Ended, graces, |_| sentence::pod_succeeded(pod))),
        _ => None,
    }
}

/// Whether the end of a container is the end of the plugin: the plugin's own, the worker's in
/// whatever role it runs, and an init container's as long as the plugin waits for it. Other
/// containers do not count.
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
