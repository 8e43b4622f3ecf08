//! Tests of durations.

use plumbline_sdk::testing::Run;

use crate::common;

fn duration<'r>(run: &'r Run, item: &str) -> Option<&'r str> {
    let item = run.item(item).unwrap();
    item.meta.iter().find(|(key, _)| key == "duration").map(|(_, text)| text.as_str())
}

#[test]
fn cases_that_ran_have_one_wherever_the_attribute_stands() {
    let run = common::read(common::suite(
        "<testcase name='last' classname='c' status='passed' time='6096.539088322'/>\
         <testcase time='0.5' name='first'><failure/></testcase>\
         <testcase time='1' time='2' name='twice'/>\
         <testcase name='none' classname='c'/>\
         <testcase name='odd' time='1,5'/>\
         <testcase name='skipped' time='0'><skipped/></testcase>\
         <testcase time='3' classname='class only'/>\
         <testcase name='' time='4' name='late'/>",
    ));
    assert_eq!(duration(&run, "last"), Some("6096.539088322"));
    assert_eq!(duration(&run, "first"), Some("0.5"));
    assert_eq!(duration(&run, "twice"), Some("2"));
    assert_eq!(duration(&run, "class only"), Some("3"));
    assert_eq!(duration(&run, "late"), Some("4"));
    for without in ["none", "odd", "skipped"] {
        assert_eq!(duration(&run, without), None, "{without}");
    }
}

#[test]
fn suites_have_none() {
    let run =
        common::read("<testsuites time='1'><testsuite name='s' time='2'><testcase name='a'/></testsuite></testsuites>");
    assert!(run.items.iter().all(|item| item.meta.iter().all(|(key, _)| key != "duration")));
}
