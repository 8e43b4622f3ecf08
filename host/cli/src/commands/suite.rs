//! `plumbline conformance tests` and `conformance modes`: the tests and the modes of the suite.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use plumbline_app::AppError;
use plumbline_app::profiles::{self, ProfileRun, built_in_for, with_default_profile};
use plumbline_app::report::{self, print_json};
use plumbline_app::suite::test_names::{self, TestSource};
use plumbline_conformance::lists::{SUITE, Selection, TestList, near, tags};
use plumbline_kubernetes::ConnectOptions;
use plumbline_profile::ProfileMode;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::shared::{DataFormat, OutputArgs, RegistryArgs, context};
use crate::commands::profiles::modes_of_profile;
use crate::output::{print, print_raw};
use crate::ui::say;

/// Where Sonobuoy's project publishes lists of tests, by version.
const ONLINE: &str = "https://raw.githubusercontent.com/vmware-tanzu/sonobuoy/main/cmd/sonobuoy/app/e2e/testLists";

/// List the tests of the suite, and which of them a focus selects.
#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {
    /// Show only tests that match this Go regular expression
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) focus: Option<String>,
    /// Leave out tests that match this Go regular expression
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) skip: Option<String>,
    /// What to show
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = E2eMode::Tests)]
    pub(crate) mode: E2eMode,
    /// Version of Kubernetes, such as `v1.30.2`, or `auto` for that of the cluster [default: the
    /// newest known]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Source of the names: `offline` (built-in lists), `online` (those of Sonobuoy's project) or
    /// `-` (standard input). Also a list, a directory of lists `VERSION.gz`, the URL of either, or
    /// an archive. `image[:REFERENCE]` runs the suite's program from its image on this machine
    #[arg(short, long, value_name = "SOURCE", default_value = "offline")]
    pub(crate) input: String,
    /// Print the tests in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<E2eFormat>,
    /// With `--version auto`: kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the service
    /// account of this pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// With `--version auto`: context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Base URL for `--input online`
    #[arg(long, hide = true, value_name = "ADDRESS", default_value = ONLINE)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// List the tests of a suite, and which of them a focus selects.
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceTestsArgs {
    /// Suite whose tests to list.
    #[arg(value_name = "PROFILE", help = with_default_profile("Suite whose tests to list: the name of a profile, a directory or a packed bundle"), conflicts_with_all = ["kubeconfig", "context", "input"])]
    pub(crate) profile: Option<String>,
    /// Set an option of the profile that decides its version; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "profile")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) tests: E2eArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum E2eMode {
    /// Names of tests
    Tests,
    /// Tags (the words in brackets) of the names, each once
    Tags,
    /// Tags, with the number of tests that have each
    TagCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum E2eFormat {
    /// One JSON object
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ModesArgs {
    /// Suite whose modes to list.
    #[arg(value_name = "PROFILE", help = with_default_profile("Suite whose modes to list: the name of a profile, a directory or a packed bundle"))]
    pub(crate) profile: Option<String>,
    /// Also show the settings of each mode
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Lists the tests of a profile.
pub(crate) fn of_profile(args: &ConformanceTestsArgs) -> Result<ExitCode, AppError> {
    if built_in_for(args.profile.as_deref())?.is_some() {
        return e2e(&args.tests);
    }
    let reference = args.profile.as_deref().unwrap_or_default();
    let tests = &args.tests;
    if let Some(version) = &tests.version {
        return Err(AppError::usage(format!("`--version {version}` is for the tests of Kubernetes"))
            .hint(format!("`plumbline conformance show {reference}` lists the options of this profile, for `--set`")));
    }
    let selection = selection(tests)?;
    let found = profiles::find(&context(&tests.registry), reference)?;
    let run = ProfileRun { set: args.set.clone(), ..ProfileRun::default() };
    let list = profiles::tests_of(&found, &run)?;
    let selected: Vec<&str> = selection.select(&list.tests).collect();
    if selected.is_empty() {
        return Err(nothing(tests, &list));
    }
    print_raw("failed to print the tests", |out| print_tests(tests, &list, &selected, out))
}

/// Parses focus and skip, before anything is fetched.
fn selection(args: &E2eArgs) -> Result<Selection, AppError> {
    Selection::parse(args.focus.as_deref(), args.skip.as_deref()).map_err(|(what, error)| {
        AppError::usage(format!("`--{what}` is not a valid Go regular expression"))
            .because(&error)
            .hint("to match a name literally, put a backslash before `[ ] ( ) . * + ? | { } ^ $`")
    })
}

pub(crate) fn e2e(args: &E2eArgs) -> Result<ExitCode, AppError> {
    let selection = selection(args)?;
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
    print_raw("failed to print the tests", |out| print_tests(args, &list, &selected, out))
}

fn nothing(args: &E2eArgs, list: &TestList) -> AppError {
    let (focus, skip) = (args.focus.as_deref().unwrap_or_default(), args.skip.as_deref().unwrap_or_default());
    let of = of(list);
    let focused = Selection::parse(args.focus.as_deref(), None).map_or(0, |focus| focus.select(&list.tests).count());
    if focused > 0 {
        return AppError::usage(format!(
            "no test is left {of}: `--focus` selects {focused}, and `--skip` skips all of them"
        ))
        .hint(format!("leave `--skip '{skip}'` out, or make it match fewer tests"));
    }
    let error = AppError::usage(format!("the focus `{focus}` selects none {of}"));
    let near: Vec<String> =
        near(focus, list.tests.iter().map(String::as_str)).iter().map(|name| report::text::name(name)).collect();
    match near.is_empty() {
        true => error
            .hint("`plumbline conformance tests` lists all names; with `--mode tags`, it lists the words in brackets"),
        false => error.hint(format!("similar tests:\n{}", near.join("\n"))),
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
            "warning: with these expressions, the suite itself selects {there} tests, not {here}: it matches them against `{SUITE} NAME`, so `^` matches before `{SUITE}`"
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

fn print_tests(args: &E2eArgs, list: &TestList, selected: &[&str], out: &mut impl Write) -> io::Result<()> {
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

/// Maximum characters of a line without `--verbose`. One mode skips tests by name, which would fill
/// a page.
const MAX_LINE: usize = 200;

pub(crate) fn modes(args: &ModesArgs) -> Result<ExitCode, AppError> {
    let Some(built_in) = built_in_for(args.profile.as_deref())? else {
        let reference = args.profile.as_deref().unwrap_or_default();
        return modes_of_profile(&context(&args.registry), reference, args.output.format());
    };
    let modes = &built_in.profile.modes;
    print("failed to print the modes", |out| match args.output.format() {
        DataFormat::Text => {
            write!(out, "{}", modes.iter().map(|mode| mode_text(mode, args.verbose)).collect::<Vec<_>>().join("\n"))
        }
        DataFormat::Json => print_json(&json!({"modes": modes.iter().map(mode_data).collect::<Vec<_>>()}), out),
    })
}

/// Returns what a mode of the suite of Kubernetes sets: focus, skip, and whether tests run in
/// parallel. With an empty skip, the mode skips nothing.
fn selection_of(mode: &ProfileMode) -> (&str, Option<&str>, bool) {
    let value = |name: &str| mode.set.get(name).map(String::as_str).filter(|value| !value.is_empty());
    (value("focus").unwrap_or_default(), value("skip"), value("parallel") == Some("true"))
}

/// Returns a mode of the suite of Kubernetes as data. Keys are never removed or renamed.
fn mode_data(mode: &ProfileMode) -> Value {
    let (focus, skip, parallel) = selection_of(mode);
    json!({
        "name": mode.name, "description": mode.description, "default": mode.default, "focus": focus, "skip": skip,
        "parallel": parallel,
    })
}

/// Formats a mode with the keys that scripts expect.
fn mode_text(mode: &ProfileMode, whole: bool) -> String {
    let (focus, skip, parallel) = selection_of(mode);
    let lines = [
        format!("Mode: {}", mode.name),
        format!("Description: {}", mode.description),
        format!("E2E_FOCUS: {focus}"),
        format!("E2E_SKIP: {}", skip.unwrap_or_default()),
        format!("E2E_PARALLEL: {parallel}"),
    ];
    let cut = |line: String| match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) if !whole => format!("{}... (`--verbose` shows all of it)\n", line.get(..end).unwrap_or(&line)),
        _ => format!("{}\n", line.trim_end()),
    };
    lines.map(cut).concat()
}
