//! Tests with malicious tars.

use std::fs;
use std::io::{self, Read, Write};

use plumbline_archive::member::NameFault;
use plumbline_bundle::{Bundle, BundleError, BundleWarning, Digest, EntryFault, UnpackError, unpack, unpack_verified};

use crate::make::{Bed, DEFINITION, Raw, component, seal, tar, tar_of};

/// Unpacks `tar`, which must fail and leave no files behind.
#[track_caller]
fn refused(tar: &[u8]) -> UnpackError {
    let bed = Bed::new();
    fs::create_dir(bed.path("place")).unwrap();
    let error = unpack(tar, &bed.path("place/into")).unwrap_err();
    assert_eq!(bed.tree(), ["place/"], "{error}");
    error
}

/// Returns the reason why an entry is rejected.
#[track_caller]
fn fault(entry: Raw) -> EntryFault {
    // Add a valid definition before or after it.
    let first = entry.name.as_slice() < b"plugin.yaml".as_slice();
    let definition = Raw::file("plugin.yaml", DEFINITION);
    let entries = if first { [entry, definition] } else { [definition, entry] };
    match refused(&tar(&entries)) {
        UnpackError::Refused { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (name, want) in [
        ("../evil", NameFault::Parent),
        ("tests/../../evil", NameFault::Parent),
        ("tests/..", NameFault::Parent),
        ("/etc/cron.d/evil", NameFault::Absolute),
    ] {
        assert_eq!(fault(Raw::file(name, "x")), EntryFault::Name(want), "{name}");
    }
    for name in ["./README", "tests//x", "tests/./x"] {
        assert_eq!(fault(Raw::file(name, "x")), EntryFault::NotPlain, "{name}");
    }
    assert_eq!(fault(Raw::file("tests\\..\\evil", "x")), EntryFault::Character);
    assert_eq!(fault(Raw::file("tests/\x1b[2J", "x")), EntryFault::Character);
    assert_eq!(fault(Raw::file(b"tests/\xff", "x")), EntryFault::Name(NameFault::NotUtf8));
    assert_eq!(fault(Raw::file("a/".repeat(16) + "x", "x")), EntryFault::Name(NameFault::TooDeep(16)));
}

#[test]
fn only_files_are_taken() {
    for (kind, want) in [
        (b'1', EntryFault::HardLink),
        (b'2', EntryFault::Symlink),
        (b'3', EntryFault::Device),
        (b'4', EntryFault::Device),
        (b'5', EntryFault::Directory),
        (b'6', EntryFault::Fifo),
        (b'S', EntryFault::Sparse),
        (b'7', EntryFault::Type(b'7')),
        (0, EntryFault::Header),
    ] {
        assert_eq!(fault(Raw::of_kind("tests/x", kind).linked("/etc/passwd")), want);
    }
    // An entry that is not a link but has a link target.
    assert_eq!(fault(Raw::file("tests/x", "").linked("/etc/passwd")), EntryFault::Header);
}

#[test]
fn headers_that_change_the_next_one_are_refused() {
    for (kind, content) in [
        (b'x', "20 path=../../evil\n"),
        (b'g', "20 path=../../evil\n"),
        (b'x', "22 GNU.sparse.major=1\n"),
        (b'L', "../../../evil\0"),
        (b'K', "/etc/passwd\0"),
    ] {
        let entry = Raw { kind, ..Raw::file("././@LongLink", content) };
        assert!(matches!(fault(entry), EntryFault::Extended(_)), "{}", char::from(kind));
    }
}

#[test]
fn headers_are_those_of_a_bundle_or_refused() {
    for mode in [b"0004755\0", b"0000777\0", b"0100644\0", b"000644 \0"] {
        assert_eq!(fault(Raw { mode, ..Raw::file("tests/x", "") }), EntryFault::Header);
    }
    // A size in GNU base-256, a size with spaces, no size, and a size without a terminator.
    let gnu = *b"\x80\0\0\0\0\0\0\0\0\0\0\x05";
    for size in [gnu, *b"          5\0", [0; 12], *b"77777777777\xff"] {
        assert_eq!(fault(Raw { size, ..Raw::file("tests/x", "hello") }), EntryFault::Header);
    }
    let good = tar(&[Raw::file("plugin.yaml", DEFINITION)]);
    // Owner, group, time, GNU magic, names of owner and group, device, and the bytes at the end.
    for at in [110, 118, 140, 262, 263, 265, 297, 330, 500] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        seal(&mut bad);
        assert!(matches!(refused(&bad), UnpackError::Refused { why: EntryFault::Header, .. }), "{at}");
    }
}

#[test]
fn files_come_once_and_in_order() {
    let definition = || Raw::file("plugin.yaml", DEFINITION);
    let order = |entries: &[Raw]| matches!(refused(&tar(entries)), UnpackError::Refused { why: EntryFault::Order, .. });
    assert!(order(&[definition(), definition()]));
    assert!(order(&[definition(), Raw::file("README", "x")]));
    assert_eq!(fault(Raw::file("plugin.yaml/x", "x")), EntryFault::BelowFile,);
    // Other entries may come between the file and the entry below it.
    let between = [definition(), Raw::file("tests", ""), Raw::file("tests-", ""), Raw::file("tests/a", "")];
    assert!(matches!(refused(&tar(&between)), UnpackError::Refused { why: EntryFault::BelowFile, .. }));
}

#[test]
fn sizes_are_checked_before_bytes_are_read() {
    let big = Raw::file("tests/big", "").announcing((64 << 20) + 1);
    assert!(matches!(refused(&tar(&[Raw::file("plugin.yaml", DEFINITION), big])), UnpackError::EntryTooLarge { .. }));
    let huge = Raw::file("tests/big", "").announcing(0o77777777777);
    assert!(matches!(refused(&tar(&[Raw::file("plugin.yaml", DEFINITION), huge])), UnpackError::EntryTooLarge { .. }));
    let many: Vec<Raw> = (0..=4096).map(|i| Raw::file(format!("tests/{i:05}"), "")).collect();
    assert!(matches!(refused(&tar(&many)), UnpackError::TooManyEntries));
}

#[test]
fn all_files_together_have_a_limit() {
    // Four files of 64 MiB and one byte, as a stream that is never held in memory.
    let mut headers = (0..5).map(|i| {
        let size = if i < 4 { 64 << 20 } else { 1 };
        let header = tar(&[Raw::file(format!("tests/{i}"), "").announcing(size)]);
        io::Cursor::new(header[..512].to_vec()).chain(io::repeat(0).take(size))
    });
    let mut stream: Box<dyn Read> = Box::new(io::empty());
    for part in &mut headers {
        stream = Box::new(stream.chain(part));
    }
    let bed = Bed::new();
    assert!(matches!(unpack(stream, &bed.path("into")), Err(UnpackError::TooManyBytes)));
    assert_eq!(bed.tree(), [""; 0]);
}

#[test]
fn damage_and_what_follows_the_end_are_noticed() {
    let good = tar(&[Raw::file("plugin.yaml", DEFINITION), Raw::file("tests/x", "hello")]);
    for cut in [1, 100, 511, 512, 600, 1024, 1030, good.len() - 1024, good.len() - 512, good.len() - 1] {
        let error = refused(&good[..cut]);
        assert!(matches!(error, UnpackError::Truncated(_) | UnpackError::NotATar), "{cut}: {error}");
    }
    assert!(matches!(refused(b""), UnpackError::NotATar));
    let trailing = |more: &[u8]| refused(&[&good, more].concat());
    assert!(matches!(trailing(b"x"), UnpackError::Trailing));
    assert!(matches!(trailing(&[0; 512]), UnpackError::Trailing), "padding too: one content, one tar");
    assert!(matches!(trailing(&good), UnpackError::Trailing));
    let mut hidden = good.clone();
    let at = good.len() - 1024 - 1;
    hidden[at] = b'!';
    assert!(matches!(refused(&hidden), UnpackError::Refused { why: EntryFault::Padding, .. }));
    let mut broken = good.clone();
    broken[1024] ^= 1;
    assert!(matches!(refused(&broken), UnpackError::Damaged(1)));
    let mut end = good.clone();
    let at = end.len() - 1;
    end[at] = 1;
    assert!(matches!(refused(&end), UnpackError::Damaged(2)));
}

#[test]
fn compressed_tars_and_other_files_are_named() {
    let good = tar(&[Raw::file("plugin.yaml", DEFINITION)]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&good).unwrap();
    let error = refused(&gzip.finish().unwrap());
    assert!(matches!(error, UnpackError::Compressed("gzip")), "{error}");
    assert!(error.hint().unwrap().contains("gunzip"));
    // Unpacking of a compression bomb does not even start.
    let bomb = [b"\x1f\x8b\x08".as_slice(), &[0; 4096]].concat();
    assert!(matches!(refused(&bomb), UnpackError::Compressed("gzip")));
    assert!(matches!(refused(b"PK\x03\x04 something"), UnpackError::Compressed("zip")));
    assert!(matches!(refused(&[b'x'; 2000]), UnpackError::NotATar));
    assert!(matches!(refused(b"<html>not found</html>"), UnpackError::NotATar));
}

#[test]
fn without_a_good_definition_there_is_no_bundle() {
    assert!(matches!(refused(&tar(&[])), UnpackError::NoDefinition));
    assert!(matches!(refused(&tar(&[Raw::file("README", "x")])), UnpackError::NoDefinition));
    assert!(matches!(refused(&tar(&[Raw::file("tests/plugin.yaml", DEFINITION)])), UnpackError::NoDefinition));
    let error = refused(&tar(&[Raw::file("plugin.yaml", "a: [")]));
    assert!(matches!(error, UnpackError::Definition(_)), "{error}");
    let reserved = DEFINITION.replace("plugin-name: sample", "plugin-name: ../../evil");
    assert!(matches!(refused(&tar(&[Raw::file("plugin.yaml", reserved)])), UnpackError::Definition(_)));
}

#[test]
fn files_that_no_rule_selects_are_rejected() {
    for name in [".bashrc", "src/main.rs", "id_rsa", "tests/.ssh/authorized_keys", "sub/module.wasm"] {
        assert_eq!(fault(Raw::file(name, "x")), EntryFault::NotSelected, "{name}");
    }
}

#[test]
fn an_invalid_module_is_reported_when_the_bundle_is_opened() {
    let bed = Bed::new();
    let bytes = tar(&[
        Raw::file("bad.wasm", "junk"),
        Raw::file("good.wasm", component()),
        Raw::file("plugin.yaml", DEFINITION),
    ]);
    assert_eq!(unpack(bytes.as_slice(), &bed.path("into")).unwrap(), Digest::of(&bytes));
    match Bundle::open(bed.path("into")) {
        Err(BundleError::Module { file, .. }) => assert_eq!(file, "bad.wasm"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_that_differ_only_in_case_are_kept_and_reported() {
    let bed = Bed::new();
    let bytes =
        tar(&[Raw::file("plugin.yaml", DEFINITION), Raw::file("tests/A", "upper"), Raw::file("tests/a", "lower")]);
    match unpack(bytes.as_slice(), &bed.path("into")) {
        Ok(_) => {
            assert_eq!(fs::read_to_string(bed.path("into/tests/A")).unwrap(), "upper");
            let warnings = Bundle::open(bed.path("into")).unwrap().warnings;
            assert!(warnings.iter().any(|warning| matches!(warning, BundleWarning::Case(..))), "{warnings:?}");
        }
        // If a file system treats both names as the same file, the second does not replace the
        // first.
        Err(error) => assert!(matches!(error, UnpackError::Write { .. }), "{error}"),
    }
}

#[test]
fn another_tar_than_announced_is_refused() {
    let bed = Bed::new();
    let bytes = tar_of(&bed.sample("b"));
    let announced = Digest::of(b"another");
    let error = unpack_verified(bytes.as_slice(), &bed.path("into"), &announced).unwrap_err();
    assert!(matches!(error, UnpackError::Digest { expected, .. } if expected == announced), "{error}");
    assert!(!bed.path("into").exists());
    unpack_verified(bytes.as_slice(), &bed.path("into"), &Digest::of(&bytes)).unwrap();
}

#[test]
fn existing_files_are_not_overwritten() {
    let bed = Bed::new();
    let bytes = tar_of(&bed.sample("b"));
    bed.write("into/file", "mine");
    assert!(matches!(unpack(bytes.as_slice(), &bed.path("into")), Err(UnpackError::Exists(_))));
    std::os::unix::fs::symlink(bed.path("elsewhere"), bed.path("link")).unwrap();
    assert!(matches!(unpack(bytes.as_slice(), &bed.path("link")), Err(UnpackError::Exists(_))));
    assert_eq!(fs::read_to_string(bed.path("into/file")).unwrap(), "mine");
}

#[test]
fn a_failing_source_is_not_an_error_of_the_tar() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the line is dead"))
        }
    }
    let bed = Bed::new();
    let begin = tar_of(&bed.sample("b"))[..700].to_vec();
    let error = unpack(io::Cursor::new(begin).chain(Broken), &bed.path("into")).unwrap_err();
    assert!(matches!(error, UnpackError::Source(_)) && error.is_systems(), "{error}");
}
