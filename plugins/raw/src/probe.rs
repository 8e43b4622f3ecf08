//! Checks whether files are readable.

use std::io::{self, BufRead};

use plumbline_sdk::InputFile;
use plumbline_sdk::input::READ_BYTES;

/// Maximum number of bytes to read for the checks of a whole result set: 256 MiB. A call may read a
/// few GiB at most, and a result set may hold far more. A call must not fail because it examined
/// each of 10,000 large files.
const BUDGET: u64 = 256 << 20;

/// Reads the start of files.
pub(crate) struct Probe {
    left: u64,
}

impl Default for Probe {
    fn default() -> Self {
        Self { left: BUDGET }
    }
}

impl Probe {
    /// Reads the start of `file`. When the budget is spent, a file counts as readable, because the
    /// host knows its size.
    pub(crate) fn check(&mut self, file: &mut InputFile) -> io::Result<()> {
        if self.afford(file.size()) { file.fill_buf().map(|_| ()) } else { Ok(()) }
    }

    /// Takes the cost of reading the start of a file with `size` bytes from the budget, if enough
    /// is left.
    fn afford(&mut self, size: u64) -> bool {
        match self.left.checked_sub(size.min(READ_BYTES.into())) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_costs_what_is_read_and_no_more_than_the_budget_is_spent() {
        let mut probe = Probe::default();
        let large = (0..1000).filter(|_| probe.afford(5 << 30)).count();
        assert_eq!(large as u64 * u64::from(READ_BYTES), BUDGET);
        assert!(!probe.afford(1), "nothing is left");
        assert!(probe.afford(0), "an empty file costs nothing");
        let mut probe = Probe::default();
        assert!((0..100_000).all(|_| probe.afford(1000)), "small files are all looked into");
    }
}
