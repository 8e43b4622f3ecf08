//! The state machine. Its input is observations with their times, and its output is the next step.
//!
//! The decision does not depend on the order in which file and pod are observed:
//!
//! * A valid result decides at once, whatever the state of the pod.
//! * Everything else is decided by a read of the file *after* the end of the wait (the adapter's
//!   end, the timeout, SIGTERM). An invalid file then means `InvalidResultFormat`. Without a file,
//!   the state of the pod decides.
//! * While the adapter is running, an invalid file is read again until it has not changed for a
//!   while, because it may be incomplete.

use std::time::Duration;

use super::outcome::{Outcome, exited};
use crate::reporter::pod::{AdapterState, PodLook, PodNews};
use crate::reporter::result::{AdapterResult, Mark};

/// Maximum time for the adapter after the reporter was asked to stop. The adapter was asked too,
/// and may still write its result.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// The same limit if the pod's grace period is unknown.
const LAST_WAIT_UNKNOWN: Duration = Duration::from_secs(2);
/// The divisor of the pod's grace period for this limit. The rest of the time is for writing.
const LAST_PART: u32 = 4;

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
    /// The file is a valid result.
    Valid(Box<AdapterResult>),
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
            Self::Absent | Self::Valid(_) => None,
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
    Processed(Result<Box<AdapterResult>, String>),
    /// The reporter was asked to stop.
    Terminate,
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
                self.pod = Some(look);
            }
            Event::Pod(PodNews::Gone) => self.gone = true,
            Event::Pod(PodNews::Unknown(why)) => self.blind = Some(why),
            Event::Processed(Ok(result)) => return Next::Done(Outcome::of_result(&result)),
            Event::Processed(Err(why)) => return Next::Done(Outcome::invalid(&why, self.pod.as_deref())),
            Event::Terminate => {
                self.terminated.get_or_insert(now);
            }
            Event::Tick => {}
        }
        self.next(now, looked)
    }

    /// Returns the last known state of the pod.
    #[must_use]
    pub fn pod(&self) -> Option<&PodLook> {
        self.pod.as_deref()
    }

    fn next(&self, now: Duration, looked: bool) -> Next {
        if let FileLook::Valid(result) = &self.file {
            return Next::Done(Outcome::of_result(result));
        }
        let ended = self.pod_ended();
        let settled = self.file.mark().is_some() && self.seen.saturating_sub(self.since) >= self.rules.settle;
        if ended || now >= self.rules.max_wait || self.last_wait_ends().is_some_and(|end| now >= end) {
            return match &self.file {
                _ if !looked => Next::Confirm { pod: !ended },
                FileLook::Invalid { why, .. } => Next::Done(Outcome::invalid(why, self.pod.as_deref())),
                // Half a file of another format may look complete and valid. It is only evaluated
                // if nobody writes to it any more.
                FileLook::Pending { .. } if ended || settled => Next::Process,
                _ => Next::Done(self.without_result(now)),
            };
        }
        match &self.file {
            FileLook::Invalid { why, .. } if settled => Next::Done(Outcome::invalid(why, None)),
            FileLook::Pending { .. } if settled => Next::Process,
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
        self.terminated.map(|at| at + wait)
    }

    fn wait(&self) -> Duration {
        let settles = self.file.mark().map(|_| self.since.saturating_add(self.rules.settle));
        [settles, self.last_wait_ends()].into_iter().flatten().fold(self.rules.max_wait, Duration::min)
    }

    /// Returns the outcome for the end of the wait without a result.
    fn without_result(&self, now: Duration) -> Outcome {
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
        match self.terminated {
            Some(at) if at < self.rules.max_wait => match self.pod().map(|pod| (pod, &pod.state)) {
                // When a Job has no retry left, its pod is terminated. The last exit is then the
                // reason.
                Some((pod, AdapterState::Restarting { last, .. })) if last.code != 0 => Outcome::ended(last, pod),
                _ => Outcome::terminated(self.note()),
            },
            _ if now >= self.rules.max_wait => Outcome::timeout(self.rules.max_wait, self.note()),
            _ => Outcome::terminated(self.note()),
        }
    }

    /// Returns what prevents the adapter from having a result, if known.
    fn note(&self) -> Option<String> {
        if matches!(self.file, FileLook::Pending { .. }) {
            return Some("the result file was still being written".to_owned());
        }
        let Some(pod) = self.pod() else {
            return self.blind.as_ref().map(|why| format!("the pod could not be looked at: {why}"));
        };
        match (&pod.state, &pod.adapter) {
            (AdapterState::Waiting { why: Some(why) }, Some(name)) => Some(format!("container `{name}` waits: {why}")),
            (AdapterState::Restarting { restarts, last }, Some(name)) => Some(format!(
                "container `{name}` was started again {restarts} times, and {} the last time",
                exited(last)
            )),
            (_, None) => Some("the pod has no container for the adapter".to_owned()),
            _ => pod.unscheduled.as_ref().map(|why| format!("the pod is not scheduled: {why}")),
        }
    }
}
