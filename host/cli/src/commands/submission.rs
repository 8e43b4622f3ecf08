//! `plumbline conformance submission`

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use plumbline_app::attest::{AttestationTrust, SubmittedSuite, attest_folder};
use plumbline_app::profiles::{self, BuiltInProfile, ChosenProfile, profile_for, with_default_profile};
use plumbline_app::report::text::{name as printable_name, size};
use plumbline_app::signing::signing_key;
use plumbline_app::submission::{AssembleOptions, Checked, RequiredFrom, Submission, assemble};
use plumbline_app::{AppError, Context};
use plumbline_bundle::signing::PrivateKey;
use plumbline_conformance::submission::{Finding, Outcome, Summary};
use plumbline_core::{Verdict, shell_path};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::shared::{OutputArgs, RegistryArgs, RemoteArgs, context};
use crate::error::{FAILED, INCOMPLETE};
use crate::output::Out;
use crate::ui::say;

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Write the folder of a submission from the archive of a run: for Kubernetes, `vX.Y/PRODUCT` with
    /// four files
    Assemble(SubmissionAssembleArgs),
    /// Check the folder of a submission against the rules for submissions
    Check {
        /// Folder of the submission, for Kubernetes `vX.Y/PRODUCT`, or a folder that contains it
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Suite whose results are submitted.
        #[arg(long, value_name = "PROFILE", help = with_default_profile("Suite whose results are submitted: the name of a profile, a directory or a packed bundle"), conflicts_with = "required")]
        profile: Option<String>,
        #[command(flatten)]
        trust: AttestationTrust,
        #[command(flatten)]
        output: OutputArgs,
        /// Required tests: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's
        /// image [default: the built-in list of the version]
        #[arg(long, value_name = "FILE|image[:REF]")]
        required: Option<RequiredFrom>,
        #[command(flatten)]
        registry: RegistryArgs,
    },
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionAssembleArgs {
    /// Suite whose results are submitted.
    #[arg(long, value_name = "PROFILE", help = with_default_profile("Suite whose results are submitted: the name of a profile, a directory or a packed bundle"), conflicts_with_all = ["product", "folder", "kubernetes_version", "readme", "required", "anyway"])]
    pub(crate) profile: Option<String>,
    /// Private key with which to sign a statement that the files come from this run
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: AssembleOptions,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

pub(crate) fn submission(command: &SubmissionCommand, global: &Global) -> Result<ExitCode, AppError> {
    match command {
        SubmissionCommand::Assemble(args) => {
            let context = context(&args.remote.registry);
            let key = args.sign.as_deref().map(|file| signing_key(&context, Some(file))).transpose()?;
            let built_in = match profile_for(args.profile.as_deref())? {
                ChosenProfile::Suite(built_in) => built_in,
                ChosenProfile::Bundle(reference) => {
                    only_for_cncf(&reference, &of_cncf(&args.options))?;
                    return assemble_profile(&context, args, &reference, key.as_ref());
                }
            };
            let submission = assemble(&context, &args.options)?;
            print_assembled(&submission, args.remote.output)?;
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
        SubmissionCommand::Check { dir, profile, trust, output, required, registry } => {
            let context = context(registry);
            let checked = match profile_for(profile.as_deref())? {
                ChosenProfile::Suite(built_in) => Checked::read(&context, built_in, dir, required.as_ref(), trust)?,
                ChosenProfile::Bundle(reference) => {
                    only_for_cncf(&reference, &[("--required", required.is_some())])?;
                    Checked::of_profile(&context, dir, &reference, trust)?
                }
            };
            print_checked(&checked, *output)?;
            Ok(code_of(&checked, global))
        }
    }
}

/// Checks that none of these options is given. The value next to each says whether it is. They are
/// only for submissions to the CNCF, and `reference` is the profile of another suite.
pub(crate) fn only_for_cncf(reference: &str, options: &[(&str, bool)]) -> Result<(), AppError> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(AppError::usage(format!("`{option}` is for submissions to the CNCF"))
            .hint(format!("remove it; `plumbline conformance show {reference}` lists options"))),
    }
}

/// The options of `assemble` that are only for submissions to the CNCF, and whether each is given.
fn of_cncf(options: &AssembleOptions) -> [(&'static str, bool); 6] {
    [
        ("--product", options.product.is_some()),
        ("--folder", options.folder.is_some()),
        ("--kubernetes-version", options.kubernetes_version.is_some()),
        ("--readme", options.readme.is_some()),
        ("--required", options.required.is_some()),
        ("--anyway", options.anyway),
    ]
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
    reference: &str,
    key: Option<&PrivateKey>,
) -> Result<ExitCode, AppError> {
    let found = profiles::find(context, reference)?;
    let AssembleOptions { archive, dir, .. } = &args.options;
    let submitted = profiles::submit(context, &found, archive, dir)?;
    let folder = submitted.dir.display().to_string();
    let data = json!({"folder": folder, "files": submitted.files});
    args.remote.output.print("failed to print the list of written files", &data, |out| {
        writeln!(out, "submission: {folder}")?;
        submitted.files.iter().try_for_each(|name| writeln!(out, "  {}", printable_name(name)))
    })?;
    if let Some(key) = key {
        attest(context, archive, None, dir, &submitted.suite, key)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what was written. Keys of the document are never removed or renamed (docs/output.md).
pub(crate) fn print_assembled(submission: &Submission, output: OutputArgs) -> Result<ExitCode, AppError> {
    let Submission { written, place, kubernetes, cases } = submission;
    let counted = cases.problem.is_none();
    let folder = written.folder.display().to_string();
    let files: Vec<_> = written.files.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect();
    let data = json!({
        "folder": folder, "kubernetes": kubernetes, "title": place.title(), "files": files,
        "ran": counted.then_some(cases.ran), "skipped": counted.then_some(cases.skipped),
    });
    output.print("failed to print the list of written files", &data, |out| {
        writeln!(out, "submission: {folder}")?;
        writeln!(out, "Kubernetes: {kubernetes}")?;
        if counted {
            writeln!(out, "tests:      {} ran, {} skipped", cases.ran, cases.skipped)?;
        }
        for (name, bytes) in &written.files {
            writeln!(out, "  {name:14} {}", size(*bytes))?;
        }
        writeln!(out, "title:      {}", place.title())?;
        writeln!(out, "next:       plumbline conformance submission check {}", shell_path(&written.folder))
    })
}

/// Returns the findings as data. Keys are never removed or renamed (docs/submission.md).
pub(crate) fn document(checked: &Checked) -> Value {
    json!({
        "folder": checked.folder.display().to_string(),
        "release": checked.release,
        "findings": checked.findings,
        "summary": checked.summary,
    })
}

pub(crate) fn print_checked(checked: &Checked, output: OutputArgs) -> Result<ExitCode, AppError> {
    let text = |out: &mut Out| print_findings(&checked.findings, checked.summary, out);
    output.print("failed to print the findings", &document(checked), text)
}

/// Returns the exit code: 0 if no rule is broken, 1 if one is, and 3 if the required tests are
/// unknown, or, for another suite, the outcome of the run.
pub(crate) fn code_of(checked: &Checked, global: &Global) -> ExitCode {
    global.code(match checked.summary {
        Summary { failed: 1.., .. } => ExitCode::from(FAILED),
        Summary { incomplete: true, .. } => ExitCode::from(INCOMPLETE),
        _ => ExitCode::SUCCESS,
    })
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
    match outcome {
        Outcome::Passed => AnsiColor::Green.on_default(),
        Outcome::Failed => AnsiColor::Red.on_default(),
        Outcome::NotChecked => AnsiColor::Yellow.on_default(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Assemble {
        #[command(flatten)]
        options: AssembleOptions,
    }

    #[test]
    fn options_of_the_cncf_are_errors_for_another_suite() {
        let check = |more: &[&str]| {
            let args = ["assemble", "--archive", "a.tar.gz", "--dir", "sub"];
            let parsed = Assemble::try_parse_from(args.iter().chain(more).copied()).unwrap();
            only_for_cncf("toys", &of_cncf(&parsed.options))
        };
        assert!(check(&[]).is_ok());
        for given in [
            &["--product", "x"][..],
            &["--folder", "x"],
            &["--kubernetes-version", "x"],
            &["--readme", "x"],
            &["--required", "x"],
            &["--anyway"],
        ] {
            let error = check(given).unwrap_err();
            let option = given.first().unwrap();
            assert_eq!(error.summary(), format!("`{option}` is for submissions to the CNCF"));
            assert!(error.is_usage());
            assert!(error.hint_text().unwrap().contains("plumbline conformance show toys"));
        }
    }
}
