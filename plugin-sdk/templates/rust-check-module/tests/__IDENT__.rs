use plumbline_module___IDENT__::__TYPE__;
use plumbline_sdk::Status;
use plumbline_sdk::testing::Case;
use serde_json::json;

fn case(value: &str) -> Case {
    Case::new().option("settings", json!({"vm/swappiness": "10"})).node_file("/proc/sys/vm/swappiness", value)
}

#[test]
fn settings_are_compared() {
    assert_eq!(case("10\n").check::<__TYPE__>().outline(), "vm/swappiness: passed\n");
    let run = case("60\n").check::<__TYPE__>();
    assert_eq!(run.outline(), "vm/swappiness: failed\n");
    assert_eq!(run.progress.last().map(|progress| (progress.completed, progress.total)), Some((1, 1)));
}

#[test]
fn unreadable_objects_do_not_pass() {
    // The case grants no directory, as a definition without `grants`.
    let run = Case::new().check::<__TYPE__>();
    assert_eq!((run.count(&Status::Unknown), run.items.len()), (2, 2));
}

#[test]
fn a_misspelled_option_is_an_error() {
    assert!(case("10").option("setings", 1).check::<__TYPE__>().outcome.is_err());
}
