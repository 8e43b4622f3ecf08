//! `plumbline conformance list` and `conformance show`: profiles of suites.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::profiles::{
    self, CLUSTER_VERSION, FoundProfile, ListedProfile, ProfileRun, Submitted, built_in_for,
};
use plumbline_app::report::print_json;
use plumbline_app::signing::signing_key;
use plumbline_app::suite::{SuiteOption, suite_options};
use plumbline_app::{AppError, Context};
use plumbline_bundle::signing::PrivateKey;
use plumbline_core::text::one_line;
use plumbline_core::{Verdict, shell_path};
use plumbline_profile::{OptionType, Profile, ProfileMode, ProfileOption, Source, SubmittedFile};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::shared::{DataFormat, OutputArgs, RegistryArgs, context, insert};
use crate::commands::run::{Follow, LocalRunArgs, RunArgs, RunOptions, in_cluster, not_local, on_this_machine};
use crate::commands::submission;
use crate::output::print;
use crate::ui::say;

/// A run of a profile.
pub(super) struct RunOfProfile {
    /// The reference to the profile.
    pub(super) reference: String,
    /// Values of options: `NAME=VALUE`.
    pub(super) set: Vec<String>,
    /// Files with values of options: `NAME=FILE`.
    pub(super) set_files: Vec<String>,
    /// Whether it runs on this machine.
    pub(super) local: bool,
    /// The new directory for what is submitted.
    pub(super) submission_dir: Option<PathBuf>,
    /// The options of the run.
    pub(super) options: RunOptions,
}

/// Runs the suite of a profile, and copies what is submitted.
pub(super) fn run(args: RunOfProfile, global: &Global) -> Result<ExitCode, AppError> {
    let RunOfProfile { reference, set, set_files, local, submission_dir, options: mut run } = args;
    let mode = run.suite.mode.take();
    let rerun_failed = run.suite.rerun_failed.take();
    let retries = std::mem::take(&mut run.suite.retry_failed);
    let kubernetes_version = run.cluster_run.kubernetes_version.clone();
    let mut chosen = ProfileRun { mode, set, set_files, rerun_failed, retries, kubernetes_version };
    let context = context(&run.registry);
    // Checked before the run, which may take hours.
    let found = profiles::find(&context, &reference)?;
    if let Some(dir) = &submission_dir {
        profiles::can_submit(&found.profile, dir)?;
        chosen.mode = profiles::mode_to_submit(&found.profile, chosen.mode.take())?;
        if let Some(archive) = &chosen.rerun_failed {
            return Err(AppError::usage(format!(
                "the results of this run could not be submitted: `--rerun-failed {}` runs only some of the tests",
                archive.display()
            ))
            .hint("leave out one of the two options"));
        }
        for option in run.judge.excusing().chain((retries > 0).then_some("--retry-failed")) {
            say(&format!("warning: if `{option}` excuses a failure, nothing is submitted"));
        }
    }
    profiles::check(&found.profile, &chosen)?;
    run.plugins.insert(0, reference);
    run.profile = Some(chosen);
    let (format, dry_run) = (run.format, run.dry_run);
    let key = run.sign.as_deref().map(|file| signing_key(&context, Some(file))).transpose()?;
    let mut ended = if local {
        not_local(&run)?;
        let args = RunArgs { options: run, local: LocalRunArgs { local: true, ..LocalRunArgs::default() } };
        on_this_machine(&args, format, global)?
    } else {
        let follow = run.follows_to_end(submission_dir.is_some())?;
        run.retrieve = follow != Follow::No;
        in_cluster(&run, follow, global)?
    };
    let submitted = match (&submission_dir, ended.archives.first()) {
        (Some(dir), Some(archive)) if ended.passed => Some(submit(&context, &found, archive, dir, key.as_ref())),
        (Some(_), _) if !dry_run => {
            say("the run did not pass, so nothing was submitted");
            None
        }
        _ => None,
    };
    if let Some(Ok(submitted)) = &submitted {
        say(&format!("submission: {} ({})", shell_path(&submitted.dir), submitted.files.join(", ")));
        if let Some(document) = &mut ended.document {
            insert(document, "submission", json!({"dir": submitted.dir, "files": submitted.files}));
        }
    }
    // The outcome is printed even if the submission could not be written.
    ended.print(format)?;
    submitted.transpose()?;
    Ok(ended.code)
}

/// Copies what is submitted of a run that passed, and signs a statement about it.
fn submit(
    context: &Context,
    found: &FoundProfile,
    archive: &Path,
    dir: &Path,
    key: Option<&PrivateKey>,
) -> Result<Submitted, AppError> {
    let submitted = profiles::submit(context, found, archive, dir)?;
    if let Some(key) = key {
        submission::attest(context, archive, Some(Verdict::Passed), dir, &submitted.suite, key)?;
    }
    Ok(submitted)
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListProfilesArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowProfileArgs {
    /// A profile: the name of a built-in or installed one, a directory, or a packed bundle
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Lists the profiles that `conformance run` knows by name.
pub(crate) fn list(args: &ListProfilesArgs) -> Result<ExitCode, AppError> {
    let all = profiles::list()?;
    print("failed to print the profiles", |out| match args.output.format() {
        DataFormat::Json => print_json(&json!({"profiles": all.iter().map(listed_data).collect::<Vec<_>>()}), out),
        DataFormat::Text => print_list(&all, out),
    })
}

/// Returns a profile as data. Keys are never removed or renamed.
fn listed_data(listed: &ListedProfile) -> Value {
    json!({
        "name": listed.name, "suite": listed.title, "description": listed.description, "version": listed.version,
        "origin": if listed.source.is_some() { "installed" } else { "built-in" }, "source": listed.source,
        "local": listed.local,
    })
}

fn print_list(all: &[ListedProfile], out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![["NAME", "VERSION", "ORIGIN", "SUITE"].map(str::to_owned)];
    for listed in all {
        let version = listed.version.as_deref().unwrap_or(CLUSTER_VERSION);
        let origin = if listed.source.is_some() { "installed" } else { "built-in" };
        rows.push([&listed.name, version, origin, &listed.title].map(one_line));
    }
    print_rows(&rows, "", out)
}

/// Prints rows with aligned columns. The last column is not padded.
fn print_rows<const N: usize>(rows: &[[String; N]], indent: &str, out: &mut impl Write) -> io::Result<()> {
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    for row in rows {
        let mut line = indent.to_owned();
        for (at, cell) in row.iter().enumerate() {
            let pad = width(at).unwrap_or_default();
            line.push_str(&format!("{cell:pad$}  "));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Shows what a profile lets users set, and what is submitted.
pub(crate) fn show(args: &ShowProfileArgs) -> Result<ExitCode, AppError> {
    if let Some(built_in) = built_in_for(Some(&args.profile))? {
        return print("failed to print the profile", |out| match args.output.format() {
            DataFormat::Json => print_json(&built_in_data(&built_in.profile), out),
            DataFormat::Text => print_built_in(&built_in.profile, out),
        });
    }
    let found = profiles::find(&context(&args.registry), &args.profile)?;
    print("failed to print the profile", |out| match args.output.format() {
        DataFormat::Json => {
            let mut data = profile_data(&found.profile, if found.installed { "installed" } else { "given" });
            insert(&mut data, "digest", json!(found.bundle.digest()));
            insert(&mut data, "places", json!(places(&found)));
            print_json(&data, out)
        }
        DataFormat::Text => print_profile(&found.profile, &origin(&found), &places(&found), out),
    })
}

/// The files of a submission to the CNCF, which are not copies of files of the archive.
const CNCF_FILES: [&str; 4] = plumbline_conformance::submission::FILES;

fn built_in_data(profile: &Profile) -> Value {
    let option = |option: &SuiteOption| json!({"flag": option.flag, "value": option.value, "help": option.help});
    let mut data = profile_data(profile, "built-in");
    insert(&mut data, "local", profile.local.is_some().into());
    insert(&mut data, "source", Value::Null);
    insert(&mut data, "places", json!(["cluster"]));
    insert(&mut data, "flags", suite_options().iter().map(option).collect());
    insert(&mut data, "submission", CNCF_FILES.map(|name| json!({"name": name})).to_vec().into());
    data
}

fn print_built_in(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    print_profile(profile, "built-in", &["cluster"], out)?;
    let rows: Vec<[String; 2]> = suite_options()
        .into_iter()
        .map(|SuiteOption { flag, value, help }| {
            let usage = value.map(|value| format!("{flag} {value}")).unwrap_or(flag);
            [usage, one_line(&help)]
        })
        .collect();
    writeln!(out, "submission (docs/submission.md):")?;
    CNCF_FILES.iter().try_for_each(|name| writeln!(out, "  {name}"))?;
    writeln!(out, "options of `plumbline conformance run` for this suite:")?;
    print_rows(&rows, "  ", out)
}

fn origin(found: &FoundProfile) -> String {
    match found.installed {
        true => format!("installed, {}", found.bundle.digest()),
        false => format!("{}, {}", found.bundle.dir.display(), found.bundle.digest()),
    }
}

fn version(profile: &Profile) -> String {
    let shown = profile.shown_version();
    match &profile.version {
        plumbline_profile::Version::Fixed(text) => text.clone(),
        plumbline_profile::Version::Option(name) => match shown {
            Some(version) => format!("{version} (option `{name}`)"),
            None => format!("value of the option `{name}`"),
        },
        plumbline_profile::Version::Cluster => CLUSTER_VERSION.to_owned(),
        plumbline_profile::Version::Crd { name, annotation } => {
            format!("that of the cluster (annotation `{annotation}` of custom resource definition `{name}`)")
        }
    }
}

fn places(found: &FoundProfile) -> Vec<&'static str> {
    let process = found.bundle.definition.driver == plumbline_core::Driver::Process;
    let local = (found.profile.local.is_some() || process).then_some("local");
    local.into_iter().chain((!process).then_some("cluster")).collect()
}

fn print_profile(profile: &Profile, origin: &str, places: &[&str], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "profile:     {}", profile.name)?;
    writeln!(out, "suite:       {}", one_line(&profile.title))?;
    if let Some(description) = &profile.description {
        writeln!(out, "description: {}", one_line(description))?;
    }
    writeln!(out, "version:     {}", one_line(&version(profile)))?;
    writeln!(out, "origin:      {}", one_line(origin))?;
    writeln!(out, "runs:        {}", places.join(", "))?;
    print_options(profile, out)?;
    if !profile.submission.is_empty() {
        writeln!(out, "submission:")?;
        let rows: Vec<[String; 2]> = profile.submission.iter().map(submitted_row).collect();
        print_rows(&rows, "  ", out)?;
    }
    Ok(())
}

fn print_options(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    if !profile.options.is_empty() {
        writeln!(out, "options:")?;
        let rows: Vec<[String; 4]> = profile.options.iter().map(option_row).collect();
        print_rows(&rows, "  ", out)?;
    }
    if !profile.modes.is_empty() {
        writeln!(out, "modes:")?;
        let row = |mode: &ProfileMode| mode_row(&mode.name, mode.default, &mode.description);
        print_rows(&profile.modes.iter().map(row).collect::<Vec<_>>(), "  ", out)?;
    }
    Ok(())
}

/// Prints what a user can set of a profile, below the help of `conformance run`.
pub(super) fn print_help(context: &Context, reference: &str) -> Result<ExitCode, AppError> {
    let found = match built_in_for(Some(reference))? {
        Some(built_in) => built_in.profile.clone(),
        None => profiles::find(context, reference)?.profile,
    };
    print("failed to print the options of the profile", |out| {
        writeln!(out, "\nProfile `{}`, for `--set NAME=VALUE` and `--mode MODE`:", found.name)?;
        print_options(&found, out)
    })
}

/// Lists the modes of a profile.
pub(super) fn modes_of_profile(context: &Context, reference: &str, format: DataFormat) -> Result<ExitCode, AppError> {
    let found = profiles::find(context, reference)?;
    let modes = &found.profile.modes;
    if modes.is_empty() && format == DataFormat::Text {
        say(&format!("profile `{}` has no modes", found.profile.name));
    }
    print("failed to print the modes", |out| match format {
        DataFormat::Json => print_json(&json!({"modes": modes.iter().map(mode_data).collect::<Vec<_>>()}), out),
        DataFormat::Text => write!(out, "{}", modes.iter().map(mode_text).collect::<Vec<_>>().join("\n")),
    })
}

fn mode_text(mode: &ProfileMode) -> String {
    let mut text = format!("Mode: {}{}\n", mode.name, if mode.default { " (default)" } else { "" });
    text.push_str(&format!("Description: {}\n", one_line(&mode.description)));
    for (option, value) in &mode.set {
        text.push_str(&format!("{option}: {}\n", one_line(value)));
    }
    if let Some(file) = &mode.required {
        text.push_str(&format!("Required tests: {}\n", one_line(file)));
    }
    text
}

/// Returns a mode as data. Keys are never removed or renamed.
fn mode_data(mode: &ProfileMode) -> Value {
    json!({
        "name": mode.name, "description": mode.description, "default": mode.default, "set": mode.set,
        "required": mode.required, "submit": mode.submit,
    })
}

fn submitted_row(file: &SubmittedFile) -> [String; 2] {
    let source = match &file.source {
        Source::Archive(path) => one_line(path),
        Source::Option(name) => format!("value of the option `{name}`"),
    };
    [one_line(&file.name), source]
}

fn mode_row(name: &str, default: bool, description: &str) -> [String; 3] {
    [name.to_owned(), if default { "(default)" } else { "" }.to_owned(), one_line(description)]
}

fn option_row(option: &ProfileOption) -> [String; 4] {
    let kind = match &option.kind {
        OptionType::Enum(values) => values.join("|"),
        other => other.name().to_owned(),
    };
    let state = match (&option.default, option.required, option.secret) {
        (Some(default), ..) => format!("[default: {default}]"),
        (None, true, _) => "(required)".to_owned(),
        (None, false, true) => "(secret)".to_owned(),
        (None, false, false) => String::new(),
    };
    [option.name.clone(), one_line(&kind), one_line(&state), one_line(&option.help)]
}

/// Returns a profile as data. Keys are never removed or renamed.
fn profile_data(profile: &Profile, origin: &str) -> Value {
    let option = |option: &ProfileOption| {
        let values = match &option.kind {
            OptionType::Enum(values) => Some(values),
            _ => None,
        };
        json!({
            "name": option.name, "type": option.kind.name(), "values": values, "help": option.help,
            "default": option.default, "required": option.required, "secret": option.secret,
        })
    };
    let submitted = |file: &SubmittedFile| match &file.source {
        Source::Archive(path) => json!({"name": file.name, "from": path}),
        Source::Option(name) => json!({"name": file.name, "option": name}),
    };
    json!({
        "name": profile.name, "suite": profile.title, "description": profile.description,
        "version": profile.shown_version(), "origin": origin,
        "options": profile.options.iter().map(option).collect::<Vec<_>>(),
        "modes": profile.modes.iter().map(mode_data).collect::<Vec<_>>(),
        "tests": profile.tests,
        "submission": profile.submission.iter().map(submitted).collect::<Vec<_>>(),
    })
}
