//! Tests with malicious archives: nothing is written elsewhere, nothing costs more than the limits,
//! and errors state the reason.

use std::fs;

use plumbline_archive::extract::{Blame, ExtractError, ExtractLimits, MemberError};
use plumbline_archive::member::{NameFault, SkipReason, StreamError};
use plumbline_core::limits::{RESULT_DEPTH, RESULT_PATH_BYTES};

use crate::make::*;

fn refused(archive: &[u8]) -> ExtractError {
    extract(archive).unwrap_err()
}

fn hostility(archive: &[u8]) -> MemberError {
    match refused(archive) {
        ExtractError::Hostile { why, .. } => why,
        other => panic!("{other}"),
    }
}

fn small() -> ExtractLimits {
    ExtractLimits { unpacked_bytes: 1 << 20, entries: 10, ..ExtractLimits::default() }
}

#[test]
fn names_that_lead_elsewhere_refuse_the_archive() {
    let good = Tar::new().file("good", b"x");
    for (name, why) in [
        (b"/etc/cron.d/x".as_slice(), NameFault::Absolute),
        (b"../secret", NameFault::Parent),
        (b"a/../../secret", NameFault::Parent),
        (b"./../secret", NameFault::Parent),
        (b"caf\xe9", NameFault::NotUtf8),
    ] {
        assert_eq!(hostility(&good.clone().member(name, FILE, b"x").gz()), MemberError::Name(why), "{name:?}");
        assert_eq!(hostility(&good.clone().member(name, DIR, b"").gz()), MemberError::Name(why), "{name:?}");
        // Long names in the GNU and POSIX formats.
        let long = good.clone().long_name(name).file("harmless", b"x");
        assert_eq!(hostility(&long.gz()), MemberError::Name(why), "{name:?}");
        if let Ok(name) = str::from_utf8(name) {
            let pax = good.clone().pax(&[("path", name)]).file("harmless", b"x");
            assert_eq!(hostility(&pax.gz()), MemberError::Name(why), "{name:?}");
        }
    }
    let pax = Tar::new().pax(&[("path", "a\0b")]).file("harmless", b"x");
    assert!(extract(&pax.gz()).is_err());
    assert_eq!(hostility(&Tar::new().member(b"./", FILE, b"").member(b"", FILE, b"x").gz()), MemberError::Unnamed);
    let error = refused(&Tar::new().file("../x\x1b[2J", b"").gz());
    assert_eq!(error.to_string(), "member `../x\\u{1b}[2J` is not allowed: a path with `..`");
    assert_eq!(error.blame(), Blame::Archive);
}

#[test]
fn long_names_are_taken_up_to_the_limit() {
    let component = "n".repeat(255);
    let name = [component.as_str(); 12].join("/");
    for tar in [
        Tar::new().long_name(name.as_bytes()).file("short", b"deep"),
        Tar::new().pax(&[("path", &name)]).file("short", b"deep"),
    ] {
        assert_eq!(files(&extract(&tar.gz()).unwrap().1), [(name.as_str(), "deep")]);
    }
    let too_long = Tar::new().long_name(&[b'n'; 5000]).file("short", b"").gz();
    assert_eq!(hostility(&too_long), MemberError::Name(NameFault::TooLong(RESULT_PATH_BYTES)));
    let component = Tar::new().long_name(&[b'n'; 256]).file("short", b"").gz();
    assert_eq!(hostility(&component), MemberError::Name(NameFault::ComponentTooLong));
    let deep = Tar::new().long_name("d/".repeat(RESULT_DEPTH + 1).as_bytes()).file("short", b"").gz();
    assert_eq!(hostility(&deep), MemberError::Name(NameFault::TooDeep(RESULT_DEPTH)));
}

#[test]
fn links_and_special_files_are_skipped_and_listed() {
    let tar = Tar::new()
        .link("symlink", SYMLINK, "../secret")
        .link("hardlink", HARD_LINK, "../secret")
        .link("tty", CHAR_DEVICE, "")
        .link("disk", BLOCK_DEVICE, "")
        .link("pipe", FIFO, "")
        .member(b"volume", b'V', b"")
        .file("after", b"still here");
    let (extracted, tree) = extract(&tar.gz()).unwrap();
    assert_eq!(files(&tree), [("after", "still here")]);
    let left_out: Vec<_> = extracted.skipped.iter().map(|s| (s.member.as_str(), s.why)).collect();
    assert_eq!(
        left_out,
        [
            ("symlink", SkipReason::Symlink),
            ("hardlink", SkipReason::HardLink),
            ("tty", SkipReason::Device),
            ("disk", SkipReason::Device),
            ("pipe", SkipReason::Fifo),
            ("volume", SkipReason::Type(b'V')),
        ]
    );
    assert_eq!((extracted.skipped_total, extracted.files), (6, 1));
}

#[test]
fn many_left_out_members_are_counted_not_listed() {
    let tar = (0..250).fold(Tar::new(), |tar, n| tar.link(&format!("l{n}"), SYMLINK, "x"));
    let extracted = extract(&tar.gz()).unwrap().0;
    assert_eq!((extracted.skipped.len(), extracted.skipped_total), (100, 250));
}

#[test]
fn a_link_cannot_leave_the_directory() {
    // In the archive itself, the link is skipped, so the path through it becomes a directory with
    // that name.
    let tar = Tar::new().link("out", SYMLINK, "..").file("out/secret", b"changed");
    assert_eq!(files(&extract(&tar.gz()).unwrap().1), [("out/secret", "changed")]);
    // Someone else put a link in the way.
    for name in ["out", "out/secret", "out/new"] {
        let place = Destination::new();
        std::os::unix::fs::symlink("..", place.dest().join("out")).unwrap();
        let error = place.extract(&Tar::new().file(name, b"changed").gz(), &ExtractLimits::default()).unwrap_err();
        assert!(matches!(error, ExtractError::Hostile { why: MemberError::Conflict, .. }), "{name}: {error}");
    }
}

#[test]
fn sparse_files_are_skipped_regardless_of_their_size() {
    let gnu = Tar::new().gnu_sparse(b"sparse", &[b'x'; 700]).file("after", b"ok");
    let pax = Tar::new()
        .pax(&[("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "99999999999")])
        .file("sparse", b"1\n0\n5\nhello")
        .file("after", b"ok");
    for tar in [gnu, pax] {
        let (extracted, tree) = extract(&tar.gz()).unwrap();
        assert_eq!(files(&tree), [("after", "ok")]);
        assert_eq!(extracted.skipped[0].why, SkipReason::Sparse);
    }
}

#[test]
fn content_where_none_belongs_is_damage() {
    for kind in [SYMLINK, FIFO, DIR] {
        let inner = Tar::new().file("hidden", b"x");
        let tar = Tar::new().member(b"outer", kind, &inner.0).file("after", b"");
        let error = refused(&tar.gz());
        assert!(matches!(error, ExtractError::Stream(StreamError::Corrupt { .. } | StreamError::NotTar(_))), "{error}");
    }
}

#[test]
fn claims_of_size_cost_nothing() {
    for size in [2 << 20, 1 << 40, u64::MAX / 2] {
        let error =
            Destination::new().extract(&Tar::new().header(b"huge", FILE, size, b"").gz(), &small()).unwrap_err();
        assert!(matches!(error, ExtractError::Stream(StreamError::TooManyBytes(1_048_576))), "{size}: {error}");
        assert_eq!(error.blame(), Blame::Size);
    }
    assert!(extract(&Tar::new().header(b"huge", FILE, u64::MAX - 511, b"").gz()).is_err());
    let pax = Tar::new().pax(&[("size", "18446744073709551615")]).file("huge", b"x");
    assert!(Destination::new().extract(&pax.gz(), &small()).is_err());
    // Many members, each within the limit.
    let tar = (0..3).fold(Tar::new(), |tar, n| tar.file(&format!("f{n}"), &[0; 400 << 10]));
    let error = Destination::new().extract(&tar.gz(), &small()).unwrap_err();
    assert_eq!(error.to_string(), "more than 1048576 bytes unpacked");
}

#[test]
fn an_extended_header_cannot_be_read_in_two_ways() {
    let twice = Tar::new().pax(&[("path", "a"), ("path", "b")]).file("c", b"x").gz();
    assert!(matches!(refused(&twice), ExtractError::Stream(StreamError::Corrupt { .. } | StreamError::NotTar(_))));
    let twice = Tar::new().pax(&[("size", "1"), ("size", "600")]).file("c", b"x").gz();
    assert!(matches!(refused(&twice), ExtractError::Stream(StreamError::Corrupt { .. } | StreamError::NotTar(_))));
    let rubbish = Tar::new().member(b"././@PaxHeader", PAX, b"99 path=a\n").file("c", b"x").gz();
    assert!(extract(&rubbish).is_err());
    for size in ["-1", "1e3", "", "0x10"] {
        let tar = Tar::new().pax(&[("size", size)]).file("c", b"x").gz();
        assert!(extract(&tar).is_err(), "{size}");
    }
    // A global header applies to all members and does not set their names.
    let global = Tar::new().extended(PAX_GLOBAL, &[("path", "../secret")]).file("c", b"x").gz();
    assert_eq!(files(&extract(&global).unwrap().1), [("c", "x")]);
}

#[test]
fn headers_without_end_are_refused() {
    let one = Tar::new().long_name(&[b'n'; 2 << 20]).file("x", b"").gz();
    assert!(matches!(refused(&one), ExtractError::Stream(StreamError::TooMuchMetadata)));
    let value = "v".repeat(2 << 20);
    let pax = Tar::new().pax(&[("comment", &value)]).file("x", b"").gz();
    assert!(matches!(refused(&pax), ExtractError::Stream(StreamError::TooMuchMetadata)));
    // Thousands of headers that each describe the next one.
    let chain = (0..4000).fold(Tar::new(), |tar, _| tar.pax(&[("comment", "x")])).file("x", b"").gz();
    assert!(extract(&chain).is_err());
}

#[test]
fn bombs_stop_at_the_limit() {
    let zeros = vec![0; 64 << 20];
    let inside = Tar::new().file("zeros", &zeros).gz();
    assert!(inside.len() < 1 << 20, "{}", inside.len());
    let error = Destination::new().extract(&inside, &small()).unwrap_err();
    assert!(matches!(error, ExtractError::Stream(StreamError::TooManyBytes(_))), "{error}");
    // After the end of the archive, where no header declares a size.
    let mut after = Tar::new().file("a", b"a").end();
    after.0.extend_from_slice(&zeros);
    let error = Destination::new().extract(&gz(&after.0), &small()).unwrap_err();
    assert!(matches!(error, ExtractError::Stream(StreamError::TooManyBytes(_))), "{error}");
    // In a member that is skipped anyway.
    let error = Destination::new().extract(&Tar::new().gnu_sparse(b"sparse", &zeros).gz(), &small()).unwrap_err();
    assert!(matches!(error, ExtractError::Stream(StreamError::TooManyBytes(_))), "{error}");
}

#[test]
fn members_are_counted() {
    let exact = (0..10).fold(Tar::new(), |tar, n| tar.dir(&format!("d{n}")));
    assert_eq!(Destination::new().extract(&exact.clone().gz(), &small()).unwrap().dirs, 10);
    let error = Destination::new().extract(&exact.link("l", SYMLINK, "x").gz(), &small()).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.blame()), ("more than 10 files and directories", Blame::Size));
}

/// One member can create as many directories as its name has components.
#[test]
fn directories_that_appear_only_in_names_are_counted() {
    let nested = |n: usize| format!("{n}/b/c/d/e/f");
    let extracted = Destination::new().extract(&Tar::new().file(&nested(0), b"").gz(), &small()).unwrap();
    assert_eq!((extracted.entries, extracted.dirs), (6, 0));
    let two = Tar::new().file(&nested(0), b"").file(&nested(1), b"").gz();
    let error = Destination::new().extract(&two, &small()).unwrap_err();
    assert_eq!(error.blame(), Blame::Size, "{error}");
}

/// Long names compress well, and a list of files keeps them in memory.
#[test]
fn names_are_bounded_together() {
    let limits = ExtractLimits { name_bytes: 20, ..small() };
    let fits = Tar::new().file("a123456789", b"").file("b123456789", b"");
    Destination::new().extract(&fits.clone().gz(), &limits).unwrap();
    let error = Destination::new().extract(&fits.file("c", b"").gz(), &limits).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.blame()),
        ("the names of all files together have more than 20 bytes", Blame::Size)
    );
}

#[test]
fn the_last_of_a_name_counts_and_kinds_do_not_mix() {
    let twice = Tar::new().file("a", b"a long first").file("a", b"second");
    let (extracted, tree) = extract(&twice.gz()).unwrap();
    assert_eq!((files(&tree), extracted.files), (vec![("a", "second")], 2));
    for tar in [
        Tar::new().file("a", b"").dir("a"),
        Tar::new().dir("a").file("a", b""),
        Tar::new().file("a", b"").file("a/b", b""),
        Tar::new().file("a/b", b"").file("a", b""),
    ] {
        assert_eq!(hostility(&tar.gz()), MemberError::Conflict);
    }
    // A directory that occurs again, in any spelling, is not a conflict.
    extract(&Tar::new().dir("a").dir("./a/").file("a//b", b"").dir("a").gz()).unwrap();
}

#[test]
fn modes_are_ours() {
    use std::os::unix::fs::PermissionsExt;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, mode) in [("setuid", 0o6777), ("plain", 0o600), ("closed", 0o000)] {
        let mut header = tar::Header::new_gnu();
        header.set_mode(mode);
        header.set_size(0);
        archive.append_data(&mut header, name, std::io::empty()).unwrap();
    }
    let place = Destination::new();
    place.extract(&gz(&archive.into_inner().unwrap()), &ExtractLimits::default()).unwrap();
    let mode = |name| fs::metadata(place.dest().join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("setuid") & !0o777, 0);
    assert_eq!(mode("setuid") & 0o100, 0o100);
    assert_eq!(mode("plain"), mode("closed"));
    assert_eq!(mode("plain") & 0o111, 0);
}
