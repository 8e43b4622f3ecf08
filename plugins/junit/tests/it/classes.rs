//! Tests of the metadata key `classname`.

use plumbline_sdk::testing::Run;

use crate::common;

fn class<'r>(run: &'r Run, item: &str) -> Option<&'r str> {
    let item = run.item(item).unwrap();
    item.meta.iter().find(|(key, _)| key == "classname").map(|(_, text)| text.as_str())
}

#[test]
fn tests_with_the_same_name_are_distinguished_by_class() {
    let run = common::read(
        "<testsuite name='pytest'><testcase classname='tests.a' name='test_x'/>\
         <testcase classname='tests.b' name='test_x'><failure/></testcase></testsuite>",
    );
    let classes: Vec<_> = run
        .items
        .iter()
        .filter(|item| item.name == "test_x")
        .flat_map(|item| &item.meta)
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(classes, [("classname", "tests.a"), ("classname", "tests.b")]);
}

#[test]
fn a_class_that_says_nothing_new_is_left_out() {
    let run = common::read(common::suite(
        "<testcase name='a' classname='s'/><testcase name='b' classname='b'/><testcase name='c' classname=''/>\
         <testcase name='d'/><testcase classname='e'/><testcase classname='C&amp;D' time='1' name='f'/>",
    ));
    for without in ["a", "b", "c", "d", "e"] {
        assert_eq!(class(&run, without), None, "{without}");
    }
    assert_eq!(class(&run, "f"), Some("C&D"));
}

#[test]
fn a_class_is_compared_with_the_innermost_suite() {
    let run = common::read(
        "<testsuites><testsuite name='outer'><testsuite name='inner'><testcase name='a' classname='outer'/>\
         <testcase name='b' classname='inner'/></testsuite><testcase name='c' classname='outer'/></testsuite></testsuites>",
    );
    assert_eq!((class(&run, "a"), class(&run, "b"), class(&run, "c")), (Some("outer"), None, None));
}

#[test]
fn a_class_without_end_is_cut() {
    let run = common::read(common::suite(&format!("<testcase name='t' classname='{}'/>", "x".repeat(1 << 20))));
    let class = class(&run, "t").unwrap();
    assert!(class.len() < 5_000 && class.ends_with("bytes]"), "{}", class.len());
}
