//! Fuzzes results archives of any tool and version: if one can be opened, all of its files are
//! complete.
#![no_main]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use plumbline_archive::extract::ExtractLimits;
use plumbline_archive::results::{ReadLimits, ResultsArchive};

/// Small limits, so that generated archives reach them.
const LIMITS: ReadLimits = ReadLimits { entries: 30, unpacked_bytes: 128 << 10 };

fuzz_target!(|tar: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("results.tar.gz");
    let mut gzip = GzEncoder::new(File::create(&path).expect("creates the archive"), Compression::fast());
    gzip.write_all(tar).and_then(|()| gzip.finish()).expect("writes the archive");
    let Ok(mut archive) = ResultsArchive::open_with(&path, &LIMITS) else { return };

    let files: Vec<(String, u64)> = archive.files().map(|(name, size)| (name.to_owned(), size)).collect();
    for (name, size) in &files {
        let mut content = Vec::new();
        archive
            .file(name)
            .expect("a file of the list")
            .read_to_end(&mut content)
            .expect("was verified when it was opened");
        assert_eq!(content.len() as u64, *size, "{name}");
    }
    for plugin in archive.info().plugins.clone() {
        unpack(&mut archive, &plugin, &dir.path().join("plugin"));
    }
});

fn unpack(archive: &mut ResultsArchive, plugin: &str, dest: &Path) {
    fs::create_dir(dest).expect("a directory");
    let _ = archive.extract_plugin(plugin, dest, &ExtractLimits::default());
    fs::remove_dir_all(dest).expect("nothing but files and directories");
    let entries = dest.parent().map(|parent| fs::read_dir(parent).expect("reads the directory").count());
    assert_eq!(entries, Some(1), "plugin `{plugin}` wrote something next to the destination");
}
