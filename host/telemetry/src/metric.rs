//! Metrics at one moment.

/// A metric: all its points have the same name and differ in their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name, without the suffix `_total` of counters. It ends with the unit, `_seconds` or
    /// `_bytes`, unless it counts things.
    pub name: &'static str,
    /// A sentence about what it measures.
    pub help: &'static str,
    /// The points.
    pub points: Points,
}

impl Family {
    /// Creates a metric whose values only grow.
    pub fn counter(name: &'static str, help: &'static str, points: impl IntoIterator<Item = Point<f64>>) -> Self {
        Self { name, help, points: Points::Counter(points.into_iter().collect()) }
    }

    /// Creates a metric whose values grow and shrink.
    pub fn gauge(name: &'static str, help: &'static str, points: impl IntoIterator<Item = Point<f64>>) -> Self {
        Self { name, help, points: Points::Gauge(points.into_iter().collect()) }
    }

    /// Creates a metric with distributions.
    pub fn histogram(
        name: &'static str,
        help: &'static str,
        points: impl IntoIterator<Item = Point<Histogram>>,
    ) -> Self {
        Self { name, help, points: Points::Histogram(points.into_iter().collect()) }
    }

    /// Returns the unit, or an empty text if the metric counts things.
    pub fn unit(&self) -> &'static str {
        ["seconds", "bytes"].into_iter().find(|unit| self.name.ends_with(unit)).unwrap_or_default()
    }
}

/// The points of a [`Family`]. Their type is that of the metric.
#[derive(Debug, Clone, PartialEq)]
pub enum Points {
    /// Values that only grow while this process runs.
    Counter(Vec<Point<f64>>),
    /// Values that grow and shrink.
    Gauge(Vec<Point<f64>>),
    /// Distributions.
    Histogram(Vec<Point<Histogram>>),
}

/// A value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Point<T> {
    /// Names and values of the labels, in order.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: T,
}

impl<T> Point<T> {
    /// Creates a point.
    pub fn new<const N: usize>(labels: [(&'static str, &str); N], value: T) -> Self {
        Self { labels: labels.into_iter().map(|(name, value)| (name, value.to_owned())).collect(), value }
    }
}

/// Upper bounds for durations, in seconds: from the upload of a small file to a suite of hours.
const SECONDS: &[f64] = &[0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 7200.0, 21_600.0];

/// The distribution of observed values.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The upper bounds of the buckets.
    pub(crate) bounds: &'static [f64],
    /// The number of values up to each bound, and above all of them. Not cumulative.
    pub(crate) counts: Vec<u64>,
    pub(crate) sum: f64,
}

/// Without values, and with buckets for durations.
impl Default for Histogram {
    fn default() -> Self {
        Self::new(SECONDS)
    }
}

impl Histogram {
    /// Creates a histogram without values. `bounds` are the upper bounds of its buckets, in
    /// ascending order.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Adds a value. Negative and other impossible values count as 0.
    pub fn observe(&mut self, value: f64) {
        let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += value;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_of_the_first_bound_that_is_not_below_it() {
        let mut histogram = Histogram::new(&[1.0, 5.0]);
        for value in [0.0, 1.0, 1.5, 5.0, 5.1, -3.0, f64::NAN, f64::INFINITY] {
            histogram.observe(value);
        }
        assert_eq!(histogram.counts, [5, 2, 1]);
        assert_eq!((histogram.count(), histogram.sum), (8, 12.6));
    }
}
