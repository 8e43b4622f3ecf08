//! `plumbline conformance`: runs the conformance suite, lists its tests, and assembles a submission.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::submission::{AssembleOptions, RequiredFrom, assemble};
use plumbline_app::suite::Submitted;
use plumbline_conformance::suite::{self, Mode};

use crate::args::Global;
use crate::args::shared::{DataFormat, EXIT_CODES, context, insert, limit};
use crate::commands::run::{Follow, RunOptions, in_cluster};
use crate::commands::submission::{self, Checked, SubmissionArgs};
use crate::commands::suite::{self as tests, E2eArgs, ModesArgs};
use crate::error::PrintError as _;
use crate::output::print_raw;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    pub(crate) command: ConformanceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// Check the cluster, run the suite, wait, download the archive, and print the verdict
    Run(Box<ConformanceRunArgs>),
    /// List the tests of the suite, and which of them a focus selects
    Tests(E2eArgs),
    /// List the modes, which are named sets of tests
    Modes(ModesArgs),
    /// Assemble and check a submission to the CNCF
    Submission(SubmissionArgs),
}

pub(crate) fn conformance(args: ConformanceArgs, global: &Global) -> Result<ExitCode, AppError> {
    match args.command {
        ConformanceCommand::Run(args) => run(*args, global),
        ConformanceCommand::Tests(args) => tests::e2e(&args),
        ConformanceCommand::Modes(args) => tests::modes(&args),
        ConformanceCommand::Submission(args) => submission::submission(&args, global),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ConformanceRunArgs {
    /// Assemble and check a submission in this directory; selects the mode `certified-conformance`
    /// unless other options select tests
    #[arg(long, value_name = "DIR", requires = "product")]
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

/// Runs the suite to its verdict, and assembles a submission.
fn run(args: ConformanceRunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let args = whole(args)?;
    if let Some(product) = &args.product {
        // Checked before the run, which takes hours.
        plumbline_app::submission::check_product(product)?;
        can_be_submitted(&args.run)?;
        if let Some(RequiredFrom::File(list)) = &args.required {
            std::fs::File::open(list)
                .map_err(|error| AppError::usage(format!("failed to read `{}`", list.display())).because(&error))?;
        }
    }
    // Without a time limit by default, because each plugin has one.
    let mut ended = in_cluster(&args.run, Follow::UntilEnd(args.run.wait.and_then(limit)), global)?;
    let submitted = match (&args.submission_dir, &args.product, ended.archives.first()) {
        (Some(dir), Some(product), Some(archive)) => Some(submit(&args, archive, dir, product)),
        (Some(_), Some(_), None) if !args.run.dry_run => {
            say("there is no archive, and so nothing to submit");
            None
        }
        _ => None,
    };
    if let (Some(Ok(checked)), Some(document)) = (&submitted, &mut ended.document) {
        insert(document, "submission", checked.document());
    }
    if let (Some(format), Some(document)) = (args.run.format, &ended.document) {
        print_raw("failed to print the outcome", |out| format.write(document, out))?;
    }
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
fn submit(args: &ConformanceRunArgs, archive: &Path, dir: &Path, product: &Path) -> Result<Checked, AppError> {
    let run = &args.run;
    let required = match (&args.required, &run.suite.kube_conformance_image) {
        // The image that ran has the list of required tests.
        (Some(RequiredFrom::Image(None)), Some(image)) => Some(RequiredFrom::Image(Some(image.clone()))),
        (given, _) => given.clone(),
    };
    let version = run.cluster_run.kubernetes_version.clone().filter(|version| version.starts_with('v'));
    let options = AssembleOptions {
        archive: archive.to_owned(),
        product: product.to_owned(),
        dir: dir.to_owned(),
        plugin: suite::PLUGIN.to_owned(),
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
    Checked::read(&context, &assembled.written.folder, required.as_ref())
}

/// Adds the settings of a complete conformance run.
fn whole(mut args: ConformanceRunArgs) -> Result<ConformanceRunArgs, AppError> {
    let run = &mut args.run;
    if run.plugins.is_empty() && run.manifest.is_none() {
        run.plugins = vec![suite::PLUGIN.to_owned()];
    }
    run.retrieve = true;
    if args.submission_dir.is_some() && !run.suite.selects() && run.manifest.is_none() {
        run.suite.mode = Some(Mode::CertifiedConformance);
    }
    // A manifest has its plugins already.
    let required = args.required.is_some();
    run.suite.submitted = (args.submission_dir.is_some() && run.manifest.is_none()).then_some(Submitted { required });
    Ok(args)
}

/// Checks that the results of the run can be submitted. An expression may select all required tests.
fn can_be_submitted(run: &RunOptions) -> Result<(), AppError> {
    let suite = &run.suite;
    let why = match suite.mode {
        Some(mode) if mode != Mode::CertifiedConformance => {
            format!("`--mode {mode}` leaves out tests that are required")
        }
        _ if suite.rerun_failed.is_some() => "`--rerun-failed` runs a part of the tests".to_owned(),
        _ if suite.e2e_dry_run => "`--e2e-dry-run` runs no test".to_owned(),
        _ => return Ok(()),
    };
    Err(AppError::usage(format!("this run could not be submitted: {why}"))
        .hint("leave out `--submission-dir` and `--product`, or the option"))
}
