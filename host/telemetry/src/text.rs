//! The text formats of Prometheus and OpenMetrics.
//!
//! They differ in the names of counters in comments, in the line with the unit, and in the end.
//! Prometheus's own tools read only the first one, and scrapers ask for the second one.

use std::fmt::{self, Write};

use crate::metric::{Family, Histogram, Points};

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl TextFormat {
    /// Returns the format for a client that accepts `accept`, the value of that header.
    pub fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// Returns the content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Returns the families as text.
pub fn write_text(families: &[Family], format: TextFormat) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = families.iter().try_for_each(|family| write_family(&mut text, family, format));
    if format == TextFormat::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn write_family(out: &mut String, family: &Family, format: TextFormat) -> fmt::Result {
    let (kind, suffix) = match &family.points {
        Points::Counter(_) => ("counter", "_total"),
        Points::Gauge(_) => ("gauge", ""),
        Points::Histogram(_) => ("histogram", ""),
    };
    let name = family.name;
    let shown = if format == TextFormat::Prometheus { suffix } else { "" };
    writeln!(out, "# HELP {name}{shown} {}", escaped(family.help))?;
    writeln!(out, "# TYPE {name}{shown} {kind}")?;
    if format == TextFormat::OpenMetrics && !family.unit().is_empty() {
        writeln!(out, "# UNIT {name} {}", family.unit())?;
    }
    match &family.points {
        Points::Counter(points) | Points::Gauge(points) => points.iter().try_for_each(|point| {
            writeln!(out, "{name}{suffix}{} {}", labels(&point.labels, None), number(point.value))
        }),
        Points::Histogram(points) => {
            points.iter().try_for_each(|point| write_histogram(out, name, &point.labels, &point.value))
        }
    }
}

fn write_histogram(out: &mut String, name: &str, own: &[(&'static str, String)], histogram: &Histogram) -> fmt::Result {
    let bounds = histogram.bounds.iter().map(|bound| number(*bound)).chain(["+Inf".to_owned()]);
    let mut below = 0;
    for (bound, count) in bounds.zip(&histogram.counts) {
        below += count;
        writeln!(out, "{name}_bucket{} {below}", labels(own, Some(&bound)))?;
    }
    writeln!(out, "{name}_sum{} {}", labels(own, None), number(histogram.sum))?;
    writeln!(out, "{name}_count{} {below}", labels(own, None))
}

fn labels(own: &[(&'static str, String)], bound: Option<&str>) -> String {
    let own = own.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value).replace('"', "\\\"")));
    let all: Vec<String> = own.chain(bound.map(|bound| format!("le=\"{bound}\""))).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Point;

    fn families() -> Vec<Family> {
        let mut seconds = Histogram::new(&[0.5, 60.0]);
        [0.1, 30.0, 31.0, 90.0].into_iter().for_each(|value| seconds.observe(value));
        vec![
            Family::counter(
                "example_read_bytes",
                "Bytes that were read.",
                [Point::new([("file", "a\\b\"c\n")], 1_073_741_824.0)],
            ),
            Family::gauge("example_open", "Open files.", [Point::new([], 2.5)]),
            Family::histogram("example_duration_seconds", "Durations.", [Point::new([("plugin", "e2e")], seconds)]),
        ]
    }

    #[test]
    fn prometheus() {
        insta::assert_snapshot!(write_text(&families(), TextFormat::Prometheus), @r#"
        # HELP example_read_bytes_total Bytes that were read.
        # TYPE example_read_bytes_total counter
        example_read_bytes_total{file="a\\b\"c\n"} 1073741824
        # HELP example_open Open files.
        # TYPE example_open gauge
        example_open 2.5
        # HELP example_duration_seconds Durations.
        # TYPE example_duration_seconds histogram
        example_duration_seconds_bucket{plugin="e2e",le="0.5"} 1
        example_duration_seconds_bucket{plugin="e2e",le="60"} 3
        example_duration_seconds_bucket{plugin="e2e",le="+Inf"} 4
        example_duration_seconds_sum{plugin="e2e"} 151.1
        example_duration_seconds_count{plugin="e2e"} 4
        "#);
    }

    #[test]
    fn open_metrics_has_units_and_an_end() {
        let text = write_text(&families(), TextFormat::OpenMetrics);
        assert!(text.starts_with(
            "# HELP example_read_bytes Bytes that were read.\n# TYPE example_read_bytes counter\n\
             # UNIT example_read_bytes bytes\nexample_read_bytes_total{"
        ));
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn a_client_gets_what_it_accepts() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        assert_eq!(TextFormat::accepted(prometheus), TextFormat::OpenMetrics);
        assert_eq!(TextFormat::accepted("*/*"), TextFormat::Prometheus);
    }
}
