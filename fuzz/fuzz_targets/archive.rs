//! Fuzzes uploaded archives: nothing may be unpacked outside of the target directory, or exceed the
//! limits.
#![no_main]

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use plumbline_archive::extract::{ExtractLimits, extract_tar_gz};
use plumbline_archive::member::NameLimits;

/// Small limits, so that generated archives reach them.
const LIMITS: ExtractLimits = ExtractLimits {
    unpacked_bytes: 64 << 10,
    entries: 20,
    name_bytes: 4 << 10,
    names: NameLimits { path_bytes: 300, depth: 8 },
};

fuzz_target!(|data: &[u8]| {
    // Test the data itself, for the gzip reader, and as the content of a valid gzip stream. No
    // generated input would have a correct checksum.
    unpack(data);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(data).expect("writes to memory");
    unpack(&gzip.finish().expect("writes to memory"));
});

fn unpack(archive: &[u8]) {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let dest = outside.path().join("dest");
    fs::create_dir(&dest).expect("a directory in it");
    let result = extract_tar_gz(archive, &dest, &LIMITS);

    let entries = fs::read_dir(outside.path()).expect("reads the directory").count();
    assert_eq!(entries, 1, "something was written next to the destination");
    let mut found = Found::default();
    count(&dest, &mut found);
    assert!(found.bytes <= LIMITS.unpacked_bytes, "{found:?}");
    if let Ok(extracted) = result {
        // A file that occurs twice is written twice, but found once.
        assert!(extracted.files >= found.files && extracted.bytes >= found.bytes, "{extracted:?}, but {found:?}");
    }
}

#[derive(Debug, Default)]
struct Found {
    files: u64,
    bytes: u64,
}

fn count(dir: &Path, found: &mut Found) {
    for entry in fs::read_dir(dir).expect("reads the directory") {
        let path = entry.expect("reads the directory").path();
        let meta = fs::symlink_metadata(&path).expect("reads the entry");
        if meta.is_dir() {
            count(&path, found);
        } else {
            assert!(meta.is_file(), "`{}` is neither file nor directory", path.display());
            found.files += 1;
            found.bytes += meta.len();
        }
    }
}
