//! Values, and statistics of them.

use std::cell::Cell;
use std::rc::Rc;

/// Maximum number of values that one check keeps: 8 MiB.
const MAX_VALUES: usize = 1_000_000;

/// Maximum number of values that all checks keep.
const MAX_ALL: usize = 4_000_000;

/// A statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measure {
    Count,
    Min,
    Max,
    Mean,
    /// The last value.
    Last,
    /// The smallest value such that at least this percentage of the values is less than or equal to
    /// it.
    Percentile(f64),
}

impl Measure {
    /// Parses the name of a measure, such as `max` or `p99.9`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "count" => Self::Count,
            "min" => Self::Min,
            "max" => Self::Max,
            "mean" => Self::Mean,
            "last" => Self::Last,
            name => {
                let digits = name.strip_prefix('p')?;
                let rank = crate::quantity::number(digits)?;
                return (rank > 0.0 && rank <= 100.0).then_some(Self::Percentile(rank));
            }
        })
    }
}

/// The number of values that all checks may still keep.
#[derive(Debug, Clone)]
pub(crate) struct Room(Rc<Cell<usize>>);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Rc::new(Cell::new(MAX_ALL)))
    }
}

/// Values, of which only what the measure needs is kept.
#[derive(Debug)]
pub(crate) struct Samples {
    measure: Measure,
    pub(crate) count: u64,
    sum: f64,
    min: f64,
    max: f64,
    last: f64,
    kept: Vec<f64>,
    room: Room,
    overflow: bool,
}

impl Samples {
    pub(crate) fn new(measure: Measure, room: Room) -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { measure, count: 0, sum: 0.0, min, max, last: 0.0, kept: Vec::new(), room, overflow: false }
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.last = value;
        if matches!(self.measure, Measure::Percentile(_)) {
            match self.room.0.get().checked_sub(1).filter(|_| self.kept.len() < MAX_VALUES) {
                Some(left) => {
                    self.room.0.set(left);
                    self.kept.push(value);
                }
                None => self.overflow = true,
            }
        }
    }

    /// Returns the measure; `None` if there are no values. The error says why it is not available.
    pub(crate) fn measure(mut self) -> Result<Option<f64>, String> {
        if self.overflow {
            return Err(format!("there are {} values: too many for a percentile", self.count));
        }
        // The conversion is exact, because no log has 2^53 lines.
        let count = self.count as f64;
        if self.measure == Measure::Count {
            return Ok(Some(count));
        }
        if self.count == 0 {
            return Ok(None);
        }
        Ok(Some(match self.measure {
            Measure::Count => count,
            Measure::Min => self.min,
            Measure::Max => self.max,
            Measure::Mean => self.sum / count,
            Measure::Last => self.last,
            Measure::Percentile(rank) => {
                self.kept.sort_unstable_by(f64::total_cmp);
                // Subtract a small amount: because of rounding, 99 % of 100 values would otherwise
                // give the 100th value.
                let place = (rank / 100.0 * count - 1e-9).ceil().max(1.0) as usize - 1;
                return Ok(self.kept.get(place).or(self.kept.last()).copied());
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str, values: impl IntoIterator<Item = f64>) -> Result<Option<f64>, String> {
        let mut samples = Samples::new(Measure::parse(name).unwrap(), Room::new());
        values.into_iter().for_each(|value| samples.add(value));
        samples.measure()
    }

    #[test]
    fn measures_are_those_of_the_values() {
        let values = || (1..=100).rev().map(f64::from);
        for (name, value) in [
            ("count", 100.0),
            ("min", 1.0),
            ("max", 100.0),
            ("mean", 50.5),
            ("last", 1.0),
            ("p50", 50.0),
            ("p90", 90.0),
            ("p99", 99.0),
            ("p99.9", 100.0),
            ("p100", 100.0),
            ("p0.1", 1.0),
        ] {
            assert_eq!(measure(name, values()), Ok(Some(value)), "{name}");
        }
        assert_eq!(measure("p99", [7.0]), Ok(Some(7.0)));
        assert_eq!(measure("max", []), Ok(None));
        assert_eq!(measure("count", []), Ok(Some(0.0)));
        for name in ["p", "p0", "p101", "px", "p-5", "median", ""] {
            assert_eq!(Measure::parse(name), None, "{name}");
        }
    }

    #[test]
    fn too_many_values_have_no_percentile() {
        let many = || (0..=MAX_VALUES).map(|_| 1.0);
        assert!(measure("p50", many()).unwrap_err().contains("1000001 values"));
        assert_eq!(measure("max", many()), Ok(Some(1.0)));
    }
}
