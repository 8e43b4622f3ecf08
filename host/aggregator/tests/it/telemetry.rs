//! Tests of the metrics and the trace of whole runs.

use std::sync::Arc;

use plumbline_aggregator::TelemetrySettings;
use plumbline_core::ledger::KeyState;
use plumbline_telemetry::otlp::Settings;
use plumbline_telemetry::{TextFormat, TraceContext, write_text};
use serde_json::Value;

use crate::harness::{Raw, RunFixture, TestDispatcher, file, key, put_head, send, source, until};
use crate::receiver::Receiver;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const REPORT: &str = r#"<testsuite name="s"><testcase name="good" time="1.5"/><testcase name="bad" time="2"><failure message="no route"/></testcase><testcase name="left out"><skipped/></testcase></testsuite>"#;

fn attribute<'a>(span: &'a Value, key: &str) -> &'a str {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.and_then(|attribute| attribute["value"]["stringValue"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn a_trace_has_the_run_its_plugins_nodes_and_tests_below_the_span_of_the_caller() {
    let receiver = Receiver::start(&[]).await;
    let mut fixture = RunFixture::new();
    let parent: TraceContext = PARENT.parse().unwrap();
    fixture.settings.telemetry = TelemetrySettings {
        parent: Some(parent.with_state("vendor=1")),
        export: Settings::from_variables(Some(&receiver.url()), |_| None).unwrap(),
    };
    let sources =
        vec![source("job", "Job", "  result-format: junit"), source("nodes", "DaemonSet", "  result-format: junit")];
    let mut live = fixture.live(sources, &["n1", "n2"]).await;
    let launches = live.launches(2).await;
    let handed = |index: usize| {
        let env = launches[index].definition.spec.env();
        let find = |name: &str| env.iter().find(|variable| variable.name == name).unwrap();
        (format!("{:?}", find("TRACEPARENT").value), format!("{:?}", find("TRACESTATE").value))
    };
    send(&launches[0].access, "job/global", &file("junit.xml", REPORT)).await.unwrap();
    for node in ["n1", "n2"] {
        let report = if node == "n1" { REPORT } else { r#"<testsuite name="s"><testcase name="good"/></testsuite>"# };
        send(&launches[1].access, &format!("nodes/{node}"), &file("junit.xml", report)).await.unwrap();
    }
    live.finished().await;

    let spans = receiver.spans();
    let one = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no span `{name}`"));
    let run = one("RUN plumbline");
    assert_eq!((&run["traceId"], &run["parentSpanId"]), (&Value::from(&PARENT[3..35]), &Value::from(&PARENT[36..52])));
    assert_eq!(attribute(run, "cicd.pipeline.result"), "failure");
    assert_eq!(run["status"]["code"], 2);
    let (job, nodes) = (one("job"), one("nodes"));
    assert_eq!((&job["parentSpanId"], &nodes["parentSpanId"]), (&run["spanId"], &run["spanId"]));
    let context = format!("00-{}-{}-01", &PARENT[3..35], job["spanId"].as_str().unwrap());
    assert!(handed(0).0.contains(&context), "the plugin got the ID of its span: {:?}", handed(0));
    assert!(handed(1).1.contains("vendor=1"));
    let node = one("nodes n1");
    assert_eq!(node["parentSpanId"], nodes["spanId"]);
    assert_eq!(attribute(node, "k8s.node.name"), "n1");
    assert_eq!(attribute(one("nodes n2"), "cicd.pipeline.task.run.result"), "success");
    let bad: Vec<&Value> = spans.iter().filter(|span| span["name"] == "bad").collect();
    assert_eq!(bad.len(), 2);
    assert!(bad.iter().any(|span| span["parentSpanId"] == job["spanId"]));
    let of_node = bad.iter().find(|span| span["parentSpanId"] == node["spanId"]).unwrap();
    assert_eq!(of_node["status"]["message"], "no route");
    assert_eq!(attribute(of_node, "test.case.result.status"), "fail");
    let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<i128>().unwrap();
    assert_eq!(nanos(of_node, "endTimeUnixNano") - nanos(of_node, "startTimeUnixNano"), 2_000_000_000);
    assert_eq!(spans.iter().filter(|span| span["name"] == "good").count(), 3);
    assert!(spans.iter().all(|span| span["name"] != "left out"), "it did not run");
    assert_eq!(spans.len(), 1 + 2 + 2 + 5);
}

#[tokio::test]
async fn an_unsampled_trace_is_propagated_and_not_exported() {
    let receiver = Receiver::start(&[]).await;
    let mut fixture = RunFixture::new();
    let parent = PARENT.replace("-01", "-00");
    fixture.settings.telemetry = TelemetrySettings {
        parent: Some(parent.parse().unwrap()),
        export: Settings::from_variables(Some(&receiver.url()), |_| None).unwrap(),
    };
    let mut live = fixture.live(vec![source("job", "Job", "  result-format: junit")], &[]).await;
    let launch = live.launch().await;
    assert!(format!("{:?}", launch.definition.spec.env()).contains(&parent));
    send(&launch.access, "job/global", &file("junit.xml", REPORT)).await.unwrap();
    live.finished().await;
    assert!(receiver.messages("/v1/traces").is_empty());
}

#[tokio::test]
async fn a_collector_that_rejects_everything_changes_nothing() {
    let rejections = [(400, "no"); 10];
    let receiver = Receiver::start(&rejections).await;
    let mut fixture = RunFixture::new();
    fixture.settings.telemetry.export = Settings::from_variables(Some(&receiver.url()), |_| None).unwrap();
    let live = fixture.live(vec![source("job", "Job", "  result-format: junit")], &[]).await;
    let finished = live.finished_with("job/global", &file("junit.xml", REPORT)).await;
    assert!(finished.archive.is_file());
    assert_eq!(receiver.messages("/v1/traces").len(), 1, "after a rejection, nothing else is sent");
}

#[tokio::test]
async fn metrics_show_what_the_ledger_knows_and_what_was_received() {
    let fixture = RunFixture::new();
    let sources = vec![source("job", "Job", "  result-format: junit")];
    let (dispatcher, mut launched) = TestDispatcher::new(&[]);
    let (run, _) = fixture.begin(sources, dispatcher).await.unwrap();
    let metrics = Arc::new(run.metrics());
    let text = || write_text(&metrics(), TextFormat::Prometheus);
    assert!(text().contains("plumbline_plugins{state=\"waiting\"} 1\n"), "{}", text());
    let task = tokio::spawn(Box::pin(run.execute(tokio_util::sync::CancellationToken::new())));
    let (launch, _reports) = launched.next().await;
    assert!(text().contains("plumbline_results{plugin=\"job\",state=\"waiting\"} 1\n"), "{}", text());
    send(&launch.access, "job/global", &file("junit.xml", REPORT)).await.unwrap();
    task.await.unwrap().unwrap();
    let text = text();
    for line in [
        "plumbline_run_phase{phase=\"complete\"} 1",
        "plumbline_run_verdict{verdict=\"failed\"} 1",
        "plumbline_run_verdict{verdict=\"passed\"} 0",
        "plumbline_plugins{state=\"complete\"} 1",
        "plumbline_results_expected{plugin=\"job\"} 1",
        "plumbline_results{plugin=\"job\",state=\"received\"} 1",
        "plumbline_tests{plugin=\"job\",status=\"failed\"} 1",
        "plumbline_tests{plugin=\"job\",status=\"passed\"} 1",
        "plumbline_uploads_total{plugin=\"job\",outcome=\"stored\"} 1",
        "plumbline_upload_duration_seconds_count{plugin=\"job\"} 1",
        "plumbline_result_duration_seconds_count{plugin=\"job\"} 1",
        "plumbline_plugin_duration_seconds_count{plugin=\"job\"} 1",
        "plumbline_postprocessing_duration_seconds_count{plugin=\"job\"} 1",
        "plumbline_module_calls_total{plugin=\"job\"} 1",
        "plumbline_http_requests_total{route=\"results\",code=\"200\"} 1",
        "plumbline_journal_stuck 0",
    ] {
        assert!(text.contains(&format!("{line}\n")), "no line `{line}` in:\n{text}");
    }
    assert!(text.contains(&format!("plumbline_stored_bytes_total{{plugin=\"job\"}} {}\n", REPORT.len())), "{text}");
    let peak = text.lines().find(|line| line.starts_with("plumbline_module_memory_peak_bytes{")).unwrap();
    assert!(peak.rsplit(' ').next().unwrap().parse::<f64>().unwrap() > 65_536.0, "{peak}");
}

/// The connection of the first upload ends before its body does.
#[tokio::test]
async fn an_upload_after_a_failed_one_is_a_retry() {
    let fixture = RunFixture::new();
    let (dispatcher, mut launched) = TestDispatcher::new(&[]);
    let (run, _) = fixture.begin(vec![source("job", "Job", "  result-format: junit")], dispatcher).await.unwrap();
    let (state, metrics) = (run.state(), Arc::new(run.metrics()));
    let task = tokio::spawn(Box::pin(run.execute(tokio_util::sync::CancellationToken::new())));
    let (launch, _reports) = launched.next().await;
    let mut raw = Raw::connect(&launch.access).await;
    raw.send(put_head("global/job", &["Content-Length: 100"])).await.unwrap();
    raw.send("<testsuite").await.unwrap();
    until(&state, |ledger| ledger.uploads().count() == 1).await;
    drop(raw);
    until(&state, |ledger| matches!(ledger.state(&key("job/global")), Some(KeyState::Broken { .. }))).await;
    send(&launch.access, "job/global", &file("junit.xml", REPORT)).await.unwrap();
    task.await.unwrap().unwrap();
    let text = write_text(&metrics(), TextFormat::Prometheus);
    for line in [
        "plumbline_uploads_total{plugin=\"job\",outcome=\"failed\"} 1",
        "plumbline_uploads_total{plugin=\"job\",outcome=\"stored\"} 1",
        "plumbline_upload_retries_total{plugin=\"job\"} 1",
    ] {
        assert!(text.contains(&format!("{line}\n")), "no line `{line}` in:\n{text}");
    }
}

/// The port for metrics has no authentication.
#[tokio::test]
async fn metrics_have_no_names_of_tests_or_nodes() {
    let fixture = RunFixture::new();
    let (dispatcher, mut launched) = TestDispatcher::new(&["secret-node-1", "secret-node-2"]);
    let sources = vec![source("nodes", "DaemonSet", "  result-format: manual")];
    let (run, _) = fixture.begin(sources, dispatcher).await.unwrap();
    let metrics = Arc::new(run.metrics());
    let task = tokio::spawn(Box::pin(run.execute(tokio_util::sync::CancellationToken::new())));
    let (launch, _reports) = launched.next().await;
    for node in ["secret-node-1", "secret-node-2"] {
        let results = "items: [{name: secret-test, status: failed}, {name: other, status: secret-status}]";
        send(&launch.access, &format!("nodes/{node}"), &file("manual.yaml", results)).await.unwrap();
    }
    task.await.unwrap().unwrap();
    for format in [TextFormat::Prometheus, TextFormat::OpenMetrics] {
        let text = write_text(&metrics(), format);
        assert!(text.contains("plumbline_results{plugin=\"nodes\",state=\"received\"} 2"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}
