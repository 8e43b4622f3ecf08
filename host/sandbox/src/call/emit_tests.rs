use proptest::prelude::*;

use super::*;

fn raw(depth: u32, name: &str) -> RawItem {
    RawItem { depth, name: name.into(), status: None, meta: Vec::new(), details: Vec::new() }
}

fn rule(stop: Result<FlatItem, Stop>) -> String {
    stop.unwrap_err().to_string()
}

fn limits() -> ModuleLimits {
    ModuleLimits { item_bytes: 200, output_bytes: 300, items: 4, depth: 3, ..ModuleLimits::default() }
}

#[test]
fn depth_starts_at_zero_and_grows_by_one() {
    let mut emitter = Emitter::new(&limits());
    assert!(rule(emitter.check(raw(1, "a"))).ends_with("item 1 (`a`) is the first and has depth 1"));
    emitter.check(raw(0, "a")).unwrap();
    assert!(rule(emitter.check(raw(2, "b\u{1b}"))).ends_with(r"item 2 (`b\u{1b}`) has depth 2 after depth 0"));
    emitter.check(raw(1, "b")).unwrap();
    emitter.check(raw(2, "c")).unwrap();
    assert_eq!(emitter.check(raw(3, "d")), Err(Stop::limit("depth", 3, Unit::Levels)));
    emitter.check(raw(0, "e")).unwrap();
    assert_eq!(emitter.check(raw(0, "f")), Err(Stop::limit("items", 4, Unit::Items)));
}

#[test]
fn names_and_statuses_have_their_size() {
    let mut emitter = Emitter::new(&ModuleLimits::default());
    assert!(rule(emitter.check(raw(0, ""))).starts_with("an item's name must not be empty: item 1"));
    assert!(rule(emitter.check(raw(0, &"n".repeat(MAX_NAME + 1)))).contains("has 65537 bytes (at most 65536)"));
    emitter.check(raw(0, &"n".repeat(MAX_NAME))).unwrap();
    for (text, good) in [("", false), ("x", true), (&*"s".repeat(256), true), (&*"s".repeat(257), false)] {
        let status = Some(RawStatus::Custom(text.into()));
        assert_eq!(emitter.check(RawItem { status, ..raw(0, "a") }).is_ok(), good, "{text}");
    }
    let status = Some(RawStatus::Custom("failed".into()));
    assert_eq!(emitter.check(RawItem { status, ..raw(0, "a") }).unwrap().status, Some(Status::Failed));
}

#[test]
fn texts_may_hold_any_character_and_the_last_value_of_a_key_counts() {
    let mut emitter = Emitter::new(&ModuleLimits::default());
    let item = RawItem {
        meta: vec![("k".into(), "1".into()), ("k".into(), "2".into())],
        details: vec![
            ("a".into(), RawDetail::Text("\0\x1b\u{fffe}".into())),
            ("b".into(), RawDetail::Json("[1]".into())),
            ("b".into(), RawDetail::Json(r#"{"x":null}"#.into())),
        ],
        ..raw(0, "\0")
    };
    let item = emitter.check(item).unwrap();
    assert_eq!(item.name, "\0");
    assert_eq!(item.meta["k"], "2");
    assert_eq!(Value::Object(item.details), serde_json::json!({"a": "\0\x1b\u{fffe}", "b": {"x": null}}));
}

#[test]
fn sizes_are_bounded_per_item_and_in_all() {
    let mut emitter = Emitter::new(&limits());
    let text = |n: usize| vec![("k".to_owned(), RawDetail::Text("x".repeat(n)))];
    let error = emitter.check(RawItem { details: text(200), ..raw(0, "a") });
    assert_eq!(error, Err(Stop::limit("item-bytes", 200, Unit::Bytes)));
    let json = vec![("k".to_owned(), RawDetail::Json("[0,0,0,0]".into()))];
    let error = emitter.check(RawItem { details: json, ..raw(0, "a") });
    assert_eq!(error, Err(Stop::limit("item-bytes", 200, Unit::Bytes)));
    emitter.check(RawItem { details: text(120), ..raw(0, "a") }).unwrap();
    let error = emitter.check(RawItem { details: text(120), ..raw(0, "a") });
    assert_eq!(error, Err(Stop::limit("output-bytes", 300, Unit::Bytes)));
}

#[test]
fn statuses_are_charged_and_counted() {
    let own = |text: String| RawItem { status: Some(RawStatus::Custom(text)), ..raw(0, "a") };
    let mut emitter = Emitter::new(&ModuleLimits::default());
    for n in 0..CALL_STATUSES {
        emitter.check(own(format!("s{n}"))).unwrap();
        emitter.check(own("s0".into())).unwrap();
    }
    let error = emitter.check(own("another".into()));
    assert_eq!(error, Err(Stop::limit("statuses", CALL_STATUSES, Unit::Statuses)));

    let mut emitter = Emitter::new(&limits());
    emitter.check(own("s".repeat(150))).unwrap();
    let error = emitter.check(own("s".repeat(150)));
    assert_eq!(error, Err(Stop::limit("output-bytes", 300, Unit::Bytes)));
}

#[test]
fn invalid_json_is_reported() {
    let mut emitter = Emitter::new(&ModuleLimits::default());
    let details = vec![("pod".to_owned(), RawDetail::Json("{]".into()))];
    let message = rule(emitter.check(RawItem { details, ..raw(0, "a") }));
    assert!(message.starts_with("a detail sent as JSON must be JSON: item 1 (`a`), detail `pod`: "), "{message}");
}

proptest! {
    /// Any sequence of depths that passes forms a tree.
    #[test]
    fn accepted_items_form_a_tree(depths in prop::collection::vec(0u32..6, 0..30)) {
        let mut emitter = Emitter::new(&ModuleLimits { depth: 4, ..ModuleLimits::default() });
        let mut passed = Vec::new();
        for depth in depths {
            match emitter.check(raw(depth, "n")) {
                Ok(item) => passed.push(item.depth),
                Err(_) => break,
            }
        }
        prop_assert!(passed.first().is_none_or(|first| *first == 0));
        prop_assert!(passed.windows(2).all(|pair| pair[1] <= pair[0] + 1));
        prop_assert!(passed.iter().all(|depth| *depth < 4));
    }
}
