//! Reading a file here and there: the blocks that were read last are kept.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::format::Damage;

/// Bytes of a block.
const BLOCK: u64 = 8 << 10;

/// Blocks that are kept of one file: 256 KiB. Entries refer again and again to the same values, such as the name of the host.
const KEPT: usize = 32;

/// A file, of the length that it had when it was opened. What is appended meanwhile is logged about a time after ours.
#[derive(Debug)]
pub(super) struct Blocks {
    file: File,
    length: u64,
    kept: Vec<Block>,
    clock: u64,
}

#[derive(Debug)]
struct Block {
    number: u64,
    bytes: Vec<u8>,
    used: u64,
}

impl Blocks {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length, kept: Vec::new(), clock: 0 })
    }

    /// The file's length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Fills `into` with the bytes from `at`.
    pub(super) fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Damage> {
        let end = at.checked_add(into.len() as u64).filter(|&end| end <= self.length);
        if end.is_none() {
            return Err(Damage::at(at, "leads out of the file"));
        }
        // A large value is read once.
        if into.len() as u64 > BLOCK {
            return self.file.read_exact_at(into, at).map_err(|error| Damage::io(at, error));
        }
        let (mut at, mut filled) = (at, 0);
        while filled < into.len() {
            let within = usize::try_from(at % BLOCK).unwrap_or_default();
            let block = self.block(at / BLOCK)?;
            let from = block.get(within..).unwrap_or_default();
            let into = into.get_mut(filled..).unwrap_or_default();
            let length = from.len().min(into.len());
            let (Some(from), Some(into)) = (from.get(..length), into.get_mut(..length)) else { break };
            if length == 0 {
                return Err(Damage::at(at, "is not there any more"));
            }
            into.copy_from_slice(from);
            filled += length;
            at += length as u64;
        }
        Ok(())
    }

    /// `N` bytes from `at`.
    pub(super) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Damage> {
        let mut bytes = [0; N];
        self.read(at, &mut bytes)?;
        Ok(bytes)
    }

    fn block(&mut self, number: u64) -> Result<&[u8], Damage> {
        self.clock += 1;
        let at = match self.kept.iter().position(|block| block.number == number) {
            Some(at) => at,
            None => {
                let start = number * BLOCK;
                let length = usize::try_from(BLOCK.min(self.length.saturating_sub(start))).unwrap_or_default();
                let mut bytes = vec![0; length];
                self.file.read_exact_at(&mut bytes, start).map_err(|error| Damage::io(start, error))?;
                if self.kept.len() == KEPT {
                    let oldest = self.kept.iter().enumerate().min_by_key(|(_, block)| block.used).map(|(at, _)| at);
                    self.kept.swap_remove(oldest.unwrap_or_default());
                }
                self.kept.push(Block { number, bytes, used: 0 });
                self.kept.len() - 1
            }
        };
        let Some(block) = self.kept.get_mut(at) else { return Ok(&[]) };
        block.used = self.clock;
        Ok(&block.bytes)
    }
}
