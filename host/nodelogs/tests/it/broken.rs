//! Files that are damaged, or were made to harm.

use plumbline_nodelogs::{CollectError, FAILED, NOTE};
use proptest::prelude::*;

use crate::bed::{Bed, data, message};

/// Where a file has entries and what they refer to: between its hash tables and its last object.
fn used(bytes: &[u8]) -> std::ops::Range<usize> {
    let number = |at: usize| usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap();
    let tables = [(104, 112), (120, 128)].map(|(offset, size)| number(offset) + number(size));
    tables[0].max(tables[1])..number(136) + 64
}

#[test]
fn a_file_that_is_none_is_named() {
    for bytes in [
        &b""[..],
        b"LPKSHHRH",
        &[0; 4096],
        b"no journal at all, but a text that is long enough to be one, at least if one looks at its length only",
    ] {
        let bed = Bed::with(&[("system.journal", bytes)]);
        let (lines, summary) = bed.logs(&bed.options());
        assert!(matches!(summary.failure, Some(CollectError::Unreadable { files: 1, .. })), "{summary:?}");
        assert_eq!(lines.last().unwrap()[FAILED], "1");
    }
}

#[test]
fn beside_a_broken_file_the_others_are_read() {
    let bed = Bed::with(&[("system.journal", &data("plain.journal")), ("user.journal", b"rubbish")]);
    let (lines, summary) = bed.logs(&bed.options());
    assert!(summary.failure.is_none());
    assert_eq!(lines.len(), 209);
    assert!(lines[208][NOTE] == "1" && message(&lines[208]).contains("user.journal"), "{}", lines[208]);
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut bytes = data("plain.journal");
    bytes[12] |= 1 << 7;
    let bed = Bed::with(&[("system.journal", &bytes)]);
    let (lines, _) = bed.logs(&bed.options());
    assert!(message(&lines[0]).contains("feature that is not known"), "{}", lines[0]);
}

#[test]
fn a_file_that_ends_early_gives_what_it_has() {
    let bytes = data("regular.journal");
    let range = used(&bytes);
    let bed = Bed::with(&[("system.journal", &bytes[..range.start + range.len() / 2])]);
    let (lines, summary) = bed.logs(&bed.options());
    assert!(lines.len() > 50 && lines.len() < 208, "{}", lines.len());
    assert!(!summary.notes.is_empty(), "that something is missing is said");
}

/// Arrays that lead back to themselves, and entries that are named twice.
#[test]
fn loops_end() {
    let bytes = data("regular.journal");
    let array = u64::from_le_bytes(bytes[176..184].try_into().unwrap()) as usize;
    let mut looping = bytes.clone();
    looping[array + 16..array + 24].copy_from_slice(&(array as u64).to_le_bytes());
    let bed = Bed::with(&[("system.journal", &looping)]);
    let (lines, _) = bed.logs(&bed.options());
    assert!(lines.len() < 208);
    assert!(message(lines.last().unwrap()).contains("before the last one"), "{lines:?}");

    let mut twice = bytes;
    let item: [u8; 8] = twice[array + 24..array + 32].try_into().unwrap();
    twice[array + 32..array + 40].copy_from_slice(&item);
    let bed = Bed::with(&[("system.journal", &twice)]);
    let (lines, _) = bed.logs(&bed.options());
    assert_eq!(lines.len(), 208, "207 entries and a note");
    assert!(message(&lines[207]).contains("1 entries are left out"), "{}", lines[207]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever is damaged: fewer lines or a reason, no panic, no hang, and every line is JSON.
    #[test]
    fn damage_costs_lines_and_nothing_else(
        compact in any::<bool>(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        words in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..10),
        header in proptest::collection::vec((0..272_usize, any::<u8>()), 0..3),
        end in proptest::option::weighted(0.25, any::<prop::sample::Index>()),
    ) {
        let mut bytes = data(if compact { "compact.journal" } else { "regular.journal" });
        let range = used(&bytes);
        for (at, byte) in damage {
            bytes[range.start + at.index(range.len())] = byte;
        }
        // Offsets that lead to another place of the file, where numbers stand.
        for (at, to) in words {
            let [at, to] = [at, to].map(|index| range.start / 8 * 8 + index.index(range.len() / 8) * 8);
            bytes[at..at + 8].copy_from_slice(&(to as u64).to_le_bytes());
        }
        for (at, byte) in header {
            bytes[at] = byte;
        }
        bytes.truncate(end.map_or(range.end + 4096, |end| range.start + end.index(range.len())));
        let bed = Bed::with(&[("system.journal", &bytes)]);
        let (lines, summary) = bed.logs(&bed.options());
        prop_assert!(lines.len() <= 208 + summary.notes.len() + 1);
    }
}
