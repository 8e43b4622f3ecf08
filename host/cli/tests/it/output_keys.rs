//! The keys of each document that the program prints with `-o json` are those that docs/output.md
//! lists. [`check`] sees the output of every command that a test runs.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use serde_json::{Deserializer, Value};

use crate::bed::Bed;
use crate::readme::root;
use crate::registries::Registry;

/// A row of the table: the keys of one kind of document.
#[derive(Debug)]
struct Row {
    commands: Vec<String>,
    always: BTreeSet<String>,
    sometimes: BTreeSet<String>,
}

impl Row {
    /// Parses a row. Commands and keys are in backticks.
    fn parse(line: &str) -> Self {
        let mut cells = line.split('|').skip(1).map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
        let [commands, always, sometimes] = [(); 3].map(|()| cells.next().unwrap());
        Self { commands: commands.collect(), always: always.collect(), sometimes: sometimes.collect() }
    }

    /// Returns whether a document may have these keys. Without keys, another page describes it.
    fn fits(&self, keys: &BTreeSet<String>) -> bool {
        let known = || keys.iter().all(|key| self.always.contains(key) || self.sometimes.contains(key));
        self.always.is_empty() || (self.always.is_subset(keys) && known())
    }
}

/// The table.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let page = fs::read_to_string(root().join("docs/output.md")).unwrap();
    let table = page.split("| command | keys | keys in some cases | more |\n").nth(1).unwrap();
    table.lines().skip(1).take_while(|line| line.starts_with('|')).map(Row::parse).collect()
});

/// Returns the rows of the command that `args` call, which may have further words.
fn rows_of(args: &[String]) -> Vec<&'static Row> {
    let words: Vec<&str> = args.iter().map(String::as_str).take_while(|arg| !arg.starts_with('-')).collect();
    let of = |path: &String| ROWS.iter().filter(|row| row.commands.contains(path)).collect::<Vec<_>>();
    let paths = (1..=words.len()).rev().map(|length| words[..length].join(" "));
    paths.map(|path| of(&path)).find(|rows| !rows.is_empty()).unwrap_or_default()
}

/// Fails if a command with the format JSON printed a document with other keys than documented.
pub(crate) fn check(args: &[String], printed: &str) {
    let own: Vec<String> = args.iter().take_while(|arg| *arg != "--").cloned().collect();
    let names_json = |pair: &[String]| ["-o", "--output", "--format"].contains(&pair[0].as_str()) && pair[1] == "json";
    if !own.windows(2).any(names_json) && !own.iter().any(|arg| arg == "--json") {
        return;
    }
    let rows = rows_of(&own);
    let documents = Deserializer::from_str(printed).into_iter::<Value>().map_while(Result::ok);
    let objects = documents.flat_map(|document| match document {
        Value::Array(items) => items,
        other => vec![other],
    });
    for object in objects {
        let Some(object) = object.as_object() else { continue };
        let keys: BTreeSet<String> = object.keys().cloned().collect();
        assert!(
            rows.is_empty() || rows.iter().any(|row| row.fits(&keys)),
            "`plumbline {}` printed the keys {keys:?}, and docs/output.md has {rows:#?}",
            args.join(" ")
        );
    }
}

#[test]
fn a_removed_a_renamed_and_a_new_key_are_found() {
    let row = Row::parse("| `a b`, `c` | `name`, `size` | `reason` | [below](#x) |");
    assert_eq!(row.commands, ["a b", "c"]);
    let fits = |keys: &[&str]| row.fits(&keys.iter().map(|&key| key.to_owned()).collect());
    assert!(fits(&["name", "size"]) && fits(&["name", "reason", "size"]));
    assert!(!fits(&["name"]) && !fits(&["name", "bytes"]) && !fits(&["name", "size", "other"]));
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows_of(&words("results diff before after -o json")).len(), 2);
    assert_eq!(rows_of(&words("gen plugin e2e -o json"))[0].always, BTreeSet::new());
    assert!(rows_of(&words("gen -p e2e -o json"))[0].always.contains("items"));
}

/// Documents that no other test makes.
#[test]
fn bundles_and_signatures_are_data_too() {
    let bed = Bed::new();
    bed.write(
        "sample/plugin.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: sample}\nspec: {name: plugin, command: ['true']}\n",
    );
    for args in [
        &["plugin", "keygen", "--file", "team"][..],
        &["plugin", "pack", "sample"],
        &["plugin", "sign", "sample.bundle.tar", "--key", "team.key"],
        &["plugin", "inspect", "sample.bundle.tar"],
        &["plugin", "lock", "--local", "-p", "sample.bundle.tar"],
        &["plugin", "install", "sample.bundle.tar"],
        &["plugin", "uninstall", "sample"],
    ] {
        bed.plumbline(&[args, &["-o", "json"]].concat()).expect(0);
    }
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    let (name, mirror) = (format!("oci://{}/team/sample:1", registry.host), format!("oci://{}/mirror/", registry.host));
    for args in [
        &["plugin", "push", "sample.bundle.tar", &name][..],
        &["plugin", "save", &name, "-f", "saved.tar"],
        &["plugin", "load", "saved.tar"],
        &["plugin", "load", "saved.tar", "--to", &mirror],
    ] {
        registry.plumbline(&bed, &[args, &["-o", "json"]].concat()).expect(0);
    }
}
