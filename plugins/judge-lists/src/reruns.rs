//! The judge `reruns`: the outcomes of failures that were run again.

use std::collections::{BTreeMap, HashMap};

use plumbline_sdk::{InputFile, Status};
use serde::Deserialize;
use serde_json::Value;

use crate::name::{plain, with_class};
use crate::problems::Problems;
use crate::rules::{Leaf, Rules, Said};
use crate::yaml;

/// Maximum size in bytes of the tree of a rerun: 64 MiB. It has the names of all tests of the
/// suite, and the texts of a few failures.
pub const MAX_TREE_BYTES: usize = 64 << 20;

/// The name of a result tree's file in an archive.
const TREE: &str = "sonobuoy_results.yaml";

/// Maximum number of plugins in a source.
const NAMED: usize = 5;

/// The results of the plugins that ran failures again.
#[derive(Default)]
pub(crate) struct Reruns {
    /// By suites, and plain name with class: the plugins in which the test passed, and those in
    /// which it failed.
    found: HashMap<Test, Again>,
}

/// The suites around a test, outermost first, and its plain name with its class.
type Test = (Vec<String>, String);

#[derive(Default)]
struct Again {
    passed: Vec<String>,
    failed: Vec<String>,
}

/// The parts of a result tree's item that the judge reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    name: Option<String>,
    status: Option<String>,
    meta: Option<BTreeMap<String, Value>>,
    items: Option<Vec<Node>>,
}

impl Node {
    /// Returns the kind of an item with children.
    fn kind(&self) -> Option<&str> {
        self.meta.as_ref()?.get("type")?.as_str()
    }

    /// Returns the plain name, followed by the class in parentheses.
    fn full_name(&self) -> Option<String> {
        let name = plain(self.name.as_deref()?);
        let class = self.meta.as_ref().and_then(|meta| meta.get("classname")).and_then(Value::as_str);
        let meta = class.map(|class| ("classname".to_owned(), class.to_owned()));
        Some(with_class(name, meta.as_slice()).into_owned())
    }
}

impl Reruns {
    /// Reads the trees among `files`.
    pub(crate) fn read(files: Vec<InputFile>, problems: &mut Problems) -> Self {
        let mut reruns = Self::default();
        for mut file in files.into_iter().filter(|file| file.file_name() == TREE) {
            let path = file.path().to_owned();
            match yaml::read::<Option<Node>>(&mut file, MAX_TREE_BYTES) {
                Ok(root) => reruns.add(plugin(&path), &root.unwrap_or_default()),
                Err(error) => problems.add(&path, &error),
            }
        }
        reruns
    }

    fn add(&mut self, plugin: &str, root: &Node) {
        // A test with this name may occur twice. It passed only if it did so each time.
        let mut passed: HashMap<Test, bool> = HashMap::new();
        leaves(root, &mut Vec::new(), &mut |name, status| {
            let this = match Status::from(status).meaning() {
                Status::Passed => true,
                Status::Failed | Status::Timeout => false,
                _ => return,
            };
            let all = passed.entry(name).or_insert(true);
            *all = *all && this;
        });
        for (name, passed) in passed {
            let again = self.found.entry(name).or_default();
            let by = if passed { &mut again.passed } else { &mut again.failed };
            by.push(plugin.to_owned());
        }
    }
}

/// Returns the plugin whose tree is at `path`: `plugins/NAME/sonobuoy_results.yaml`.
fn plugin(path: &str) -> &str {
    path.rsplit('/').nth(1).unwrap_or(path)
}

/// Passes each leaf below `node` to `tell`, with the suites around it. The nesting was limited when
/// the tree was read.
fn leaves<'a>(node: &'a Node, suites: &mut Vec<String>, tell: &mut impl FnMut(Test, &'a str)) {
    for item in node.items.iter().flatten() {
        if item.items.as_ref().is_none_or(Vec::is_empty) {
            if let (Some(name), Some(status)) = (item.full_name(), &item.status) {
                tell((suites.clone(), name), status);
            }
            continue;
        }
        let is_suite = !matches!(item.kind(), Some("node" | "file"));
        if is_suite {
            suites.push(item.name.clone().unwrap_or_default());
        }
        leaves(item, suites, tell);
        if is_suite {
            suites.pop();
        }
    }
}

impl Rules for Reruns {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        let test = (leaf.suites.to_vec(), leaf.full_name.to_owned());
        let again = self.found.get(&test).filter(|_| leaf.failed())?;
        let (class, counts, what, by) = match again.passed.is_empty() {
            false => ("flaky", false, "passed", &again.passed),
            true => ("failed-again", true, "failed", &again.failed),
        };
        let named = by.iter().take(NAMED).map(|plugin| format!("plugin `{plugin}`")).collect::<Vec<_>>().join(", ");
        Some(Said { class, counts, reason: format!("it failed, and {what} when it was run again"), source: named })
    }
}
