//! `plumbline conformance`: runs a conformance suite, lists its tests, and assembles a submission.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::attest::AttestationTrust;
use plumbline_app::profiles::{BuiltInProfile, built_in_for, with_default_profile};
use plumbline_app::signing::signing_key;
use plumbline_app::submission::{AssembleOptions, RequiredFrom, assemble};
use plumbline_app::suite::Submitted;
use plumbline_core::Verdict;

use crate::args::global::Global;
use crate::args::shared::{DataFormat, EXIT_CODES, context, insert};
use crate::commands::profiles::{self, ListProfilesArgs, RunOfProfile, ShowProfileArgs};
use crate::commands::run::{Follow, RunOptions, in_cluster};
use crate::commands::submission::{self, Checked, SubmissionArgs};
use crate::commands::suite::{self as tests, ConformanceTestsArgs, ModesArgs};
use crate::error::PrintError as _;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    pub(crate) command: ConformanceCommand,
}

impl ConformanceArgs {
    /// Whether this starts a run on this machine, which has a log of its own.
    pub(crate) fn runs_here(&self) -> bool {
        matches!(&self.command, ConformanceCommand::Run(args) if args.local)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// List the suites that can be run, which are called profiles
    List(ListProfilesArgs),
    /// Show the options and modes of a profile, and what is submitted
    Show(ShowProfileArgs),
    /// Run a conformance suite, wait for the verdict, and download the archive
    Run(Box<ConformanceRunArgs>),
    /// List the tests of a suite, and which of them a focus selects
    Tests(ConformanceTestsArgs),
    /// List the modes, which are named sets of tests
    Modes(ModesArgs),
    /// Assemble and check a conformance submission
    Submission(SubmissionArgs),
}

pub(crate) fn conformance(args: ConformanceArgs, global: &Global) -> Result<ExitCode, AppError> {
    match args.command {
        ConformanceCommand::Run(args) => run(*args, global),
        ConformanceCommand::List(args) => profiles::list(&args),
        ConformanceCommand::Show(args) => profiles::show(&args),
        ConformanceCommand::Tests(args) => tests::of_profile(&args),
        ConformanceCommand::Modes(args) => tests::modes(&args),
        ConformanceCommand::Submission(args) => submission::submission(&args, global),
    }
}

/// Help on the option of that name, whose values depend on the profile.
const MODE_HELP: &str = "Select tests by a mode: one that `plumbline conformance modes` lists, or, with PROFILE, one that `plumbline conformance show` lists";

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
pub(crate) fn print_help_of_profile(args: &ConformanceArgs) {
    let ConformanceCommand::Run(args) = &args.command else { return };
    // Help never contacts a registry.
    if let Some(reference) = args.profile.as_deref().filter(|reference| !reference.contains("://")) {
        let _ = profiles::print_help(&context(&args.run.registry), reference);
    }
}

/// Runs a suite to its verdict, and assembles a submission.
fn run(args: ConformanceRunArgs, global: &Global) -> Result<ExitCode, AppError> {
    match built_in_for(args.profile.as_deref())? {
        Some(built_in) => run_built_in(args, built_in, global),
        None => run_profile(args, global),
    }
}

/// Runs the suite of another profile.
fn run_profile(args: ConformanceRunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let reference = args.profile.unwrap_or_default();
    for (option, given) in [("--product", args.product.is_some()), ("--required", args.required.is_some())] {
        if given {
            return Err(AppError::usage(format!("`{option}` is for submissions to the CNCF"))
                .hint(format!("remove it; `plumbline conformance show {reference}` lists options")));
        }
    }
    let run = RunOfProfile {
        reference,
        set: args.set,
        set_files: args.set_file,
        local: args.local,
        submission_dir: args.submission_dir,
        options: args.run,
    };
    profiles::run(run, global)
}

/// Runs the suite of a built-in profile.
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
    let follow = args.run.follows_to_end(args.submission_dir.is_some())?;
    let args = whole(args, built_in, follow);
    args.run.suite.settings()?;
    if let Some(product) = &args.product {
        // Checked before the run, which takes hours.
        can_be_submitted(&args.run)?;
        plumbline_app::submission::check_product(product)?;
        if let Some(RequiredFrom::File(list)) = &args.required {
            std::fs::File::open(list)
                .map_err(|error| AppError::usage(format!("failed to read `{}`", list.display())).because(&error))?;
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
        insert(document, "submission", checked.document());
    }
    ended.print(args.run.format)?;
    match submitted {
        None => Ok(ended.code),
        Some(Ok(checked)) => {
            if args.run.format.is_none() {
                checked.print(DataFormat::Text)?;
            }
            // The verdict of the run matters more, because its failures prevent the submission.
            Ok(if ended.code == ExitCode::SUCCESS { checked.code(global) } else { ended.code })
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
        submission::print_assembled(&assembled, DataFormat::Text)?;
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
        _ if settings.value("dry-run") == Some("true") => "a dry run runs no test".to_owned(),
        _ => return Ok(()),
    };
    Err(AppError::usage(format!("the results of this run could not be submitted: {why}"))
        .hint("remove `--submission-dir` and `--product`, or remove that option"))
}
