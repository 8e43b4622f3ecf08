//! Runs the same judge in every language except Rust, built with the real tools if they are
//! installed, and called by the host. The guests of the sandbox cover the Rust SDK.

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use plumbline_author::Language;
use plumbline_author::build::missing_tool;
use plumbline_core::{Check, FlatItem, ModuleLimits, Ruling, Status};
use plumbline_sandbox::{InputFile, Judge, NoLog, PluginInfo, RulingSink, TreeItem, TreeSource};
use serde_json::{Value, json};

use crate::support::{built, host};

/// Copies the sources of that language into a project, with the SDK of this repository.
fn project(language: Language, place: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = if language == Language::JavaScript { "js" } else { language.as_str() };
    let sdk = root.join("../../plugin-sdk").join(name).canonicalize().unwrap();
    let sdk = sdk.to_str().unwrap();
    copy(&root.join("tests/it/data/judges").join(language.as_str()), place, sdk);
    let manifest = format!("name: judge\nlanguage: {}\nworld: judge-module\nsdk: {sdk}\n", language.as_str());
    fs::write(place.join("module.yaml"), manifest).unwrap();
}

fn copy(from: &Path, to: &Path, sdk: &str) {
    fs::create_dir_all(to).unwrap();
    let entries: Vec<PathBuf> = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in entries {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target, sdk);
        } else {
            fs::write(target, fs::read_to_string(&path).unwrap().replace("@SDK@", sdk)).unwrap();
        }
    }
}

struct Given(std::vec::IntoIter<TreeItem>);

impl TreeSource for Given {
    fn next(&mut self) -> io::Result<Option<TreeItem>> {
        Ok(self.0.next())
    }
}

#[derive(Default)]
struct Recorded(Vec<(u64, Ruling)>, Vec<Check>);

impl RulingSink for Recorded {
    fn ruling(&mut self, index: u64, ruling: Ruling) -> io::Result<()> {
        self.0.push((index, ruling));
        Ok(())
    }

    fn check(&mut self, check: Check) -> io::Result<()> {
        self.1.push(check);
        Ok(())
    }
}

fn item(set: &str, depth: u32, name: &str, status: Status, leaf: bool) -> TreeItem {
    let mut item = FlatItem { depth, name: name.into(), status: Some(status), ..FlatItem::default() };
    item.meta.insert("file".into(), "a".into());
    item.details.insert("pod".into(), json!({"kind": ["Pod", null]}));
    TreeItem { set: set.into(), item, leaf, ruling: None }
}

/// Returns a tree with a suite, a failure that already has a ruling, many failures without one, and
/// an item of a summarizer.
fn tree() -> Vec<TreeItem> {
    let mut tree = vec![
        item("global", 0, "dns", Status::Failed, false),
        item("global", 1, "dns", Status::Failed, true),
        item("global", 1, "dns", Status::Passed, true),
        item("global", 1, "dns", Status::Timeout, true),
    ];
    let ruling = Ruling { class: "flaky".into(), counts: true, reason: "r".into(), source: "ü".into() };
    tree[3].ruling = Some(ruling);
    tree.extend((0..3000).map(|n| item("global", 1, &format!("test {n}"), Status::Failed, true)));
    tree.push(item("", 0, "load balancer ü", Status::Custom("warning".into()), true));
    tree.push(item("", 0, "load balancer ü", Status::Timeout, true));
    tree
}

/// The judge's evidence.
const CONTENT: &str = "dns\nload balancer ü\nnobody";

/// Runs the judge. Returns its rulings and checks, and its outcome.
fn judged(module: &plumbline_sandbox::Module, options: Value) -> (Recorded, Result<(), String>) {
    let plugin =
        PluginInfo { name: "e2e".into(), driver: "Job".into(), format: "judge".into(), expected_results: 1, options };
    let open = || Ok(Box::new(Cursor::new(CONTENT)) as Box<dyn Read + Send>);
    let list = InputFile { path: "data/list.txt".into(), size: CONTENT.len() as u64, open: Box::new(open) };
    let mut kept = Recorded::default();
    let limits = ModuleLimits::default();
    let call =
        Judge { plugin: &plugin, tree: Box::new(Given(tree().into_iter())), evidence: vec![list], limits: &limits };
    let ended = module.judge(call, &mut kept, &mut NoLog).map(drop).map_err(|failure| failure.to_string());
    (kept, ended)
}

fn says_what_the_others_say(language: Language) {
    let place = tempfile::tempdir().unwrap();
    if let Some(missing) = missing_tool(language, place.path()) {
        eprintln!("SKIPPED: a judge in {}: {missing}", language.as_str());
        return;
    }
    project(language, place.path());
    let made = built(place.path()).unwrap_or_else(|error| panic!("{error}; {:?}", error.hint));
    assert_eq!(made.roles, ["judge"]);
    let module = host().0.load("judge", &fs::read(place.path().join("judge.wasm")).unwrap()).unwrap();

    let (kept, ended) = judged(&module, json!({"at-most": 2}));
    assert_eq!(ended, Ok(()));
    let rulings: Vec<(u64, &str, bool, &str, &str)> = kept
        .0
        .iter()
        .map(|(index, said)| (*index, said.class.as_str(), said.counts, said.reason.as_str(), said.source.as_str()))
        .collect();
    let excused = |index, set| (index, "quarantined", false, set, "data/list.txt");
    assert_eq!(rulings, [excused(1, "global"), excused(3005, "")]);
    let check = json!({"id": "QUARANTINE-001", "name": "few are excused", "outcome": "passed", "got": "2"});
    assert_eq!(serde_json::to_value(&kept.1).unwrap(), json!([check]));

    let (kept, ended) = judged(&module, json!({}));
    assert_eq!((ended, kept.1[0].outcome.as_str()), (Ok(()), "failed"));
    let (kept, ended) = judged(&module, json!({"at-least": 1}));
    assert!(ended.unwrap_err().contains("at-") && kept.1.is_empty());
}

#[test]
fn c() {
    says_what_the_others_say(Language::C);
}

#[test]
fn go() {
    says_what_the_others_say(Language::Go);
}

#[test]
fn javascript() {
    says_what_the_others_say(Language::JavaScript);
}

#[test]
fn python() {
    says_what_the_others_say(Language::Python);
}
