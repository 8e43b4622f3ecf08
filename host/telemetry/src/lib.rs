//! Metrics and traces as data, and how they leave this process.
//!
//! ```text
//! Family ──▶ text (Prometheus, OpenMetrics) ──▶ Endpoint
//!   └──────▶ otlp::Exporter ──▶ collector ◀── otlp::Exporter ◀── Span
//! ```
//!
//! A [`Family`] is what a metric shows at one moment. Its owner makes it from its own state, so
//! nothing is counted twice for two formats. This crate does not know any metric of a run.
#![forbid(unsafe_code)]

mod context;
mod endpoint;
#[cfg(test)]
mod messages;
mod metric;
pub mod otlp;
mod text;

pub use context::{ContextError, Id, SpanId, TraceContext, TraceId};
pub use endpoint::{BoundAddress, Endpoint, EndpointError, Source};
pub use metric::{Family, Histogram, Point, Points};
pub use text::{TextFormat, write_text};
