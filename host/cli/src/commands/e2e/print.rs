//! How tests are printed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_app::report::{self, print_json};
use plumbline_conformance::lists::{TestList, tags};
use serde::Serialize;

use crate::args::{E2eArgs, E2eMode};

/// The document of `-o json`. Keys are only ever added.
#[derive(Serialize)]
struct Document<'a> {
    /// The version that the list is of; empty where nothing says it.
    version: &'a str,
    /// SourceKind it comes from.
    source: &'a str,
    /// How many tests the list has.
    total: usize,
    /// How many are selected.
    selected: usize,
    /// Those, with `--mode tests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<&'a [&'a str]>,
    /// Their tags, with `--mode tags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<&'a str>>,
    /// How often there is each, with `--mode tagCounts`.
    #[serde(rename = "tagCounts", skip_serializing_if = "Option::is_none")]
    tag_counts: Option<&'a BTreeMap<String, usize>>,
}

/// Prints the `selected` of `list`.
pub(super) fn print(args: &E2eArgs, list: &TestList, selected: &[&str], out: &mut impl Write) -> io::Result<()> {
    let counts = match args.mode {
        E2eMode::Tests => BTreeMap::new(),
        E2eMode::Tags | E2eMode::TagCounts => tags(selected.iter().copied()),
    };
    if args.format.is_some() {
        let document = Document {
            version: &list.version,
            source: &list.source,
            total: list.tests.len(),
            selected: selected.len(),
            tests: (args.mode == E2eMode::Tests).then_some(selected),
            tags: (args.mode == E2eMode::Tags).then(|| counts.keys().map(String::as_str).collect()),
            tag_counts: (args.mode == E2eMode::TagCounts).then_some(&counts),
        };
        return print_json(&document, out);
    }
    match args.mode {
        E2eMode::Tests => selected.iter().try_for_each(|test| writeln!(out, "{}", report::text::name(test))),
        E2eMode::Tags => counts.keys().try_for_each(|tag| writeln!(out, "{}", report::text::name(tag))),
        // Without a blank: scripts that read Sonobuoy's split at the last colon.
        E2eMode::TagCounts => {
            counts.iter().try_for_each(|(tag, count)| writeln!(out, "{}:{count}", report::text::name(tag)))
        }
    }
}
