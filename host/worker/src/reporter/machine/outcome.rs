//! The outcome, with the texts of the condition.

use std::time::Duration;

use super::reasons;
use crate::reporter::duration::go_duration;
use crate::reporter::pod::{AdapterState, Disruption, Exit, PodLook};
use crate::reporter::result::AdapterResult;
use crate::reporter::text::clipped;

/// Maximum length of a message in characters, as in a result.
const MAX_MESSAGE: usize = 1024;

/// The content of the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the status is `True`, or else `False`.
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

    /// Creates a failure with the reporter's own text. Further information follows in parentheses.
    fn failure(reason: &str, message: &str, note: Option<String>) -> Self {
        let message = match note {
            Some(note) => format!("{message} ({note})"),
            None => message.to_owned(),
        };
        Self { success: false, reason: reason.to_owned(), message: clipped(&message, MAX_MESSAGE), details: None }
    }

    /// Returns the outcome for an invalid file. `pod` is the state of the pod, if that was final.
    pub(super) fn invalid(why: &str, pod: Option<&PodLook>) -> Self {
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

    /// Returns the outcome for a pod that the cluster terminated.
    pub(super) fn fate(fate: &Disruption, note: Option<String>) -> Self {
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
    pub(super) fn pod_ended(gone: bool) -> Self {
        match gone {
            true => Self::fate(&Disruption::Deleted, None),
            false => Self::failure(reasons::POD_FAILED, "Pod ended before the adapter produced results", None),
        }
    }

    /// Returns the outcome for an exceeded time limit.
    pub(super) fn timeout(wait: Duration, note: Option<String>) -> Self {
        let message = format!("Adapter did not produce results within {}", go_duration(wait));
        Self::failure(reasons::TIMEOUT, &message, note)
    }

    /// Returns the outcome for a reporter that was asked to stop.
    pub(super) fn terminated(note: Option<String>) -> Self {
        let message = "Reporter was asked to stop before the adapter produced results";
        Self::failure(reasons::TERMINATED, message, note)
    }
}

/// Formats an exit, such as `exited with code 1: Error`.
pub(super) fn exited(exit: &Exit) -> String {
    format!("exited with code {}: {}", exit.code, exit.word())
}
