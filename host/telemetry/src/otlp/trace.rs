//! Spans, and their messages of OTLP.

use jiff::Timestamp;
use plumbline_core::text::{excerpt, first_chars};
use serde_json::{Value, json};

use super::message;
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
pub(super) fn request(spans: &[Span], resource: &[(String, String)]) -> Value {
    message("Spans", resource, &spans.iter().map(data).collect::<Vec<_>>())
}

fn data(span: &Span) -> Value {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => json!({"stringValue": text}),
        AttributeValue::Integer(number) => json!({"intValue": number.to_string()}),
        AttributeValue::Truth(truth) => json!({"boolValue": truth}),
    };
    let attributes = span.attributes.iter().map(|one| json!({"key": one.key, "value": value(&one.value)}));
    let mut data = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
        },
        "startTimeUnixNano": span.start.as_nanosecond().to_string(),
        "endTimeUnixNano": span.end.as_nanosecond().to_string(),
        "attributes": attributes.collect::<Vec<_>>(),
        "status": match &span.status {
            SpanStatus::Unset => json!({"code": 0}),
            SpanStatus::Ok => json!({"code": 1}),
            SpanStatus::Error(message) => json!({"code": 2, "message": message}),
        },
    });
    if let Some(fields) = data.as_object_mut() {
        fields.extend(span.parent.map(|parent| ("parentSpanId".to_owned(), Value::from(parent.to_string()))));
        let state = Some(span.state.as_str()).filter(|state| !state.is_empty());
        fields.extend(state.map(|state| ("traceState".to_owned(), Value::from(state))));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_form_of_the_protocol() {
        let span = Span {
            trace: TraceId::derived(&["run"]),
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
        let message = request(&spans, &[]);
        let sent = &message["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(sent["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(sent["spanId"].as_str().map(str::len), Some(16));
        assert_eq!(sent["parentSpanId"], SpanId::derived(&["b"]).to_string());
        assert_eq!(sent["kind"], 2);
        assert_eq!(
            (&sent["startTimeUnixNano"], &sent["endTimeUnixNano"]),
            (&"2000000005".into(), &"2000000005".into())
        );
        assert_eq!(sent["status"], json!({"code": 2, "message": "no more"}));
        assert_eq!(sent["attributes"][1], json!({"key": "n", "value": {"intValue": "7"}}));
        let name = sent["name"].as_str().unwrap();
        assert!(!name.contains('\u{1b}') && name.ends_with('…') && name.chars().count() == MAX_NAME + 1, "{name}");
    }
}
