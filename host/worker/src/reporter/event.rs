//! An Event on the Job with the outcome. Without the permission to create it, there is none, and
//! that is not an error.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::reporter::config::{Config, DetailsTo};
use crate::reporter::machine::Outcome;
use crate::reporter::text::clipped;

/// Maximum length of a message in characters, which is the limit of Kubernetes for events.
const MAX_MESSAGE: usize = 1024;
/// Maximum length of a reason in characters, which is the limit of Kubernetes for events.
const MAX_REASON: usize = 128;
/// The reporting component.
const COMPONENT: &str = "plumbline-reporter";

/// Builds the Event. `job` is the Job as it was read.
pub(crate) fn event(config: &Config, job: &Value, outcome: &Outcome, now: Timestamp) -> Value {
    let field = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    // Clients name events like this: unique by time. The Job's name is cut to leave space for it.
    let job_name: String = config.job.chars().take(220).collect();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": format!("{}.{:016x}", job_name.trim_end_matches(['.', '-']), now.as_nanosecond()),
            "namespace": config.namespace,
        },
        "involvedObject": {
            "apiVersion": "batch/v1", "kind": "Job", "name": config.job, "namespace": config.namespace,
            "uid": field("/metadata/uid"), "resourceVersion": field("/metadata/resourceVersion"),
        },
        "type": if outcome.success { "Normal" } else { "Warning" },
        "reason": clipped(&outcome.reason, MAX_REASON),
        "message": message(config, outcome),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": clipped(&config.pod, MAX_REASON),
        "action": "Report",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    })
}

fn message(config: &Config, outcome: &Outcome) -> String {
    let details = outcome.details.as_deref().filter(|_| config.details_to == DetailsTo::Event);
    let Some(details) = details else { return clipped(&outcome.message, MAX_MESSAGE) };
    let whole = format!("{}; details: {details}", outcome.message);
    if whole.chars().count() <= MAX_MESSAGE {
        return whole;
    }
    // An incomplete JSON document would be useless.
    let note = format!("; details: {} bytes, too many for an event", details.len());
    format!("{}{note}", clipped(&outcome.message, MAX_MESSAGE - note.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn config(details_to: &str) -> Config {
        let env = [("JOB_NAME", "j"), ("JOB_NAMESPACE", "n"), ("POD_NAME", "p"), ("DETAILS_TO", details_to)];
        let env: BTreeMap<String, String> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Config::from_env(&env).unwrap()
    }

    fn outcome(details: Option<&str>) -> Outcome {
        let details = details.map(Box::from);
        Outcome { success: false, reason: "R".into(), message: "m".repeat(1024), details }
    }

    #[test]
    fn an_event_is_about_the_job() {
        let job = json!({"metadata": {"uid": "u", "resourceVersion": "7"}});
        let event = event(&config(""), &job, &outcome(None), "2026-01-02T03:04:05Z".parse().unwrap());
        assert_eq!(event["involvedObject"]["uid"], "u");
        assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("R")));
        assert_eq!(event["lastTimestamp"], "2026-01-02T03:04:05Z");
        assert!(event["metadata"]["name"].as_str().unwrap().starts_with("j."));
    }

    #[test]
    fn details_go_along_if_they_are_wanted_and_fit() {
        let short = Outcome { message: "m".into(), ..outcome(Some("[1]")) };
        assert_eq!(message(&config("event"), &short), "m; details: [1]");
        assert_eq!(message(&config("annotation"), &short), "m");
        let long = message(&config("event"), &outcome(Some("[1]")));
        assert!(long.chars().count() <= 1024 && long.ends_with("m; details: 3 bytes, too many for an event"), "{long}");
    }
}
