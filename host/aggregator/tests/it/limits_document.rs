//! Tests that docs/limits.md has the values of the constants.

use plumbline_core::limits::*;
use plumbline_core::{ModuleLimits, ReceiveLimits};

const DOCUMENT: &str = include_str!("../../../../docs/limits.md");

fn row(first: &str) -> Vec<&'static str> {
    let row = DOCUMENT.lines().find(|line| line.starts_with(&format!("| {first}")));
    let row = row.unwrap_or_else(|| panic!("docs/limits.md has no row `{first}`"));
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// Formats a number as `1,000`, or as `16 MiB` if it counts bytes.
fn shown(key: &str, value: u64) -> String {
    let bytes = ["memory", "stack"].contains(&key) || key.ends_with("bytes");
    let unit = [(30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(shift, _)| value >> shift > 0);
    if let Some((shift, unit)) = unit.filter(|_| bytes) {
        return format!("{} {unit}", value >> shift);
    }
    let digits = value.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(",")
}

fn fields(limits: impl serde::Serialize) -> Vec<(String, u64)> {
    let value = serde_json::to_value(limits).unwrap();
    value.as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.as_u64().unwrap())).collect()
}

#[test]
fn every_limit_of_modules_and_uploads_is_listed_with_its_default() {
    for ((key, default), (_, cap)) in fields(ModuleLimits::default()).into_iter().zip(fields(ModuleLimits::cap())) {
        let row = row(&format!("`{key}`"));
        assert_eq!((row[2], row[3]), (shown(&key, default).as_str(), shown(&key, cap).as_str()), "{key}");
    }
    for (key, default) in fields(ReceiveLimits::default()) {
        let row = row(&format!("`{key}`"));
        let hours = format!("{} hours", default / 3600);
        assert!([shown(&key, default), hours].contains(&row[2].to_owned()), "{key}: {row:?}");
    }
}

#[test]
fn fixed_limits_are_listed() {
    for (what, value) in [
        ("head of a request", HEAD_BYTES as u64 >> 10),
        ("bodies in memory while they arrive", BODY_MEMORY as u64 >> 20),
        ("failed uploads of a result", FAILED_UPLOADS.into()),
        ("consecutive empty members of a gzip stream", EMPTY_GZIP_MEMBERS.into()),
        ("an error document of a worker", ERROR_BYTES as u64 >> 10),
        ("error documents of all results of a run", ERRORS_BYTES as u64 >> 20),
        ("an archive in a bucket", BUCKET_OBJECT_BYTES >> 30),
        ("levels of directories in a result", RESULT_DEPTH as u64),
        ("path of a file in a result", RESULT_PATH_BYTES as u64),
        ("levels of directories in an archive", ARCHIVE_DEPTH as u64),
        ("path of a file in an archive", ARCHIVE_PATH_BYTES as u64),
        ("files and directories of an archive", ARCHIVE_ENTRIES),
        ("names of all files of a result", RESULT_NAME_BYTES >> 20),
        ("disk space that a run reserves", DISK_RESERVE >> 20),
        ("different statuses that one call emits", CALL_STATUSES),
        ("expected results of a run", plumbline_core::ledger::MAX_EXPECTED as u64),
    ] {
        assert!(row(what)[1].starts_with(&shown("", value)), "{what}: {:?}", row(what));
    }
}
