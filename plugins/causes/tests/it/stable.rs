//! The same failure has the same cause in any order, with any other failures, and in the next run.

use std::collections::BTreeMap;

use plumbline_module_causes::{Cause, Causes};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Item, Status};
use proptest::prelude::*;

use crate::labelled::Labelled;

fn run(items: Vec<Item>) -> Run {
    let case = Case::new().results("global", [Item::new(0, "f.xml")].into_iter().chain(items));
    let run = case.summarize::<Causes>();
    assert_eq!(run.outcome, Ok(()));
    run
}

/// The ids of all causes, each with the numbers of failures in `order`.
fn causes(order: &[usize], all: &[Item]) -> BTreeMap<String, Vec<usize>> {
    let run = run(order.iter().map(|at| all[*at].clone()).collect());
    let mut found = BTreeMap::new();
    for item in run.to_json().as_array().unwrap() {
        let numbers = item["details"]["items"].as_array().unwrap().iter();
        // The first item is the file.
        let mut members: Vec<usize> = numbers.map(|at| order[at.as_u64().unwrap() as usize - 1]).collect();
        members.sort_unstable();
        found.insert(item["meta"]["cause"].as_str().unwrap().to_owned(), members);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn order_and_other_failures_make_no_difference(
        order in Just((0..Labelled::all().len()).collect::<Vec<usize>>()).prop_shuffle(),
        keep in 0..Labelled::all().len(),
    ) {
        let items: Vec<Item> = Labelled::all().iter().map(Labelled::item).collect();
        let whole = causes(&(0..items.len()).collect::<Vec<_>>(), &items);
        prop_assert_eq!(&causes(&order, &items), &whole);
        let part = &order[..keep];
        let want: BTreeMap<String, Vec<usize>> = whole
            .into_iter()
            .map(|(id, members)| (id, members.into_iter().filter(|at| part.contains(at)).collect::<Vec<_>>()))
            .filter(|(_, members)| !members.is_empty())
            .collect();
        prop_assert_eq!(causes(part, &items), want);
    }

    #[test]
    fn parts_that_vary_between_runs_do_not_change_the_cause(
        hour in 0..24_u8, pod in "[bcdfghjklmnpqrstvwxz2456789]{5}", hash in "[bcdfghjklmnpqrstvwxz2456789]{8,10}",
        namespace in 1..99_999_u32, octet in 0..=255_u8, port in 1..=65_535_u16, uid in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}",
        pointer in "0xc000[0-9a-f]{6}", line in 1..5_000_u32, seconds in 0.0..600.0_f64, build in "/(go|workspace|home/ci)/src",
        colour in any::<bool>(),
    ) {
        let (red, reset) = if colour { ("\u{1b}[31m", "\u{1b}[0m") } else { ("", "") };
        let text = format!(
            "{build}/test/e2e/framework/framework.go:{line}\nNov 25 {hour:02}:11:12.345: {red}pod \"web-{hash}-{pod}\" \
             ({uid}) of e2e-tests-{namespace} at 10.0.{octet}.7:{port} did not answer after {seconds:.3}s: <*errors.T | {pointer}>{{\n a: 1}}{reset}\n\
             {build}/test/e2e/network/service.go:{line}"
        );
        let cause = Cause::of(&Item::new(1, "[It] [sig-network] Services").text("failure", text));
        prop_assert_eq!(cause.template, "pod <*> of <*> at <*> did not answer after <*>: <*errors.T <*>");
    }

    #[test]
    fn any_text_has_a_cause(name in ".{0,40}", text in "(\\PC|[{}\"'`<>=:/\\\\\n\u{1b}]){0,400}") {
        let cause = Cause::of(&Item::new(0, name).status(Status::Failed).text("failure", text));
        prop_assert!(cause.id.len() == 12 && !cause.template.is_empty());
    }
}
