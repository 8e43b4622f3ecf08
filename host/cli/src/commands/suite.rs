//! `plumbline conformance tests` and `conformance modes`: the tests and the modes of the suite.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use plumbline_app::AppError;
use plumbline_app::profiles::{
    self, BuiltInProfile, ChosenProfile, ProfileRun, profile_for, suite_profile, with_default_profile,
};
use plumbline_app::report::{self, print_json};
use plumbline_app::suite::test_names::{self, AUTO, OFFLINE, STDIN, TestSource, image_of, is_image};
use plumbline_bundle::profile::ProfileMode;
use plumbline_conformance::lists::{TestList, tags};
use plumbline_kubernetes::ConnectOptions;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::shared::{RegistryArgs, RemoteArgs, context};
use crate::commands::profiles::modes_of_profile;
use crate::output::print_as;

/// Where Sonobuoy's project publishes lists of tests, by version.
const ONLINE: &str = "https://raw.githubusercontent.com/vmware-tanzu/sonobuoy/main/cmd/sonobuoy/app/e2e/testLists";

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

#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceTestsArgs {
    /// Suite whose tests to list.
    #[arg(value_name = "PROFILE", help = with_default_profile("Suite whose tests to list: the name of a profile, a directory or a packed bundle"), conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) profile: Option<String>,
    /// Set an option of the profile that decides its version; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "profile")]
    pub(crate) set: Vec<String>,
    /// Run the program of a profile that is not built in, for `--input image`
    #[arg(long, requires = "profile")]
    pub(crate) run_program: bool,
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
    pub(crate) remote: RemoteArgs,
}

pub(crate) fn of_profile(args: &ConformanceTestsArgs) -> Result<ExitCode, AppError> {
    let reference = match profile_for(args.profile.as_deref())? {
        ChosenProfile::Suite(built_in) => return of_built_in(built_in, &args.tests),
        ChosenProfile::Bundle(reference) => reference,
    };
    let tests = &args.tests;
    if let Some(version) = &tests.version {
        return Err(AppError::usage(format!("`--version {version}` is for the tests of Kubernetes"))
            .hint(format!("`plumbline conformance show {reference}` lists the options of this profile, for `--set`")));
    }
    // Before anything is fetched.
    let selection = test_names::selection(tests.focus.as_deref(), tests.skip.as_deref())?;
    let list = list_of(&reference, args)?;
    let selected = test_names::selected(&list, &selection, tests.focus.as_deref(), tests.skip.as_deref())?;
    print_as(tests.format.is_none(), "failed to print the tests", |out| print_tests(tests, &list, &selected, out))
}

/// Reads the tests of another profile than that of the suite of Kubernetes.
fn list_of(reference: &str, args: &ConformanceTestsArgs) -> Result<TestList, AppError> {
    let (context, input) = (context(&args.tests.registry), args.tests.input.as_str());
    if input == STDIN {
        return test_names::read_stdin(&profiles::find(&context, reference)?.profile);
    }
    let run = ProfileRun { set: args.set.clone(), ..ProfileRun::default() };
    if is_image(input) {
        let found = profiles::find(&context, reference)?;
        return profiles::tests_in_image(&context, &found, &run, image_of(input), args.run_program);
    }
    if input != OFFLINE {
        return Err(AppError::usage(format!("`--input {input}` is for the tests of Kubernetes"))
            .hint("use `offline` for the list in the bundle of the profile, `image[:REFERENCE]` or `-`"));
    }
    profiles::tests_of(&profiles::find(&context, reference)?, &run)
}

pub(crate) fn e2e(args: &E2eArgs) -> Result<ExitCode, AppError> {
    of_built_in(suite_profile()?, args)
}

fn of_built_in(built_in: &BuiltInProfile, args: &E2eArgs) -> Result<ExitCode, AppError> {
    let of_cluster = [("--kubeconfig", args.kubeconfig.is_some()), ("--context", args.context.is_some())];
    if args.version.as_deref() != Some(AUTO)
        && let Some((option, _)) = of_cluster.iter().find(|(_, is_given)| *is_given)
    {
        return Err(AppError::usage(format!("`{option}` needs `--version {AUTO}`"))
            .hint(format!("add `--version {AUTO}` for the tests of the cluster's version")));
    }
    let selection = test_names::selection(args.focus.as_deref(), args.skip.as_deref())?;
    let source = TestSource {
        input: args.input.clone(),
        version: args.version.clone(),
        url: args.url.clone(),
        cluster: ConnectOptions { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() },
    };
    let context = context(&args.registry);
    let list = test_names::read(&context, built_in, &source)?;
    let selected = test_names::selected(&list, &selection, args.focus.as_deref(), args.skip.as_deref())?;
    if args.focus.is_some() || args.skip.is_some() {
        test_names::warn_of_anchors(&context, &built_in.profile, &selection, &list, &selected);
    }
    print_as(args.format.is_none(), "failed to print the tests", |out| print_tests(args, &list, &selected, out))
}

/// The document of `-o json`. Keys are never removed or renamed.
#[derive(Serialize)]
struct Document<'a> {
    /// The version of the list; empty if it is not known.
    version: &'a str,
    source: &'a str,
    /// The number of tests in the list.
    total: usize,
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
    let built_in = match profile_for(args.profile.as_deref())? {
        ChosenProfile::Suite(built_in) => built_in,
        ChosenProfile::Bundle(reference) => {
            return modes_of_profile(&context(&args.remote.registry), &reference, args.remote.output);
        }
    };
    let modes = &built_in.profile.modes;
    let data = json!({"modes": modes.iter().map(mode_data).collect::<Vec<_>>()});
    let text = modes.iter().map(|mode| mode_text(mode, args.verbose)).collect::<Vec<_>>().join("\n");
    args.remote.output.print("failed to print the modes", &data, |out| write!(out, "{text}"))
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
