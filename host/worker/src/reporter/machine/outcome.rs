//! What becomes of it all, in the words of the condition.

use std::time::Duration;

use super::reasons;
use crate::reporter::duration::go_duration;
use crate::reporter::pod::{AdapterState, Exit, Fate, PodLook};
use crate::reporter::result::AdapterResult;
use crate::reporter::text::clipped;

/// Characters of a message: as many as a result may have.
const MAX_MESSAGE: usize = 1024;

/// What the condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Status `True`, else `False`.
    pub success: bool,
    /// The reason.
    pub reason: String,
    /// The message.
    pub message: String,
    /// Details of the adapter's result, as JSON.
    pub details: Option<Box<str>>,
}

impl Outcome {
    pub(super) fn of_result(result: &AdapterResult) -> Self {
        let AdapterResult { success, reason, message, details } = result.clone();
        Self { success, reason, message, details }
    }

    /// A failure of the reporter's own words; what else is known stands behind it, in parentheses.
    fn failure(reason: &str, message: &str, note: Option<String>) -> Self {
        let message = match note {
            Some(note) => format!("{message} ({note})"),
            None => message.to_owned(),
        };
        Self { success: false, reason: reason.to_owned(), message: clipped(&message, MAX_MESSAGE), details: None }
    }

    /// What is there is no result. `pod`: how the pod was when that was final.
    pub(super) fn invalid(why: &str, pod: Option<&PodLook>) -> Self {
        let note = pod.and_then(|pod| match &pod.state {
            AdapterState::Ended(exit) if exit.is_out_of_memory() => Some("adapter container was OOMKilled".to_owned()),
            AdapterState::Ended(exit) if exit.code != 0 => Some(format!("adapter container {}", exited(exit))),
            _ => None,
        });
        Self::failure(reasons::INVALID, &format!("Failed to parse adapter result: {why}"), note)
    }

    /// The adapter's container ended, and there is no result. What happens to the pod explains a container that was ended by force.
    pub(super) fn ended(exit: &Exit, pod: &PodLook) -> Self {
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

    /// The cluster ended the pod.
    pub(super) fn fate(fate: &Fate, note: Option<String>) -> Self {
        let with = |text: &str, why: &Option<String>| match why {
            Some(why) => format!("{text}: {why}"),
            None => text.to_owned(),
        };
        let (reason, message) = match fate {
            Fate::Evicted { why } => {
                (reasons::EVICTED, with("Pod was evicted before the adapter produced results", why))
            }
            Fate::Preempted { why } => {
                (reasons::EVICTED, with("Pod was preempted before the adapter produced results", why))
            }
            Fate::NodeShutdown { why } => {
                (reasons::NODE_SHUTDOWN, with("Node was shut down before the adapter produced results", why))
            }
            Fate::InitFailed { container, exit } => (
                reasons::INIT_FAILED,
                format!("Adapter was not started: init container `{container}` {}", exited(exit)),
            ),
            Fate::Deleted => (reasons::DELETED, "Pod was deleted before the adapter produced results".to_owned()),
            Fate::Failed { why } => {
                (reasons::POD_FAILED, format!("Pod failed before the adapter produced results: {why}"))
            }
        };
        Self::failure(reason, &message, note)
    }

    /// The pod has come to its end, or is gone, and nobody said why.
    pub(super) fn pod_ended(gone: bool) -> Self {
        match gone {
            true => Self::fate(&Fate::Deleted, None),
            false => Self::failure(reasons::POD_FAILED, "Pod ended before the adapter produced results", None),
        }
    }

    /// Time is up.
    pub(super) fn timeout(wait: Duration, note: Option<String>) -> Self {
        let message = format!("Adapter did not produce results within {}", go_duration(wait));
        Self::failure(reasons::TIMEOUT, &message, note)
    }

    /// The reporter has to go.
    pub(super) fn terminated(note: Option<String>) -> Self {
        let message = "Reporter was asked to stop before the adapter produced results";
        Self::failure(reasons::TERMINATED, message, note)
    }
}

/// `exited with code 1: Error`
pub(super) fn exited(exit: &Exit) -> String {
    format!("exited with code {}: {}", exit.code, exit.word())
}
