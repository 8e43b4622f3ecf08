//! Metrics as a message of OTLP.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{attributes, message};
use crate::metric::{Family, Histogram, Point, Points};

/// The temporality of sums and histograms: since the start of the process.
const CUMULATIVE: u8 = 2;

/// Returns the message. Counters and histograms count since `start`.
pub(super) fn request(families: &[Family], resource: &[(String, String)], start: Timestamp, now: Timestamp) -> Value {
    let times = [start, now].map(|time| time.as_nanosecond().to_string());
    let metrics: Vec<Value> = families.iter().filter_map(|family| metric(family, &times)).collect();
    message("Metrics", resource, &metrics)
}

/// Returns the metric, or `None` if it has no points.
fn metric(family: &Family, times: &[String; 2]) -> Option<Value> {
    let (kind, data) = match &family.points {
        Points::Counter(points) if !points.is_empty() => {
            let points = numbers(points, times);
            ("sum", json!({"dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true}))
        }
        Points::Gauge(points) if !points.is_empty() => ("gauge", json!({"dataPoints": numbers(points, times)})),
        Points::Histogram(points) if !points.is_empty() => {
            let points: Value = points.iter().map(|point| histogram(point, times)).collect();
            ("histogram", json!({"dataPoints": points, "aggregationTemporality": CUMULATIVE}))
        }
        _ => return None,
    };
    Some(json!({"name": family.name, "description": family.help, "unit": ucum(family.unit()), (kind): data}))
}

/// Returns the unit as OpenTelemetry writes it (UCUM).
fn ucum(unit: &str) -> &'static str {
    match unit {
        "seconds" => "s",
        "bytes" => "By",
        _ => "1",
    }
}

fn numbers(points: &[Point<f64>], [start, now]: &[String; 2]) -> Value {
    let number = |point: &Point<f64>| {
        // JSON has no other numbers.
        let value = if point.value.is_finite() { point.value } else { 0.0 };
        json!({
            "attributes": attributes(&point.labels), "startTimeUnixNano": start, "timeUnixNano": now,
            "asDouble": value,
        })
    };
    points.iter().map(number).collect()
}

fn histogram(point: &Point<Histogram>, [start, now]: &[String; 2]) -> Value {
    let Histogram { bounds, counts, sum } = &point.value;
    json!({
        "attributes": attributes(&point.labels), "startTimeUnixNano": start, "timeUnixNano": now,
        "count": point.value.count().to_string(), "sum": sum,
        "bucketCounts": counts.iter().map(u64::to_string).collect::<Vec<_>>(), "explicitBounds": bounds,
    })
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
        let message = request(&families, &resource, start, now);
        let metrics = &message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let point = |attributes| {
            json!({
                "attributes": attributes, "startTimeUnixNano": "1000000000", "timeUnixNano": "2000000000",
            })
        };
        let mut counter = point(json!([{"key": "plugin", "value": {"stringValue": "p"}}]));
        counter["asDouble"] = 3.0.into();
        let mut histogram = point(json!([]));
        histogram["count"] = "1".into();
        histogram["sum"] = 30.0.into();
        histogram["bucketCounts"] = json!(["0", "1", "0"]);
        histogram["explicitBounds"] = json!([0.5, 60.0]);
        assert_eq!(
            *metrics,
            json!([
                {"name": "a_bytes", "description": "Bytes.", "unit": "By",
                 "sum": {"dataPoints": [counter], "aggregationTemporality": 2, "isMonotonic": true}},
                {"name": "c_seconds", "description": "Times.", "unit": "s",
                 "histogram": {"dataPoints": [histogram], "aggregationTemporality": 2}},
            ])
        );
    }
}
