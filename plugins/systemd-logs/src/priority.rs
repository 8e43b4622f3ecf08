//! The priorities of syslog.

/// The names, by number.
pub(crate) const NAMES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// The name under which entries without a priority are counted.
pub(crate) const NONE: &str = "none";

/// The number of `err`. This and lower numbers are errors.
pub(crate) const ERR: usize = 3;

/// Counts by priority; the last is that of entries without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts([u64; 9]);

impl Counts {
    /// Counts one entry.
    pub(crate) fn add(&mut self, priority: Option<usize>) {
        if let Some(count) = self.0.get_mut(priority.unwrap_or(NAMES.len())) {
            *count += 1;
        }
    }

    /// Adds the counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// Returns the number of entries with this priority or worse.
    pub(crate) fn at_least(&self, priority: usize) -> u64 {
        self.0.iter().take(priority + 1).sum()
    }

    /// Returns the number of all entries.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the non-zero counts with their names, worst priority first.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().chain([NONE]).zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// Returns the number of a priority that is written as a name or a number.
pub(crate) fn number(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [digit @ b'0'..=b'7'] => Some(usize::from(digit - b'0')),
        _ => NAMES.iter().position(|name| *name == text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!((number("emerg"), number("3"), number("debug")), (Some(0), Some(ERR), Some(7)));
        assert_eq!((number("8"), number("error"), number("")), (None, None, None));
    }

    #[test]
    fn counts() {
        let mut counts = Counts::default();
        for priority in [Some(3), Some(0), Some(3), Some(4), None] {
            counts.add(priority);
        }
        assert_eq!((counts.at_least(ERR), counts.total()), (3, 5));
        assert_eq!(counts.named().collect::<Vec<_>>(), [("emerg", 1), ("err", 2), ("warning", 1), ("none", 1)]);
    }
}
