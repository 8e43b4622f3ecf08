//! When results are noticed, and which parts of them are used.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plumbline_worker::reporter::Outcome;
use serde_json::json;

use crate::reporter::bed::Bed;

const GOOD: &str =
    r#"{"status":"success","reason":"AllChecksPassed","message":"All validation checks passed successfully"}"#;

#[tokio::test]
async fn a_result_that_is_there_is_reported_at_once_with_the_promised_permissions() {
    let bed = Bed::new().await;
    bed.promised_permissions();
    bed.write(GOOD);
    let reported = bed.report().await;
    assert!(!reported.unchanged);
    bed.expect("True", "AllChecksPassed", "All validation checks passed successfully");
    let patches: Vec<_> = bed.writes().into_iter().filter(|one| one.path.contains("/jobs/")).collect();
    assert_eq!(patches.len(), 1);
    assert_eq!(
        (patches[0].method.as_str(), patches[0].path.as_str()),
        ("PATCH", "/apis/batch/v1/namespaces/default/jobs/j/status")
    );
    assert_eq!(bed.double.get("jobs", "default", "j").unwrap()["status"]["active"], 1);
}

#[tokio::test]
async fn a_result_that_is_older_than_the_pod_is_not_its_result() {
    let hour = SignedDuration::from_hours(1);
    let starting = async |at: Timestamp| {
        let bed = Bed::new().await;
        bed.double.update("pods", "default", "j-1", |pod| pod["status"]["startTime"] = json!(at.to_string()));
        bed.write(GOOD);
        bed
    };
    let bed = starting(Timestamp::now() - hour).await;
    bed.report().await;
    assert_eq!(bed.condition().0, "True");

    // The volume has the result of an earlier pod.
    let bed = starting(Timestamp::now() + hour).await;
    bed.run_with(async {
        bed.watched().await;
        bed.double.update("pods", "default", "j-1", |pod| {
            pod["status"]["containerStatuses"][0]["state"] =
                json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        });
    })
    .await;
    let message = "Adapter container exited with code 0 and did not produce a valid result file: Completed (a result file that is older than the pod was ignored)";
    bed.expect("False", "AdapterMissingResults", message);
}

#[tokio::test]
async fn a_failure_is_reported_as_what_it_is() {
    let bed = Bed::with(&[("CONDITION_TYPE", "Available")]).await;
    bed.run_with(async {
        bed.looked().await;
        bed.write(r#"{"status":"failure","reason":"MissingPermissions","message":"Service account lacks required IAM permissions","details":{"a":1}}"#);
    })
    .await;
    bed.expect("False", "MissingPermissions", "Service account lacks required IAM permissions");
}

#[tokio::test]
async fn half_a_file_is_read_again() {
    let bed = Bed::new().await;
    let (first, rest) = GOOD.split_at(30);
    bed.run_with(async {
        fs::write(&bed.config.results_path, first).unwrap();
        bed.looked().await;
        let mut file = fs::File::options().append(true).open(&bed.config.results_path).unwrap();
        std::io::Write::write_all(&mut file, rest.as_bytes()).unwrap();
    })
    .await;
    bed.expect("True", "AllChecksPassed", "All validation checks passed successfully");
}

#[tokio::test]
async fn a_file_that_stays_invalid_is_invalid() {
    let bed = Bed::new().await;
    bed.write(r#"{"status":"passed"}"#);
    bed.report().await;
    let promised = "Failed to parse adapter result: status: must be either 'success' or 'failure'";
    bed.expect("False", "InvalidResultFormat", promised);
}

#[tokio::test]
async fn swapped_links_of_a_volume_are_followed() {
    let bed = Bed::new().await;
    let dir = bed.results();
    for (version, text) in [("..1", "{"), ("..2", GOOD)] {
        fs::create_dir(dir.join(version)).unwrap();
        fs::write(dir.join(version).join("adapter-result.json"), text).unwrap();
    }
    symlink("..1", dir.join("..data")).unwrap();
    symlink("..data/adapter-result.json", &bed.config.results_path).unwrap();
    bed.run_with(async {
        bed.looked().await;
        symlink("..2", dir.join("..tmp")).unwrap();
        fs::rename(dir.join("..tmp"), dir.join("..data")).unwrap();
    })
    .await;
    assert_eq!(bed.condition().0, "True");
}

#[tokio::test]
async fn a_link_out_of_the_directory_is_not_a_result() {
    let bed = Bed::new().await;
    let outside = bed.results().join("../outside.json");
    fs::write(&outside, GOOD).unwrap();
    symlink("../outside.json", &bed.config.results_path).unwrap();
    bed.report().await;
    let (status, reason, message) = bed.condition();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "InvalidResultFormat"));
    assert!(message.contains("failed to read"), "{message}");
}

#[tokio::test]
async fn a_directory_that_comes_late_is_looked_into() {
    let bed = Bed::new().await;
    fs::remove_dir(bed.results()).unwrap();
    bed.run_with(async {
        bed.looked().await;
        fs::create_dir(bed.results()).unwrap();
        bed.write(GOOD);
    })
    .await;
    assert_eq!(bed.condition().0, "True");
}

#[tokio::test]
async fn another_format_goes_through_its_processor() {
    let mut bed = Bed::with(&[("RESULT_FORMAT", "junit")]).await;
    bed.processor = Some(Arc::new(|name, bytes| {
        assert_eq!(name.to_str(), Some("adapter-result.json"));
        match bytes {
            b"<whole/>" => Ok(Outcome::new(false, "ChecksFailed", "2 passed, 1 failed", None)),
            other => Err(format!("{} bytes of rubbish", other.len())),
        }
    }));
    bed.config.settle = std::time::Duration::from_millis(300);
    bed.write("<whole/>");
    bed.report().await;
    bed.expect("False", "ChecksFailed", "2 passed, 1 failed");
    bed.write("<rubbish");
    bed.ends(0, "Completed");
    bed.report().await;
    bed.expect("False", "InvalidResultFormat", "Failed to parse adapter result: 8 bytes of rubbish");
}

#[tokio::test]
async fn other_conditions_stay_and_nothing_is_written_twice() {
    let bed = Bed::new().await;
    let (first, last) = (json!({"type": "Suspended", "status": "False"}), json!({"type": "Zeta", "status": "Unknown"}));
    let old = json!({"type": "Available", "status": "True", "reason": "Old", "message": "old",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": "2026-01-01T00:00:00Z"});
    bed.double.update("jobs", "default", "j", |job| job["status"]["conditions"] = json!([first, old, last]));
    bed.write(GOOD);
    assert!(!bed.report().await.unchanged);
    let now = bed.conditions();
    assert_eq!((&now[0], &now[2], now.len()), (&first, &last, 3));
    assert_eq!(
        (&now[1]["reason"], &now[1]["lastTransitionTime"]),
        (&json!("AllChecksPassed"), &json!("2026-01-01T00:00:00Z"))
    );
    assert_ne!(now[1]["lastProbeTime"], "2026-01-01T00:00:00Z");
    let before = bed.writes().len();
    assert!(bed.report().await.unchanged);
    assert_eq!((bed.conditions(), bed.writes().len()), (now, before));
}
