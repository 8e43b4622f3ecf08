//! Ways to damage a file. Pure functions from bytes and reproducible random numbers to bytes.

/// Size in bytes of a line without an end: more than any buffer that a module reasonably keeps for
/// a line.
const HUGE_LINE: usize = 1 << 20;
/// Number of opening tokens without a closing one: deeper than the stack of any recursive module
/// allows.
const DEEP: usize = 50_000;
/// Size in bytes of a random input.
const RANDOM_BYTES: usize = 4 << 10;
/// Maximum number of repetitions of a piece.
const REPEATS: usize = 64;

/// Tokens that formats open and that damage leaves unclosed.
const OPENINGS: &[&[u8]] = &[b"[", b"{\"a\":", b"<a>", b"(", b"- ", b"[[", b"<!--", b"\"", b"{", b"<a b=\""];
/// Byte sequences that parsers commonly mishandle.
const ODD: &[&[u8]] = &[
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"NaN",
    b"\r",
    b"\n\n\n",
    b"&#0;",
    b"\\u0000",
    b"\\ud800",
    b"%s",
    b"null",
    b"\x1b[31m",
    b"\xe2\x80\xae",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damaged {
    pub(super) bytes: Vec<u8>,
    pub(super) how: String,
}

/// Returns `bytes` with some damage. `other` is another file of the project, to mix in.
pub(super) fn damage(bytes: &[u8], other: &[u8], random: &mut Random) -> Damaged {
    let at = random.below(bytes.len() + 1);
    let (before, after) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
    let piece = |random: &mut Random| {
        let length = 1 + random.below((bytes.len() / 2).max(16));
        (length, after.get(..length).unwrap_or(after))
    };
    let (how, bytes) = match random.below(12) {
        // Twice as likely as the others, because full disks and killed tools leave truncated files.
        0 | 1 => (format!("cut off after {at} bytes"), before.to_vec()),
        2 | 3 => flipped(bytes.to_vec(), random),
        4 => {
            let (_, piece) = piece(random);
            let times = 1 + random.below(REPEATS);
            (
                format!("{} bytes from {at} repeated {times} times", piece.len()),
                [before, &piece.repeat(times), after].concat(),
            )
        }
        5 => {
            let (length, piece) = piece(random);
            let rest = after.get(length..).unwrap_or_default();
            (format!("{} bytes from {at} left out", piece.len()), [before, rest].concat())
        }
        6 => {
            let byte = random.one(b"a 0<\"\x80").copied().unwrap_or(b'a');
            (format!("a line of {HUGE_LINE} bytes from {at}"), [before, &vec![byte; HUGE_LINE], after].concat())
        }
        7 => {
            let words = random.below(RANDOM_BYTES / 8);
            let bytes: Vec<u8> = (0..words).flat_map(|_| random.next().to_le_bytes()).collect();
            (format!("{} random bytes", bytes.len()), bytes)
        }
        8 => ("an empty file".to_owned(), Vec::new()),
        9 => {
            let opening = random.one(OPENINGS).copied().unwrap_or(b"[");
            let deep = opening.repeat(DEEP);
            let text = opening.escape_ascii();
            // In the middle of the existing bytes, or instead of them.
            match random.below(2) {
                0 => (format!("`{text}` {DEEP} times at {at}"), [before, &deep, after].concat()),
                _ => (format!("`{text}` {DEEP} times and nothing else"), deep),
            }
        }
        10 => {
            let odd = random.one(ODD).copied().unwrap_or(b"\0");
            (format!("`{}` at {at}", odd.escape_ascii()), [before, odd, after].concat())
        }
        _ => {
            let from = random.below(other.len() + 1);
            (format!("from {at} on, the end of another file"), [before, other.get(from..).unwrap_or_default()].concat())
        }
    };
    Damaged { bytes, how }
}

fn flipped(mut bytes: Vec<u8>, random: &mut Random) -> (String, Vec<u8>) {
    let flips = 1 + random.below(8);
    for _ in 0..flips {
        let (at, bit) = (random.below(bytes.len()), random.below(8));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
    (format!("{flips} bits flipped"), bytes)
}

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

    fn next(&mut self) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_number_gives_the_same_damage_and_others_give_others() {
        let make = |n| damage(b"ok disk\nbad clock: late\n", b"other", &mut Random::new(7, n));
        let all: Vec<Damaged> = (0..500).map(make).collect();
        assert_eq!(all, (0..500).map(make).collect::<Vec<_>>());
        let distinct: BTreeSet<&[u8]> = all.iter().map(|damaged| damaged.bytes.as_slice()).collect();
        assert!(distinct.len() > 200, "{}", distinct.len());
        let kinds: BTreeSet<String> =
            all.iter().map(|damaged| damaged.how.chars().filter(|c| c.is_alphabetic()).collect()).collect();
        assert!(kinds.len() >= 10, "{kinds:?}");
    }

    #[test]
    fn an_empty_file_can_be_damaged_too() {
        for n in 0..500 {
            let _ = damage(b"", b"", &mut Random::new(1, n));
        }
    }
}
