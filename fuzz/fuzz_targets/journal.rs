//! Fuzzes the journal of a run, as a crash or a failing disk may leave it. Everything that was read
//! must be readable again with the same result.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plumbline_aggregator::journal::Journal;

fuzz_target!(|data: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("journal");
    open(&path, data);
    // Give each line a correct checksum, which no generated input would have.
    let mut sealed = Vec::new();
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        let json = line.strip_suffix(b"\n").unwrap_or(line);
        sealed.extend_from_slice(format!("{:08x} ", crc32fast::hash(json)).as_bytes());
        sealed.extend_from_slice(line);
    }
    open(&path, &sealed);
});

fn open(path: &Path, content: &[u8]) {
    fs::write(path, content).expect("writes the journal");
    let Ok((journal, records)) = Journal::open(path) else { return };
    drop(journal);
    let kept = fs::read(path).expect("reads the journal");
    assert!(content.starts_with(&kept), "opening a journal only ever cuts its end off");
    let (_, again) = Journal::open(path).expect("what was opened once can be opened again");
    assert_eq!(again, records);
}
