//! Memory until the kernel says no.

use std::hint::black_box;

use plumbline_app::AppError;

/// How much is taken at a time.
const PIECE: usize = 8 << 20;
/// Where it ends although nobody ended it: on a machine without a limit the test is to fail, not the machine.
const MOST: usize = 2 << 30;

/// Takes memory, and touches it, until this process is killed. Returns only when that did not happen.
pub(crate) fn take_all() -> AppError {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while taken.len() * PIECE < MOST {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            return AppError::system(format!("no memory is left after {} MiB", (taken.len() * PIECE) >> 20));
        }
        // Only what was written to is really taken.
        piece.resize(PIECE, 1);
        taken.push(black_box(piece));
    }
    AppError::system(format!("took {} MiB, and nothing ended it", MOST >> 20))
        .hint("set `resources.limits.memory` in the plugin's `spec`")
}
