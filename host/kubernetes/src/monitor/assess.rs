//! Which trouble a pod is in.

use std::time::Duration;

use super::facts::{ContainerFacts, PodFacts, Role, State};
use super::options::Graces;
use super::sentence;
use crate::names;
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
        }
    }
}

/// A trouble, with the sentence that tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) kind: Kind,
    /// How long it may last.
    pub(super) grace: Duration,
    pub(super) sentence: String,
}

impl Trouble {
    pub(super) fn new(kind: Kind, graces: &Graces, sentence: String) -> Self {
        Self { kind, grace: kind.grace(graces), sentence }
    }
}

/// More restarts than this are a loop, whatever the container does right now: the number that users of the incumbent know.
const MAX_RESTARTS: u64 = 2;

/// What is wrong with a pod whose plugin runs in `container`; `None`: nothing that can be seen.
pub(super) fn assess(pod: &PodFacts, container: &str, graces: &Graces) -> Option<Trouble> {
    let trouble = |kind: Kind, sentence: String| Some(Trouble::new(kind, graces, sentence));
    if let Some(seconds) = pod.deleting {
        let grace = graces.pod_gone + Duration::from_secs(seconds);
        let sentence = sentence::terminating(pod, grace);
        return Some(Trouble { kind: Kind::PodTerminating, grace, sentence });
    }
    if pod.phase == "Failed" && pod.reason.is_some() {
        return trouble(Kind::PodEvicted, sentence::evicted(pod));
    }
    if let (Some(message), None) = (&pod.unschedulable, &pod.node) {
        return trouble(Kind::Unschedulable, sentence::unschedulable(pod, message, graces.unschedulable));
    }
    let waiting = |reasons: &[&str]| {
        pod.containers.iter().find_map(|container| match &container.state {
            State::Waiting { reason, message } if reasons.contains(&reason.as_str()) => {
                Some((container, reason.as_str(), message.as_deref()))
            }
            _ => None,
        })
    };
    if let Some((of, reason, message)) = waiting(&reasons::IMAGE) {
        return trouble(Kind::Image, sentence::image(pod, of, reason, message, graces.image_pull));
    }
    if let Some((of, reason, message)) = waiting(&reasons::CREATE) {
        return trouble(Kind::Create, sentence::create(pod, of, reason, message, graces.image_pull));
    }
    if let Some(of) = pod.containers.iter().find(|of| matters(pod, of, container) && is_looping(of)) {
        return trouble(Kind::CrashLoop, sentence::crash_loop(pod, of));
    }
    ended(pod, container, graces).or_else(|| starting(pod, container, graces))
}

fn starting(pod: &PodFacts, container: &str, graces: &Graces) -> Option<Trouble> {
    // While an init container runs the others wait for it, and how long that takes is its own affair.
    if pod.containers.iter().any(|of| of.role == Role::Init && of.is_running()) {
        return None;
    }
    let mut waiting = pod.containers.iter().filter(|of| matters(pod, of, container)).filter_map(|of| match &of.state {
        State::Waiting { reason, .. } if reasons::STARTING.contains(&reason.as_str()) => Some((of, reason)),
        _ => None,
    });
    let (of, reason) = waiting.next()?;
    let sentence = sentence::starting(pod, of, reason, graces.starting);
    Some(Trouble::new(Kind::Starting, graces, sentence))
}

fn ended(pod: &PodFacts, container: &str, graces: &Graces) -> Option<Trouble> {
    let plugin = pod.container(container);
    let plugin_end = plugin.and_then(|of| Some((of, of.ended()?)));
    if let Some((worker, end)) = pod.container(names::WORKER_CONTAINER).and_then(|of| Some((of, of.ended()?)))
        && (end.code != 0 || plugin_end.is_none())
    {
        let sentence = sentence::worker_ended(pod, worker, end);
        return Some(Trouble::new(Kind::WorkerEnded, graces, sentence));
    }
    if let Some((of, end)) = plugin_end {
        return Some(Trouble::new(Kind::Ended, graces, sentence::plugin_ended(pod, of, end)));
    }
    // An init container that is not started again: the others never will be.
    let init = pod.containers.iter().filter(|of| of.role == Role::Init && matters(pod, of, container));
    if let Some((of, end)) = init.filter_map(|of| Some((of, of.ended()?))).find(|(_, end)| end.code != 0) {
        return Some(Trouble::new(Kind::Ended, graces, sentence::init_ended(pod, of, end)));
    }
    match pod.phase.as_str() {
        "Failed" => Some(Trouble::new(Kind::PodEvicted, graces, sentence::evicted(pod))),
        "Succeeded" => Some(Trouble::new(Kind::Ended, graces, sentence::pod_succeeded(pod))),
        _ => None,
    }
}

/// Whether the end of a container is the end of the plugin: the plugin's own, the worker's, and an init container's as long as the plugin
/// waits for it. What other containers do is their own affair.
fn matters(pod: &PodFacts, of: &ContainerFacts, container: &str) -> bool {
    match of.role {
        Role::Main => of.name == container || of.name == names::WORKER_CONTAINER,
        Role::Init | Role::Companion => pod.container(container).is_none_or(|plugin| !plugin.has_run()),
    }
}

fn is_looping(of: &ContainerFacts) -> bool {
    let backs_off = matches!(&of.state, State::Waiting { reason, .. } if reason == "CrashLoopBackOff");
    backs_off || of.restarts > MAX_RESTARTS
}

#[cfg(test)]
mod tests;
