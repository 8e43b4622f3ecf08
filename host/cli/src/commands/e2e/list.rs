//! What is listed.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use plumbline_app::{AppError, report};
use plumbline_conformance::lists::{SUITE, Selection, TestList, near};

use super::{input, print};
use crate::args::{E2eArgs, Global};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Lists tests.
pub(crate) fn e2e(args: &E2eArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    // Before anything is fetched: a mistake in an expression is told at once.
    let selection = Selection::parse(args.focus.as_deref(), args.skip.as_deref()).map_err(|(what, error)| {
        AppError::usage(format!("`--{what}` is not a valid regular expression of Go"))
            .because(&error)
            .hint("to mean a name as it is, put a backslash before `[ ] ( ) . * + ? | { } ^ $`")
    })?;
    let list = input::read(&context(&args.registry), args)?;
    let selected: Vec<&str> = selection.select(&list.tests).collect();
    if selected.is_empty() {
        return Err(nothing(args, &list));
    }
    warn_of_anchors(args, &selection, &list, &selected);
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = print::print(args, &list, &selected, &mut out).and_then(|()| out.flush());
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

/// `of the 7201 tests of v1.30.2 in …`
fn of(list: &TestList) -> String {
    let version = if list.version.is_empty() { String::new() } else { format!(" of {}", list.version) };
    format!("of the {} tests{version} in {}", list.tests.len(), list.source)
}

/// The suite puts its own name before that of a test: then `^` is not where it seems to be.
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
