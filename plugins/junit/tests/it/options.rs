//! Tests of the option `keep`.

use plumbline_module_junit::Junit;
use plumbline_sdk::Detail;
use plumbline_sdk::testing::{Case, Run};
use serde_json::{Value, json};

use crate::common;

const DOCUMENT: &str = "<testsuite name='s' hostname='h' time='1.5'>\
    <properties><property name='os' value='linux'/><property name='text'>a &amp; b</property><property value='x'/></properties>\
    <testcase classname='C' name='t' time='0.1' file='a&amp;b.rs'><properties><property name='p' value='1'/></properties></testcase>\
    <testcase classname='C' time='0.2' time='0.3'/></testsuite>";

fn keep(names: &[&str]) -> Run {
    common::run(&Case::new().file("results/global/junit.xml", DOCUMENT).option("keep", names))
}

fn details(run: &Run, item: &str) -> Value {
    let details = run.item(item).unwrap().details.iter().map(|(key, value)| {
        let value = match value {
            Detail::Text(text) => Value::from(text.as_str()),
            Detail::Json(text) => serde_json::from_str(text).unwrap(),
        };
        (key.clone(), value)
    });
    Value::Object(details.collect())
}

#[test]
fn nothing_is_kept_unless_it_is_named() {
    let run = common::read(DOCUMENT);
    assert!(run.items.iter().all(|item| item.details.is_empty()));
}

#[test]
fn attributes_become_details() {
    let run = keep(&["time", "file", "classname"]);
    assert_eq!(details(&run, "s"), json!({ "time": "1.5" }));
    assert_eq!(details(&run, "t"), json!({ "classname": "C", "time": "0.1", "file": "a&b.rs" }));
    assert_eq!(details(&run, "C"), json!({ "classname": "C", "time": "0.3" }));
}

#[test]
fn properties_become_an_object() {
    let run = keep(&["properties"]);
    assert_eq!(details(&run, "s"), json!({ "properties": { "os": "linux", "text": "a & b" } }));
    assert_eq!(details(&run, "t"), json!({ "properties": { "p": "1" } }));
}

#[test]
fn options_that_make_no_sense_are_named() {
    for (key, value, reason) in [
        ("keep", json!("time"), "invalid options of the module: "),
        ("kept", json!(["time"]), "unknown field `kept`"),
        ("keep", json!(vec!["a"; 65]), "`keep` has 65 names: at most 64 are possible"),
    ] {
        let run = Case::new().option(key, value).file("results/global/junit.xml", DOCUMENT).run::<Junit>();
        let error = run.outcome.unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(run.items.is_empty());
    }
}
