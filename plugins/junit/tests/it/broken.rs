//! Tests of damaged files: everything readable is kept, and the file never passes.

use std::fs;

use plumbline_module_junit::Junit;
use plumbline_sdk::Status;
use plumbline_sdk::testing::Case;

use crate::common;

#[test]
fn invalid_junit_files_become_one_unknown_item() {
    for (content, reason) in [
        (&b""[..], "the file has no element, at byte 0"),
        (b" \n", "the file has no element, at byte 2"),
        (b"not XML at all", "the file has no element, at byte 14"),
        (b"<?xml version='1.0'?>", "the file has no element, at byte 21"),
        (b"<html><body/></html>", "root element `html` is not `testsuites` or `testsuite`, at byte 0"),
        (b"<testcase name='t'/>", "root element `testcase` is not `testsuites` or `testsuite`, at byte 0"),
        (b"</testsuites>", "`</testsuites>` has no start tag, at byte 0"),
        (b"<testsuites", "the file ends early: "),
        (b"<testsuites>", "the file ends before `</testsuites>`, at byte 12"),
        (b"\x7FELF\x02\x01\x01\x00", "the file has no element"),
        (b"{\"Action\":\"pass\"}", "the file has no element"),
    ] {
        for piece in [1, 1 << 20] {
            let run = common::read_in_pieces(content, piece);
            let shown = String::from_utf8_lossy(content);
            assert_eq!(run.outline(), "junit.xml: unknown\n", "{shown}");
            let error = common::error(&run);
            assert!(error.starts_with(reason), "{shown}: {error}");
        }
    }
}

#[test]
fn a_file_that_breaks_off_keeps_what_came_before() {
    let whole =
        "<testsuites><testsuite name='a'><testcase name='one'/><testcase name='two'><failure message='m'>half a st";
    let run = common::read(whole);
    let reason = "the file ends before `</failure>`, at byte 105";
    assert_eq!(
        run.outline(),
        format!("junit.xml: -\n  a: -\n    one: passed\n    two: failed\n  unreadable: {reason}: unknown\n")
    );
    assert_eq!(common::error(&run), reason);
    assert_eq!(common::text(&run, "two", "failure"), "m half a st");
}

#[test]
fn a_test_case_that_breaks_off_has_not_passed() {
    let run = common::read("<testsuite name='a'><testcase name='one'><system-out>begins");
    let item = run.item("one").unwrap();
    assert_eq!(item.status, Some(Status::Unknown));
    assert_eq!(item.meta, [("error".to_owned(), "the file ends within this test case".to_owned())]);
    assert_eq!(common::text(&run, "one", "system-out"), "begins");
}

/// Tests every prefix of a report: no complete item is lost, and nothing passes.
#[test]
fn a_report_cut_anywhere_is_never_a_pass() {
    let whole = fs::read_to_string(common::data("dialects/surefire.xml")).unwrap();
    let all = common::read(whole.as_str());
    let end = whole.trim_end().len();
    for cut in (0..end).filter(|cut| whole.is_char_boundary(*cut)) {
        let run = common::read(&whole[..cut]);
        let tree = common::rolled_up(&run, "root");
        assert_ne!(tree["status"], "passed", "cut at {cut}\n{}", run.outline());
        common::error(&run);
        let whole_cases = whole[..cut].matches("</testcase>").count();
        let ended = run.items.iter().filter(|item| item.depth == 2 && !item.meta.iter().any(|(key, _)| key == "error"));
        assert!(ended.count() >= whole_cases, "cut at {cut}\n{}", run.outline());
        let common = run.items.iter().zip(&all.items).take_while(|(a, b)| a == b).count();
        assert!(common > whole_cases || run.items.len() == 1, "cut at {cut}\n{}", run.outline());
    }
    assert_eq!(common::read(&whole[..end]), all);
}

#[test]
fn tags_that_do_not_match_end_the_file_with_both_names() {
    for (content, reason) in [
        ("<testcase name='t'></testsuite>", "found `</testsuite>`, expected `</testcase>`"),
        ("<testcase name='t'><failure>x</testcase>", "found `</testcase>`, expected `</failure>`"),
        ("<testcase name='t'><failure>a < b</failure></testcase>", "`<` is not the start of a tag"),
        ("<testcase name='t'/><!bad>", "`<!` begins neither a comment nor CDATA"),
    ] {
        let run = common::read(common::suite(content));
        let error = common::error(&run);
        assert!(error.starts_with(reason), "{content}: {error}");
        let case = run.item("t").unwrap();
        assert_ne!((case.status.clone(), content.contains("/>")), (Some(Status::Passed), false), "{content}");
    }
}

#[test]
fn marks_that_never_close_are_named() {
    for (opening, mark) in [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?x", "?>")] {
        for piece in [1, 1 << 20] {
            let document = format!("<testsuite name='s'><testcase name='t'><failure>{opening} and so on");
            let error = common::error(&common::read_in_pieces(document, piece)).to_owned();
            assert!(error.starts_with(&format!("the file ends before `{mark}`")), "{error}");
        }
    }
}

#[test]
fn a_read_error_in_the_middle_is_the_reason_and_other_files_are_still_read() {
    let run = common::run(
        &Case::new()
            .broken_file("results/global/a.xml", "<testsuite name='s'><testcase name='t'/>", "the disk is gone")
            .file("results/global/b.xml", common::suite("<testcase name='u'/>")),
    );
    assert_eq!(
        run.outline(),
        "a.xml: -\n  s: -\n    t: passed\n  unreadable: the disk is gone: unknown\nb.xml: -\n  s: -\n    u: passed\n"
    );
}

#[test]
fn no_files_make_no_items() {
    let run = Case::new().run::<Junit>();
    assert_eq!((run.items.len(), run.outcome), (0, Ok(())));
}
