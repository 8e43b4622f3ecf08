//! `plumbline results`, and its commands.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::difference::{diff_html, diff_markdown, diff_text, matrix_markdown, matrix_text};
use plumbline_app::report::{Format, print_json};
use plumbline_app::results::{
    Collected, Comparison, HEALTH, Html, JsonArray, Rendered, ResultsOptions, ShownResults, TextView, View,
    YamlDocuments, compare, printed, show,
};
use plumbline_core::{Verdict, shell_path};

use crate::args::global::Global;
use crate::args::shared::{RegistryArgs, context};
use crate::commands::results_args::{DiffArgs, DiffFormat, ResultsArgs, ResultsCommand, ResultsFormat};
use crate::commands::results_attest;
use crate::error::{FAILED, verdict_code};
use crate::output::{Foreign, print_as};
use crate::ui::say;

pub(crate) fn results(args: &ResultsArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        None => {}
        Some(ResultsCommand::Diff(args)) => return diff(args, global),
        Some(ResultsCommand::Attest(args)) => return results_attest::attest(args),
        Some(ResultsCommand::Verify(args)) => return results_attest::verify(args, global),
        Some(ResultsCommand::Push(args)) => return results_attest::push(args),
        Some(ResultsCommand::Pull(args)) => return results_attest::pull(args),
    }
    let mut out = BufWriter::new(Foreign::stdout(args.output().is_err()));
    let mut seen = ShownResults::default();
    match print(args, &mut seen, &mut out) {
        Ok(()) => printed(out.flush())?,
        // The incomplete document is discarded.
        Err(error) => {
            let _ = out.into_parts();
            return Err(error);
        }
    }
    Ok(global.code(match args.plugin.as_deref() {
        Some(HEALTH) if !seen.is_incomplete() => ExitCode::SUCCESS,
        _ => verdict_code(seen.verdict()),
    }))
}

fn check_formats(args: &ResultsArgs, format: Option<ResultsFormat>) -> Result<(), AppError> {
    for (option, is_given, of, name) in [
        ("--max-bytes", args.max_bytes.is_some(), ResultsFormat::Markdown, "markdown"),
        ("--dir", args.dir.is_some(), ResultsFormat::Allure, "allure"),
        ("--namespace", args.namespace.is_some(), ResultsFormat::Openreports, "openreports"),
    ] {
        if is_given && format != Some(of) {
            return Err(
                AppError::usage(format!("`{option}` needs the format `{name}`")).hint(format!("add `--output {name}`"))
            );
        }
    }
    if args.previous.is_none() {
        return Ok(());
    }
    if !matches!(format, Some(ResultsFormat::Html | ResultsFormat::Markdown)) {
        return Err(AppError::usage("`--previous` needs the format `html` or `markdown`")
            .hint("add `--output html`, or compare the runs with `plumbline results diff`"));
    }
    if args.inputs.len() > 1 {
        return Err(AppError::usage("`--previous` compares one run, but there are several inputs")
            .hint("pass one input, or follow tests over many runs with `plumbline history`"));
    }
    Ok(())
}

fn print(args: &ResultsArgs, seen: &mut ShownResults, out: &mut impl Write) -> Result<(), AppError> {
    check_formats(args, args.output().ok())?;
    let (context, options) = (context(&RegistryArgs::default()), options(args));
    let mut each = |view: &mut dyn View| -> Result<Verdict, AppError> {
        show(&context, &options, seen, view)?;
        Ok(seen.verdict())
    };
    let format = match args.output() {
        Err(mode) => return each(&mut TextView::new(&options, mode, out)).map(drop),
        Ok(ResultsFormat::Json) => return JsonArray::print(out, each),
        Ok(ResultsFormat::Yaml) => return YamlDocuments::print(out, each),
        Ok(ResultsFormat::Markdown) => {
            let mut collected = Collected::default();
            let verdict = each(&mut collected)?;
            return printed(collected.markdown(verdict, args.max_bytes, out));
        }
        Ok(ResultsFormat::Html) => {
            let mut page = Html::new()?;
            let verdict = each(&mut page)?;
            return printed(page.finish(verdict, out));
        }
        Ok(ResultsFormat::Junit) => Format::Junit,
        Ok(ResultsFormat::Ctrf) => Format::Ctrf,
        Ok(ResultsFormat::Allure) => Format::Allure(args.dir.clone().unwrap_or_default()),
        Ok(ResultsFormat::Github) => Format::Github,
        Ok(ResultsFormat::Sarif) => Format::Sarif,
        Ok(ResultsFormat::Openreports) => Format::Openreports(args.namespace.clone()),
    };
    let mut view = Rendered::new(&format, out)?;
    let verdict = each(&mut view)?;
    view.finish(verdict)
}

fn options(args: &ResultsArgs) -> ResultsOptions {
    ResultsOptions {
        inputs: args.inputs.clone(),
        plugin: args.plugin.clone(),
        node: args.node.clone(),
        reprocess: args.reprocess,
        definition: args.definition.clone(),
        result_format: args.result_format.clone(),
        limits: args.limits.clone(),
        judges: args.judge.clone(),
        previous: args.previous.clone(),
    }
}

/// Compares runs. Exits with 1 if a test fails in the last one and not in the one before, with 5 if
/// no test of a plugin ran there, with 3 if it has unknown items, and otherwise with 0.
pub(super) fn diff(args: &DiffArgs, global: &Global) -> Result<ExitCode, AppError> {
    let paths: Vec<_> = std::iter::once(&args.before).chain(&args.after).cloned().collect();
    let context = context(&RegistryArgs::default());
    let Comparison { difference: found, matrix, silent } =
        compare(&context, &paths, args.plugin.as_ref(), &args.limits)?;
    print_as(args.format == DiffFormat::Text, "failed to print the differences", |out| match (args.format, &matrix) {
        (DiffFormat::Text, None) => diff_text(&found, out),
        (DiffFormat::Text, Some(matrix)) => matrix_text(matrix, out),
        (DiffFormat::Json, None) => print_json(&found, out),
        (DiffFormat::Json, Some(matrix)) => print_json(matrix, out),
        (DiffFormat::Markdown, None) => diff_markdown(&found, out),
        (DiffFormat::Markdown, Some(matrix)) => matrix_markdown(matrix, out),
        (DiffFormat::Html, matrix) => diff_html(&found, matrix.as_ref(), out),
    })?;
    // Without a test that ran, there is no new failure, and nothing passed either.
    let last = args.after.last().unwrap_or(&args.before);
    for plugin in &silent {
        say(&format!(
            "warning: no test of plugin `{plugin}` is known to have run in `{}`: see the results with `plumbline results {}`",
            last.display(),
            shell_path(last)
        ));
    }
    Ok(global.code(match (found.new_failures.is_empty(), silent.is_empty()) {
        (false, _) => ExitCode::from(FAILED),
        (true, false) => verdict_code(Verdict::NothingToJudge),
        (true, true) if found.unknown_after > 0 => verdict_code(Verdict::Incomplete),
        (true, true) => ExitCode::SUCCESS,
    }))
}
