//! Files of systemd's journal, damaged in any way: they cost entries and never more.
#![no_main]

use std::fs;
use std::io::Read;
use std::sync::LazyLock;
use std::time::Duration;

use flate2::read::GzDecoder;
use libfuzzer_sys::fuzz_target;
use plumbline_nodelogs::{Options, Via, write_logs};

/// A journal of a machine, without the zeros at its end.
static JOURNAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    let packed: &[u8] = include_bytes!("../../host/nodelogs/tests/data/compact.journal.gz");
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("unpacks");
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
});

/// Small, so that generated files reach it.
const MAX_BYTES: u64 = 64 << 10;

// Each four bytes replace one byte of the journal: three for its place, one for its value.
fuzz_target!(|patches: &[u8]| {
    let mut journal = JOURNAL.clone();
    for patch in patches.chunks_exact(4) {
        let [a, b, c, value] = *patch else { continue };
        let place = u32::from_le_bytes([a, b, c, 0]) as usize % journal.len();
        journal[place] = value;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let journals = dir.path().join("var/log/journal/0123456789abcdef0123456789abcdef");
    fs::create_dir_all(&journals).expect("a directory");
    fs::write(journals.join("system.journal"), journal).expect("writes the journal");
    let options = Options {
        root: dir.path().to_owned(),
        since: Duration::ZERO,
        max_bytes: MAX_BYTES,
        via: Via::Files,
        ..Options::default()
    };
    let output = dir.path().join("logs");
    if write_logs(&options, Some(&output)).is_ok() {
        let length = fs::metadata(&output).expect("the logs are there").len();
        assert!(length <= 2 * MAX_BYTES, "{length} bytes of logs");
    }
});
