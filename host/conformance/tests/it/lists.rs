//! Tests of built-in lists, lists in directories, and untrusted lists.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_conformance::lists::{
    Embedded, ListError, Selection, SelectionError, check_selection, is_suite_node, near, parse, read_dir, read_file,
    read_version, resolve, tags,
};

use crate::built_in::lists;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), if name.ends_with(".gz") { gzip(text.as_bytes()) } else { text.into() }).unwrap();
}

/// Returns an error with its sources on one line.
fn full_message(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", full_message(source)),
        None => error.to_string(),
    }
}

#[test]
fn every_built_in_list_is_complete() {
    let Some(built_in) = lists("tests") else { return };
    for (version, tests, conformance) in [
        ("v1.29.15", 7411, 388),
        ("v1.30.14", 7203, 402),
        ("v1.33.13", 6734, 419),
        ("v1.34.4", 7138, 424),
        ("v1.35.4", 7355, 441),
        ("v1.36.3", 7579, 446),
        ("v1.37.2", 3206, 462),
    ] {
        let list = built_in.exact(version).unwrap().unwrap();
        assert_eq!((list.version.as_str(), list.tests.len()), (version, tests));
        assert!(list.tests.is_sorted() && list.tests.iter().all(|name| !is_suite_node(name)));
        let selection = Selection::parse(Some(r"\[Conformance\]"), None).unwrap();
        assert_eq!(selection.select(&list.tests).count(), conformance, "{version}");
    }
    assert_eq!(built_in.versions().count(), 7);
    assert!(built_in.exact("v1.30.3").is_none() && built_in.exact("nonsense").is_none());
}

#[test]
fn a_program_without_lists_says_so() {
    let none = Embedded::default();
    let error = |version| none.closest(version).unwrap_err().to_string();
    assert_eq!(error(Some("v1.30.2")), "no list of tests of v1.30.2 in this program; it has none");
    assert_eq!(error(None), "no list of tests of any version in this program; it has none");
    let found = check_selection(&none, Some("v1.30.2"), "", Some("a"), None);
    assert!(matches!(found, Err(SelectionError::List(ListError::Unknown { .. }))));
}

#[test]
fn lists_of_a_program_are_sorted_by_version() {
    let lists = Embedded::new(
        [("v1.10.0", "c"), ("README", "x"), ("v1.9.1", "b"), ("v1.9.0", "#v1.9.1\n+a")]
            .map(|(version, list)| (version, list.as_bytes())),
    );
    assert_eq!(lists.versions().collect::<Vec<_>>(), ["v1.9.0", "v1.9.1", "v1.10.0"]);
    assert_eq!(lists.exact("v1.9.0").unwrap().unwrap().tests, ["a", "b"]);
    assert_eq!(lists.closest(Some("v1.9.7")).unwrap().version, "v1.9.1");
}

#[test]
fn versions_of_any_form_have_lists() {
    let mut read = |version: &str| -> Result<Option<Vec<u8>>, ListError> {
        Ok(match version {
            "1.1" => Some(gzip(b"one\n")),
            "v1.2.0" => Some(gzip(b"#v1.2.1\n+two\n")),
            "v1.2.1" => Some(b"three\n".to_vec()),
            _ => None,
        })
    };
    assert_eq!(read_version("1.1", "there", &mut read).unwrap().tests, ["one"]);
    assert_eq!(read_version("v1.2.0", "there", &mut read).unwrap().tests, ["three", "two"]);
    for missing in ["dev", "v1.3.0"] {
        let error = read_version(missing, "there", &mut read).unwrap_err().to_string();
        assert_eq!(error, format!("no list of tests of {missing} in there; it has others"));
    }
}

#[test]
fn the_closest_list_is_used_with_a_note() {
    let Some(built_in) = lists("tests") else { return };
    let list = built_in.closest(Some("v1.30.9+rke2r1")).unwrap();
    assert_eq!(list.version, "v1.30.14");
    assert_eq!(
        list.replacement_note("v1.30.9+rke2r1").unwrap(),
        "no list of the tests of v1.30.9 in this program: using that of v1.30.14"
    );
    assert_eq!(built_in.closest(None).unwrap().version, "v1.37.2");
    let newer = built_in.closest(Some("v1.99.0")).unwrap();
    assert_eq!(newer.version, "v1.37.2");
    assert_eq!(
        newer.replacement_note("v1.99.0").unwrap(),
        "no list of the tests of v1.99.0 in this program: using that of v1.37.2, although tests were added and renamed since"
    );
    assert_eq!(built_in.closest(Some("v1.32.13")).unwrap().version, "v1.30.14", "the one before it");
    let older = built_in.closest(Some("v1.28.0")).unwrap_err().to_string();
    assert!(older.starts_with("no list of tests of v1.28.0 in this program; it has v1.37.2,"), "{older}");
    assert!(matches!(built_in.closest(Some("x")), Err(ListError::Version(_))));
}

#[test]
fn directories_have_lists_in_any_form_and_deltas() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write(dir, "v1.31.0.gz", "[It] [sig-a] one\n[It] [sig-a] two\r\n\n[It] [sig-b] three\n");
    write(dir, "v1.31.1.gz", "#v1.31.0\n+[It] [sig-c] four\n-[It] [sig-a] two\n-[It] never there\n");
    write(dir, "v1.31.2.txt", "#v1.31.1\n+[sig-a] two\n");
    write(dir, "v1.30.0", "old");
    write(dir, "README.md", "nothing");
    let names = |version| read_dir(dir, version).unwrap().tests.join(", ");
    assert_eq!(names("v1.31.0"), "[sig-a] one, [sig-a] two, [sig-b] three");
    assert_eq!(names("v1.31.1"), "[sig-a] one, [sig-b] three, [sig-c] four");
    assert_eq!(names("v1.31.2"), "[sig-a] one, [sig-a] two, [sig-b] three, [sig-c] four");
    assert_eq!(names("1.30.0"), "old");
    let close = read_dir(dir, "v1.31.7").unwrap();
    assert!(close.version == "v1.31.2" && close.replacement_note("v1.31.7").is_some());
    assert_eq!(read_dir(dir, "").unwrap().version, "v1.31.2");
    assert!(read_dir(dir, "v1.40.0").unwrap_err().to_string().contains("it has v1.31.2, v1.31.1, v1.31.0, v1.30.0"));
    let file = read_file(&dir.join("v1.31.0.gz")).unwrap();
    assert_eq!((file.version.as_str(), file.tests.len()), ("v1.31.0", 3));
    assert!(full_message(&read_dir(&dir.join("none"), "v1.31.0").unwrap_err()).contains("No such file"));
}

#[test]
fn a_directory_with_too_many_entries_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "v1.31.0.txt", "one");
    for number in 1..10_000 {
        fs::write(dir.path().join(format!("note-{number}")), "").unwrap();
    }
    assert_eq!(read_dir(dir.path(), "v1.31.0").unwrap().tests, ["one"]);
    // Entries have no order, so the lists may be the entries beyond a limit.
    write(dir.path(), "v1.32.0.txt", "two");
    for version in ["", "v1.31.0", "v1.32.0"] {
        let message = full_message(&read_dir(dir.path(), version).unwrap_err());
        assert!(
            message.ends_with("has more than 10000 entries, so not all lists of tests in it can be found"),
            "{message}"
        );
    }
}

#[test]
fn an_invalid_list_is_an_error_with_the_reason() {
    let list = |bytes: &[u8]| parse(bytes, "v1.0.0", "it").map_err(|error| full_message(&error)).unwrap_err();
    assert_eq!(list(b""), "`it` has no tests");
    assert_eq!(list(b"\n \n"), "`it` has no tests");
    assert_eq!(list(b"\xff\xfe"), "`it` is not UTF-8 text");
    assert_eq!(list(b"\x7fELF\0\0"), "`it` is not UTF-8 text");
    assert!(list(&gzip(b"a\nb")[..12]).contains("failed to read `it`"));
    assert!(list(b"\x1f\x8bnonsense").contains("failed to read `it`"));
    assert!(list(&gzip(&vec![b'a'; 65 << 20])).contains("64 MiB of text"));
    assert!(list(&vec![b'a'; 17 << 20]).contains("16 MiB"));
    assert!(list(&"a\n".repeat(200_001).into_bytes()).contains("200,000 lines"));
    assert!(list(&vec![b'a'; 17 << 10]).contains("16 KiB in a line"));
    assert!(list(b"#../../etc/passwd\n+a").contains("invalid version"));
    assert!(list(b"#v1.2.3\n+a").contains("of which it is a delta"));
    assert!(list(b"#v1.2.3\n\n+a\n[sig-b] lost\n").contains("line 4 is invalid"));
}

#[test]
fn a_delta_file_is_resolved_with_the_lists_next_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write(dir, "v1.31.0.gz", "one\ntwo\n");
    write(dir, "v1.31.1.gz", "#v1.31.0\n+three\n-one\n");
    write(dir, "v1.31.2.txt", "#v1.30.0\n+three\n");
    let list = read_file(&dir.join("v1.31.1.gz")).unwrap();
    assert_eq!((list.version.as_str(), list.tests.join(",")), ("v1.31.1", "three,two".to_owned()));
    let message = read_file(&dir.join("v1.31.2.txt")).unwrap_err().to_string();
    assert!(message.contains("no list of tests of v1.30.0"), "{message}");
    // Without a version in its file name, a delta cannot be resolved.
    write(dir, "mine.txt", "#v1.31.0\n+three\n");
    assert!(read_file(&dir.join("mine.txt")).unwrap_err().to_string().contains("of which it is a delta"));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_directory_of_lists_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("v1.31.0.gz")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: `mkfifo` not found");
        return;
    }
    let message = full_message(&read_dir(dir.path(), "v1.31.0").unwrap_err());
    assert!(message.contains("not a regular file"), "{message}");
}

#[test]
fn deltas_end() {
    let mut circle = |version: &str| -> Result<Option<Vec<u8>>, ListError> {
        Ok(Some(if version == "v1.0.0" { b"#v1.0.1".to_vec() } else { b"#v1.0.0".to_vec() }))
    };
    let error = resolve("v1.0.0", "there", &mut circle).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the list of v1.0.0 in there is a delta of others that lead in a circle: v1.0.0, v1.0.1"
    );
    let mut reads = 0;
    let mut endless = |_: &str| -> Result<Option<Vec<u8>>, ListError> {
        reads += 1;
        Ok(Some(format!("#v1.0.{reads}").into_bytes()))
    };
    assert!(resolve("v1.1.0", "there", &mut endless).unwrap_err().to_string().contains("too far"));
    assert_eq!(reads, 16);
    let mut missing = |version: &str| -> Result<Option<Vec<u8>>, ListError> {
        Ok((version == "v1.0.0").then(|| b"#v1.0.1".to_vec()))
    };
    let error = resolve("v1.0.0", "there", &mut missing).unwrap_err().to_string();
    assert!(error.contains("no list of tests of v1.0.1") && error.contains("v1.0.0"), "{error}");
}

#[test]
fn differences_that_leave_no_test_are_an_error() {
    let mut read = |version: &str| -> Result<Option<Vec<u8>>, ListError> {
        Ok(Some(if version == "v1.2.0" { gzip(b"ball\nkite\n") } else { gzip(b"#v1.2.0\n-ball\n-kite\n") }))
    };
    assert_eq!(resolve("v1.2.0", "there", &mut read).unwrap().tests, ["ball", "kite"]);
    let error = resolve("v1.1.0", "there", &mut read).unwrap_err();
    assert_eq!(error.to_string(), "`v1.1.0 in there` has no tests");
    let (whole, delta) = (&b"ball\n"[..], &b"#v1.2.0\n-ball\n"[..]);
    let embedded = Embedded::new([("v1.2.0", whole), ("v1.1.0", delta)]);
    assert!(matches!(embedded.exact("v1.1.0"), Some(Err(ListError::Empty { .. }))));
}

#[test]
fn the_lists_of_a_chain_have_no_more_text_than_one_list() {
    // Parts of 1 MiB, because a compressed file may have several members.
    let line = [b"+".repeat(16 << 10), b"\n".to_vec()].concat();
    let part = gzip(&line.repeat(64));
    let of_size = |first: &str, parts: usize| [gzip(first.as_bytes()), part.repeat(parts)].concat();
    let mut read = |version: &str| -> Result<Option<Vec<u8>>, ListError> {
        Ok(Some(match version {
            "v1.3.0" => of_size("#v1.2.0\n", 1),
            "v1.2.0" => of_size("#v1.1.0\n", 33),
            _ => of_size("ball\n", 31),
        }))
    };
    // Each list is within the limit.
    assert_eq!(resolve("v1.1.0", "there", &mut read).unwrap().tests.len(), 2);
    assert_eq!(
        resolve("v1.3.0", "there", &mut read).unwrap_err().to_string(),
        "`v1.1.0 in there` is too large for a list of tests: more than 64 MiB of text, with the lists that refer to it"
    );
}

#[test]
fn a_focus_is_checked_before_anything_starts() {
    let Some(built_in) = lists("tests") else { return };
    let check = |version, focus, skip| check_selection(&built_in, version, "Suite ", Some(focus), Some(skip));
    let all = check(Some("v1.30.14"), r"\[Conformance\]", "").unwrap();
    assert_eq!((all.selected, all.total, all.warnings.len()), (402, 7203, 0));
    let fewer = check(Some("v1.30.9"), r"\[Conformance\]", r"\[Disruptive\]|NoExecuteTaintManager").unwrap();
    assert!(fewer.selected < 402 && fewer.warnings.is_empty(), "{fewer:?}");
    let SelectionError::Nothing { near, .. } =
        check(Some("v1.30.14"), r"pods should be submited and removed", "").unwrap_err()
    else {
        panic!("a misspelt focus selects nothing")
    };
    assert!(near[0].contains("should be submitted and removed"), "{near:?}");
    assert_eq!(
        check(Some("v1.30.14"), r"\[Conformance\]", "Conf").unwrap_err().to_string(),
        "the focus selects 402, but `Conf` skips all of them: nothing remains of the 7203 tests of v1.30.14"
    );
    assert_eq!(
        check(Some("v1.30.14"), r"^\[sig-node\]", "").unwrap_err().to_string(),
        r"the focus `^\[sig-node\]` selects none of the 7203 tests of v1.30.14",
        "the suite's own name stands before that of the test"
    );
    let error = check(None, "a(?=b)", "").unwrap_err();
    assert_eq!(
        full_message(&error),
        "the focus is not a valid Go regular expression: look-around, including look-ahead and look-behind, is not supported"
    );
    assert!(
        full_message(&check(None, "", "[").unwrap_err()).starts_with("the skip is not a valid Go regular expression")
    );
    // For a later version, nothing is certain.
    let later = check(Some("v1.99.0"), "no test has this name", "").unwrap();
    assert_eq!((later.selected, later.warnings.len()), (0, 2), "{later:?}");
    assert!(matches!(check(Some("ignore"), "a", ""), Err(SelectionError::List(ListError::Version(_)))));
}

#[test]
fn tags_and_neighbours() {
    let Some(built_in) = lists("tests") else { return };
    let list = built_in.exact("v1.30.14").unwrap().unwrap();
    let counts = tags(list.tests.iter().map(String::as_str));
    assert_eq!((counts["[sig-storage]"], counts["[Conformance]"], counts["[Slow]"]), (5985, 402, 3031));
    assert!(near(r"\[sig-nope\]", ["a", "b"].into_iter()).is_empty());
    assert!(near("", ["a"].into_iter()).is_empty());
    assert_eq!(near(r"\bPODS\.a", ["x", "two pods", "pods"].into_iter()), ["pods", "two pods"]);
}
