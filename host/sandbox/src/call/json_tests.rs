use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Result<Value, JsonError> {
    parse(text, &mut 10_000)
}

#[test]
fn invalid_json_is_rejected() {
    for text in ["", "nope", "{", "1 2", "[1,]", "\"\u{1}\"", "1e999"] {
        assert!(matches!(parsed(text), Err(JsonError::Invalid(_))), "{text}");
    }
    assert_eq!(parsed(r#"{"a":1,"a":2}"#).unwrap(), serde_json::json!({"a": 2}));
    assert_eq!(parsed(r#""\u0000""#).unwrap(), serde_json::json!("\u{0}"));
}

#[test]
fn depth_is_bounded() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parsed(&nested(100)).is_ok());
    assert_eq!(parsed(&nested(101)), Err(JsonError::Invalid("more than 100 levels at line 1 column 102".into())));
    assert!(matches!(parsed(&nested(5_000_000)), Err(JsonError::Invalid(_))));
}

#[test]
fn small_texts_that_become_large_are_refused() {
    let list = format!("[{}0]", "0,".repeat(1000));
    assert_eq!(parse(&list, &mut 10_000), Err(JsonError::TooLarge));
    let mut budget = 100;
    parse(r#"["abc"]"#, &mut budget).unwrap();
    assert_eq!(budget, 100 - 32 - 35);
    assert_eq!(parse(r#"["abcdefgh"]"#, &mut budget), Err(JsonError::TooLarge));
}

proptest! {
    #[test]
    fn agrees_with_the_plain_parser(text in r#"[\[\]{}":,a0-9.eE\\ -]{0,40}"#) {
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => prop_assert_eq!(parsed(&text).unwrap(), value),
            Err(_) => prop_assert!(parsed(&text).is_err()),
        }
    }
}
