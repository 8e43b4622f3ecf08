use plumbline_module___IDENT__::__TYPE__;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Ruling, Status};

fn given(pattern: &str) -> Case {
    let test = |name: &str, status| Item::new(1, name).status(status);
    Case::new().option("pattern", pattern).option("reason", "it is slow").results(
        "global",
        [
            Item::new(0, "suite").status(Status::Failed),
            test("starts", Status::Failed),
            test("[slow] stops", Status::Failed),
            test("[slow] starts", Status::Passed),
        ],
    )
}

#[test]
fn failures_that_match_do_not_count() {
    assert_eq!(given("[slow] *").judge::<__TYPE__>().outline(), "global/[slow] stops: excused, excused: it is slow\n");
    for (pattern, excused) in [("*", 2), ("starts", 1), ("*st*s", 2), ("[slow]", 0), ("start", 0), ("*starts*starts", 0)] {
        assert_eq!(given(pattern).judge::<__TYPE__>().rulings.len(), excused, "{pattern}");
    }
}

#[test]
fn the_ruling_of_another_judge_is_kept() {
    let case = given("*").ruled("starts", Ruling::counts("regression", "it passed before"));
    assert_eq!(case.judge::<__TYPE__>().ruling("starts"), None);
}

#[test]
fn an_option_that_is_not_there_is_named() {
    let judged = given("*").option("patern", "*").judge::<__TYPE__>();
    assert!(judged.outcome.is_err_and(|error| error.contains("patern")) && judged.rulings.is_empty());
}
