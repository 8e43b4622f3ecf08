//! Tests for the limits that a plugin requests.

use serde_json::json;

use super::*;

fn request(value: Value) -> Result<LimitsRequest, DefinitionError> {
    LimitsRequest::read(Section::new("limits".to_owned(), value, schema::LIMITS, &mut Warnings::default())?)
}

#[test]
fn all_keys_are_read_and_written() {
    let asked = json!({
        "wall": "1m30s", "memory": "64MiB", "table-elements": 7, "stack": "512KiB", "input-bytes": "1GiB", "items": 10,
        "output-bytes": 1000, "item-bytes": "1k", "depth": 5, "hostcall-bytes": "1MiB", "log-bytes": 0,
    });
    let read = request(asked).unwrap();
    let expected = LimitsRequest {
        wall_seconds: Some(90),
        memory: Some(64 << 20),
        table_elements: Some(7),
        stack: Some(512 << 10),
        input_bytes: Some(1 << 30),
        items: Some(10),
        output_bytes: Some(1000),
        item_bytes: Some(1000),
        depth: Some(5),
        hostcall_bytes: Some(1 << 20),
        log_bytes: Some(0),
    };
    assert_eq!(read, expected);
    assert_eq!(request(Value::from(read.to_json())).unwrap(), expected);
    let through_serde: LimitsRequest = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
    assert_eq!(through_serde, expected);
    assert!(LimitsRequest::default().is_empty() && !read.is_empty());
}

#[test]
fn seconds_are_rounded_up_so_that_a_short_wall_is_not_none() {
    for (wall, seconds) in [(json!("1ms"), 1), (json!("1.5s"), 2), (json!(7), 7), (json!("2m"), 120)] {
        assert_eq!(request(json!({"wall": wall})).unwrap().wall_seconds, Some(seconds), "{wall}");
    }
    assert_eq!(request(json!({"wall-seconds": 7})).unwrap().wall_seconds, Some(7));
    // The longest duration must survive a round trip through its written form.
    let longest = request(json!({"wall": MAX_SECONDS})).unwrap();
    assert_eq!(request(Value::from(longest.to_json())).unwrap(), longest);
    assert!(request(json!({"wall": u64::MAX})).is_err());
}

#[test]
fn nothing_can_be_done_within_nothing() {
    for key in ["wall", "memory", "stack", "hostcall-bytes", "depth"] {
        let error = request(json!({key: 0})).unwrap_err();
        assert!(error.to_string().contains(&format!("`limits.{key}`")), "{error}");
    }
    // These may be zero: a module may read, emit or log nothing.
    for key in ["items", "log-bytes", "input-bytes", "output-bytes"] {
        assert!(request(json!({key: 0})).is_ok(), "{key}");
    }
}

#[test]
fn less_is_granted_and_more_up_to_the_cap() {
    let defaults = ModuleLimits::default();
    let cap = ModuleLimits { memory: defaults.memory * 2, stack: defaults.stack * 2, ..defaults.clone() };
    let grant = |value| effective_limits(&request(value).unwrap(), &defaults, &cap);

    assert_eq!(grant(json!({})).unwrap(), defaults);
    let less = grant(json!({"memory": "1MiB", "wall": "1s", "depth": 2})).unwrap();
    assert_eq!((less.memory, less.wall_seconds, less.depth), (1 << 20, 1, 2));
    assert_eq!(less.items, defaults.items);
    assert_eq!(grant(json!({"memory": cap.memory})).unwrap().memory, cap.memory);

    let said: Vec<String> = [
        json!({"memory": cap.memory + 1}),
        json!({"wall": "1h"}),
        json!({"depth": 65}),
        json!({"depth": u64::MAX}),
        // An engine has one stack size, whatever the cap is.
        json!({"stack": "2MiB"}),
    ]
    .into_iter()
    .map(|value| grant(value).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_default_above_the_cap_comes_down_to_it() {
    let defaults = ModuleLimits::default();
    let cap = ModuleLimits { memory: 1 << 20, depth: 3, ..defaults.clone() };
    let granted = effective_limits(&LimitsRequest::default(), &defaults, &cap).unwrap();
    assert_eq!((granted.memory, granted.depth), (1 << 20, 3));
}

#[test]
fn unset_limits_of_a_definition_come_from_the_module() {
    let definition = LimitsRequest { memory: Some(1), ..LimitsRequest::default() };
    let module = LimitsRequest { memory: Some(2), items: Some(3), ..LimitsRequest::default() };
    let both = definition.or(&module);
    assert_eq!((both.memory, both.items, both.depth), (Some(1), Some(3), None));
}
