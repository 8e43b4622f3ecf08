//! The items that the module emits.

use plumbline_module_causes::{Cause, Causes, MAX_CAUSES};
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Status};
use serde_json::json;

fn failed(depth: u32, name: &str, text: &str) -> Item {
    Item::new(depth, name).status(Status::Failed).text("failure", text)
}

#[test]
fn a_cause_lists_its_items_and_tests_of_all_nodes() {
    let node = |free: &str| {
        [
            Item::new(0, "disks.xml").status(Status::Failed),
            failed(1, "disk a", &format!("no space left on device /dev/sda1: {free} free")),
            Item::new(1, "disk b").status(Status::Passed).text("failure", "no space left on device /dev/sdb: 0 free"),
            failed(1, "disk c", &format!("no space left on device /dev/sdc: {free} free")),
        ]
    };
    let late = Item::new(0, "timeout waiting for results").status(Status::Timeout);
    let run = Case::new()
        .driver("DaemonSet")
        .results("n1", node("1 MiB"))
        .results("n2", node("7 KiB"))
        .results("n3", [late, Item::new(0, "skipped").status(Status::Skipped)])
        .summarize::<Causes>();
    assert_eq!(run.outcome, Ok(()));
    let space = "no space left on device <*> free";
    let [causes, late] = run.items.as_slice() else { panic!("{:#}", run.to_json()) };
    assert_eq!((causes.name.as_str(), late.name.as_str()), (space, "timeout waiting for results"));
    let id = Cause::of(&failed(1, "disk x", "no space left on device /dev/sdz: 3 KiB free")).id;
    assert_eq!(
        run.to_json()[0],
        json!({
            "depth": 0, "name": space, "status": "not-read",
            "meta": {"cause": id, "count": "4", "template": space, "type": "cause"},
            "details": {"items": [1, 3, 5, 7], "tests": ["disk a", "disk c"]},
        })
    );
}

#[test]
fn without_failures_there_is_no_cause() {
    let items = [Item::new(0, "f").status(Status::Failed), Item::new(1, "a").status(Status::Passed)];
    assert_eq!(Case::new().results("global", items).summarize::<Causes>().items, []);
}

#[test]
fn there_are_no_more_causes_than_people_can_read() {
    let word = |at: usize| at.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>();
    let items = (0..=MAX_CAUSES).map(|at| failed(0, "t", &format!("cannot find the {} resource", word(at))));
    let run = Case::new().results("global", items).summarize::<Causes>();
    assert_eq!(run.items.len(), MAX_CAUSES);
    assert!(run.log[0].1.ends_with("10000 causes: 1"), "{:?}", run.log);
}

#[test]
fn items_that_cannot_be_read_end_the_call() {
    let run =
        Case::new().results("global", [failed(0, "t", "x")]).broken_results("the disk is gone").summarize::<Causes>();
    assert_eq!(run.outcome, Err("the disk is gone".to_owned()));
}
