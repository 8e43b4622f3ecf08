//! The decisions of the reporter: a state machine. Its input is observations with their times, and
//! its output is the next step.
//!
//! The decision does not depend on the order in which file and pod are observed:
//!
//! * A valid result decides at once, whatever the state of the pod.
//! * Everything else is decided by a read of the file *after* the end of the wait (the adapter's
//!   end, the timeout, SIGTERM). An invalid file then means `InvalidResultFormat`. Without a file,
//!   the state of the pod decides.
//! * While the adapter is running, an invalid file is read again until it has not changed for a
//!   while, because it may be incomplete.
//! * A file of another format says what the tests found, and not whether all of them ran. So the end
//!   of the adapter takes precedence over a success in it, and the file waits while a pod that was
//!   read before cannot be read.

use std::time::Duration;

use plumbline_kubernetes::query::go_duration;

use super::pod::{AdapterState, Disruption, Exit, PodLook, PodNews};
use super::result::{MAX_MESSAGE, Mark, Outcome, clipped};

/// Maximum time for the adapter to write its result after both were asked to stop.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// The same limit if the pod's grace period is unknown.
const LAST_WAIT_UNKNOWN: Duration = Duration::from_secs(2);
/// The divisor of the pod's grace period for this limit. The rest of the time is for writing.
const LAST_PART: u32 = 4;
/// The divisor of the grace period if the pod was deleted before the reporter saw it, and its
/// signal may be lost.
const UNASKED_PART: u32 = 2;

/// Reasons of the reporter itself. Those of results come from the adapter.
pub mod reasons {
    /// The adapter produced no result in time.
    pub const TIMEOUT: &str = "AdapterTimeout";
    /// The adapter's container ended with a nonzero exit code and without a result.
    pub const EXITED: &str = "AdapterExitedWithError";
    /// The adapter's container was killed because of its memory use, and left no result.
    pub const OUT_OF_MEMORY: &str = "AdapterOOMKilled";
    /// The adapter's file is not a valid result.
    pub const INVALID: &str = "InvalidResultFormat";
    /// The adapter's container ended successfully, but without a result.
    pub const MISSING: &str = "AdapterMissingResults";
    /// The pod was evicted or preempted before there was a result.
    pub const EVICTED: &str = "AdapterEvicted";
    /// The node was shut down before there was a result.
    pub const NODE_SHUTDOWN: &str = "NodeShutdown";
    /// An init container failed, so the adapter was not started.
    pub const INIT_FAILED: &str = "AdapterInitFailed";
    /// The pod was deleted before there was a result.
    pub const DELETED: &str = "PodDeleted";
    /// The pod failed for another reason before there was a result.
    pub const POD_FAILED: &str = "PodFailed";
    /// The reporter was asked to stop before there was a result.
    pub const TERMINATED: &str = "ReporterTerminated";
}

/// The time limits of the reporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The time limit for the adapter.
    pub max_wait: Duration,
    /// How long a file must not change before it is evaluated while the adapter is running.
    pub settle: Duration,
}

/// The observed state of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLook {
    /// There is no file.
    Absent,
    /// The file is older than the pod, so it is no result of it.
    Stale,
    /// The file is a valid result.
    Valid(Box<Outcome>),
    /// The file is not a valid result, or is incomplete.
    Invalid {
        /// The reason.
        why: String,
        /// Identifies the state of the file.
        mark: Mark,
    },
    /// A file of another format, which is parsed only when it is complete.
    Pending {
        /// Identifies the state of the file.
        mark: Mark,
    },
}

impl FileLook {
    fn mark(&self) -> Option<Mark> {
        match self {
            Self::Invalid { mark, .. } | Self::Pending { mark } => Some(*mark),
            Self::Absent | Self::Stale | Self::Valid(_) => None,
        }
    }
}

/// An input of the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The file was read.
    File(FileLook),
    /// The pod was observed.
    Pod(PodNews),
    /// The outcome of [`Next::Process`].
    Processed(Result<Box<Outcome>, String>),
    /// The reporter was asked to stop.
    Terminate,
    /// The node of the pod is being shut down.
    NodeShutdown,
    /// Time has passed.
    Tick,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Wait, and read the file no later than this time, counted from the start.
    Wait(Duration),
    /// The wait is over: read the file now, and before that the pod if `pod` is set.
    Confirm {
        /// Whether the known state of the pod may be outdated.
        pod: bool,
    },
    /// Parse the file.
    Process,
    /// The outcome is final.
    Done(Outcome),
}

/// The state of the machine.
#[derive(Debug, Clone)]
pub struct Machine {
    rules: Rules,
    file: FileLook,
    /// When the file was first and last seen in this state.
    since: Duration,
    seen: Duration,
    pod: Option<Box<PodLook>>,
    gone: bool,
    /// Why the pod cannot be read.
    blind: Option<String>,
    terminated: Option<Duration>,
    /// When the pod was first seen, if it was already being deleted.
    deleted: Option<Duration>,
    node_shutdown: bool,
}

impl Machine {
    /// Creates the initial state, without observations.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            file: FileLook::Absent,
            since: Duration::ZERO,
            seen: Duration::ZERO,
            pod: None,
            gone: false,
            blind: None,
            terminated: None,
            deleted: None,
            node_shutdown: false,
        }
    }

    /// Processes an event at `now`, counted from the start. Times must not decrease.
    pub fn on(&mut self, now: Duration, event: Event) -> Next {
        let looked = matches!(event, Event::File(_));
        match event {
            Event::File(look) => {
                if look.mark() != self.file.mark() {
                    self.since = now;
                }
                self.seen = now;
                self.file = look;
            }
            Event::Pod(PodNews::Look(look)) => {
                self.blind = None;
                if self.pod.is_none() && look.deleted {
                    self.deleted = Some(now);
                }
                self.pod = Some(look);
            }
            Event::Pod(PodNews::Gone) => self.gone = true,
            Event::Pod(PodNews::Unknown(why)) => self.blind = Some(why),
            Event::Processed(Ok(outcome)) => return Next::Done(self.processed(*outcome, now)),
            Event::Processed(Err(why)) => return Next::Done(Outcome::invalid(&why, self.pod.as_deref())),
            Event::Terminate => {
                self.terminated.get_or_insert(now);
            }
            Event::NodeShutdown => self.node_shutdown = true,
            Event::Tick => {}
        }
        self.next(now, looked)
    }

    /// Returns the last known state of the pod.
    pub fn pod(&self) -> Option<&PodLook> {
        self.pod.as_deref()
    }

    /// Returns true if the file is a valid result.
    pub(super) fn has_result(&self) -> bool {
        matches!(self.file, FileLook::Valid(_))
    }

    /// Returns the outcome if nothing more can be observed.
    pub fn provisional(&self, now: Duration) -> Outcome {
        match &self.file {
            FileLook::Invalid { why, .. } => Outcome::invalid(why, self.pod()),
            _ => self.without_result(now),
        }
    }

    fn next(&self, now: Duration, looked: bool) -> Next {
        if let FileLook::Valid(outcome) = &self.file {
            return Next::Done(outcome.as_ref().clone());
        }
        let ended = self.pod_ended();
        let settled = self.settles().is_some_and(|at| self.seen >= at);
        if ended || now >= self.rules.max_wait || self.last_wait_ends().is_some_and(|end| now >= end) {
            return match &self.file {
                _ if !looked => Next::Confirm { pod: !ended },
                FileLook::Invalid { why, .. } => Next::Done(Outcome::invalid(why, self.pod.as_deref())),
                // Half a file of another format may look valid, so nobody may write to it any more.
                FileLook::Pending { .. } if ended || settled => Next::Process,
                _ => Next::Done(self.without_result(now)),
            };
        }
        match &self.file {
            FileLook::Invalid { why, .. } if settled => Next::Done(Outcome::invalid(why, None)),
            // News of the pod can make a file settled that was read before.
            FileLook::Pending { .. } if settled && looked => Next::Process,
            _ => Next::Wait(self.wait()),
        }
    }

    /// Returns true if nothing will be written to the file any more.
    fn pod_ended(&self) -> bool {
        self.gone || self.pod().is_some_and(PodLook::is_final)
    }

    fn last_wait_ends(&self) -> Option<Duration> {
        let grace = self.pod().and_then(|pod| pod.grace);
        let wait = grace.map_or(LAST_WAIT_UNKNOWN, |grace| (grace / LAST_PART).min(LAST_WAIT));
        let asked = self.terminated.map(|at| at + wait);
        let unasked = self.deleted.map(|at| at + grace.map_or(LAST_WAIT_UNKNOWN, |grace| grace / UNASKED_PART));
        asked.into_iter().chain(unasked).min()
    }

    /// Returns when the file has not changed for long enough to be evaluated while the adapter
    /// runs. The file of an adapter that is restarted, or that may have ended, waits for the end.
    fn settles(&self) -> Option<Duration> {
        let waits = matches!(self.file, FileLook::Pending { .. }) && (self.is_restarting() || self.is_outdated());
        self.file.mark().filter(|_| !waits).map(|_| self.since.saturating_add(self.rules.settle))
    }

    /// Returns true if the adapter failed, and was or will be restarted.
    fn is_restarting(&self) -> bool {
        self.pod().is_some_and(|pod| matches!(&pod.state, AdapterState::Restarting { last, .. } if failed(last)))
    }

    /// Returns true if the pod was read before, and cannot be read now.
    fn is_outdated(&self) -> bool {
        self.pod.is_some() && self.blind.is_some()
    }

    fn wait(&self) -> Duration {
        [self.settles(), self.last_wait_ends()].into_iter().flatten().fold(self.rules.max_wait, Duration::min)
    }

    /// Returns the outcome for a file of another format. A success does not count if the adapter
    /// failed, or its end is unknown.
    fn processed(&self, outcome: Outcome, now: Duration) -> Outcome {
        let ended_well = match self.pod().map(|pod| &pod.state) {
            Some(AdapterState::Ended(exit)) => !failed(exit),
            _ => !self.pod_ended(),
        };
        if !outcome.success || ended_well {
            return outcome;
        }
        let end = Self { file: FileLook::Absent, ..self.clone() }.without_result(now);
        let message = clipped(&format!("{} (its results: {})", end.message, outcome.message), MAX_MESSAGE);
        Outcome { message, details: outcome.details, ..end }
    }

    /// Returns the outcome for the end of the wait without a result.
    fn without_result(&self, now: Duration) -> Outcome {
        let outcome = self.explained(now);
        if self.file != FileLook::Stale {
            return outcome;
        }
        let message = format!("{} (a result file that is older than the pod was ignored)", outcome.message);
        Outcome { message: clipped(&message, MAX_MESSAGE), ..outcome }
    }

    /// Returns the outcome as the state of the pod explains it.
    fn explained(&self, now: Duration) -> Outcome {
        if let Some(pod) = self.pod() {
            if let AdapterState::Ended(exit) = &pod.state {
                return Outcome::ended(exit, pod);
            }
            if let Some(fate) = &pod.fate {
                return Outcome::fate(fate, self.note());
            }
        }
        if self.pod_ended() {
            return Outcome::pod_ended(self.gone);
        }
        if self.node_shutdown {
            return Outcome::fate(&Disruption::NodeShutdown { why: None }, self.note());
        }
        match self.terminated {
            Some(at) if at < self.rules.max_wait => match self.pod().map(|pod| (pod, &pod.state)) {
                // A Job without retries terminates its pod, and the last exit is the reason.
                Some((pod, AdapterState::Restarting { last, .. })) if last.code != 0 => Outcome::ended(last, pod),
                _ => Outcome::terminated(self.note()),
            },
            _ if now >= self.rules.max_wait => Outcome::timeout(self.rules.max_wait, self.note()),
            _ => Outcome::terminated(self.note()),
        }
    }

    /// Returns what prevents the adapter from having a result, if known.
    fn note(&self) -> Option<String> {
        let unread = matches!(self.file, FileLook::Pending { .. }) && !self.is_restarting();
        if unread && !self.is_outdated() {
            return Some("the result file was still being written".to_owned());
        }
        let Some(pod) = self.pod().filter(|_| !unread) else {
            return self.blind.as_ref().map(|why| format!("failed to read the pod: {why}"));
        };
        match (&pod.state, &pod.adapter) {
            (AdapterState::Waiting { why: Some(why) }, Some(name)) => Some(format!("container `{name}` waits: {why}")),
            (AdapterState::Restarting { restarts, last }, Some(name)) => {
                Some(format!("container `{name}` restarted {restarts} times, and {} the last time", exited(last)))
            }
            (_, None) => Some("the pod has no container for the adapter".to_owned()),
            _ => pod.unscheduled.as_ref().map(|why| format!("the pod is not scheduled: {why}")),
        }
    }
}

impl Outcome {
    /// Creates a failure with the reporter's own text. Further information follows in parentheses.
    fn failure(reason: &str, message: &str, note: Option<String>) -> Self {
        let message = match note {
            Some(note) => format!("{message} ({note})"),
            None => message.to_owned(),
        };
        Self { success: false, reason: reason.to_owned(), message: clipped(&message, MAX_MESSAGE), details: None }
    }

    /// Returns the outcome for an invalid file. `pod` is the state of the pod, if that was final.
    fn invalid(why: &str, pod: Option<&PodLook>) -> Self {
        let note = pod.and_then(|pod| match &pod.state {
            AdapterState::Ended(exit) if exit.is_out_of_memory() => Some("adapter container was OOMKilled".to_owned()),
            AdapterState::Ended(exit) if exit.code != 0 => Some(format!("adapter container {}", exited(exit))),
            _ => None,
        });
        Self::failure(reasons::INVALID, &format!("Failed to parse adapter result: {why}"), note)
    }

    /// Returns the outcome for an adapter container that ended without a result.
    ///
    /// If a signal ended the container, the fate of the pod explains it.
    fn ended(exit: &Exit, pod: &PodLook) -> Self {
        if exit.is_out_of_memory() {
            let message = "Adapter container was killed due to out of memory (OOMKilled)";
            return Self::failure(reasons::OUT_OF_MEMORY, message, None);
        }
        match &pod.fate {
            Some(fate) if exit.is_by_signal() => Self::fate(fate, Some(format!("adapter container {}", exited(exit)))),
            fate => {
                let note = fate.as_ref().map(|fate| Self::fate(fate, None).message);
                if exit.code == 0 {
                    let message = format!(
                        "Adapter container exited with code 0 and did not produce a valid result file: {}",
                        exit.word()
                    );
                    return Self::failure(reasons::MISSING, &message, note);
                }
                Self::failure(reasons::EXITED, &format!("Adapter container {}", exited(exit)), note)
            }
        }
    }

    /// Returns the outcome for a pod that the cluster terminated.
    fn fate(fate: &Disruption, note: Option<String>) -> Self {
        let with = |text: &str, why: &Option<String>| match why {
            Some(why) => format!("{text}: {why}"),
            None => text.to_owned(),
        };
        let (reason, message) = match fate {
            Disruption::Evicted { why } => {
                (reasons::EVICTED, with("Pod was evicted before the adapter produced results", why))
            }
            Disruption::Preempted { why } => {
                (reasons::EVICTED, with("Pod was preempted before the adapter produced results", why))
            }
            Disruption::NodeShutdown { why } => {
                (reasons::NODE_SHUTDOWN, with("Node was shut down before the adapter produced results", why))
            }
            Disruption::InitFailed { container, exit } => (
                reasons::INIT_FAILED,
                format!("Adapter was not started: init container `{container}` {}", exited(exit)),
            ),
            Disruption::Deleted => (reasons::DELETED, "Pod was deleted before the adapter produced results".to_owned()),
            Disruption::Failed { why } => {
                (reasons::POD_FAILED, format!("Pod failed before the adapter produced results: {why}"))
            }
        };
        Self::failure(reason, &message, note)
    }

    /// Returns the outcome for a pod that has ended, or is gone, for an unknown reason.
    fn pod_ended(gone: bool) -> Self {
        match gone {
            true => Self::fate(&Disruption::Deleted, None),
            false => Self::failure(reasons::POD_FAILED, "Pod ended before the adapter produced results", None),
        }
    }

    /// Returns the outcome for an exceeded time limit.
    fn timeout(wait: Duration, note: Option<String>) -> Self {
        let wait = go_duration(Duration::from_secs(wait.as_secs()));
        let message = format!("Adapter did not produce results within {wait}");
        Self::failure(reasons::TIMEOUT, &message, note)
    }

    /// Returns the outcome for a reporter that was asked to stop.
    fn terminated(note: Option<String>) -> Self {
        let message = "Reporter was asked to stop before the adapter produced results";
        Self::failure(reasons::TERMINATED, message, note)
    }
}

fn failed(exit: &Exit) -> bool {
    exit.code != 0 || exit.is_out_of_memory()
}

/// Formats an exit, such as `exited with code 1: Error`.
fn exited(exit: &Exit) -> String {
    format!("exited with code {}: {}", exit.code, exit.word())
}
