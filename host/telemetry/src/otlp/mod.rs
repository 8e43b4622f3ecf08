//! OTLP over HTTP, in its JSON encoding: metrics and spans for an OpenTelemetry collector.
//!
//! The messages are JSON as in opentelemetry-proto 1.x: names in lower camel case, IDs in
//! hexadecimal digits, 64-bit integers as text, enumerations as numbers. Generated types with a
//! runtime for protocol buffers would take longer to build than everything else in this crate.
//! Every receiver of OTLP over HTTP also reads JSON.

mod client;
mod metrics;
mod settings;
mod trace;

use serde_json::{Value, json};

pub use client::{Batch, ExportError, Exporter, push_metrics};
pub use settings::{Settings, SettingsError};
pub use trace::{Attribute, AttributeValue, Span, SpanKind, SpanStatus};

/// The version of the semantic conventions whose attributes are used.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

/// Returns the message with `items` of one resource. `signal` is `Metrics` or `Spans`.
fn message(signal: &str, resource: &[(String, String)], items: &[Value]) -> Value {
    json!({(format!("resource{signal}")): [{
        "resource": {"attributes": attributes(resource)},
        (format!("scope{signal}")): [{
            "scope": {"name": "plumbline", "version": env!("CARGO_PKG_VERSION")},
            (signal.to_lowercase()): items,
        }],
        "schemaUrl": SCHEMA_URL,
    }]})
}

fn attributes<K: AsRef<str>>(pairs: &[(K, String)]) -> Value {
    pairs.iter().map(|(key, value)| json!({"key": key.as_ref(), "value": {"stringValue": value}})).collect()
}
