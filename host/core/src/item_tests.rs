use proptest::prelude::*;

use super::*;

#[test]
fn an_item_is_written_in_the_order_of_the_archive_and_without_what_is_empty() {
    let leaf = Item { name: "systemd_logs".to_owned(), status: Status::Passed, ..Item::default() };
    let item = Item {
        name: "kind-worker".to_owned(),
        status: Status::Failed,
        meta: [("type".to_owned(), "node".to_owned())].into(),
        details: [("pod".to_owned(), serde_json::json!({"a": [1]}))].into_iter().collect(),
        items: vec![leaf],
    };
    let text = r#"{"name":"kind-worker","status":"failed","meta":{"type":"node"},"details":{"pod":{"a":[1]}},"items":[{"name":"systemd_logs","status":"passed"}]}"#;
    assert_eq!(serde_json::to_string(&item).unwrap(), text);
    assert_eq!(serde_json::from_str::<Item>(text).unwrap(), item);
}

#[test]
fn missing_keys_of_an_item_are_empty() {
    let item: Item = serde_json::from_str(r#"{"name": "a", "unheard-of": 1}"#).unwrap();
    assert_eq!(item, Item { name: "a".to_owned(), status: Status::Unknown, ..Item::default() });
}

fn item(name: &str, items: Vec<Item>) -> Item {
    Item { name: name.to_owned(), items, ..Item::default() }
}

fn tree() -> Item {
    item("root", vec![item("a", vec![item("x", vec![]), item("y", vec![])]), item("b", vec![]), item("x", vec![])])
}

#[test]
fn a_walk_gives_parents_before_children_and_knows_the_way() {
    let tree = tree();
    let mut walk = tree.walk();
    let mut seen = Vec::new();
    while walk.next().is_some() {
        assert_eq!(walk.depth(), walk.ancestors().count());
        seen.push(walk.path().join("/"));
    }
    assert_eq!(seen, ["root", "root/a", "root/a/x", "root/a/y", "root/b", "root/x"]);
}

#[test]
fn leaves_are_the_items_without_children() {
    let names: Vec<&str> = tree().leaves().map(|leaf| leaf.name.clone()).map(|name| &*name.leak()).collect();
    assert_eq!(names, ["x", "y", "b", "x"]);
    let tree = tree();
    let mut leaves = tree.leaves();
    leaves.next();
    assert_eq!(leaves.walk().path(), ["root", "a", "x"]);
    assert_eq!(item("alone", vec![]).leaves().count(), 1);
}

#[test]
fn find_takes_the_first_depth_first_and_sees_the_root() {
    let tree = tree();
    assert!(std::ptr::eq(tree.find("x").unwrap(), &tree.items[0].items[0]));
    assert!(std::ptr::eq(tree.find("root").unwrap(), &tree));
    assert!(tree.find("nobody").is_none());
}

#[test]
fn a_tree_of_any_depth_is_walked_and_dropped() {
    let mut deep = item("leaf", vec![]);
    for _ in 0..200_000 {
        deep = item("level", vec![deep]);
    }
    // Recursive versions of both would overflow this stack.
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    let counted = thread.spawn(move || {
        let counted = deep.walk().count();
        assert_eq!(deep.find("leaf").unwrap().items.len(), 0);
        deep.dismantle();
        counted
    });
    assert_eq!(counted.unwrap().join().unwrap(), 200_001);
}

fn at(depth: u32, name: &str) -> FlatItem {
    FlatItem { depth, name: name.to_owned(), ..FlatItem::default() }
}

fn outline(items: &[Item]) -> String {
    items.iter().map(|item| format!("{}({})", item.name, outline(&item.items))).collect()
}

#[test]
fn a_list_becomes_the_trees_that_it_describes() {
    let list = [at(0, "a"), at(1, "b"), at(2, "c"), at(1, "d"), at(0, "e"), at(1, "f")];
    assert_eq!(outline(&build(list).unwrap()), "a(b(c())d())e(f())");
    assert_eq!(build([]), Ok(vec![]));
}

#[test]
fn an_item_without_a_status_is_unknown() {
    let given = FlatItem { status: Some(Status::Failed), ..at(0, "given") };
    let trees = build([at(0, "none"), given]).unwrap();
    assert_eq!((trees[0].status.clone(), trees[1].status.clone()), (Status::Unknown, Status::Failed));
}

#[test]
fn an_invalid_tree_is_rejected_at_the_first_invalid_item() {
    let error = build([at(1, "a")]).unwrap_err();
    assert_eq!(error, TreeError::DepthJump { index: 0, depth: 1, allowed: 0 });
    let error = build([at(0, "a"), at(1, "b"), at(0, "c"), at(2, "d")]).unwrap_err();
    assert_eq!(error.to_string(), "item 3 has depth 2, but the item before it allows at most 1");
    assert_eq!(build([at(u32::MAX, "a")]), Err(TreeError::DepthJump { index: 0, depth: u32::MAX, allowed: 0 }));
}

#[test]
fn a_tree_is_built_up_to_the_bound_and_not_beyond() {
    let line = |levels: u32| (0..levels).map(|depth| at(depth, "x"));
    let trees = build(line(MAX_DEPTH)).unwrap();
    assert_eq!(trees[0].walk().count(), MAX_DEPTH as usize);
    assert_eq!(build(line(MAX_DEPTH + 1)), Err(TreeError::TooDeep { index: MAX_DEPTH.into(), depth: MAX_DEPTH }));
}

fn trees() -> impl Strategy<Value = Item> {
    let item = || {
        let status = prop::sample::select(&["passed", "failed", "unknown", "warn", "a: 1"][..]);
        let meta = prop::collection::btree_map("[a-z]{1,4}", "\\PC{0,8}", 0..3);
        let details = prop::collection::btree_map("[a-z]{1,4}", any::<i64>(), 0..3);
        ("\\PC{0,8}", status, meta, details).prop_map(|(name, status, meta, details)| Item {
            name,
            status: status.into(),
            meta,
            details: details.into_iter().map(|(key, n)| (key, n.into())).collect(),
            items: Vec::new(),
        })
    };
    item().prop_recursive(5, 40, 4, move |child| {
        (item(), prop::collection::vec(child, 0..4)).prop_map(|(item, items)| Item { items, ..item })
    })
}

proptest! {
    #[test]
    fn a_tree_survives_the_list(tree in trees()) {
        let list = flatten(&tree);
        prop_assert_eq!(list.len(), tree.walk().count());
        prop_assert_eq!(build(list.clone()), Ok(vec![tree.clone()]));
        // Goes through the form on disk.
        let lines: Vec<String> = list.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
        let back: Vec<FlatItem> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(back, list);
        let json = serde_json::to_string(&tree).unwrap();
        prop_assert_eq!(serde_json::from_str::<Item>(&json).unwrap(), tree);
    }

    #[test]
    fn any_list_is_built_or_refused(depths in prop::collection::vec(0u32..4, 0..20)) {
        let list: Vec<FlatItem> = depths.iter().map(|&depth| at(depth, "x")).collect();
        let fits = depths.first().is_none_or(|&first| first == 0) && depths.windows(2).all(|pair| pair[1] <= pair[0] + 1);
        match build(list) {
            Ok(trees) => {
                prop_assert!(fits);
                let built: usize = trees.iter().map(|tree| tree.walk().count()).sum();
                prop_assert_eq!(built, depths.len());
            }
            Err(_) => prop_assert!(!fits),
        }
    }
}

fn failed(text: &str) -> Item {
    Item { details: [("failure".to_owned(), text.into())].into_iter().collect(), ..Item::default() }
}

#[test]
fn a_start_is_in_the_meta_or_in_the_timeline_of_ginkgo() {
    let started = |item: &Item| started(&item.meta, &item.details).map(Timestamp::as_millisecond);
    let meta = |text: &str| Item { meta: [(START.to_owned(), text.to_owned())].into(), ..Item::default() };
    assert_eq!(started(&meta("1970-01-01T00:00:01.5Z")), Some(1500));
    assert_eq!(started(&meta("1764109200.25")), Some(1_764_109_200_250));
    for invalid in ["NaN", "inf", "1e300", "-1e300"] {
        assert_eq!(started(&meta(invalid)), None, "{invalid}");
    }
    let ginkgo =
        "x > Enter [BeforeEach] [sig-node] Pods - /src/f.go:1 @ 01/02/70 00:00:00.25 (1ms)\n< Exit @ 01/02/70 00:00:01";
    assert_eq!(started(&failed(ginkgo)), Some(86_400_250));
    assert_eq!(started(&failed("mail @ noon\n @ 01/02/70 00:00:01\n")), Some(86_401_000));
    for nothing in ["", "a @ b", " @ 13/40/70 00:00:00", " @ 01/02/70"] {
        assert_eq!(started(&failed(nothing)), None, "{nothing}");
    }
    assert_eq!(started(&meta("yesterday")), None);
}

#[test]
fn only_possible_durations_count() {
    let seconds = |text: &str| seconds(&Meta::from([(DURATION.to_owned(), text.to_owned())]));
    assert_eq!(seconds("0.25"), Some(0.25));
    for wrong in ["", "-1", "NaN", "inf", "1s"] {
        assert_eq!(seconds(wrong), None, "{wrong}");
    }
}
