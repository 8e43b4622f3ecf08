//! Tests of hostile files.

use std::fmt::Write;

use plumbline_module_manual::{MAX_BYTES, MAX_LEVELS, Manual};
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Detail, Status};
use proptest::prelude::*;

use crate::shapes::{read, reason};

/// Returns nested items, with this many levels below that of the file.
fn nested(levels: usize) -> String {
    let mut text = String::new();
    for level in 0..levels {
        text.push_str(&format!("{}items:\n{}- name: n{level}\n", "  ".repeat(level), "  ".repeat(level)));
    }
    text
}

#[test]
fn levels_up_to_the_bound_are_kept() {
    let run = read(nested(MAX_LEVELS - 1));
    assert_eq!(run.items.len(), MAX_LEVELS);
    assert_eq!(run.items.last().unwrap().depth as usize, MAX_LEVELS - 1);
    assert_eq!(reason(&read(nested(MAX_LEVELS))), "items are nested 25 levels deep: at most 24 are possible");
}

#[test]
fn endless_nesting_ends() {
    let depth = 1_000_000;
    for content in [
        nested(100),
        format!("items: {}", "[".repeat(depth)),
        format!("details: {{a: {}", "{b: ".repeat(depth)),
        format!("details: {{a: {}1{}}}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("x: {}", "- ".repeat(depth)),
    ] {
        assert!(!reason(&read(content)).is_empty());
    }
    // Within the limit, details may have any depth.
    let run = read(format!("details: {{a: {}1{}}}", "[".repeat(60), "]".repeat(60)));
    assert_eq!(run.items.len(), 1);
    assert!(matches!(&run.items[0].details[0].1, Detail::Json(json) if json.len() == 121));
}

#[test]
fn bombs_of_aliases_do_not_go_off() {
    let mut bomb = String::from("details:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let before = format!("*a{}", level - 1);
        let all = [before.as_str(); 9].join(", ");
        writeln!(bomb, "  a{level}: &a{level} [{all}]").unwrap();
    }
    assert!(reason(&read(bomb)).starts_with("not a result tree: "));
    let many = format!("items:\n- &a {{name: a, status: passed}}\n{}", "- *a\n".repeat(200_000));
    assert!(reason(&read(many)).starts_with("not a result tree: "));
    // A moderate number of aliases is accepted.
    let some = format!("items:\n- &a {{name: a, status: passed}}\n{}", "- *a\n".repeat(10_000));
    assert_eq!(read(some).items.len(), 10_002);
}

#[test]
fn a_file_over_the_bound_is_not_read() {
    let run = Case::new().file("results/global/out.yaml", vec![b'#'; MAX_BYTES + 1]).run::<Manual>();
    assert_eq!(reason(&run), "the file has more than 33554432 bytes, the most that can be read");
    let endless = Case::new().generated_file("results/global/out.yaml", 5, || std::io::repeat(b'#')).run::<Manual>();
    assert_eq!(reason(&endless), "the file has more than 33554432 bytes, the most that can be read");
}

#[test]
fn too_many_nodes_are_refused_and_many_items_are_taken() {
    assert!(reason(&read(format!("items:\n{}", "- \n".repeat(2_100_000)))).starts_with("not a result tree: "));
    let run = read(format!("items:\n{}", "- {name: a, status: passed}\n".repeat(100_000)));
    assert_eq!(run.count(&Status::Passed), 100_000);
}

#[test]
fn long_names_and_statuses_are_cut_and_kept_as_details() {
    let (name, status) = ("ä".repeat(40_000), "o".repeat(300));
    let run = read(format!("items:\n- name: {name}\n  status: {status}\n"));
    let item = &run.items[1];
    assert!(item.name.ends_with("ä…") && item.name.len() <= 32 << 10);
    assert_eq!(item.status, Some(Status::Custom(format!("{}…", "o".repeat(253)))));
    let details = [("name".to_owned(), Detail::Text(name)), ("status".to_owned(), Detail::Text(status))];
    assert_eq!(item.details, details);
}

#[test]
fn an_item_that_grows_too_large_says_what_is_missing() {
    let large = "x".repeat(5 << 20);
    let run = read(format!("details:\n  a: {large}\n  b: {large}\n  c: {large}\n  d: small\n"));
    let keys: Vec<_> = run.items[0].details.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["a", "b", "d", "cut"]);
    assert!(run.items[0].bytes() < 16 << 20);
    // Many small values are a large tree, although the text is short.
    let run = read(format!("details:\n  a: [{}]\n  b: 1\n", "1, ".repeat(500_000)));
    let keys: Vec<_> = run.items[0].details.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["b", "cut"]);
}

proptest! {
    #[test]
    fn any_text_is_survived(
        text in prop_oneof![
            "(name|status|items|details|meta|[-:{}\\[\\],&*!|>'\"#a \n~]|---\n|<<){0,40}",
            prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter),
        ]
    ) {
        let run = Case::new().file("results/global/out.yaml", text).run::<Manual>();
        prop_assert_eq!(run.outcome, Ok(()));
        prop_assert!(!run.items.is_empty());
    }

    #[test]
    fn json_details_are_read_unchanged(details in json()) {
        let document = serde_json::json!({"details": {"value": details.clone()}});
        let run = read(document.to_string());
        prop_assert_eq!(&run.to_json()[0]["details"]["value"], &details, "{}", document);
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "[ -~\n\tä😀]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ -~]{1,8}", inner, 0..4).prop_map(|map| serde_json::json!(map)),
        ]
    })
}
