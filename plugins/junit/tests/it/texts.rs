//! Tests of how texts and names are composed.

use plumbline_sdk::Status;

use crate::common;

fn status(parts: &str) -> Option<Status> {
    let run = common::read(common::suite(&format!("<testcase name='t'>{parts}</testcase>")));
    run.item("t").unwrap().status.clone()
}

#[test]
fn the_status_of_a_test_case() {
    for (parts, want) in [
        ("", Status::Passed),
        ("<system-out>x</system-out><properties/>", Status::Passed),
        ("<skipped/>", Status::Skipped),
        ("<failure/>", Status::Failed),
        ("<error/>", Status::Failed),
        ("<failure/><skipped/>", Status::Failed),
        ("<error/><skipped/>", Status::Failed),
        ("<skipped/><error/>", Status::Failed),
        ("<failure/><error/>", Status::Failed),
        ("<flakyFailure/><rerunError/><warning/>", Status::Passed),
        ("<other><failure/></other>", Status::Failed),
        ("<other><skipped/></other>", Status::Passed),
    ] {
        assert_eq!(status(parts), Some(want), "{parts}");
    }
}

fn failure(element: &str) -> String {
    let run = common::read(common::suite(&format!("<testcase name='t'>{element}</testcase>")));
    let item = run.item("t").unwrap().clone();
    let of = |wanted: &str| item.details.iter().find(|(key, _)| key == wanted).map(|(_, detail)| detail.clone());
    match of("failure") {
        None => "none".to_owned(),
        Some(plumbline_sdk::Detail::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn message_and_text_of_a_failure() {
    for (element, want) in [
        ("<failure/>", "none"),
        ("<failure message=''></failure>", "none"),
        ("<failure message='m'/>", "m"),
        ("<failure>t</failure>", "t"),
        ("<failure message='m'>t</failure>", "m t"),
        ("<failure message=' m '>\n t \n</failure>", "m  \n t"),
        ("<failure type='x' message='m'/>", "m"),
        ("<failure>  </failure>", ""),
        ("<failure message='a'/><failure>b</failure>", "a\nb"),
        ("<failure> </failure><failure>b</failure><failure> </failure>", "b"),
        ("<failure>a<b>c</b>d</failure>", "acd"),
    ] {
        assert_eq!(failure(element), want, "{element}");
    }
}

#[test]
fn references_stand_for_characters_and_unknown_ones_stay() {
    let [longest, longer, much_longer] = [62, 63, 200].map(|digits| format!("&#{:0>digits$};", 65));
    for (raw, want) in [
        (longest.as_str(), "A"),
        (&longer, &longer),
        (&much_longer, &much_longer),
        ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"),
        ("a&#65;&#x42;&#x1F600;z", "aAB😀z"),
        ("&nbsp;x&undefined;", "&nbsp;x&undefined;"),
        ("&amp;lt;", "&lt;"),
        ("&#0;&#xD800;&#x110000;&#99999999999;", "\u{0}\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("&#;&#x;&#-5;&#+5;&#x 1;", "&#;&#x;&#-5;&#+5;&#x 1;"),
        ("R&D & more", "R&D & more"),
        ("100 &", "100 &"),
        ("a\r\nb\rc&#13;d", "a\nb\nc\rd"),
    ] {
        assert_eq!(failure(&format!("<failure>{raw}</failure>")), want, "text {raw}");
        assert_eq!(failure(&format!("<failure message=\"{raw}\"/>")), want, "attribute {raw}");
        for piece in [1, 2, 3, 100] {
            let document = common::suite(&format!("<testcase name='t'><failure>{raw}</failure></testcase>"));
            let run = common::read_in_pieces(document, piece);
            assert_eq!(common::text(&run, "t", "failure"), want, "text {raw}, {piece} bytes at a time");
        }
    }
}

#[test]
fn cdata_is_taken_as_it_is() {
    assert_eq!(failure("<failure>a<![CDATA[<b>&amp;]] >]]>c<![CDATA[]]>d</failure>"), "a<b>&amp;]] >cd");
}

#[test]
fn comments_and_instructions_are_passed_over() {
    assert_eq!(failure("<failure>a<!-- <failure> -->b<?pi </failure> ?>c</failure>"), "abc");
}

#[test]
fn entities_of_a_doctype_are_never_expanded() {
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
                <!ENTITY f SYSTEM \"file:///etc/passwd\">]>";
    let document = format!("{bomb}{}", common::suite("<testcase name='t&b;'><failure>&b;&f;</failure></testcase>"));
    for piece in [1, 7, 4096] {
        let run = common::read_in_pieces(document.clone(), piece);
        assert_eq!(common::text(&run, "t&b;", "failure"), "&b;&f;");
    }
}

#[test]
fn the_word_skipped_alone_is_not_a_reason() {
    for (element, want) in [
        ("<skipped/>", None),
        ("<skipped message='skipped'/>", None),
        ("<skipped>Skipped</skipped>", None),
        ("<skipped> </skipped>", None),
        ("<skipped message='skipped'> \n</skipped>", None),
        ("<skipped message='skipped'>no <b>network</b></skipped>", Some("skipped no network")),
        ("<skipped message='no network'/>", Some("no network")),
        ("<skipped message='a'>b</skipped>", Some("a b")),
    ] {
        let run = common::read(common::suite(&format!("<testcase name='t'>{element}</testcase>")));
        let reason = (!run.item("t").unwrap().details.is_empty()).then(|| common::text(&run, "t", "skipped"));
        assert_eq!(reason, want, "{element}");
    }
}

#[test]
fn output_is_kept_untouched() {
    let run = common::read(common::suite(
        "<testcase name='t'><system-out> a\n</system-out><system-out>b </system-out></testcase>",
    ));
    assert_eq!(common::text(&run, "t", "system-out"), " a\n\nb ");
}

#[test]
fn elements_without_a_name_are_numbered() {
    let run = common::read(
        "<testsuites><testsuite><testcase/><testcase name='' classname='C'/><testcase/></testsuite><testsuite name='n'/>\
         <testsuite name=''><testsuite/><testsuite/></testsuite></testsuites>",
    );
    let want = "junit.xml: -\n  testsuite-001: -\n    testcase-001: unknown\n    C: passed\n    testcase-003: unknown\n  n: skipped\n  \
                testsuite-003: -\n    testsuite-001: skipped\n    testsuite-002: skipped\n";
    assert_eq!(run.outline(), want);
}

#[test]
fn a_failure_outside_of_any_test_case_is_not_lost() {
    let run = common::read(common::suite("<testcase name='t'/><error message='teardown broke'>trace</error>"));
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: passed\n    error: failed\n");
    assert_eq!(common::text(&run, "error", "error"), "teardown broke trace");
}

#[test]
fn reports_without_test_cases_never_pass() {
    for document in ["<testsuites/>", "<testsuites></testsuites>", "<testsuites name='x' tests=''>\n</testsuites>\n"] {
        let run = common::read(document);
        assert_eq!(run.outline(), "junit.xml: unknown\n", "{document}");
        assert!(run.items[0].meta.iter().any(|(key, value)| key == "error" && value.contains("no test case")));
    }
    assert_eq!(common::read(common::suite("")).outline(), "junit.xml: -\n  s: skipped\n  no test case: unknown\n");
}

#[test]
fn reports_that_state_that_there_is_no_test_are_skipped() {
    let document = "<testsuites name='x' tests='0'>\n</testsuites>\n";
    let run = common::read(document);
    assert_eq!(run.outline(), "junit.xml: skipped\n");
    assert!(common::text(&run, "junit.xml", "skipped").contains("no test case"));
    // pytest writes this if it finds no test.
    let pytest = "<testsuites name=\"pytest tests\"><testsuite name=\"pytest\" errors=\"0\" failures=\"0\" skipped=\"0\" \
                  tests=\"0\" time=\"0.004\" timestamp=\"2026-01-01T00:00:00\" hostname=\"h\" /></testsuites>";
    let want = "junit.xml: -\n  pytest: skipped\n  no test case: skipped\n";
    assert_eq!(common::read(pytest).outline(), want);
}

#[test]
fn a_malformed_attribute_hides_no_failure() {
    for document in [
        "<testsuite name='s' failures=1><testcase name='t'/></testsuite>",
        "<testsuites failures=1><testsuite name='s'><testcase name='t'/></testsuite></testsuites>",
        "<testsuite name='s'><testcase name='t' status=failed /></testsuite>",
        "<testsuite name='s'><testcase name='t' failed /></testsuite>",
    ] {
        let run = common::read(document);
        let last = run.items.last().unwrap();
        assert_eq!((last.depth, &last.status), (1, &Some(Status::Unknown)), "{document}: {}", run.outline());
        assert!(last.name.starts_with("unreadable: an attribute of `"), "{document}: {}", last.name);
    }
    // Output may have any markup.
    let output = "<testcase name='t'><system-out><input disabled></input></system-out></testcase>";
    assert_eq!(common::read(common::suite(output)).outline(), "junit.xml: -\n  s: -\n    t: passed\n");
}

#[test]
fn namespaces_and_invalid_numbers_are_ignored() {
    let run = common::read(
        "<j:testsuites xmlns:j='urn:x'><j:testsuite j:name='s' tests='many' failures='' time='1,5 s'>\
         <j:testcase name='t' time='soon'><j:failure message='m'/></j:testcase></j:testsuite></j:testsuites>",
    );
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: failed\n");
}

#[test]
fn a_message_next_to_a_body_is_a_separate_detail() {
    for (element, want) in [
        ("<failure message='m'>body</failure>", Some("m")),
        ("<failure message=' m&#10;n '>body</failure>", Some("m\nn")),
        ("<failure message='m'/>", None),
        ("<failure message='m'> \n</failure>", None),
        ("<failure message=' '>body</failure>", None),
        ("<failure>body</failure>", None),
        ("<failure message='a'>b</failure><failure message='c'>d</failure>", Some("a")),
        ("<failure>b</failure><failure message='c'>d</failure>", None),
    ] {
        let run = common::read(common::suite(&format!("<testcase name='t'>{element}</testcase>")));
        let item = run.item("t").unwrap();
        let message = item.details.iter().find(|(key, _)| key == "failure-message");
        assert_eq!(message.map(|_| common::text(&run, "t", "failure-message")), want, "{element}");
    }
    let run = common::read(common::suite("<testcase name='t'><error message='m'>body</error></testcase>"));
    assert_eq!(common::text(&run, "t", "error-message"), "m");
}
