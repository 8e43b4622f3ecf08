//! Which bytes are asked for next.

/// Bytes of a piece: 8 MiB. At 1 MB/s it takes eight seconds, which connections survive, and starting the command (some 50 ms) does not
/// matter.
pub(super) const PIECE_BYTES: u64 = 8 << 20;

/// A range of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first byte.
    pub(super) offset: u64,
    /// How many; at least one.
    pub(super) length: u64,
}

/// What is to be asked for when `have` bytes of `size` are there: up to the next multiple of [`PIECE_BYTES`]. `None` when all are there.
pub(super) fn next_piece(have: u64, size: u64) -> Option<Piece> {
    if have >= size {
        return None;
    }
    let end = (have / PIECE_BYTES).saturating_add(1).saturating_mul(PIECE_BYTES).min(size);
    Some(Piece { offset: have, length: end - have })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_dropped_piece_goes_on_where_it_broke_off() {
        assert_eq!(next_piece(0, 0), None);
        assert_eq!(next_piece(0, 5), Some(Piece { offset: 0, length: 5 }));
        assert_eq!(next_piece(3, PIECE_BYTES * 2), Some(Piece { offset: 3, length: PIECE_BYTES - 3 }));
        assert_eq!(next_piece(PIECE_BYTES, PIECE_BYTES + 1), Some(Piece { offset: PIECE_BYTES, length: 1 }));
        assert_eq!(next_piece(7, 5), None);
        assert_eq!(next_piece(u64::MAX - 1, u64::MAX), Some(Piece { offset: u64::MAX - 1, length: 1 }));
    }

    proptest! {
        #[test]
        fn pieces_cover_every_byte_once(size in 0..PIECE_BYTES * 4, losses in proptest::collection::vec(0.0..1.0f64, 0..20)) {
            let (mut have, mut losses) = (0, losses.into_iter());
            let mut asked = 0;
            while let Some(piece) = next_piece(have, size) {
                prop_assert_eq!(piece.offset, have);
                prop_assert!(piece.length > 0 && piece.length <= PIECE_BYTES && have + piece.length <= size);
                // A part of the piece arrives while losses last.
                let arrived = losses.next().map_or(piece.length, |part| (piece.length as f64 * part) as u64);
                have += arrived;
                asked += 1;
            }
            prop_assert_eq!(have, size);
            prop_assert!(asked <= 20 + size.div_ceil(PIECE_BYTES));
        }
    }
}
