//! `plumbline e2e`: lists the tests of the suite, and those that a focus selects.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::{self, print_json};
use plumbline_app::suite::test_names::{self, TestSource};
use plumbline_conformance::lists::{SUITE, Selection, TestList, near, tags};
use plumbline_kubernetes::ConnectOptions;
use serde::Serialize;

use crate::args::{E2eArgs, E2eMode, Global};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Lists tests.
pub(crate) fn e2e(args: &E2eArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    // Checked before anything is fetched, so that an invalid expression is reported at once.
    let selection = Selection::parse(args.focus.as_deref(), args.skip.as_deref()).map_err(|(what, error)| {
        AppError::usage(format!("`--{what}` is not a valid regular expression of Go"))
            .because(&error)
            .hint("to mean a name as it is, put a backslash before `[ ] ( ) . * + ? | { } ^ $`")
    })?;
    let source = TestSource {
        input: args.input.clone(),
        version: args.version.clone(),
        url: args.url.clone(),
        cluster: ConnectOptions { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() },
    };
    let list = test_names::read(&context(&args.registry), &source)?;
    let selected: Vec<&str> = selection.select(&list.tests).collect();
    if selected.is_empty() {
        return Err(nothing(args, &list));
    }
    warn_of_anchors(args, &selection, &list, &selected);
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = print(args, &list, &selected, &mut out).and_then(|()| out.flush());
    printed.map_err(|error| AppError::printing("failed to print the tests", &error))?;
    Ok(ExitCode::SUCCESS)
}

fn nothing(args: &E2eArgs, list: &TestList) -> AppError {
    let (focus, skip) = (args.focus.as_deref().unwrap_or_default(), args.skip.as_deref().unwrap_or_default());
    let of = of(list);
    let focused = Selection::parse(args.focus.as_deref(), None).map_or(0, |focus| focus.select(&list.tests).count());
    if focused > 0 {
        return AppError::usage(format!(
            "nothing is left {of}: `--focus` selects {focused}, and `--skip` skips them all"
        ))
        .hint(format!("leave `--skip '{skip}'` out, or let it match less"));
    }
    let error = AppError::usage(format!("the focus `{focus}` selects none {of}"));
    let near: Vec<String> =
        near(focus, list.tests.iter().map(String::as_str)).iter().map(|name| report::text::name(name)).collect();
    match near.is_empty() {
        true => {
            error.hint("`plumbline e2e` prints all names, `plumbline e2e --mode tags` what stands in brackets in them")
        }
        false => error.hint(format!("there is:\n{}", near.join("\n"))),
    }
}

/// Formats the source of the list: `of the 7201 tests of v1.30.2 in …`.
fn of(list: &TestList) -> String {
    let version = if list.version.is_empty() { String::new() } else { format!(" of {}", list.version) };
    format!("of the {} tests{version} in {}", list.tests.len(), list.source)
}

/// Warns if the suite would select other tests: it matches expressions against its own name and that of
/// the test.
fn warn_of_anchors(args: &E2eArgs, selection: &Selection, list: &TestList, selected: &[&str]) {
    if args.focus.is_none() && args.skip.is_none() {
        return;
    }
    let here = selected.iter().filter(|name| !plumbline_conformance::lists::is_suite_node(name)).count();
    let there = list.specs().filter(|test| selection.runs(test)).count();
    if here != there {
        say(&format!(
            "warning: the suite itself would select {there} with these expressions, and not {here}: it matches them against `{SUITE} NAME`, so that `^` stands before its own name"
        ));
    }
}

/// The document of `-o json`. Keys are never removed or renamed.
#[derive(Serialize)]
struct Document<'a> {
    /// The version of the list; empty if it is not known.
    version: &'a str,
    /// The source of the list.
    source: &'a str,
    /// The number of tests in the list.
    total: usize,
    /// The number of selected tests.
    selected: usize,
    /// The selected tests, with `--mode tests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<&'a [&'a str]>,
    /// Their tags, with `--mode tags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<&'a str>>,
    /// The number of tests with each tag, with `--mode tagCounts`.
    #[serde(rename = "tagCounts", skip_serializing_if = "Option::is_none")]
    tag_counts: Option<&'a BTreeMap<String, usize>>,
}

/// Prints the selected tests, or their tags.
fn print(args: &E2eArgs, list: &TestList, selected: &[&str], out: &mut impl Write) -> io::Result<()> {
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
        // Without a space, because scripts for Sonobuoy split the line at the last colon.
        E2eMode::TagCounts => {
            counts.iter().try_for_each(|(tag, count)| writeln!(out, "{}:{count}", report::text::name(tag)))
        }
    }
}
