//! Verification of a blob against its descriptor while it is read.

use sha2::{Digest as _, Sha256};

use crate::digest::Digest;
use crate::error::Cause;
use crate::manifest::Descriptor;

/// Verifies the size and digest of a blob, chunk by chunk.
#[derive(Debug)]
pub(crate) struct Checker {
    wanted: Digest,
    said: u64,
    got: u64,
    hash: Sha256,
}

impl Checker {
    pub(crate) fn new(wanted: &Descriptor) -> Self {
        Self { wanted: wanted.digest, said: wanted.size, got: 0, hash: Sha256::new() }
    }

    /// Adds a chunk. Returns an error as soon as there are more bytes than expected, so that an
    /// endless blob is not read to the end.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<(), Cause> {
        self.got = self.got.saturating_add(piece.len() as u64);
        if self.got > self.said {
            return Err(Cause::Size { said: self.said, got: self.got, more: true });
        }
        self.hash.update(piece);
        Ok(())
    }

    /// Finishes the verification.
    pub(crate) fn finish(self) -> Result<(), Cause> {
        if self.got < self.said {
            return Err(Cause::Size { said: self.said, got: self.got, more: false });
        }
        match Digest::finished(self.hash) {
            got if got == self.wanted => Ok(()),
            got => Err(Cause::Mismatch { wanted: self.wanted, got }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &[u8], pieces: &[&[u8]]) -> Result<(), Cause> {
        let mut checker = Checker::new(&Descriptor::of("x", wanted));
        pieces.iter().try_for_each(|piece| checker.take(piece))?;
        checker.finish()
    }

    #[test]
    fn only_the_very_content_passes() {
        check(b"abc", &[b"a", b"", b"bc"]).unwrap();
        check(b"", &[]).unwrap();
        assert!(matches!(check(b"abc", &[b"ab", b"cd"]), Err(Cause::Size { said: 3, got: 4, more: true })));
        assert!(matches!(check(b"abc", &[b"ab"]), Err(Cause::Size { said: 3, got: 2, more: false })));
        let told = check(b"abc", &[b"abd"]).unwrap_err().to_string();
        assert!(
            told.contains(&Digest::of(b"abc").to_string()) && told.contains(&Digest::of(b"abd").to_string()),
            "{told}"
        );
    }
}
