//! Numbers that look random and are the same every time.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough to choose where to damage a file.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The numbers of input `n` of `seed`: those of an input do not depend on how many there are, or on which thread makes it.
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

    /// A number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        // The bias of the remainder does not matter here.
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or_default()
    }

    /// One of these.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}
