//! Tests for roll-up: each rule, and properties of every tree.

use proptest::prelude::*;

use super::*;
use crate::item;

fn leaf(status: &str) -> Item {
    Item { name: status.to_owned(), status: status.into(), ..Item::default() }
}

fn over(items: Vec<Item>) -> Item {
    // This status is wrong and must be overwritten.
    Item { name: "suite".to_owned(), status: "passed".into(), items, ..Item::default() }
}

fn rolled(mut root: Item) -> Item {
    roll_up(&mut root);
    root
}

#[test]
fn the_status_of_a_parent_follows_from_its_children() {
    for (children, status) in [
        (&["passed"][..], "passed"),
        (&["skipped"], "skipped"),
        (&["skipped", "skipped"], "skipped"),
        (&["skipped", "not-read"], "skipped"),
        (&["not-read", "not-read"], "not-read"),
        (&["passed", "not-read"], "passed"),
        (&["unknown", "not-read"], "unknown"),
        (&["failed", "not-read"], "failed"),
        (&["warning", "not-read"], "not-read: 1, warning: 1"),
        (&["passed", "skipped"], "passed"),
        (&["passed", "failed"], "failed"),
        (&["failed", "unknown"], "failed"),
        (&["passed", "timeout"], "failed"),
        (&["timeout"], "failed"),
        (&["passed", "unknown"], "unknown"),
        (&["skipped", "unknown"], "unknown"),
        (&[""], "unknown"),
        (&["", "passed"], "unknown"),
        (&["", "failed"], "failed"),
        // With a custom status, the whole tree is counted.
        (&["foobar"], "foobar: 1"),
        (&["passed", "foo", "failed", "passed"], "failed: 1, foo: 1, passed: 2"),
        (&["foo", ""], "foo: 1, unknown: 1"),
        (&["foo", "timeout", "skipped"], "foo: 1, skipped: 1, timeout: 1"),
        (&["a: 1, b: 2", "b: 3", "passed"], "a: 1, b: 5, passed: 1"),
        // Capitalized words are not standard statuses.
        (&["Passed"], "Passed: 1"),
    ] {
        let root = rolled(over(children.iter().map(|child| leaf(child)).collect()));
        assert_eq!(root.status.as_str(), status, "{children:?}");
        let below = rolled(over(vec![over(children.iter().map(|child| leaf(child)).collect())]));
        assert_eq!(below.items[0].status.as_str(), status, "{children:?}, one level down");
        assert_eq!(below.status.as_str(), status, "{children:?}, two levels up");
    }
}

#[test]
fn a_plugin_without_any_item_is_unknown_and_says_why() {
    let root = rolled(leaf("passed"));
    assert_eq!(root.status, Status::Unknown);
    assert_eq!(root.meta.get(REASON).map(String::as_str), Some(NO_RESULTS_REASON));
    let said = Item { meta: [(REASON.to_owned(), "no nodes".to_owned())].into(), ..leaf("") };
    assert_eq!(rolled(said).meta.get(REASON).map(String::as_str), Some("no nodes"));
    assert!(!rolled(over(vec![leaf("unknown")])).meta.contains_key(REASON));
}

#[test]
fn a_leaf_keeps_its_status_and_an_empty_one_is_unknown() {
    // A node without files, next to one with a test suite that has no test cases.
    let root = rolled(over(vec![leaf(""), over(vec![leaf("passed")])]));
    let statuses: Vec<&str> = root.items.iter().map(|item| item.status.as_str()).collect();
    assert_eq!((root.status.as_str(), &statuses[..]), ("unknown", &["unknown", "passed"][..]));
    let empty = Item { status: Status::Custom(String::new()), ..Item::default() };
    assert_eq!(rolled(over(vec![empty])).items[0].status, Status::Unknown);
}

#[test]
fn one_custom_leaf_counts_the_whole_tree() {
    let root = rolled(over(vec![over(vec![leaf("passed"), leaf("failed")]), over(vec![over(vec![leaf("warning")])])]));
    assert_eq!(root.items[0].status.as_str(), "failed: 1, passed: 1");
    assert_eq!(root.items[1].items[0].status.as_str(), "warning: 1");
    assert_eq!(root.status.as_str(), "failed: 1, passed: 1, warning: 1");
    // A custom status of an item with children is overwritten.
    let root = rolled(over(vec![Item { status: "warning".into(), ..over(vec![leaf("passed")]) }]));
    assert_eq!((root.status.as_str(), root.items[0].status.as_str()), ("passed", "passed"));
}

#[test]
fn counts_are_distinguished_from_other_text() {
    for (text, counts) in [
        ("a: 1", Some(vec![("a", 1)])),
        ("a: 1, b: 2", Some(vec![("a", 1), ("b", 2)])),
        ("a: b: 2", Some(vec![("a: b", 2)])),
        ("a", None),
        ("a: ", None),
        ("a: -1", None),
        ("a: +1", None),
        (": 1", None),
        // This is one count with a strange name, not two counts.
        ("a: 1,b: 2", Some(vec![("a: 1,b", 2)])),
        ("a: 1, b", None),
        ("a: 99999999999999999999", None),
        ("", None),
    ] {
        assert_eq!(counts_in(text), counts, "{text}");
    }
}

#[test]
fn leaves_are_counted_as_they_are() {
    let tree = over(vec![over(vec![leaf("passed"), leaf("failed")]), leaf("passed"), leaf("warn"), leaf("")]);
    let expected = [("failed", 1), ("passed", 2), ("unknown", 1), ("warn", 1)];
    assert_eq!(counts(&tree), expected.map(|(status, n)| (status.to_owned(), n)).into());
    assert_eq!(counts(&leaf("skipped")), [("skipped".to_owned(), 1)].into());
}

#[test]
fn statuses_without_end_are_bounded() {
    let invented: Vec<Item> = (0..10_000).map(|i| leaf(&format!("status-{i:05}"))).collect();
    let root = rolled(over(invented.clone()));
    let counts = counts_in(root.status.as_str()).unwrap();
    assert_eq!(counts.len(), MAX_CUSTOM_STATUSES + 1);
    assert!(counts.contains(&(OTHER_STATUSES, 10_000 - MAX_CUSTOM_STATUSES as u64)));
    let backwards = rolled(over(invented.into_iter().rev().collect()));
    assert_eq!(backwards.status, root.status);
}

#[test]
fn huge_counts_saturate() {
    let mut tally = Tally::default();
    tally.add_many(&Status::Failed, u64::MAX);
    tally.add_many(&Status::Failed, 5);
    tally.add_many(&format!("a: {}", u64::MAX).as_str().into(), 3);
    assert_eq!(tally.counts(), [("a".to_owned(), u64::MAX), ("failed".to_owned(), u64::MAX)].into());
    assert_eq!(tally.result(false), Status::Failed);
}

fn status(custom: bool) -> impl Strategy<Value = Status> {
    let standard = || prop::sample::select(&["passed", "failed", "skipped", "timeout", "unknown", "not-read", ""][..]);
    let own = || prop::sample::select(&["warn", "note", "warn: 2, passed: 1", "odd, text"][..]);
    let text = if custom { prop_oneof![3 => standard(), 1 => own()].boxed() } else { standard().boxed() };
    text.prop_map(Status::from)
}

fn tree(custom: bool) -> impl Strategy<Value = Item> {
    let leaf = status(custom).prop_map(|status| Item { status, ..Item::default() });
    let inner = leaf.prop_recursive(4, 40, 5, move |child| {
        (status(true), prop::collection::vec(child, 1..5)).prop_map(|(status, items)| Item {
            status,
            items,
            ..Item::default()
        })
    });
    prop::collection::vec(inner, 1..5).prop_map(|items| Item { name: "root".to_owned(), items, ..Item::default() })
}

/// A reference implementation of the rules: recursive and without a tally.
fn expected(item: &Item, custom: bool) -> Status {
    if item.items.is_empty() {
        return item.status.clone();
    }
    let children: Vec<Status> = item.items.iter().map(|child| expected(child, custom)).collect();
    if custom {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for child in &children {
            for (name, n) in counts_in(child.as_str()).unwrap_or_else(|| vec![(child.as_str(), 1)]) {
                *counts.entry(name.to_owned()).or_default() += n;
            }
        }
        let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{name}: {n}")).collect();
        return counts.join(", ").as_str().into();
    }
    let any = |wanted: &[Status]| children.iter().any(|child| wanted.contains(child));
    if any(&[Status::Failed, Status::Timeout]) {
        Status::Failed
    } else if any(&[Status::Unknown]) {
        Status::Unknown
    } else if any(&[Status::Passed]) {
        Status::Passed
    } else if any(&[Status::Skipped]) {
        Status::Skipped
    } else {
        Status::NotRead
    }
}

#[test]
fn a_list_of_one_meaning_counts_as_it() {
    for (list, wanted) in [
        ("skip: 3", Status::Skipped),
        ("passed: 3", Status::Passed),
        ("PASSED: 1, passed: 2, x: 0", Status::Passed),
        ("skip: 1, skipped: 2", Status::Skipped),
        ("passed: 3, FAILED: 1", Status::Failed),
    ] {
        assert_eq!(meaning(&list.into()), wanted, "{list}");
    }
    for own in ["passed: 1, skip: 1", "x: 3", "x: 0", "passed: 1, x: 1"] {
        assert_eq!(meaning(&own.into()), Status::from(own));
    }
}

proptest! {
    #[test]
    fn every_item_follows_the_rules(tree in prop_oneof![tree(false), tree(true)]) {
        let custom = tree.leaves().any(|leaf| leaf.status.is_custom());
        let done = rolled(tree.clone());
        for (before, after) in tree.walk().zip(done.walk()) {
            prop_assert_eq!(&after.status, &expected(before, custom));
            prop_assert!(custom || !after.status.is_custom());
            prop_assert!(after.is_leaf() || after.status != Status::Timeout);
        }
        // Only statuses change, leaf counts stay the same, and roll-up is idempotent.
        prop_assert_eq!(tree.walk().count(), done.walk().count());
        prop_assert_eq!(counts(&tree), counts(&done));
        prop_assert_eq!(rolled(done.clone()), done);
    }

    #[test]
    fn the_order_of_children_makes_no_difference(tree in tree(true), seed: u64) {
        fn shuffled(item: &Item, seed: u64) -> Item {
            let mut items: Vec<Item> = item.items.iter().map(|child| shuffled(child, seed.rotate_left(7))).collect();
            if !items.is_empty() {
                let by = usize::try_from(seed % items.len() as u64).unwrap();
                items.rotate_left(by);
            }
            if seed.is_multiple_of(2) {
                items.reverse();
            }
            Item { items, ..item.clone() }
        }
        prop_assert_eq!(rolled(shuffled(&tree, seed)).status, rolled(tree).status);
    }

    #[test]
    fn back_to_front_over_the_flat_list_is_the_same(tree in prop_oneof![tree(false), tree(true)]) {
        let custom = tree.leaves().any(|leaf| leaf.status.is_custom());
        let list = item::flatten(&tree);
        let mut open: Vec<Tally> = Vec::new();
        let mut statuses = Vec::new();
        for (i, item) in list.iter().enumerate().rev() {
            let depth = item.depth as usize;
            let below = open.get_mut(depth + 1).map(std::mem::take).unwrap_or_default();
            let has_children = list.get(i + 1).is_some_and(|next| next.depth > item.depth);
            let status = if has_children { below.result(custom) } else { item.status.clone().unwrap() };
            open.resize_with(open.len().max(depth + 1), Tally::default);
            open[depth].add(&status);
            statuses.push(status);
        }
        statuses.reverse();
        let rolled: Vec<Status> = rolled(tree).walk().map(|item| item.status.clone()).collect();
        prop_assert_eq!(statuses, rolled);
    }

    #[test]
    fn adding_many_is_adding_often(list in prop::collection::vec((status(true), 0u64..5), 0..8)) {
        let (mut many, mut often) = (Tally::default(), Tally::default());
        for (status, n) in &list {
            many.add_many(status, *n);
            (0..*n).for_each(|_| often.add(status));
        }
        prop_assert_eq!(&many, &often);
        prop_assert_eq!(many.result(true), often.result(true));
        let mut backwards = Tally::default();
        list.iter().rev().for_each(|(status, n)| backwards.add_many(status, *n));
        prop_assert_eq!(many, backwards);
    }
}
