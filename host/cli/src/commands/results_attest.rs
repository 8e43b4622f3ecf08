//! `plumbline results attest`, `verify`, `push` and `pull`: signed statements about archives.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::attest::{
    Accepted, AttestationTrust, TestOutcome, Verification, WrittenAttestation, attest as attest_archive,
    pull as pull_archive, push as push_archive, verify as verify_archive,
};
use plumbline_app::signing::signing_key;
use plumbline_app::{AppError, Context};
use plumbline_bundle::signing::PrivateKey;
use plumbline_core::{Verdict, shell_path};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::shared::{OutputArgs, RegistryArgs, RemoteArgs, context};
use crate::error::FAILED;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct AttestArgs {
    /// The archive of a run (`.tar.gz`)
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: PathBuf,
    /// Private key file from `plugin keygen`; without it, `PLUMBLINE_SIGNING_KEY`, which holds a
    /// PEM key or the name of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// URL with more information about the run, for the statement
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const VERIFY_CODES: &str = "\
Exit codes:
  0  an attestation counts, and the run passed
  1  no attestation counts, or the run did not pass
  2  a file or an option is invalid";

#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_CODES)]
pub(crate) struct VerifyArgs {
    /// The archive of a run (`.tar.gz`)
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: PathBuf,
    /// Read the attestations from this file [default: ARCHIVE.sigstore.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) attestation: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: AttestationTrust,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// Target: `oci://HOST[:PORT]/NAME[:TAG]`; without TAG, `latest`
    #[arg(value_name = "OCI")]
    pub(crate) to: String,
    /// The archive of a run (`.tar.gz`); the attestations next to it are pushed too
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: PathBuf,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PullArgs {
    /// Source: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(value_name = "OCI")]
    pub(crate) reference: String,
    /// Write the archive to this file [default: its name when it was pushed]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

pub(super) fn attest(args: &AttestArgs) -> Result<ExitCode, AppError> {
    let context = context(&RegistryArgs::default());
    let key = signing_key(&context, args.key.as_deref())?;
    let written = attest_archive(&context, &args.archive, &key, None, args.url.as_deref())?;
    let data = json!({
        "archive": args.archive,
        "digest": written.archive,
        "manifest": written.manifest,
        "attestation": written.path,
        "key-id": key.public().id(),
        "result": written.outcome,
        "verdict": written.verdict.as_str(),
    });
    args.output.print_result([text(&written)], &data)
}

/// Signs the archive of a run that has just ended with the verdict `run`, and reports that.
pub(crate) fn attest_run(context: &Context, archive: &Path, key: &PrivateKey, run: Verdict) -> Result<(), AppError> {
    let written = attest_archive(context, archive, key, Some(run), None).map_err(|error| {
        error.hint(format!("the archive is complete: sign it with `plumbline results attest {}`", shell_path(archive)))
    })?;
    say(&text(&written));
    Ok(())
}

fn text(written: &WrittenAttestation) -> String {
    format!("attested: {} ({}), verdict {}", written.path.display(), written.outcome.as_str(), written.verdict)
}

pub(super) fn verify(args: &VerifyArgs, global: &Global) -> Result<ExitCode, AppError> {
    let Verification { archive, accepted } = verify_archive(&args.archive, args.attestation.as_deref(), &args.trust)?;
    let shown = args.archive.display();
    match accepted {
        Ok(accepted) => {
            let passed = accepted.result.result != TestOutcome::Failed;
            args.output.print_result(
                accepted_lines(&accepted, &format!("`{shown}` {archive}")),
                &accepted_data(&accepted, &args.archive, &archive.to_string()),
            )?;
            Ok(if passed { ExitCode::SUCCESS } else { global.code(ExitCode::from(FAILED)) })
        }
        Err(reasons) => {
            let data = json!({"archive": args.archive, "digest": archive, "verified": false, "reasons": reasons});
            let head = format!("not verified: `{shown}` {archive}");
            let lines = [head].into_iter().chain(reasons.iter().map(|reason| format!("  {reason}")));
            args.output.print_result(lines, &data)?;
            Ok(ExitCode::from(FAILED))
        }
    }
}

fn accepted_lines(accepted: &Accepted, archive: &str) -> Vec<String> {
    let Accepted { signer, key_id, signed, result, .. } = accepted;
    let key = key_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    let mut lines = vec![
        format!("verified: {archive}"),
        format!("result:   {}", result.result.as_str()),
        format!("signer:   `{signer}`{key}"),
    ];
    lines.extend(signed.as_ref().map(|signed| format!("signed:   {signed}")));
    if accepted.is_disputed() {
        let all = accepted.all().map(|one| format!("{} by `{}`", one.result.result.as_str(), one.signer));
        let all: Vec<String> = all.collect();
        lines.push(format!("disputed: {}; the worst result counts", all.join(", ")));
    }
    for plugin in accepted.reruns() {
        lines.push(format!("rerun:    `{plugin}` ran only the failed tests of another run"));
    }
    let count =
        |list: &Option<Vec<String>>| list.as_ref().map_or_else(|| "many".to_owned(), |all| all.len().to_string());
    lines.push(format!(
        "tests:    {} passed, {} with excused failures, {} failed",
        count(&result.passed_tests),
        count(&result.warned_tests),
        count(&result.failed_tests)
    ));
    for resource in &result.configuration {
        if let Some(uri) = resource.uri.as_deref().filter(|_| resource.name == "cluster") {
            lines.push(format!("cluster:  {uri}"));
        }
    }
    lines.extend(result.url.as_ref().map(|url| format!("url:      {url}")));
    lines
}

fn accepted_data(accepted: &Accepted, archive: &Path, digest: &str) -> Value {
    json!({
        "archive": archive,
        "digest": digest,
        "verified": true,
        "result": accepted.result.result,
        "signer": accepted.signer,
        "key-id": accepted.key_id,
        "signed": signed(accepted),
        "disputed": accepted.is_disputed(),
        "attestations": accepted.all().map(attestation_data).collect::<Vec<Value>>(),
        "reruns": accepted.reruns(),
        "statement": accepted.result,
    })
}

fn attestation_data(one: &Accepted) -> Value {
    json!({"result": one.result.result, "signer": one.signer, "key-id": one.key_id, "signed": signed(one)})
}

fn signed(one: &Accepted) -> Option<String> {
    one.signed.map(|signed| signed.to_string())
}

pub(super) fn push(args: &PushArgs) -> Result<ExitCode, AppError> {
    let pushed = push_archive(&context(&args.remote.registry), &args.to, &args.archive)?;
    let data = json!({
        "reference": pushed.reference.to_string(),
        "manifest": pushed.manifest,
        "digest": pushed.archive,
        "attestations": pushed.attestations,
    });
    let lines = [
        format!("pushed:       {}", pushed.reference),
        format!("archive:      {}", pushed.archive),
        format!("attestations: {}", pushed.attestations),
    ];
    args.remote.output.print_result(lines, &data)?;
    if pushed.attestations == 0 {
        say("the archive has no attestation: sign it with `plumbline results attest`, and push it again");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn pull(args: &PullArgs) -> Result<ExitCode, AppError> {
    let pulled = pull_archive(&context(&args.remote.registry), &args.reference, args.file.as_deref())?;
    let data = json!({
        "path": pulled.path,
        "digest": pulled.archive,
        "manifest": pulled.manifest,
        "attestation": pulled.attestations,
    });
    let mut lines = vec![format!("archive:     {}", pulled.path.display()), format!("digest:      {}", pulled.archive)];
    lines.extend(pulled.attestations.as_ref().map(|path| format!("attestation: {}", path.display())));
    args.remote.output.print_result(lines, &data)?;
    say(&match &pulled.attestations {
        Some(_) => {
            format!("nothing is verified yet: `plumbline results verify {} --key FILE`", shell_path(&pulled.path))
        }
        None => "the archive has no attestation in this registry".to_owned(),
    });
    Ok(ExitCode::SUCCESS)
}
