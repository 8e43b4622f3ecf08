//! Metrics as a message of OTLP.

use jiff::Timestamp;

use super::model::{
    CUMULATIVE, Gauge, HistogramData, HistogramPoint, KeyValue, Metric, MetricData, MetricsRequest, NumberPoint,
    Resource, ResourceMetrics, SCHEMA_URL, SCOPE, ScopeMetrics, Sum,
};
use crate::metric::{Family, Histogram, Point, Points};

/// Returns the message. Counters and histograms count since `start`.
pub(super) fn request<'a>(
    families: &'a [Family],
    resource: &'a [(String, String)],
    start: Timestamp,
    now: Timestamp,
) -> MetricsRequest<'a> {
    let times = Times { start: start.as_nanosecond(), now: now.as_nanosecond() };
    let metrics = families.iter().filter_map(|family| metric(family, times)).collect();
    let attributes = resource.iter().map(|(key, value)| KeyValue::text(key, value)).collect();
    let scope_metrics = [ScopeMetrics { scope: SCOPE, metrics }];
    MetricsRequest {
        resource_metrics: [ResourceMetrics {
            resource: Resource { attributes },
            scope_metrics,
            schema_url: SCHEMA_URL,
        }],
    }
}

#[derive(Clone, Copy)]
struct Times {
    start: i128,
    now: i128,
}

/// Returns the metric, or `None` if it has no points.
fn metric(family: &Family, times: Times) -> Option<Metric<'_>> {
    let data = match &family.points {
        Points::Counter(points) if !points.is_empty() => MetricData::Sum(Sum {
            data_points: numbers(points, times),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Points::Gauge(points) if !points.is_empty() => MetricData::Gauge(Gauge { data_points: numbers(points, times) }),
        Points::Histogram(points) if !points.is_empty() => {
            let data_points = points.iter().map(|point| histogram(point, times)).collect();
            MetricData::Histogram(HistogramData { data_points, aggregation_temporality: CUMULATIVE })
        }
        _ => return None,
    };
    Some(Metric { name: family.name, description: family.help, unit: ucum(family.unit()), data })
}

/// Returns the unit as OpenTelemetry writes it (UCUM).
fn ucum(unit: &'static str) -> &'static str {
    match unit {
        "seconds" => "s",
        "bytes" => "By",
        "" => "1",
        other => other,
    }
}

fn numbers(points: &[Point<f64>], times: Times) -> Vec<NumberPoint<'_>> {
    points.iter().map(|point| number(point, times)).collect()
}

fn number(point: &Point<f64>, times: Times) -> NumberPoint<'_> {
    NumberPoint {
        attributes: attributes(&point.labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        // JSON has no other numbers.
        as_double: if point.value.is_finite() { point.value } else { 0.0 },
    }
}

fn histogram(point: &Point<Histogram>, times: Times) -> HistogramPoint<'_> {
    let histogram = &point.value;
    HistogramPoint {
        attributes: attributes(&point.labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        count: histogram.count(),
        sum: histogram.sum(),
        bucket_counts: histogram.counts().iter().map(u64::to_string).collect(),
        explicit_bounds: histogram.bounds(),
    }
}

fn attributes<'a>(labels: &'a [(&'static str, String)]) -> Vec<KeyValue<'a>> {
    labels.iter().map(|(name, value)| KeyValue::text(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_form_of_the_protocol() {
        let mut seconds = Histogram::new(&[0.5, 60.0]);
        seconds.observe(30.0);
        let families = [
            Family::counter("a_bytes", "Bytes.", [Point::new([("plugin", "p")], 3.0)]),
            Family::gauge("b", "None.", []),
            Family::histogram("c_seconds", "Times.", [Point::new([], seconds)]),
        ];
        let resource = [("service.name".to_owned(), "plumbline".to_owned())];
        let (start, now) = (Timestamp::new(1, 0).unwrap(), Timestamp::new(2, 0).unwrap());
        let message = serde_json::to_value(request(&families, &resource, start, now)).unwrap();
        let metrics = &message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let point = |attributes| {
            serde_json::json!({
                "attributes": attributes, "startTimeUnixNano": "1000000000", "timeUnixNano": "2000000000",
            })
        };
        let mut counter = point(serde_json::json!([{"key": "plugin", "value": {"stringValue": "p"}}]));
        counter["asDouble"] = 3.0.into();
        let mut histogram = point(serde_json::json!([]));
        histogram["count"] = "1".into();
        histogram["sum"] = 30.0.into();
        histogram["bucketCounts"] = serde_json::json!(["0", "1", "0"]);
        histogram["explicitBounds"] = serde_json::json!([0.5, 60.0]);
        assert_eq!(
            *metrics,
            serde_json::json!([
                {"name": "a_bytes", "description": "Bytes.", "unit": "By",
                 "sum": {"dataPoints": [counter], "aggregationTemporality": 2, "isMonotonic": true}},
                {"name": "c_seconds", "description": "Times.", "unit": "s",
                 "histogram": {"dataPoints": [histogram], "aggregationTemporality": 2}},
            ])
        );
    }
}
