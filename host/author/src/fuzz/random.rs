//! Reproducible pseudo-random numbers.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough to choose where to damage a
/// file.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// Returns the generator for input `n` of `seed`. It does not depend on the number of inputs,
    /// or on the thread that creates them.
    pub(super) fn new(seed: u64, n: u64) -> Self {
        let mut own = Self(seed ^ n.wrapping_mul(0xd134_2543_de82_ef95));
        own.next();
        own
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        // The modulo bias does not matter here.
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or_default()
    }

    /// Returns one of these values; `None` if there are none.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}
