use super::*;
use serde_json::json;

#[test]
fn yaml_numbers_are_text_in_both_views() {
    let spec = json!({"image": 5, "command": ["sleep", 1.5], "args": [true], "tty": true, "env": [
        {"name": "A", "value": true}, {"name": "B", "value": 15}, {"name": "C", "value": null}, {"name": "D", "value": "x"}]});
    let container = Container::read(spec, &mut Warnings::default()).unwrap();
    let texts = json!({"image": "5", "command": ["sleep", "1.5"], "args": ["true"], "tty": true, "env": [
        {"name": "A", "value": "true"}, {"name": "B", "value": "15"}, {"name": "C", "value": null}, {"name": "D", "value": "x"}]});
    assert_eq!(json!(container), texts);
    assert_eq!(container, Container::read(texts, &mut Warnings::default()).unwrap());
}

#[test]
fn a_variable_is_set_and_others_go_in_both_views() {
    let spec = json!({"image": "i", "env": [{"name": "A", "value": "1"}, {"name": "F", "value": "old"}, {"name": "S", "value": "x"}]});
    let container = Container::read(spec, &mut Warnings::default()).unwrap();
    let changed = container.with_variable("F", "new", &["S".to_owned()]);
    assert_eq!(changed.raw()["env"], json!([{"name": "A", "value": "1"}, {"name": "F", "value": "new"}]));
    assert_eq!(changed, Container::read(json!(changed), &mut Warnings::default()).unwrap());
    let none = Container::read(json!({"env": null}), &mut Warnings::default()).unwrap();
    assert_eq!(none.with_variable("F", "v", &[]).raw()["env"], json!([{"name": "F", "value": "v"}]));
}
