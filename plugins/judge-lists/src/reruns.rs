//! `reruns`: what became of failures when they were run again.

use std::collections::{BTreeMap, HashMap};

use plumbline_sdk::InputFile;
use serde::Deserialize;
use serde_json::Value;

use crate::name::{plain, with_class};
use crate::problems::Problems;
use crate::rules::{Leaf, Rules, Said};
use crate::yaml;

/// Bytes of the tree of a rerun at most: 64 MiB. It holds the names of all tests of the suite, and the texts of a few failures.
pub const MAX_TREE_BYTES: usize = 64 << 20;

/// What a result tree is called in an archive.
const TREE: &str = "sonobuoy_results.yaml";

/// Plugins that are named in a source.
const NAMED: usize = 5;

/// What plugins that ran failures again found.
#[derive(Default)]
pub(crate) struct Reruns {
    /// By plain name and class: who found that it passed, and who that it failed.
    found: HashMap<String, Again>,
}

#[derive(Default)]
struct Again {
    passed: Vec<String>,
    failed: Vec<String>,
}

/// An item of a result tree, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    name: Option<String>,
    status: Option<String>,
    meta: Option<BTreeMap<String, Value>>,
    items: Option<Vec<Node>>,
}

impl Node {
    /// The plain name, with the class in brackets.
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
        // A name may occur twice: then it passed only if it did so each time.
        let mut passed: HashMap<String, bool> = HashMap::new();
        leaves(root, &mut |name, status| {
            let this = match status {
                "passed" => true,
                "failed" | "timeout" => false,
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

/// The plugin whose tree is at `path`: `plugins/NAME/sonobuoy_results.yaml`.
fn plugin(path: &str) -> &str {
    path.rsplit('/').nth(1).unwrap_or(path)
}

/// Tells each leaf. The nesting was bounded when the tree was read.
fn leaves<'a>(node: &'a Node, tell: &mut impl FnMut(String, &'a str)) {
    match node.items.as_deref() {
        None | Some([]) => {
            if let (Some(name), Some(status)) = (node.full_name(), &node.status) {
                tell(name, status);
            }
        }
        Some(items) => items.iter().for_each(|item| leaves(item, tell)),
    }
}

impl Rules for Reruns {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        let again = self.found.get(leaf.full_name).filter(|_| leaf.failed())?;
        let (class, counts, what, by) = match again.passed.is_empty() {
            false => ("flaky", false, "passed", &again.passed),
            true => ("failed-again", true, "failed", &again.failed),
        };
        let named = by.iter().take(NAMED).map(|plugin| format!("plugin `{plugin}`")).collect::<Vec<_>>().join(", ");
        Some(Said { class, counts, reason: format!("it failed, and {what} when it was run again"), source: named })
    }
}
