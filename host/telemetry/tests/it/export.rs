//! Tests of the export over HTTP.

use jiff::Timestamp;
use plumbline_telemetry::otlp::{
    Attribute, Batch, ExportError, Exporter, Settings, Span, SpanKind, SpanStatus, push_metrics,
};
use plumbline_telemetry::{Family, Point, Source, SpanId, TraceId};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::receiver::Receiver;

fn exporter(receiver: &Receiver, more: &[(&str, &str)]) -> Exporter {
    let find = |name: &str| more.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let settings = Settings::from_variables(Some(&receiver.url()), find).unwrap().unwrap();
    Exporter::new(settings, vec![("service.name".to_owned(), "plumbline".to_owned())]).unwrap()
}

fn span(number: u32) -> Span {
    Span {
        trace: TraceId::derived(&["run"]),
        id: SpanId::derived(&[&number.to_string()]),
        parent: None,
        state: String::new(),
        name: format!("test {number}"),
        kind: SpanKind::Internal,
        start: Timestamp::UNIX_EPOCH,
        end: Timestamp::UNIX_EPOCH,
        attributes: vec![Attribute::text("test.case.name", "x".repeat(10_000))],
        status: SpanStatus::Ok,
    }
}

fn families() -> Vec<Family> {
    vec![Family::gauge("n", "A number.", [Point::new([], 1.0)])]
}

#[tokio::test]
async fn messages_have_the_headers_and_the_resource_of_the_settings() {
    let receiver = Receiver::start(&[]).await;
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=infra,service.name=audits"),
    ];
    let exporter = exporter(&receiver, &variables);
    exporter.send_metrics(&families()).await.unwrap();
    let sent = receiver.messages("/v1/metrics").remove(0);
    assert_eq!(sent.headers["content-type"], "application/json");
    assert_eq!(sent.headers["authorization"], "Bearer secret");
    let attributes = &sent.json["resourceMetrics"][0]["resource"]["attributes"];
    let pair = |key: &str, value: &str| serde_json::json!({"key": key, "value": {"stringValue": value}});
    assert_eq!(*attributes, serde_json::json!([pair("team", "infra"), pair("service.name", "audits")]));
}

#[tokio::test]
async fn an_overloaded_collector_is_asked_again_and_other_errors_are_final() {
    let receiver = Receiver::start(&[(503, ""), (429, "slow"), (200, "{}"), (400, "bad\u{1b}[31m data")]).await;
    let exporter = exporter(&receiver, &[]);
    exporter.send_metrics(&families()).await.unwrap();
    assert_eq!(receiver.messages("/v1/metrics").len(), 3);
    let error = exporter.send_metrics(&families()).await.unwrap_err().to_string();
    assert!(error.contains("status 400 Bad Request: bad\u{fffd}[31m data"), "{error}");
    assert_eq!(receiver.messages("/v1/metrics").len(), 4);
}

#[tokio::test]
async fn an_error_does_not_have_the_query_of_the_url() {
    let receiver = Receiver::start(&[(400, "bad")]).await;
    let url = format!("{}/v1/metrics?api-token=secret", receiver.url());
    let find = |name: &str| (name == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").then(|| url.clone());
    let settings = Settings::from_variables(None, find).unwrap().unwrap();
    let exporter = Exporter::new(settings, Vec::new()).unwrap();
    let error = exporter.send_metrics(&families()).await.unwrap_err().to_string();
    assert!(error.contains("/v1/metrics`: status 400") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn a_partial_rejection_is_an_error() {
    let answer = r#"{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}"#;
    let receiver = Receiver::start(&[(200, answer), (200, "not JSON")]).await;
    let exporter = exporter(&receiver, &[]);
    let send = async || {
        let mut batch = Batch::default();
        batch.push(span(1));
        exporter.send_spans(batch).await
    };
    let error = send().await.unwrap_err();
    assert!(matches!(&error, ExportError::Rejected { count: 2, why, .. } if why == "too old"), "{error}");
    send().await.unwrap();
}

#[tokio::test]
async fn batches_are_limited_in_number_and_size() {
    let receiver = Receiver::start(&[]).await;
    let exporter = exporter(&receiver, &[]);
    let mut batch = Batch::default();
    for number in 0..2_000 {
        if batch.push(span(number)) {
            exporter.send_spans(std::mem::take(&mut batch)).await.unwrap();
        }
    }
    exporter.send_spans(batch).await.unwrap();
    let messages = receiver.messages("/v1/traces");
    assert!(messages.iter().all(|message| message.bytes < 2 << 20), "{} messages", messages.len());
    assert_eq!(receiver.spans().len(), 2_000);
}

#[tokio::test]
async fn metrics_are_exported_at_the_end_too() {
    let receiver = Receiver::start(&[]).await;
    let exporter = Arc::new(exporter(&receiver, &[]));
    let source: Source = Arc::new(families);
    let stop = CancellationToken::new();
    let push = tokio::spawn(push_metrics(Arc::clone(&exporter), source, stop.clone()));
    stop.cancel();
    push.await.unwrap();
    assert_eq!(receiver.messages("/v1/metrics").len(), 1);
}
