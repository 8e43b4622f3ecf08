use serde_json::json;

use super::*;

fn checked(options: Value, schemas: &[(&str, &Value)]) -> OptionsChecked {
    check_options(options.as_object().unwrap(), schemas)
}

fn problems_of(options: Value, schema: Value) -> Vec<String> {
    let checked = checked(options, &[("m", &schema)]);
    assert_eq!(checked.warnings, [""; 0]);
    checked.problems.iter().map(ToString::to_string).collect()
}

fn strict() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {"keep": {"type": "array", "items": {"type": "string"}}, "level": {"enum": ["low", "high"]}},
    })
}

#[test]
fn invalid_options_are_reported_by_path() {
    assert_eq!(problems_of(json!({"keep": ["a"], "level": "low"}), strict()), [""; 0]);
    assert_eq!(
        problems_of(json!({"kep": []}), strict()),
        ["`plumbline.options.kep`: is not an option (options: keep, level) (module `m`)"]
    );
    let wrong = problems_of(json!({"keep": ["a", 3]}), strict());
    assert_eq!(wrong, ["`plumbline.options.keep[1]`: want string, but got number (module `m`)"]);
    assert_eq!(problems_of(json!({"level": "mid"}), strict()).len(), 1);
    let lacks = problems_of(json!({}), json!({"required": ["url"]}));
    assert_eq!(lacks, ["`plumbline.options`: lacks url (module `m`)"]);
}

#[test]
fn modules_that_share_options_judge_their_own() {
    let label = json!({"type": "object", "additionalProperties": false, "properties": {"label": {"type": "string"}}});
    let strict = strict();
    let both: [(&str, &Value); 2] = [("reader", &strict), ("expect", &label)];
    assert_eq!(checked(json!({"label": "zone", "level": "low"}), &both), OptionsChecked::default());
    let wrong = checked(json!({"label": 1, "level": "low"}), &both).problems;
    assert_eq!((wrong.len(), wrong[0].module.as_str()), (1, "expect"));
    // An unknown key is rejected.
    assert_eq!(checked(json!({"colour": 1}), &both).problems.len(), 2);
}

#[test]
fn a_schema_that_cannot_be_used_is_a_warning() {
    for (schema, part) in [
        (json!({"type": "objekt"}), "unsupported schema"),
        (json!({"$ref": "https://example.org/s.json"}), "it refers to `https://example.org/s.json`"),
        (json!({"$ref": "file:///etc/passwd"}), "it refers to `file:///etc/passwd`"),
        (json!({"$schema": "https://example.org/draft"}), "which is not supported"),
        (json!({"$ref": "#/$defs/none"}), "which is not inside of it"),
        (json!({"$dynamicRef": "#x"}), "it uses `$dynamicRef`"),
        (json!({"properties": {"a": {"$ref": "#"}}}), "it has a cycle"),
    ] {
        let checked = checked(json!({"a": 1}), &[("m", &schema)]);
        assert!(checked.problems.is_empty() && checked.warnings[0].contains(part), "{schema}: {checked:?}");
    }
}

#[test]
fn a_schema_that_multiplies_itself_is_not_followed() {
    let mut defs = Map::new();
    for at in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        defs.insert(format!("d{at}"), json!({"allOf": [next, next]}));
    }
    defs.insert("d60".into(), json!({}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
    assert!(checked(json!({}), &[("m", &schema)]).warnings[0].contains("it has a cycle"));
}

#[test]
fn references_within_the_schema_work() {
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/text"}}, "$defs": {"text": {"type": "string"}}});
    assert_eq!(problems_of(json!({"a": "x"}), schema.clone()), [""; 0]);
    assert_eq!(problems_of(json!({"a": 1}), schema).len(), 1);
}

#[test]
fn problems_are_bounded_in_number_and_length() {
    let long = "x".repeat(10_000);
    let many: Map<String, Value> = (0..500).map(|at| (format!("{long}{at}"), json!(1))).collect();
    let checked = check_options(&many, &[("m", &strict())]);
    assert_eq!(checked.problems.len(), MAX_PROBLEMS);
    assert!(checked.problems.iter().all(|problem| problem.to_string().len() < 2_000));
}
