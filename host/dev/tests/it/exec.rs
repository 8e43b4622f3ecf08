//! Tests of commands in containers.

use std::pin::pin;

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Status};
use kube::{
    Api,
    api::{AttachParams, AttachedProcess},
};
use plumbline_dev::{ExecReply, ExecRequest};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::harness::{pod, start};

async fn all(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.unwrap().read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn outcome(mut process: AttachedProcess) -> (Vec<u8>, Vec<u8>, Option<Status>) {
    let (stdout, stderr, status) = (process.stdout(), process.stderr(), process.take_status().unwrap());
    let (stdout, stderr, status) = tokio::join!(all(stdout), all(stderr), status);
    (stdout, stderr, status)
}

#[tokio::test]
async fn a_command_gives_output_and_exit_code() {
    let (double, client) = start().await;
    double.put("pods", pod("p"));
    // More than one message, and more than any buffer on the way.
    let large: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let written = large.clone();
    double.on_exec(move |request| {
        let ExecRequest { namespace, pod, container, command } = request;
        assert_eq!((namespace.as_str(), pod.as_str(), container.as_str()), ("ns", "p", "c"));
        match command.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["cat", "a b"] => ExecReply { stdout: written.clone(), ..Default::default() },
            _ => ExecReply { stderr: b"no such command".to_vec(), exit_code: 127, ..Default::default() },
        }
    });
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let process = pods.exec("p", ["cat", "a b"], &AttachParams::default()).await.unwrap();
    let (stdout, stderr, status) = outcome(process).await;
    assert!(stdout == large && stderr.is_empty());
    assert_eq!(status.unwrap().status.as_deref(), Some("Success"));

    let process = pods.exec("p", ["x"], &AttachParams::default().container("c")).await.unwrap();
    let (stdout, stderr, status) = outcome(process).await;
    assert_eq!((stdout.as_slice(), stderr.as_slice()), (&b""[..], &b"no such command"[..]));
    let status = status.unwrap();
    assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
    let cause = status.details.unwrap().causes.unwrap().remove(0);
    assert_eq!((cause.reason.as_deref(), cause.message.as_deref()), (Some("ExitCode"), Some("127")));
}

#[tokio::test]
async fn a_connection_breaks_where_it_should() {
    let (double, client) = start().await;
    double.put("pods", pod("p"));
    double.on_exec(|_| ExecReply { stdout: vec![7; 200_000], cut_after: Some(123_456), ..Default::default() });
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let mut process = pods.exec("p", ["x"], &AttachParams::default().stderr(false)).await.unwrap();
    let mut status = pin!(process.take_status().unwrap());
    let mut stdout = process.stdout().unwrap();
    let (mut piece, mut got) = (vec![0; 4096], 0);
    // The client's reader does not end when the connection breaks. A missing status shows that it
    // did.
    let status = loop {
        tokio::select! {
            biased;
            read = stdout.read(&mut piece) => got += read.unwrap(),
            status = &mut status => break status,
        }
    };
    assert_eq!(got, 123_456);
    assert!(status.is_none(), "nobody knows how the command ended");
    assert!(process.join().await.is_err());
}

#[tokio::test]
async fn exec_into_a_container_that_does_not_run_fails() {
    let (double, client) = start().await;
    double.on_exec(|_| ExecReply::default());
    let mut over = pod("over");
    over["status"]["phase"] = json!("Succeeded");
    double.put("pods", over);
    let mut waiting = pod("waiting");
    waiting["status"]["containerStatuses"] = json!([{"name": "c", "state": {"waiting": {}}}]);
    double.put("pods", waiting);
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    for name in ["gone", "over", "waiting"] {
        assert!(pods.exec(name, ["x"], &AttachParams::default()).await.is_err(), "{name}");
    }
    let codes: Vec<_> = double.requests().iter().map(|request| request.status).collect();
    assert_eq!(codes, [404, 400, 500]);
}
