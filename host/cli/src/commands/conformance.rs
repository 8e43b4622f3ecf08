//! `plumbline conformance`: runs a conformance suite, lists its tests, and assembles a submission.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::attest::AttestationTrust;
use plumbline_app::options::{LocalRunArgs, RunOptions};
use plumbline_app::profiles::{
    self as app_profiles, BuiltInProfile, ChosenProfile, FoundProfile, ProfileRun, profile_for, with_default_profile,
};
use plumbline_app::signing::signing_key;
use plumbline_app::submission::{AssembleOptions, Checked, RequiredFrom, assemble};
use plumbline_app::suite::Submitted;
use plumbline_app::{AppError, Context, Explain as _};
use plumbline_bundle::signing::PrivateKey;
use plumbline_core::{Verdict, shell_path};
use serde_json::json;

use crate::args::global::Global;
use crate::args::shared::{EXIT_CODES, OutputArgs, context, insert};
use crate::commands::profiles::{self, ShowProfileArgs};
use crate::commands::run::{Follow, RunArgs, follows_to_end, in_cluster, not_local, on_this_machine};
use crate::commands::submission::{self, SubmissionCommand};
use crate::commands::suite::{self as tests, ConformanceTestsArgs, ModesArgs};
use crate::error::PrintError as _;
use crate::ui::say;

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// List the profiles, which are the suites that `conformance run` can run
    List(OutputArgs),
    /// Show the options and modes of a profile, and what is submitted
    Show(ShowProfileArgs),
    /// Run a conformance suite, wait for the verdict, and download the archive
    Run(Box<ConformanceRunArgs>),
    /// List the tests of a suite, and which of them a focus selects
    Tests(ConformanceTestsArgs),
    /// List the modes of a suite, which are named sets of tests
    Modes(ModesArgs),
    /// Assemble and check a conformance submission
    #[command(subcommand)]
    Submission(SubmissionCommand),
}

pub(crate) fn conformance(command: ConformanceCommand, global: &Global) -> Result<ExitCode, AppError> {
    match command {
        ConformanceCommand::Run(args) => run(*args, global),
        ConformanceCommand::List(output) => profiles::list(output),
        ConformanceCommand::Show(args) => profiles::show(&args),
        ConformanceCommand::Tests(args) => tests::of_profile(&args),
        ConformanceCommand::Modes(args) => tests::modes(&args),
        ConformanceCommand::Submission(command) => submission::submission(&command, global),
    }
}

/// Help on the option of that name, whose values depend on the profile.
const MODE_HELP: &str = "Select tests by a mode; `plumbline conformance modes [PROFILE]` lists the modes";

/// Help on the option of that name, which always waits.
const WAIT_HELP: &str =
    "Wait for the run at most this long; without a value, 24h; `0` does not wait [default: no limit]";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
#[command(mut_arg("mode", |arg| arg.value_parser(clap::value_parser!(String)).help(MODE_HELP)))]
#[command(mut_arg("wait", |arg| arg.help(WAIT_HELP)))]
pub(crate) struct ConformanceRunArgs {
    /// Suite to run.
    #[arg(value_name = "PROFILE", conflicts_with = "manifest", help = with_default_profile("Suite to run: the name of a profile, a directory or a packed bundle with a profile"))]
    pub(crate) profile: Option<String>,
    /// Set an option of the profile; repeatable
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "manifest")]
    pub(crate) set: Vec<String>,
    /// Set an option of the profile to the content of a file; repeatable
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "manifest")]
    pub(crate) set_file: Vec<String>,
    /// Run on this machine, as a process, if the profile can
    #[arg(long, requires = "profile", conflicts_with_all = ["manifest", "wait"])]
    pub(crate) local: bool,
    /// Write a submission into this directory; selects the mode whose results are submitted, unless
    /// other options select tests. A submission to the CNCF needs `--product`
    #[arg(long, value_name = "DIR")]
    pub(crate) submission_dir: Option<PathBuf>,
    /// Description of the product to certify: a `PRODUCT.yaml`
    #[arg(long, value_name = "FILE", requires = "submission_dir")]
    pub(crate) product: Option<PathBuf>,
    /// Tests that a certificate requires: a `conformance.yaml`, or `image[:REFERENCE]`, which asks
    /// the suite's image on this machine [default: the built-in list of the version]
    #[arg(long, value_name = "FILE|image[:REF]", requires = "submission_dir")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Prints the options of the profile that `args` name, below the help of `conformance run`. The help
/// was printed already, so errors, such as an unknown profile, are ignored.
pub(crate) fn print_help_of_profile(args: &ConformanceRunArgs) {
    // Help never contacts a registry.
    if let Some(reference) = args.profile.as_deref().filter(|reference| !reference.contains("://")) {
        let _ = profiles::print_help(&context(&args.run.registry), reference);
    }
}

/// Runs a suite to its verdict, and assembles a submission.
fn run(args: ConformanceRunArgs, global: &Global) -> Result<ExitCode, AppError> {
    match profile_for(args.profile.as_deref())? {
        ChosenProfile::Suite(built_in) => run_built_in(args, built_in, global),
        ChosenProfile::Bundle(reference) => {
            let of_cncf = [("--product", args.product.is_some()), ("--required", args.required.is_some())];
            submission::only_for_cncf(&reference, &of_cncf)?;
            run_bundle(args, reference, global)
        }
    }
}

fn run_built_in(
    args: ConformanceRunArgs,
    built_in: &'static BuiltInProfile,
    global: &Global,
) -> Result<ExitCode, AppError> {
    if args.local {
        let name = &built_in.profile.name;
        return Err(AppError::usage(format!("profile `{name}` runs only in a cluster")).hint("leave out `--local`"));
    }
    if args.submission_dir.is_some() && args.product.is_none() {
        return Err(AppError::usage("`--submission-dir` needs a description of the product")
            .hint("add `--product PRODUCT.yaml`; docs/submission.md lists its fields"));
    }
    let follow = follows_to_end(&args.run, args.submission_dir.is_some())?;
    let args = whole(args, built_in, follow);
    args.run.suite.settings()?;
    if let Some(product) = &args.product {
        // Checked before the run, which takes hours.
        can_be_submitted(&args.run)?;
        plumbline_app::submission::check_product(product)?;
        if let Some(RequiredFrom::File(list)) = &args.required {
            std::fs::File::open(list).usage_error(format_args!("failed to read `{}`", list.display()))?;
        }
    }
    let mut ended = in_cluster(&args.run, follow, global)?;
    let verdict = if ended.passed { Verdict::Passed } else { Verdict::Failed };
    let submitted = match (&args.submission_dir, &args.product, ended.archives.first()) {
        (Some(dir), Some(product), Some(archive)) => Some(submit(&args, built_in, archive, dir, product, verdict)),
        (Some(_), Some(_), None) if !args.run.dry_run => {
            say("the run left no archive, so nothing was submitted");
            None
        }
        _ => None,
    };
    if let (Some(Ok(checked)), Some(document)) = (&submitted, &mut ended.document) {
        insert(document, "submission", submission::document(checked));
    }
    ended.print(args.run.format)?;
    match submitted {
        None => Ok(ended.code),
        Some(Ok(checked)) => {
            if args.run.format.is_none() {
                submission::print_checked(&checked, OutputArgs::default())?;
            }
            // The verdict of the run matters more, because its failures prevent the submission.
            Ok(if ended.code == ExitCode::SUCCESS { submission::code_of(&checked, global) } else { ended.code })
        }
        Some(Err(error)) if ended.code == ExitCode::SUCCESS => Err(error),
        Some(Err(error)) => {
            error.print();
            Ok(ended.code)
        }
    }
}

/// Assembles a submission, and checks it.
fn submit(
    args: &ConformanceRunArgs,
    built_in: &BuiltInProfile,
    archive: &Path,
    dir: &Path,
    product: &Path,
    verdict: Verdict,
) -> Result<Checked, AppError> {
    let run = &args.run;
    let required = match (&args.required, &run.suite.kube_conformance_image) {
        // The image that ran has the list of required tests.
        (Some(RequiredFrom::Image(None)), Some(image)) => Some(RequiredFrom::Image(Some(image.clone()))),
        (given, _) => given.clone(),
    };
    let version = run.cluster_run.kubernetes_version.clone().filter(|version| version.starts_with('v'));
    let options = AssembleOptions {
        archive: archive.to_owned(),
        product: Some(product.to_owned()),
        dir: dir.to_owned(),
        plugin: built_in.plugin.to_owned(),
        folder: None,
        kubernetes_version: version,
        readme: None,
        anyway: false,
        required: required.clone(),
    };
    let context = context(&run.registry);
    let assembled = assemble(&context, &options)?;
    if run.format.is_none() {
        submission::print_assembled(&assembled, OutputArgs::default())?;
    }
    let trust = AttestationTrust::default();
    let checked = Checked::read(&context, built_in, &assembled.written.folder, required.as_ref(), &trust)?;
    if let Some(file) = &run.sign {
        let key = signing_key(&context, Some(file))?;
        submission::attest(
            &context,
            archive,
            Some(verdict),
            &assembled.written.folder,
            &submission::suite_of(built_in, &assembled),
            &key,
        )?;
    }
    Ok(checked)
}

/// Runs the suite of a profile that is not built in, and copies what is submitted.
fn run_bundle(args: ConformanceRunArgs, reference: String, global: &Global) -> Result<ExitCode, AppError> {
    let ConformanceRunArgs { set, set_file: set_files, local, submission_dir, mut run, .. } = args;
    let mode = run.suite.mode.take();
    let rerun_failed = run.suite.rerun_failed.take();
    let retries = std::mem::take(&mut run.suite.retry_failed);
    let kubernetes_version = run.cluster_run.kubernetes_version.clone();
    let mut chosen = ProfileRun { mode, set, set_files, rerun_failed, retries, kubernetes_version };
    let context = context(&run.registry);
    // Checked before the run, which may take hours.
    let found = app_profiles::find(&context, &reference)?;
    if let Some(dir) = &submission_dir {
        app_profiles::can_submit(&found.profile, dir)?;
        chosen.mode = app_profiles::mode_to_submit(&found.profile, chosen.mode.take())?;
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
    app_profiles::check(&found.profile, &chosen)?;
    run.plugins.insert(0, reference);
    run.profile = Some(chosen);
    let (format, dry_run) = (run.format, run.dry_run);
    let key = run.sign.as_deref().map(|file| signing_key(&context, Some(file))).transpose()?;
    let mut ended = if local {
        not_local(&run)?;
        let args = RunArgs { options: run, local: LocalRunArgs { local: true, ..LocalRunArgs::default() } };
        on_this_machine(&args, format, global)?
    } else {
        let follow = follows_to_end(&run, submission_dir.is_some())?;
        run.retrieve = follow != Follow::No;
        in_cluster(&run, follow, global)?
    };
    let submitted = match (&submission_dir, ended.archives.first()) {
        (Some(dir), Some(archive)) if ended.passed => Some(submit_bundle(&context, &found, archive, dir, key.as_ref())),
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
fn submit_bundle(
    context: &Context,
    found: &FoundProfile,
    archive: &Path,
    dir: &Path,
    key: Option<&PrivateKey>,
) -> Result<app_profiles::Submitted, AppError> {
    let submitted = app_profiles::submit(context, found, archive, dir)?;
    if let Some(key) = key {
        submission::attest(context, archive, Some(Verdict::Passed), dir, &submitted.suite, key)?;
    }
    Ok(submitted)
}

/// Adds the settings of a complete conformance run.
fn whole(mut args: ConformanceRunArgs, built_in: &BuiltInProfile, follow: Follow) -> ConformanceRunArgs {
    let run = &mut args.run;
    run.suite.set = std::mem::take(&mut args.set);
    run.suite.set_files = std::mem::take(&mut args.set_file);
    if run.plugins.is_empty() && run.manifest.is_none() {
        run.plugins = vec![built_in.plugin.to_owned()];
    }
    run.retrieve = follow != Follow::No;
    if args.submission_dir.is_some() && !run.suite.selects() && run.manifest.is_none() {
        run.suite.mode = built_in.profile.submitted_mode().map(|mode| mode.name.clone());
    }
    // A manifest has its plugins already.
    let required = args.required.is_some();
    run.suite.submitted = (args.submission_dir.is_some() && run.manifest.is_none()).then_some(Submitted { required });
    args
}

/// Checks that the results of the run can be submitted. An expression may select all required tests.
fn can_be_submitted(run: &RunOptions) -> Result<(), AppError> {
    let suite = &run.suite;
    let settings = suite.settings()?;
    let why = match settings.mode() {
        Some(mode) if settings.profile().submitted_mode().is_some_and(|submitted| submitted.name != mode.name) => {
            format!("`--mode {}` leaves out tests that are required", mode.name)
        }
        _ if suite.rerun_failed.is_some() => "`--rerun-failed` runs only some of the tests".to_owned(),
        _ if settings.value("dry-run") == Some("true") => "a dry run does not run the tests".to_owned(),
        _ => return Ok(()),
    };
    Err(AppError::usage(format!("the results of this run could not be submitted: {why}"))
        .hint("remove `--submission-dir` and `--product`, or remove that option"))
}
