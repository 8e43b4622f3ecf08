//! Tests of limits.

use plumbline_module_junit::{MAX_ITEM_TEXT, MAX_TAG, MAX_TEXT};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Item, Status};

use crate::common;

/// The host's limit for one item.
const HOST_ITEM: usize = 16 << 20;
const MIB: usize = 1 << 20;

fn case(content: &str) -> Run {
    common::read(common::suite(&format!("<testcase name='t'>{content}</testcase>")))
}

/// Returns the size that the host counts: 32 bytes for the item and for each entry, plus the
/// strings.
fn cost(item: &Item) -> usize {
    item.bytes() + 32 * (1 + item.meta.len() + item.details.len())
}

#[test]
fn a_long_text_is_cut_between_characters_and_says_so() {
    for filler in ["x", "ü", "€", "𝄞"] {
        let long = filler.repeat(MAX_TEXT / filler.len() + 100);
        let run = case(&format!("<system-out>ab{long}</system-out>"));
        let text = common::text(&run, "t", "system-out");
        let (kept, note) = text.split_at(text.rfind('\n').unwrap());
        assert!(kept.len() <= MAX_TEXT && kept.len() + 4 > MAX_TEXT, "{filler}: {}", kept.len());
        assert_eq!(note, format!("\n[cut: the first {} of {} bytes]", kept.len(), long.len() + 2));
        assert!(kept[2..].chars().all(|character| filler.starts_with(character)));
    }
}

#[test]
fn a_text_of_exactly_the_bound_is_whole() {
    let run = case(&format!("<system-out>{}</system-out>", "x".repeat(MAX_TEXT)));
    assert_eq!(common::text(&run, "t", "system-out").len(), MAX_TEXT);
}

#[test]
fn texts_of_one_item_are_bounded_together() {
    let long = "x".repeat(MAX_TEXT);
    let run = case(&format!(
        "<failure>{long}</failure><failure>{long}</failure><error>{long}</error><system-out>{long}</system-out>"
    ));
    let item = run.item("t").unwrap();
    assert!(item.bytes() > MAX_ITEM_TEXT - 100 && cost(item) < HOST_ITEM, "{}", item.bytes());
    assert_eq!(item.status, Some(Status::Failed));
}

#[test]
fn very_many_elements_in_one_test_case_do_not_add_up() {
    for (element, key) in [
        (format!("<failure message='{}'/>", "m".repeat(31)), "failure"),
        (format!("<system-out>{}</system-out>", "o".repeat(31)), "system-out"),
    ] {
        let run = case(&element.repeat(MAX_ITEM_TEXT / 31 + 1000));
        let item = run.item("t").unwrap();
        assert!(item.bytes() < MAX_ITEM_TEXT + 1000, "{}", item.bytes());
        assert!(common::text(&run, "t", key).len() >= MAX_ITEM_TEXT - 100);
        let note = common::text(&run, "t", "cut");
        assert!(note.ends_with(" further texts are left out: an item may have 12582912 bytes"), "{note}");
    }
    let run = case(&"<failure> </failure>".repeat(100_000));
    assert!(run.item("t").unwrap().bytes() < 100, "empty texts add nothing");
}

#[test]
fn a_huge_attribute_is_read_up_to_the_bound_of_a_tag() {
    let message = "m".repeat(3 * MIB);
    let run = case(&format!("<failure message='{message}'/>"));
    assert_eq!(common::text(&run, "t", "failure"), message);
    let run = case(&format!("<failure message='{}'/>", "m".repeat(MAX_TAG + 2 * MIB)));
    assert_eq!(common::error(&run), format!("a tag is longer than {MAX_TAG} bytes, at byte 39"));
    assert_eq!(run.item("t").unwrap().status, Some(Status::Unknown));
}

#[test]
fn a_long_name_is_truncated_and_complete_in_the_details() {
    let name = "n€".repeat(20_000);
    let run = common::read(common::suite(&format!("<testcase name='{name}'/>")));
    let item = run.items.last().unwrap();
    assert!(item.name.len() <= (32 << 10) + 3 && item.name.ends_with('…'));
    assert_eq!(common::text(&run, &item.name, "name"), name);
}

#[test]
fn nested_suites_stay_within_the_depth_of_the_host() {
    let document = format!("{}<testcase name='t'/>{}", "<testsuite name='s'>".repeat(900), "</testsuite>".repeat(900));
    let run = common::read(document);
    assert_eq!(run.items.len(), 902);
    assert!(run.items.iter().all(|item| item.depth < 64));
    assert_eq!(run.items.last().map(|item| item.name.as_str()), Some("t"));
    let run = common::read("<testsuite name='s'>".repeat(1_500));
    assert_eq!(common::error(&run), "more than 1000 elements are open at once, at byte 20000");
}

#[test]
fn names_of_elements_are_bounded() {
    let run = case(&format!("<{}>", "e".repeat(2_000)));
    assert!(common::error(&run).starts_with("the name of an element is longer than 1024 bytes: `eeee"));
}

#[test]
fn a_tag_with_very_many_attributes_makes_few_entries() {
    let attributes = "time='1' ".repeat(500_000);
    let document = common::suite(&format!("<testcase {attributes}name='t'/>"));
    let run = common::run(&Case::new().option("keep", vec!["time"]).file("results/global/junit.xml", document));
    assert_eq!(run.item("t").unwrap().details.len(), 1);
}
