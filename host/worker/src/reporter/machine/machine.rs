//! The state machine: what was seen goes in, with the time; what to do next comes out.
//!
//! What is decided does not depend on the order in which file and pod were seen:
//!
//! * A valid result decides at once, whatever the pod says.
//! * Everything else is decided by a look at the file that came *after* what ends the wait (the adapter's end, the time, SIGTERM): then an
//!   invalid file is `InvalidResultFormat`, and no file is whatever the pod says.
//! * While the adapter runs, a file that is no result is looked at again until it has not changed for a while: it may be half-written.

use std::time::Duration;

use super::outcome::{Outcome, exited};
use crate::reporter::pod::{AdapterState, PodLook, PodNews};
use crate::reporter::result::{AdapterResult, Mark};

/// The most time that is left to the adapter after the reporter was told to end: it was told as well, and may still write its result.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// The same where it is not known how long the pod has.
const LAST_WAIT_UNKNOWN: Duration = Duration::from_secs(2);
/// Which part of the pod's time that is at most: the rest is for writing.
const LAST_PART: u32 = 4;

/// How long what lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How long the adapter has.
    pub max_wait: Duration,
    /// How long a file must not have changed to be judged while the adapter runs.
    pub settle: Duration,
}

/// What was seen at the file's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLook {
    /// Nothing.
    Absent,
    /// A result.
    Valid(Box<AdapterResult>),
    /// Something that is no result, or not yet.
    Invalid {
        /// What is wrong with it.
        why: String,
        /// Its state.
        mark: Mark,
    },
    /// A file of another format: what it says is found out only when it is whole.
    Pending {
        /// Its state.
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

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The file was looked at.
    File(FileLook),
    /// News of the pod.
    Pod(PodNews),
    /// What became of [`Next::Process`].
    Processed(Result<Box<AdapterResult>, String>),
    /// The reporter is told to end.
    Terminate,
    /// Time passed.
    Tick,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Wait; at this time (from the start) look at the file at the latest.
    Wait(Duration),
    /// The wait is over: look at the file now, and before that at the pod, if `pod` says so.
    Confirm {
        /// What is known of the pod may be old.
        pod: bool,
    },
    /// Find out what the file says.
    Process,
    /// This is it.
    Done(Outcome),
}

/// The state.
#[derive(Debug, Clone)]
pub struct Machine {
    rules: Rules,
    file: FileLook,
    /// When the file was first seen in this state, and last.
    since: Duration,
    seen: Duration,
    pod: Option<Box<PodLook>>,
    gone: bool,
    /// Why the pod cannot be looked at.
    blind: Option<String>,
    terminated: Option<Duration>,
}

impl Machine {
    /// Nothing was seen yet.
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

    /// Takes what happened at `now` (from the start, never less than before).
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

    /// What the pod said last.
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
                // Half a file of another format may look whole, and good: it is judged only if nobody writes to it any more.
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

    /// Nothing will be written to the file any more.
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

    /// The wait is over, and there is no result.
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
                // A Job that has no try left ends its pod: the last of them is the reason.
                Some((pod, AdapterState::Restarting { last, .. })) if last.code != 0 => Outcome::ended(last, pod),
                _ => Outcome::terminated(self.note()),
            },
            _ if now >= self.rules.max_wait => Outcome::timeout(self.rules.max_wait, self.note()),
            _ => Outcome::terminated(self.note()),
        }
    }

    /// What keeps the adapter from having a result, as far as that can be seen.
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
