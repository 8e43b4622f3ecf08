//! Tests of unpacking onto a disk that becomes full.

use std::io;
use std::sync::{Arc, Mutex};

use plumbline_archive::disk::{Disk, ENTRY_BYTES, SpaceGuard};
use plumbline_archive::extract::{Blame, ExtractError, ExtractLimits, Extracted, extract_tar_gz_on};
use plumbline_archive::member::StreamError;

use crate::make::*;

/// The number of bytes that are still free.
struct Free(Mutex<u64>);

impl SpaceGuard for Free {
    fn take(&self, bytes: u64, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut free = self.0.lock().unwrap();
        *free = free.checked_sub(bytes).ok_or(io::ErrorKind::StorageFull)?;
        act()
    }
}

/// Unpacks onto a disk with `free` bytes.
fn extract_within(free: u64, archive: &[u8], limits: &ExtractLimits) -> Result<Extracted, ExtractError> {
    let disk = Disk::default().guarded(Arc::new(Free(Mutex::new(free))));
    extract_tar_gz_on(&disk, archive, &Destination::new().dest(), limits)
}

fn two_files() -> Tar {
    Tar::new().dir("d").file("d/a", &[7; 60_000]).file("d/b", &[7; 60_000])
}

#[test]
fn a_limit_that_the_archive_exceeds_is_reported_although_the_disk_is_full() {
    let limits = |unpacked_bytes, entries| ExtractLimits { unpacked_bytes, entries, ..ExtractLimits::default() };
    let error = extract_within(50_000, &two_files().gz(), &limits(100_000, 100)).unwrap_err();
    assert!(matches!(error, ExtractError::Stream(StreamError::TooManyBytes(100_000))), "{error}");
    let error = extract_within(50_000, &two_files().gz(), &limits(1_000_000, 2)).unwrap_err();
    assert!(matches!(error, ExtractError::Stream(StreamError::TooManyEntries(2))), "{error}");
    let hostile = two_files().file("../c", b"").gz();
    let error = extract_within(50_000, &hostile, &ExtractLimits::default()).unwrap_err();
    assert_eq!(error.blame(), Blame::Archive, "{error}");
}

#[test]
fn an_archive_within_the_limits_says_how_much_space_it_needs() {
    for free in [0, 50_000] {
        let error = extract_within(free, &two_files().gz(), &ExtractLimits::default()).unwrap_err();
        assert!(matches!(error, ExtractError::NoSpace { entries: 3, bytes: 120_000, .. }), "{error}");
        assert_eq!(error.blame(), Blame::Host);
    }
    let space = 120_000 + 3 * ENTRY_BYTES;
    assert_eq!(extract_within(space, &two_files().gz(), &ExtractLimits::default()).unwrap().bytes, 120_000);
}
