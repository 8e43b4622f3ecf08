//! Spans, and their messages of OTLP.

use std::borrow::Cow;

use jiff::Timestamp;
use plumbline_core::text::{excerpt, first_chars};

use super::model::{
    AnyValue, KeyValue, Resource, ResourceSpans, SCHEMA_URL, SCOPE, ScopeSpans, SpanData, StatusData, TraceRequest,
};
use crate::context::{SpanId, TraceId};

/// Maximum length of the name of a span, in characters.
const MAX_NAME: usize = 256;
/// Maximum length of the value of an attribute and of the message of a status, in characters.
const MAX_VALUE: usize = 1024;

/// What happened between two times.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// The ID of the span.
    pub id: SpanId,
    /// The span that this one is a part of. `None` for the first one of a trace.
    pub parent: Option<SpanId>,
    /// Additional data of tracing systems, from the context of the caller.
    pub state: String,
    /// The name. A longer one is cut, and control characters are replaced.
    pub name: String,
    /// The kind.
    pub kind: SpanKind,
    /// The start.
    pub start: Timestamp,
    /// The end, not before the start.
    pub end: Timestamp,
    /// Further facts. Long values are cut, and control characters are replaced.
    pub attributes: Vec<Attribute>,
    /// Whether it succeeded.
    pub status: SpanStatus,
}

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A part of the work of this program.
    Internal,
    /// A request that somebody sent.
    Server,
}

/// Whether what a span describes succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanStatus {
    /// Nothing is known.
    Unset,
    /// It succeeded.
    Ok,
    /// It failed, with a reason.
    Error(String),
}

/// A fact about a span.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// The name, such as `test.case.name`.
    pub key: &'static str,
    /// The value.
    pub value: AttributeValue,
}

/// The value of an [`Attribute`].
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A number.
    Integer(i64),
    /// A truth value.
    Truth(bool),
}

impl Attribute {
    /// Creates an attribute with a text.
    pub fn text(key: &'static str, value: impl Into<String>) -> Self {
        Self { key, value: AttributeValue::Text(value.into()) }
    }
}

impl Span {
    /// Returns about how many bytes the span has in a message.
    pub(super) fn size(&self) -> usize {
        let attribute = |attribute: &Attribute| match &attribute.value {
            AttributeValue::Text(text) => text.len(),
            _ => 20,
        };
        let error = if let SpanStatus::Error(message) = &self.status { message.len() } else { 0 };
        let attributes: usize = self.attributes.iter().map(|one| 64 + one.key.len() + attribute(one)).sum();
        512 + self.name.len() + self.state.len() + error + attributes
    }

    /// Cuts long texts and replaces control characters.
    pub(super) fn bounded(mut self) -> Self {
        self.name = excerpt(&self.name, MAX_NAME);
        for attribute in &mut self.attributes {
            if let AttributeValue::Text(text) = &mut attribute.value {
                *text = excerpt(text, MAX_VALUE);
            }
        }
        if let SpanStatus::Error(message) = &mut self.status {
            *message = excerpt(first_chars(message, MAX_VALUE + 1), MAX_VALUE);
        }
        self.end = self.end.max(self.start);
        self
    }
}

/// Returns the message with these spans.
pub(super) fn request<'a>(spans: &'a [Span], resource: &'a [(String, String)]) -> TraceRequest<'a> {
    let attributes = resource.iter().map(|(key, value)| KeyValue::text(key, value)).collect();
    let scope_spans = [ScopeSpans { scope: SCOPE, spans: spans.iter().map(data).collect() }];
    TraceRequest {
        resource_spans: [ResourceSpans { resource: Resource { attributes }, scope_spans, schema_url: SCHEMA_URL }],
    }
}

fn data(span: &Span) -> SpanData<'_> {
    let value = |value: &'_ AttributeValue| match value {
        AttributeValue::Text(text) => AnyValue::Text(Cow::Owned(text.clone())),
        AttributeValue::Integer(number) => AnyValue::Integer(*number),
        AttributeValue::Truth(truth) => AnyValue::Truth(*truth),
    };
    let (message, code) = match &span.status {
        SpanStatus::Unset => ("", 0),
        SpanStatus::Ok => ("", 1),
        SpanStatus::Error(message) => (message.as_str(), 2),
    };
    SpanData {
        trace_id: span.trace.to_string(),
        span_id: span.id.to_string(),
        parent_span_id: span.parent.map(|parent| parent.to_string()),
        trace_state: &span.state,
        name: &span.name,
        kind: match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
        },
        start_time_unix_nano: span.start.as_nanosecond(),
        end_time_unix_nano: span.end.as_nanosecond(),
        attributes: span
            .attributes
            .iter()
            .map(|one| KeyValue { key: one.key.into(), value: value(&one.value) })
            .collect(),
        status: StatusData { message, code },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_form_of_the_protocol() {
        let span = Span {
            trace: TraceId::derived("run"),
            id: SpanId::derived(&["a"]),
            parent: Some(SpanId::derived(&["b"])),
            state: String::new(),
            name: "a\u{1b}[31m".to_owned() + &"x".repeat(300),
            kind: SpanKind::Server,
            start: Timestamp::new(2, 5).unwrap(),
            end: Timestamp::new(1, 0).unwrap(),
            attributes: vec![
                Attribute::text("test.case.name", "t"),
                Attribute { key: "n", value: AttributeValue::Integer(7) },
            ],
            status: SpanStatus::Error("no\nmore".to_owned()),
        };
        let spans = [span.bounded()];
        let message = serde_json::to_value(request(&spans, &[])).unwrap();
        let sent = &message["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(sent["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(sent["spanId"].as_str().map(str::len), Some(16));
        assert_eq!(sent["parentSpanId"], SpanId::derived(&["b"]).to_string());
        assert_eq!(sent["kind"], 2);
        assert_eq!(
            (&sent["startTimeUnixNano"], &sent["endTimeUnixNano"]),
            (&"2000000005".into(), &"2000000005".into())
        );
        assert_eq!(sent["status"], serde_json::json!({"code": 2, "message": "no more"}));
        assert_eq!(sent["attributes"][1], serde_json::json!({"key": "n", "value": {"intValue": "7"}}));
        let name = sent["name"].as_str().unwrap();
        assert!(!name.contains('\u{1b}') && name.ends_with('…') && name.chars().count() == MAX_NAME + 1, "{name}");
    }
}
