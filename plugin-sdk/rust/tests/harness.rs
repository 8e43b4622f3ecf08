//! Tests of the testing harness, used as authors use it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::io::{BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use plumbline_sdk::log::{self, Level};
use plumbline_sdk::testing::Case;
use plumbline_sdk::{
    Check, Expectations, Expected, InputFile, Item, Judge, Node, Outcome, Output, PluginInfo, PostProcessor, Results,
    Ruling, Rulings, Status, Summarizer, Tree,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    strict: bool,
}

/// Emits an item per file, and one per line below it.
struct Lines;

impl PostProcessor for Lines {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        for file in files {
            out.emit(Item::new(0, file.file_name()).meta("file", file.path()).meta("bytes", file.size().to_string()));
            for line in file.lines() {
                match line {
                    Ok(line) if line.is_empty() && options.strict => return Err("an empty line".to_owned()),
                    Ok(line) => out.emit(Item::new(1, line).status(Status::Passed)),
                    Err(error) => {
                        out.emit(Item::new(1, "unreadable").status(Status::Unknown).meta("error", error.to_string()));
                        break;
                    }
                }
            }
        }
        log::info!("{} for {} results", plugin.name, plugin.expected_results);
        Ok(())
    }
}

/// Emits the items that its options list.
struct Echo;

impl PostProcessor for Echo {
    fn process(plugin: &PluginInfo, _files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for item in plugin.options["items"].as_array().into_iter().flatten() {
            let depth = u32::try_from(item["depth"].as_u64().unwrap_or_default()).unwrap_or_default();
            let mut echoed = Item::new(depth, item["name"].as_str().unwrap_or("x"));
            if let Some(status) = item["status"].as_str() {
                echoed = echoed.status(Status::Custom(status.to_owned()));
            }
            if let Some(json) = item["json"].as_str() {
                echoed = echoed.raw_json("detail", json);
            }
            out.emit(echoed);
        }
        Ok(())
    }
}

/// Returns the expected results that its options list.
struct Names;

impl Expectations for Names {
    fn expected_results(
        plugin: &PluginInfo,
        pod_spec: Option<&Value>,
        _nodes: &[Node],
    ) -> Result<Vec<Expected>, String> {
        let names = plugin.options["names"].as_array().ok_or("no names")?;
        let extra = pod_spec.map(|_| Expected::Global);
        Ok(names.iter().filter_map(Value::as_str).map(|name| Expected::Node(name.to_owned())).chain(extra).collect())
    }
}

/// Emits an item per result set with the number of its items.
struct Count;

impl Summarizer for Count {
    fn summarize(_plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String> {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        for entry in results {
            *counts.entry(entry?.set).or_default() += 1;
        }
        for (set, count) in counts {
            out.emit(Item::new(0, set).status(Status::Passed).text("items", count.to_string()));
        }
        Ok(())
    }
}

/// Excuses every open failure, then makes the rulings and checks that its options list. Reports
/// each file of the evidence as a check.
struct Says;

impl Judge for Says {
    fn judge(plugin: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for mut file in evidence {
            let mut known = String::new();
            file.read_to_string(&mut known).map_err(|error| error.to_string())?;
            out.report(Check::new(file.path(), "evidence", Outcome::Passed).got(known));
        }
        for judged in tree {
            let judged = judged?;
            if judged.is_open_failure() {
                out.rule(judged.index, Ruling::excused("known", format!("{}/{}", judged.set, judged.item.name)));
            }
        }
        for said in plugin.options["rulings"].as_array().into_iter().flatten() {
            let index = said["index"].as_u64().unwrap_or_default();
            out.rule(index, Ruling::counts(text(&said["class"]), text(&said["reason"])).source(text(&said["source"])));
        }
        for said in plugin.options["checks"].as_array().into_iter().flatten() {
            out.report(Check::new(text(said), "named", Outcome::Unknown).want("a").reason("b"));
        }
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "all",
    formats: ["lines"],
    default_files: ["**"],
    limits: { "memory": 1048576 },
    schema: { "type": "object", "properties": { "strict": { "type": "boolean" } } },
    post_processor: Lines,
    expectations: Names,
    summarizer: Count,
    judge: Says,
}

#[test]
fn files_come_from_memory_from_disk_and_from_nowhere() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("harness");
    fs::create_dir_all(directory.join("results/b")).unwrap();
    fs::create_dir_all(directory.join("results/a")).unwrap();
    fs::write(directory.join("results/b/1.txt"), "b1\n").unwrap();
    fs::write(directory.join("results/a/2.txt"), "a2").unwrap();
    fs::write(directory.join("results/a/2.log"), "no").unwrap();
    let case = Case::new()
        .plugin("p")
        .expected_results(3)
        .file("results/global/m.txt", "one\ntwo\n")
        .broken_file("results/global/e.txt", "half\n", "the disk is gone")
        .file_from("results/global/gone.txt", directory.join("gone"))
        .generated_file("results/global/g.txt", 5, || "g\n".as_bytes().chain("h\n".as_bytes()))
        .directory(&directory, |path| path.ends_with(".txt"))
        .unwrap();
    let run = case.run::<Lines>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(run.log, [(Level::Info, "p for 3 results".to_owned())]);
    assert_eq!(
        run.outline(),
        "m.txt: -\n  one: passed\n  two: passed\ne.txt: -\n  half: passed\n  unreadable: unknown\ngone.txt: -\n  unreadable: unknown\n\
         g.txt: -\n  g: passed\n  h: passed\n2.txt: -\n  a2: passed\n1.txt: -\n  b1: passed\n"
    );
    assert_eq!(run.count(&Status::Unknown), 2);
    for bytes in [1, 2, 3] {
        assert_eq!(case.clone().chunk(bytes).run::<Lines>(), run, "{bytes} bytes at a time");
    }
}

#[test]
fn options_are_read_or_named() {
    let case = Case::new().file("a", "x\n\ny\n");
    assert_eq!(case.run::<Echo>().items, []);
    let strict = case.clone().option("strict", true).run::<Lines>();
    assert_eq!(strict.outcome, Err("an empty line".to_owned()));
    assert_eq!(strict.outline(), "a: -\n  x: passed\n", "what came before stays");
    let error = case.option("strikt", true).run::<Lines>().outcome.unwrap_err();
    assert!(error.starts_with("invalid options of the module: unknown field `strikt`"), "{error}");
}

#[test]
fn the_list_becomes_a_tree() {
    let items = json!([{ "name": "a" }, { "name": "b", "depth": 1 }, { "name": "c", "depth": 2 }, { "name": "d", "depth": 1 }, { "name": "e" }]);
    let run = Case::new().option("items", items).run::<Echo>();
    let tree = run.tree();
    let names =
        |trees: &[plumbline_sdk::testing::Tree]| trees.iter().map(|tree| tree.item.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&tree), ["a", "e"]);
    assert_eq!(names(&tree[0].children), ["b", "d"]);
    assert_eq!(names(&tree[0].children[0].children), ["c"]);
    assert_eq!(run.item("c").unwrap().depth, 2);
}

#[test]
fn json_is_the_hosts_spelling() {
    let items = json!([{ "name": "a", "status": "warning", "json": "{\"k\":[1]}" }]);
    let run = Case::new().option("items", items).run::<Echo>();
    assert_eq!(
        run.to_json(),
        json!([{ "depth": 0, "name": "a", "status": "warning", "details": { "detail": { "k": [1] } } }])
    );
}

/// Returns the harness's message for items that the host would reject.
fn refusal(items: Value) -> String {
    let case = Case::new().option("items", items);
    let panic = catch_unwind(AssertUnwindSafe(|| case.run::<Echo>())).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn items_that_the_host_refuses_fail_the_test() {
    for (items, reason) in [
        (json!([{ "depth": 1 }]), "item `x` has depth 1, but at most 0 can follow here"),
        (json!([{}, { "depth": 2 }]), "item `x` has depth 2, but at most 1 can follow here"),
        (json!([{ "name": "" }]), "an item at depth 0 has an empty name"),
        (json!([{ "name": "n".repeat(65_537) }]), "has 65537 bytes (at most 65536)"),
        (json!([{ "status": "" }]), "the custom status of item `x` is empty"),
        (json!([{ "status": "s".repeat(257) }]), "or longer than 256 bytes"),
        (json!([{ "json": "{" }]), "detail `detail` of item `x` is not JSON: "),
    ] {
        let refusal = refusal(items);
        assert!(refusal.starts_with("the host would end the call: ") && refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn expectations_are_held_to_the_rules() {
    let case = Case::new().node(Node::new("a").label("k", "v").taint("t", "", "NoSchedule")).node(Node::new("b"));
    let named = |names: Value| case.clone().option("names", names).expected::<Names>();
    assert_eq!(named(json!(["b", "a"])), Ok(vec![Expected::Node("b".to_owned()), Expected::Node("a".to_owned())]));
    assert_eq!(named(json!(["c"])), Err("node `c` is not one of the nodes given".to_owned()));
    assert_eq!(named(json!(["a", "a"])), Err("Node(\"a\") is listed twice".to_owned()));
    assert_eq!(named(json!(1)), Err("no names".to_owned()));
    let spec =
        case.clone().option("names", json!([])).pod_spec(json!({})).driver("Job").format("f").expected::<Names>();
    assert_eq!(spec, Ok(vec![Expected::Global]));
}

#[test]
fn a_summarizer_reads_what_post_processors_made() {
    let node = |text: &str| Case::new().file("results/n/a.txt", text).run::<Lines>().items;
    let case = Case::new().results("n1", node("1\n2\n")).results("n2", node("")).results("n1", [Item::new(0, "error")]);
    let run = case.summarize::<Count>();
    assert_eq!((run.outcome.clone(), run.outline()), (Ok(()), "n1: passed\nn2: passed\n".to_owned()));
    let counts: Vec<_> =
        run.to_json().as_array().unwrap().iter().map(|item| item["details"]["items"].clone()).collect();
    assert_eq!(counts, ["4", "1"]);
    let many = Case::new().results("n", (0..3000).map(|_| Item::new(0, "x"))).summarize::<Count>();
    assert_eq!(many.to_json()[0]["details"]["items"], "3000", "more than one batch");
    assert_eq!(
        case.broken_results("the disk is gone").summarize::<Count>().outcome,
        Err("the disk is gone".to_owned())
    );
}

fn judged_case() -> Case {
    let test = |name: &str, status| Item::new(1, name).status(status);
    let suite = [Item::new(0, "suite").status(Status::Failed), test("a", Status::Failed), test("b", Status::Timeout)];
    Case::new()
        .results("n1", suite.clone())
        .results("n2", suite)
        .results("", [Item::new(0, "in all").status(Status::Failed)])
        .ruled("b", Ruling::counts("regression", "it was good yesterday"))
}

#[test]
fn a_judge_rules_on_leaves_without_a_ruling() {
    let case = judged_case().file("data/known.yaml", "list");
    let judged = case.judge::<Says>();
    assert_eq!(judged.outcome, Ok(()));
    assert_eq!(
        judged.outline(),
        "n1/a: known, excused: n1/a\nn2/a: known, excused: n2/a\nn2/b: known, excused: n2/b\n\
         /in all: known, excused: /in all\ndata/known.yaml: passed\n"
    );
    assert_eq!(judged.check("data/known.yaml").unwrap().got, "list");
    assert_eq!((judged.count("known"), judged.ruling("suite"), judged.ruling("b")), (4, None, None));
    assert!(judged.tree[0].ruling.is_none() && judged.tree[2].ruling.is_some());
    let changed = case.option("rulings", json!([{ "index": 1, "class": "again" }])).judge::<Says>();
    assert_eq!(changed.ruling("a").unwrap(), &Ruling::counts("again", ""), "the last ruling counts");
    let many = Case::new().results("n", (0..3000).map(|_| Item::new(0, "x").status(Status::Failed))).judge::<Says>();
    assert_eq!(many.count("known"), 3000, "more than one batch");
    let broken = judged_case().broken_results("the disk is gone").judge::<Says>();
    assert_eq!((broken.outcome.clone(), broken.count("known")), (Err("the disk is gone".to_owned()), 4));
}

#[test]
fn output_of_a_judge_that_the_host_rejects_fails_the_test() {
    let ruling = |ruling: Value| ("rulings", json!([ruling]));
    for ((key, value), reason) in [
        (ruling(json!({ "index": 0, "class": "x" })), "item 0 (`suite`) has a ruling, but is not a leaf"),
        (ruling(json!({ "index": 7, "class": "x" })), "item 7 has a ruling, but the tree has only 7 items"),
        (ruling(json!({ "index": 1, "class": "Not Good" })), "the class `Not Good` of item 1 (`a`) is invalid"),
        (ruling(json!({ "index": 1, "class": "" })), "is invalid"),
        (
            ruling(json!({ "index": 1, "class": "x", "reason": "r".repeat(4097) })),
            "the reason for item 1 (`a`) has 4097",
        ),
        (
            ruling(json!({ "index": 1, "class": "x", "source": "s".repeat(4097) })),
            "the source for item 1 (`a`) has 4097",
        ),
        (("checks", json!([""])), "the id `` of a check is empty"),
        (("checks", json!(["A", "A"])), "check `A` is reported twice"),
        (("checks", (0..10_001).map(|n| n.to_string()).collect()), "there are 10001 checks (at most 10000)"),
    ] {
        let case = judged_case().option(key, value);
        let panic = catch_unwind(AssertUnwindSafe(|| case.judge::<Says>())).unwrap_err();
        let refusal = panic.downcast_ref::<String>().unwrap();
        assert!(refusal.starts_with("the host would end the call: ") && refusal.contains(reason), "{refusal}");
    }
}
