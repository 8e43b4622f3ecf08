//! Other failures of a retrieval.

use std::fs;

use plumbline_dev::{ApiDouble, ExecReply, Fault, FaultKind};
use plumbline_kubernetes::retrieve::{RetrieveError, Stage};
use serde_json::{Value, json};

use super::bed::{ARCHIVE, Bed, NAMESPACE, complete};

fn refuse(double: &ApiDouble, code: u16, message: &str, times: u32) {
    let kind = FaultKind::Status { code, message: message.into(), retry_after: None };
    double.fault(Fault { method: None, path_contains: "/exec".into(), kind, times });
}

async fn fails(bed: &Bed) -> (String, String) {
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert_eq!(error.stage(), Stage::SetUp, "{error}");
    (error.to_string(), error.hint().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_that_is_missing_is_named() {
    let bed = Bed::new(&complete(b"x")).await;
    refuse(&bed.double, 403, "pods \"sonobuoy\" is forbidden", 10);
    let (message, hint) = fails(&bed).await;
    assert!(message.contains("forbidden") && hint.contains("`pods/exec`"), "{message} {hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_busy_for_a_moment_is_retried() {
    let bed = Bed::new(&complete(b"x")).await;
    fs::write(bed.pod().join(ARCHIVE), b"x").unwrap();
    refuse(&bed.double, 500, "error dialing backend: EOF", 2);
    let kind = FaultKind::Reset;
    bed.double.fault(Fault { method: None, path_contains: "/exec".into(), kind, times: 1 });
    bed.retrieve(&bed.options()).await.0.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_ended_and_one_that_waits_are_distinguished() {
    let bed = Bed::new(&complete(b"x")).await;
    let set = |status: Value| assert!(bed.double.update("pods", NAMESPACE, "sonobuoy", |pod| pod["status"] = status));
    set(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
    let (message, _) = fails(&bed).await;
    assert!(message.contains("phase is Failed: low on memory"), "{message}");
    set(json!({"phase": "Pending", "containerStatuses": [
        {"name": "kube-sonobuoy", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
         "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}
    ]}));
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert_eq!(error.stage(), Stage::NotReady);
    assert!(error.to_string().contains("image `x` cannot be pulled (ImagePullBackOff): not found"), "{error}");
    set(json!({"phase": "Running", "containerStatuses": [
        {"name": "kube-sonobuoy", "image": "x", "imageID": "", "ready": false, "restartCount": 3,
         "state": {"terminated": {"exitCode": 1}}}
    ]}));
    let (message, hint) = fails(&bed).await;
    assert!(message.contains("container not found") && hint.contains("does not run"), "{message} {hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_not_there_is_looked_for_where_it_should_be() {
    let bed = Bed::new(&complete(b"x")).await;
    bed.double.remove("pods", NAMESPACE, "sonobuoy");
    let (message, _) = fails(&bed).await;
    assert!(message.contains("the pod does not exist"), "{message}");
    bed.double.remove("namespaces", "", NAMESPACE);
    let (message, hint) = fails(&bed).await;
    assert!(message.contains("no such namespace") && hint.contains("--namespace"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_or_lies_is_reported() {
    let bed = Bed::new(&complete(b"x")).await;
    bed.on_exec(|_, _| ExecReply {
        stderr: b"error: failed to read `/y`\n".to_vec(),
        exit_code: 4,
        ..ExecReply::default()
    });
    let (message, hint) = fails(&bed).await;
    assert!(
        message.ends_with("exited with code 4: error: failed to read `/y`") && hint.contains("--retrieve-path"),
        "{message}"
    );
    for list in ["{", r#"{"archives":[{"name":"../../x.tar.gz","size":1,"sha256":"00"}]}"#] {
        bed.on_exec(move |_, _| ExecReply { stdout: list.into(), ..ExecReply::default() });
        let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
        assert!(matches!(error, RetrieveError::Stream(_)), "{error}");
    }
    assert!(bed.downloaded_files().is_empty());
}
