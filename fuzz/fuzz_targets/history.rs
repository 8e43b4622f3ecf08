//! Fuzzes the index of the history. Its checksums do not stop a file that somebody wrote on purpose,
//! so each section gets the right one. What was read must be readable again with the same result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_app::history::rewritten_index;

/// The first bytes of an index, with the version of its format.
const HEAD: &[u8] = b"plumbline-history\n\x08";

// The first two bytes are the size of the section of texts and tests. The rest is the section of a
// run.
fuzz_target!(|input: &[u8]| {
    let _ = rewritten_index(input);
    let Some((size, content)) = input.split_first_chunk() else { return };
    let size = usize::from(u16::from_le_bytes(*size)).min(content.len());
    let (tests, run) = content.split_at(size);
    let bytes = [HEAD, &section(tests), &section(run)].concat();
    if let Some(written) = rewritten_index(&bytes) {
        assert_eq!(rewritten_index(&written).as_ref(), Some(&written));
    }
});

fn section(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("the input is small");
    [length.to_le_bytes().as_slice(), &crc32fast::hash(content).to_le_bytes(), content].concat()
}
