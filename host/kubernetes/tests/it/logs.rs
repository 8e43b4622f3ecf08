//! The logs of a run, as the user sees them.

use std::time::Duration;

use plumbline_kubernetes::logs::{LogEvent, LogOptions, LogSummary, LogsError, follow, show};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::query_bed::Bed;

const NAMESPACE: &str = "sonobuoy";

/// Far longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn options(plugin: Option<&str>) -> LogOptions {
    LogOptions { namespace: NAMESPACE.to_owned(), plugin: plugin.map(ToOwned::to_owned), ..LogOptions::default() }
}

fn aggregator(bed: &Bed, status: &str) {
    bed.double.put(
        "pods",
        json!({"metadata": {"namespace": NAMESPACE, "name": "sonobuoy", "labels": {"sonobuoy-component": "aggregator"},
                "annotations": {"sonobuoy.hept.io/status": json!({"status": status}).to_string()}},
            "spec": {"containers": [{"name": "kube-sonobuoy"}]}, "status": running("kube-sonobuoy", 0)}),
    );
}

fn running(container: &str, restarts: u32) -> Value {
    json!({"phase": "Running",
        "containerStatuses": [{"name": container, "restartCount": restarts, "state": {"running": {}}}]})
}

fn plugin(bed: &Bed, name: &str, status: Value) {
    bed.double.put(
        "pods",
        json!({"metadata": {"namespace": NAMESPACE, "name": name, "labels": {"sonobuoy-plugin": name}},
            "spec": {"containers": [{"name": "c"}]}, "status": status}),
    );
}

fn log(bed: &Bed, pod: &str, text: &str) {
    bed.double.append_log(NAMESPACE, pod, if pod == "sonobuoy" { "kube-sonobuoy" } else { "c" }, text);
}

/// Formats a line as `pod/container line`.
fn line(event: LogEvent) -> String {
    match event {
        LogEvent::Line { source, line } => {
            format!("{}/{} {}", source.pod, source.container, String::from_utf8(line).unwrap())
        }
        LogEvent::Notice(text) => format!("! {text}"),
    }
}

async fn next(heard: &mut UnboundedReceiver<String>) -> String {
    tokio::time::timeout(PATIENCE, heard.recv()).await.expect("no further line came").expect("it ended")
}

async fn shown(bed: &Bed, options: &LogOptions) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tell = |event: LogEvent| {
        lines.push(line(event));
        Ok(())
    };
    show(&bed.cluster, options, &mut tell).await.unwrap();
    lines
}

/// Follows the logs to the end of the run, and passes the lines to `story`, which runs meanwhile.
async fn followed(
    bed: &Bed,
    options: &LogOptions,
    story: impl AsyncFnOnce(&mut UnboundedReceiver<String>),
) -> (LogSummary, Vec<String>) {
    let (sender, mut heard) = unbounded_channel();
    let mut tell = move |event: LogEvent| {
        sender.send(line(event)).unwrap();
        Ok(())
    };
    let ended = tokio::time::timeout(PATIENCE, follow(&bed.cluster, options, &mut tell));
    let (summary, ()) = tokio::join!(ended, story(&mut heard));
    drop(tell);
    let mut rest = Vec::new();
    while let Some(line) = heard.recv().await {
        rest.push(line);
    }
    (summary.expect("it did not end with the run").unwrap(), rest)
}

#[tokio::test]
async fn all_logs_come_one_after_the_other() {
    let bed = Bed::new().await;
    aggregator(&bed, "running");
    plugin(&bed, "e2e", running("c", 0));
    plugin(
        &bed,
        "waiting",
        json!({"phase": "Pending", "containerStatuses": [
        {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}]}),
    );
    log(&bed, "e2e", "one\ntwo\n");
    log(&bed, "sonobuoy", "hello");
    assert_eq!(
        shown(&bed, &options(None)).await,
        [
            "e2e/c one",
            "e2e/c two",
            "sonobuoy/kube-sonobuoy hello",
            "! failed to read the log of container `c` of pod `waiting`: container \"c\" in pod \"waiting\" is waiting to start: ContainerCreating",
        ]
    );
    assert_eq!(shown(&bed, &options(Some("e2e"))).await, ["e2e/c one", "e2e/c two"]);
    assert_eq!(shown(&bed, &options(Some("sonobuoy"))).await, ["sonobuoy/kube-sonobuoy hello"]);
}

#[tokio::test]
async fn the_end_of_a_log_can_be_selected_also_when_it_is_followed() {
    let bed = Bed::new().await;
    aggregator(&bed, "complete");
    plugin(&bed, "e2e", running("c", 0));
    log(&bed, "e2e", "one\ntwo\nthree\n");
    log(&bed, "sonobuoy", "hello\nbye\n");
    let ends = LogOptions { tail: Some(1), ..options(None) };
    assert_eq!(shown(&bed, &ends).await, ["e2e/c three", "sonobuoy/kube-sonobuoy bye"]);
    let ends = LogOptions { tail: Some(2), ..options(Some("e2e")) };
    assert_eq!(followed(&bed, &ends, async |_| {}).await.1, ["e2e/c two", "e2e/c three"]);
}

#[tokio::test]
async fn nothing_to_show_is_an_error() {
    let bed = Bed::new().await;
    aggregator(&bed, "running");
    let mut tell = |_| Ok(());
    let error = show(&bed.cluster, &options(Some("ghost")), &mut tell).await.unwrap_err();
    assert_eq!(error.to_string(), "found no pod of plugin `ghost` in namespace `sonobuoy`");
    let nowhere = LogOptions { namespace: "nowhere".to_owned(), ..LogOptions::default() };
    assert!(matches!(follow(&bed.cluster, &nowhere, &mut tell).await, Err(LogsError::NoPods { .. })));
}

#[tokio::test]
async fn a_run_is_followed_through_restarts_and_broken_connections_to_its_end() {
    let bed = Bed::new().await;
    aggregator(&bed, "running");
    plugin(&bed, "e2e", running("c", 0));
    log(&bed, "e2e", "one");
    let (summary, _) = followed(&bed, &options(None), async |heard| {
        assert_eq!(next(heard).await, "e2e/c one");
        log(&bed, "e2e", "two");
        assert_eq!(next(heard).await, "e2e/c two");
        // The connection drops. What was written meanwhile arrives, and nothing twice.
        bed.double.drop_logs();
        log(&bed, "e2e", "three");
        assert_eq!(next(heard).await, "e2e/c three");
        // The container crashes, and its last line was not received yet.
        bed.double.set_previous_log(NAMESPACE, "e2e", "c", "last words\n");
        bed.double.set_log(NAMESPACE, "e2e", "c", "born again\n");
        plugin(&bed, "e2e", running("c", 1));
        let mut both = [next(heard).await, next(heard).await];
        both.sort();
        assert_eq!(both, ["e2e/c born again", "e2e/c last words"]);
        // This pod starts later.
        plugin(&bed, "late", json!({"phase": "Pending"}));
        log(&bed, "late", "here");
        plugin(&bed, "late", running("c", 0));
        assert_eq!(next(heard).await, "late/c here");
        log(&bed, "sonobuoy", "done");
        assert_eq!(next(heard).await, "sonobuoy/kube-sonobuoy done");
        aggregator(&bed, "complete");
    })
    .await;
    assert_eq!((summary.lines, summary.containers), (7, 3));
}

#[tokio::test]
async fn the_logs_of_a_finished_run_are_complete() {
    let bed = Bed::new().await;
    aggregator(&bed, "complete");
    plugin(&bed, "e2e", json!({"phase": "Succeeded"}));
    log(&bed, "e2e", "one");
    log(&bed, "sonobuoy", "two");
    let (_, lines) = followed(&bed, &options(Some("sonobuoy")), async |_| {}).await;
    assert_eq!(lines, ["sonobuoy/kube-sonobuoy two"]);
    let (_, mut lines) = followed(&bed, &options(None), async |_| {}).await;
    lines.sort();
    assert_eq!(lines, ["e2e/c one", "sonobuoy/kube-sonobuoy two"]);
}

#[tokio::test]
async fn the_end_of_the_aggregators_pod_is_the_end() {
    let bed = Bed::new().await;
    aggregator(&bed, "running");
    log(&bed, "sonobuoy", "one");
    followed(&bed, &options(None), async |heard| {
        assert_eq!(next(heard).await, "sonobuoy/kube-sonobuoy one");
        bed.double.remove("pods", NAMESPACE, "sonobuoy");
        assert_eq!(next(heard).await, "! the aggregator's pod is gone: the run is over");
    })
    .await;
}

#[tokio::test]
async fn a_closed_output_ends_the_logs() {
    let bed = Bed::new().await;
    aggregator(&bed, "running");
    log(&bed, "sonobuoy", "one");
    let mut tell = |_| Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    let ended = tokio::time::timeout(PATIENCE, follow(&bed.cluster, &options(None), &mut tell)).await;
    assert!(matches!(ended.unwrap(), Err(LogsError::Output(_))));
}
