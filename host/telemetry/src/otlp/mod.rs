//! OTLP over HTTP, in its JSON encoding: metrics and spans for an OpenTelemetry collector.
//!
//! The types of the protocol are written here, as far as this program uses them. Generated types
//! with a runtime for protocol buffers would take longer to build than everything else in this
//! crate, and every receiver of OTLP over HTTP also reads JSON.

mod client;
mod metrics;
mod model;
mod push;
mod settings;
mod trace;

pub use client::{Batch, ExportError, Exporter};
pub use push::push_metrics;
pub use settings::{Settings, SettingsError};
pub use trace::{Attribute, AttributeValue, Span, SpanKind, SpanStatus};
