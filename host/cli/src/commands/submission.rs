//! `plumbline conformance submission`

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use plumbline_app::attest::{AttestationTrust, SubmittedSuite, attest_folder};
use plumbline_app::profiles::{self, BuiltInProfile, built_in_for, with_default_profile};
use plumbline_app::report::print_json;
use plumbline_app::report::text::{name as printable_name, size};
use plumbline_app::signing::signing_key;
use plumbline_app::submission::{AssembleOptions, Folder, RequiredFrom, Submission, required};
use plumbline_app::{AppError, Context, submission as app};
use plumbline_bundle::signing::PrivateKey;
use plumbline_conformance::submission::{self, Contents, Finding, Outcome, Summary};
use plumbline_core::{Verdict, shell_path};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::shared::{DataFormat, OutputArgs, RegistryArgs, context};
use crate::error::{FAILED, INCOMPLETE};
use crate::output::print;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) command: SubmissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Write the folder of a submission from the archive of a run: for Kubernetes, `vX.Y/PRODUCT` with
    /// four files
    Assemble(SubmissionAssembleArgs),
    /// Check the folder of a submission against the rules of the programme
    Check(SubmissionCheckArgs),
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionAssembleArgs {
    /// Suite whose results to submit.
    #[arg(long, value_name = "PROFILE", help = with_default_profile("Suite whose results to submit: the name of a profile, a directory or a packed bundle"), conflicts_with_all = ["product", "folder", "kubernetes_version", "readme", "required", "anyway"])]
    pub(crate) profile: Option<String>,
    /// Sign a statement that the files come from this run with this private key
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: AssembleOptions,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionCheckArgs {
    /// The folder of the submission; for Kubernetes `vX.Y/PRODUCT`, or one that contains it
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Suite whose results are submitted.
    #[arg(long, value_name = "PROFILE", help = with_default_profile("Suite whose results are submitted: the name of a profile, a directory or a packed bundle"), conflicts_with = "required")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) trust: AttestationTrust,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Required tests: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image
    /// [default: the built-in list of the version]
    #[arg(long, value_name = "FILE|image[:REF]")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

pub(crate) fn submission(args: &SubmissionArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        SubmissionCommand::Assemble(args) => {
            let context = context(&args.registry);
            let key = args.sign.as_deref().map(|file| signing_key(&context, Some(file))).transpose()?;
            let Some(built_in) = built_in_for(args.profile.as_deref())? else {
                return assemble_profile(&context, args, key.as_ref());
            };
            let submission = app::assemble(&context, &args.options)?;
            print_assembled(&submission, args.output.format())?;
            if let Some(key) = key {
                attest(
                    &context,
                    &args.options.archive,
                    None,
                    &submission.written.folder,
                    &suite_of(built_in, &submission),
                    &key,
                )?;
            }
            Ok(ExitCode::SUCCESS)
        }
        SubmissionCommand::Check(args) => {
            let context = context(&args.registry);
            let reference = args.profile.as_deref();
            let checked = match built_in_for(reference)? {
                Some(built_in) => Checked::read(&context, built_in, &args.dir, args.required.as_ref(), &args.trust)?,
                None => Checked::of_profile(&context, &args.dir, reference.unwrap_or_default(), &args.trust)?,
            };
            checked.print(args.output.format())?;
            Ok(checked.code(global))
        }
    }
}

/// What an attestation says about the suite of a built-in profile.
pub(crate) fn suite_of(built_in: &BuiltInProfile, submission: &Submission) -> SubmittedSuite {
    let version = Some(submission.kubernetes.clone());
    SubmittedSuite { profile: built_in.profile.name.to_string(), version, ..SubmittedSuite::default() }
}

/// Signs a statement that the files of `folder` come from the run in `archive`, and reports it.
pub(crate) fn attest(
    context: &Context,
    archive: &Path,
    run: Option<Verdict>,
    folder: &Path,
    suite: &SubmittedSuite,
    key: &PrivateKey,
) -> Result<(), AppError> {
    let written = attest_folder(context, archive, run, folder, suite, key)?;
    say(&format!("attested: {}", shell_path(&written)));
    Ok(())
}

/// Writes the folder of a submission of another suite.
fn assemble_profile(
    context: &Context,
    args: &SubmissionAssembleArgs,
    key: Option<&PrivateKey>,
) -> Result<ExitCode, AppError> {
    let found = profiles::find(context, args.profile.as_deref().unwrap_or_default())?;
    let AssembleOptions { archive, dir, .. } = &args.options;
    let submitted = profiles::submit(context, &found, archive, dir)?;
    print("failed to print the list of written files", |out| match args.output.format() {
        DataFormat::Json => print_json(&json!({"folder": submitted.dir, "files": submitted.files}), out),
        DataFormat::Text => {
            writeln!(out, "submission: {}", submitted.dir.display())?;
            submitted.files.iter().try_for_each(|name| writeln!(out, "  {}", printable_name(name)))
        }
    })?;
    if let Some(key) = key {
        attest(context, archive, None, dir, &submitted.suite, key)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what was written. Keys of the document are never removed or renamed (docs/output.md).
pub(crate) fn print_assembled(submission: &Submission, format: DataFormat) -> Result<ExitCode, AppError> {
    let Submission { written, place, kubernetes, cases } = submission;
    let counted = cases.problem.is_none();
    print("failed to print the list of written files", |out| {
        if format == DataFormat::Json {
            let files: Vec<_> =
                written.files.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect();
            return print_json(
                &json!({
                    "folder": written.folder, "kubernetes": kubernetes, "title": place.title(), "files": files,
                    "ran": counted.then(|| cases.ran()), "skipped": counted.then(|| cases.skipped()),
                }),
                out,
            );
        }
        writeln!(out, "submission: {}", written.folder.display())?;
        writeln!(out, "Kubernetes: {kubernetes}")?;
        if counted {
            writeln!(out, "tests:      {} ran, {} skipped", cases.ran(), cases.skipped())?;
        }
        for (name, bytes) in &written.files {
            writeln!(out, "  {name:14} {}", size(*bytes))?;
        }
        writeln!(out, "title:      {}", place.title())?;
        writeln!(out, "next:       plumbline conformance submission check {}", shell_path(&written.folder))
    })
}

/// The findings about the folder of a submission.
pub(crate) struct Checked {
    folder: PathBuf,
    release: Option<String>,
    findings: Vec<Finding>,
    summary: Summary,
}

impl Checked {
    /// Checks the folder against the rules of the verifier.
    pub(crate) fn read(
        context: &Context,
        built_in: &BuiltInProfile,
        dir: &Path,
        source: Option<&RequiredFrom>,
        trust: &AttestationTrust,
    ) -> Result<Self, AppError> {
        let folder = Folder::read(dir)?;
        let mut contents = Contents {
            files: &folder.files,
            product: folder.product.as_deref(),
            log: &folder.log,
            cases: folder.cases.as_ref(),
            required: None,
        };
        let release = contents.release();
        let required = match release {
            Some(release) => required(context, source, release, folder.log.suite.as_deref())?,
            None => None,
        };
        contents.required = required.as_ref();
        let mut findings = submission::check(&contents);
        let suite = SubmittedSuite { profile: built_in.profile.name.to_string(), ..SubmittedSuite::default() };
        findings.extend(app::attestation_finding(&folder.root, None, &suite, trust)?);
        let summary = Summary::of(&findings);
        Ok(Self { folder: dir.to_owned(), release: release.map(|release| release.to_string()), findings, summary })
    }

    /// Checks the folder of another suite. Without an attestation, nothing says that the run passed.
    fn of_profile(context: &Context, dir: &Path, reference: &str, trust: &AttestationTrust) -> Result<Self, AppError> {
        let found = profiles::find(context, reference)?;
        let findings = profiles::check_submission(&found, dir, trust)?;
        let mut summary = Summary::of(&findings);
        summary.incomplete |= summary.not_checked > 0;
        let release = found.profile.shown_version().map(str::to_owned);
        Ok(Self { folder: dir.to_owned(), release, findings, summary })
    }

    /// Returns the findings as data. Keys are never removed or renamed (docs/submission.md).
    pub(crate) fn document(&self) -> Value {
        json!({
            "folder": self.folder,
            "release": self.release,
            "findings": self.findings,
            "summary": self.summary,
        })
    }

    /// Prints the findings.
    pub(crate) fn print(&self, format: DataFormat) -> Result<ExitCode, AppError> {
        print("failed to print the findings", |out| match format {
            DataFormat::Text => print_findings(&self.findings, self.summary, out),
            DataFormat::Json => print_json(&self.document(), out),
        })
    }

    /// Returns the exit code: 0 if no rule is broken, 1 if one is, and 3 if the required tests are
    /// unknown, or, for another suite, the outcome of the run.
    pub(crate) fn code(&self, global: &Global) -> ExitCode {
        global.code(match self.summary {
            Summary { failed: 1.., .. } => ExitCode::from(FAILED),
            Summary { incomplete: true, .. } => ExitCode::from(INCOMPLETE),
            _ => ExitCode::SUCCESS,
        })
    }
}

/// Maximum names of a finding in the text.
const MAX_NAMES: usize = 20;

/// Prints a line for each rule, with a hint below rules that are broken.
fn print_findings(findings: &[Finding], summary: Summary, out: &mut impl Write) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.rule.len()).max().unwrap_or_default();
    for finding in findings {
        let style = style(finding.outcome);
        writeln!(
            out,
            "{style}{:11}{style:#}  {:width$}  {}",
            finding.outcome,
            finding.rule,
            printable_name(&finding.what)
        )?;
        if finding.outcome == Outcome::Passed {
            continue;
        }
        for name in finding.names.iter().take(MAX_NAMES) {
            writeln!(out, "{:15}- {}", "", printable_name(name))?;
        }
        if finding.names.len() > MAX_NAMES {
            writeln!(out, "{:15}- and {} more: `-o json` has all", "", finding.names.len() - MAX_NAMES)?;
        }
        if let Some(hint) = &finding.hint {
            writeln!(out, "{:13}hint: {}", "", printable_name(hint))?;
        }
    }
    let Summary { passed, failed, not_checked, .. } = summary;
    writeln!(out, "\n{passed} rules passed, {failed} failed, {not_checked} not checked")
}

fn style(outcome: Outcome) -> Style {
    let colour = match outcome {
        Outcome::Passed => AnsiColor::Green,
        Outcome::Failed => AnsiColor::Red,
        Outcome::NotChecked => AnsiColor::Yellow,
    };
    Style::new().fg_color(Some(colour.into()))
}
