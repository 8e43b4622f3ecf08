//! The slowest leaves of trees.

/// The most leaves in a list of slow ones, for formats that have room for them.
pub(crate) const MAX_SLOWEST: usize = 20;

/// The slowest leaves, the slowest first. Leaves that took as long are in the order of the tree.
pub(crate) struct Slowest<T> {
    most: usize,
    leaves: Vec<(f64, T)>,
}

impl<T> Slowest<T> {
    /// An empty list, for at most `most` leaves.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, leaves: Vec::new() }
    }

    /// Adds a leaf with its duration. Calls `leaf` only if there is room for it.
    pub(crate) fn add(&mut self, seconds: f64, leaf: impl FnOnce() -> T) {
        let at = self.leaves.partition_point(|(slower, _)| *slower >= seconds);
        if at < self.most {
            self.leaves.insert(at, (seconds, leaf()));
            self.leaves.truncate(self.most);
        }
    }

    /// The leaves with their durations.
    pub(crate) fn leaves(&self) -> &[(f64, T)] {
        &self.leaves
    }

    /// Returns the leaves with their durations.
    pub(crate) fn into_leaves(self) -> Vec<(f64, T)> {
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_kept_in_order() {
        let mut slowest = Slowest::new(20);
        for n in 0..50_u32 {
            slowest.add(f64::from(n * 7 % 50), || n);
        }
        slowest.add(30.0, || panic!("it has no room"));
        let seconds: Vec<f64> = slowest.leaves().iter().map(|(seconds, _)| *seconds).collect();
        assert_eq!(seconds, (30..50).rev().map(f64::from).collect::<Vec<_>>());
    }

    #[test]
    fn leaves_that_took_as_long_stay_in_order() {
        let mut slowest = Slowest::new(3);
        for (name, seconds) in [("a", 1.0), ("b", 2.0), ("c", 1.0), ("d", 2.0)] {
            slowest.add(seconds, || name);
        }
        assert_eq!(slowest.into_leaves(), [(2.0, "b"), (2.0, "d"), (1.0, "a")]);
    }
}
