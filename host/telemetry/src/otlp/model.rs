//! The messages of OTLP in JSON (opentelemetry-proto 1.x): names in lower camel case, IDs in
//! hexadecimal digits, 64-bit integers as text, enumerations as numbers.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// The version of the semantic conventions whose attributes are used.
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

/// The temporality of sums and histograms: since the start of the process.
pub(super) const CUMULATIVE: u8 = 2;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyValue<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) value: AnyValue<'a>,
}

#[derive(Debug, Serialize)]
pub(super) enum AnyValue<'a> {
    #[serde(rename = "stringValue")]
    Text(Cow<'a, str>),
    #[serde(rename = "boolValue")]
    Truth(bool),
    #[serde(rename = "intValue", serialize_with = "as_text")]
    Integer(i64),
}

impl<'a> KeyValue<'a> {
    pub(super) fn text(key: &'a str, value: &'a str) -> Self {
        Self { key: key.into(), value: AnyValue::Text(value.into()) }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Resource<'a> {
    pub(super) attributes: Vec<KeyValue<'a>>,
}

/// The library that made the telemetry.
#[derive(Debug, Serialize)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

pub(super) const SCOPE: Scope = Scope { name: "plumbline", version: env!("CARGO_PKG_VERSION") };

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetricsRequest<'a> {
    pub(super) resource_metrics: [ResourceMetrics<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceMetrics<'a> {
    pub(super) resource: Resource<'a>,
    pub(super) scope_metrics: [ScopeMetrics<'a>; 1],
    pub(super) schema_url: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ScopeMetrics<'a> {
    pub(super) scope: Scope,
    pub(super) metrics: Vec<Metric<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Metric<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) unit: &'a str,
    #[serde(flatten)]
    pub(super) data: MetricData<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum MetricData<'a> {
    Gauge(Gauge<'a>),
    Sum(Sum<'a>),
    Histogram(HistogramData<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gauge<'a> {
    pub(super) data_points: Vec<NumberPoint<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sum<'a> {
    pub(super) data_points: Vec<NumberPoint<'a>>,
    pub(super) aggregation_temporality: u8,
    pub(super) is_monotonic: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HistogramData<'a> {
    pub(super) data_points: Vec<HistogramPoint<'a>>,
    pub(super) aggregation_temporality: u8,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NumberPoint<'a> {
    pub(super) attributes: Vec<KeyValue<'a>>,
    #[serde(serialize_with = "as_text")]
    pub(super) start_time_unix_nano: i128,
    #[serde(serialize_with = "as_text")]
    pub(super) time_unix_nano: i128,
    pub(super) as_double: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HistogramPoint<'a> {
    pub(super) attributes: Vec<KeyValue<'a>>,
    #[serde(serialize_with = "as_text")]
    pub(super) start_time_unix_nano: i128,
    #[serde(serialize_with = "as_text")]
    pub(super) time_unix_nano: i128,
    #[serde(serialize_with = "as_text")]
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) bucket_counts: Vec<String>,
    pub(super) explicit_bounds: &'static [f64],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TraceRequest<'a> {
    pub(super) resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans<'a> {
    pub(super) resource: Resource<'a>,
    pub(super) scope_spans: [ScopeSpans<'a>; 1],
    pub(super) schema_url: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ScopeSpans<'a> {
    pub(super) scope: Scope,
    pub(super) spans: Vec<SpanData<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpanData<'a> {
    pub(super) trace_id: String,
    pub(super) span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_span_id: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) trace_state: &'a str,
    pub(super) name: &'a str,
    pub(super) kind: u8,
    #[serde(serialize_with = "as_text")]
    pub(super) start_time_unix_nano: i128,
    #[serde(serialize_with = "as_text")]
    pub(super) end_time_unix_nano: i128,
    pub(super) attributes: Vec<KeyValue<'a>>,
    pub(super) status: StatusData<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct StatusData<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) message: &'a str,
    pub(super) code: u8,
}

/// Serializes a 64-bit integer as text.
fn as_text<T: ToString, S: Serializer>(number: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&number.to_string())
}
