//! Results of Allure: a directory with a file for each leaf, and files for its texts.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use plumbline_core::Digest;
use serde_json::{Value, json};

use crate::report::renderers::{ArchiveFacts, Leaf, Outcome, Renderer, write_json};
use crate::report::text::name;

/// The most tests whose IDs are compared. Further ones have an ID that no other test has.
const MAX_IDS: usize = 250_000;

/// The most attachments of a leaf.
const MAX_ATTACHMENTS: usize = 10;

/// The details that are part of the result, and not attached.
const PARTS: [&str; 6] = ["failure", "failure-message", "error", "error-message", "message", "skipped"];

/// Writes files to a directory. Their names are IDs that this renderer makes.
pub(super) struct Allure {
    dir: PathBuf,
    /// What distinguishes the archives: their names and runs.
    run: String,
    archives: u64,
    facts: ArchiveFacts,
    /// The number of leaves.
    leaves: u64,
    /// How often a test occurred, by 64 bits of its ID.
    ids: HashMap<u64, u32>,
}

impl Allure {
    /// Creates the directory, which may exist if it is empty: Allure would mix results of two runs.
    pub(super) fn new(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        if fs::read_dir(dir)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "the directory is not empty"));
        }
        let (run, facts) = (String::new(), ArchiveFacts::default());
        Ok(Self { dir: dir.to_owned(), run, archives: 0, facts, leaves: 0, ids: HashMap::new() })
    }

    fn write(&self, file: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = BufWriter::new(File::create_new(self.dir.join(file))?);
        write(&mut out)?;
        out.flush()
    }

    /// The end of the IDs under which Allure finds the test in earlier runs. A test that occurs
    /// several times has several IDs, because Allure takes results with the same ID for retries, and
    /// shows only one of them.
    fn occurrence(&mut self, leaf: &Leaf<'_>) -> String {
        let id = leaf.test_id(true);
        let key = id.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default();
        if self.ids.len() >= MAX_IDS && !self.ids.contains_key(&key) {
            return format!("-leaf-{}", self.leaves);
        }
        let count = self.ids.entry(key).or_default();
        *count += 1;
        if *count == 1 { String::new() } else { format!("-{count}") }
    }

    /// Writes the texts of the leaf to files of their own.
    fn attachments(&self, leaf: &Leaf<'_>, uuid: &str) -> io::Result<Vec<Value>> {
        if matches!(leaf.outcome(), Outcome::Passed | Outcome::Skipped) {
            return Ok(Vec::new());
        }
        let mut attached = Vec::new();
        let details = leaf.item.details.iter().filter(|(key, _)| !PARTS.contains(&key.as_str()));
        for (at, (key, value)) in details.take(MAX_ATTACHMENTS).enumerate() {
            let (kind, extension) = match value {
                Value::String(_) => ("text/plain", "txt"),
                _ => ("application/json", "json"),
            };
            let file = format!("{uuid}-{at}-attachment.{extension}");
            self.write(&file, |out| match value {
                Value::String(text) => out.write_all(text.as_bytes()),
                other => serde_json::to_writer(out, other).map_err(io::Error::from),
            })?;
            attached.push(json!({"name": name(key), "source": file, "type": kind}));
        }
        Ok(attached)
    }
}

impl Renderer for Allure {
    fn archive(&mut self, facts: &ArchiveFacts) -> io::Result<()> {
        self.archives += 1;
        self.run = format!("{} {}", facts.file, facts.run.as_deref().unwrap_or_default());
        self.facts = facts.clone();
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        self.leaves += 1;
        let uuid = uuid(&format!("{} {}", self.run, self.leaves));
        let occurrence = self.occurrence(leaf);
        let attachments = self.attachments(leaf, &uuid)?;
        let result = result(leaf, &uuid, &occurrence, attachments);
        self.write(&format!("{uuid}-result.json"), |out| write_json(out, result))
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.archives != 1 {
            return Ok(());
        }
        let facts = &self.facts;
        let tool = facts.tool.as_ref().map(|(tool, version)| format!("{tool} {version}"));
        let started = facts.started.map(|started| started.to_string());
        let archive = Some(facts.file.clone());
        let entries = [
            ("Archive", archive),
            ("Kubernetes", facts.kubernetes.clone()),
            ("Run", facts.run.clone()),
            ("Started", started),
            ("Tool", tool),
        ];
        self.write("environment.properties", |out| {
            for (key, value) in entries {
                if let Some(value) = value {
                    // A backslash would start an escape.
                    writeln!(out, "{key} = {}", name(&value).replace('\\', "/"))?;
                }
            }
            Ok(())
        })
    }
}

/// The status in Allure. `broken` is a test that did not finish, and `unknown` one whose status has
/// no equivalent.
fn status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Broken => "broken",
        Outcome::Skipped | Outcome::Excused => "skipped",
        Outcome::NotRead | Outcome::Custom => "unknown",
    }
}

fn result(leaf: &Leaf<'_>, uuid: &str, occurrence: &str, attachments: Vec<Value>) -> Value {
    let titles: Vec<String> = leaf.above.iter().map(|item| name(&item.name)).collect();
    let class = Some(&leaf.id.classname).filter(|class| !class.is_empty());
    let suite = leaf.id.suites.first().map(String::as_str);
    let below = leaf.id.suites.get(1..).unwrap_or_default().join(" › ");
    let own_status = Some(leaf.status.as_str()).filter(|own| *own != status(leaf.outcome()));
    let took = leaf.meta("duration").filter(|_| leaf.stop().is_none());
    let labels = [
        ("framework", Some("plumbline")),
        ("parentSuite", Some(leaf.plugin)),
        ("suite", suite),
        ("subSuite", Some(below.as_str()).filter(|below| !below.is_empty())),
        ("host", leaf.id.node.as_deref()),
        ("testClass", class.map(String::as_str)),
        ("cause", leaf.cause),
    ];
    let labels = labels.into_iter().filter_map(|(key, value)| Some(json!({"name": key, "value": name(value?)})));
    // Excluded parameters are shown, and do not distinguish tests.
    let parameters = [
        ("node", leaf.id.node.clone(), false),
        ("status", own_status.map(str::to_owned), true),
        ("duration", took.map(|took| format!("{took} s")), true),
        ("file", Some(leaf.source.clone()).filter(|file| !file.is_empty()), true),
    ];
    let parameters = parameters
        .into_iter()
        .filter_map(|(key, value, excluded)| Some(json!({"name": key, "value": name(&value?), "excluded": excluded})));
    let full: Vec<&str> = titles.iter().map(String::as_str).chain([leaf.id.name.as_str()]).collect();
    json!({
        "uuid": uuid,
        "historyId": leaf.test_id(true) + occurrence,
        "testCaseId": leaf.test_id(false) + occurrence,
        "name": name(&leaf.id.name),
        "fullName": name(&full.join(" › ")),
        "titlePath": titles,
        "stage": "finished",
        "status": status(leaf.outcome()),
        "statusDetails": {
            "message": leaf.message(),
            "trace": leaf.trace(),
            "known": Some(true).filter(|_| leaf.outcome() == Outcome::Excused),
            "flaky": Some(true).filter(|_| leaf.meta("flaky") == Some("true")),
        },
        "start": leaf.start().filter(|_| leaf.stop().is_some()),
        "stop": leaf.stop(),
        "labels": labels.collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
        "links": link(leaf).into_iter().collect::<Vec<_>>(),
        "attachments": attachments,
    })
}

/// The source of a ruling, if it is a URL.
fn link(leaf: &Leaf<'_>) -> Option<Value> {
    let url = leaf.ruled.map(|ruled| ruled.ruling.source.as_str())?;
    let is_url = url.starts_with("https://") || url.starts_with("http://");
    is_url.then(|| json!({"type": "issue", "name": name(url), "url": name(url)}))
}

/// A UUID (version 8) of a text.
fn uuid(text: &str) -> String {
    let hex = Digest::of(text.as_bytes()).hex();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}
