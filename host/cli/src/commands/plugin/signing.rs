//! Keys, signatures and lock files: `keygen`, `sign`, `verify` and `lock`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_app::report::print_json;
use plumbline_app::signing::{PolicyFile, Target, one_key, policy, signing_key};
use plumbline_app::sources;
use plumbline_app::{AppError, Explain as _};
use plumbline_archive::atomic::write_atomic;
use plumbline_bundle::built_in::Environment;
use plumbline_bundle::signing::{Predicate, sign as sign_subject, write_pair};
use plumbline_bundle::{Lock, Subject};
use serde_json::{Value, json};

use crate::args::shared::{OutputArgs, RegistryArgs, RemoteArgs, context};
use crate::error::FAILED;
use crate::output::print;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct SignArgs {
    /// A packed bundle (`NAME.bundle.tar`), the name of an installed bundle, or `oci://…`
    #[arg(value_name = "TAR|NAME|oci://…")]
    pub(crate) bundle: String,
    /// Private key file from `plugin keygen`; without it, `PLUMBLINE_SIGNING_KEY`, which holds a
    /// PEM key or the name of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Version of the release, for information
    #[arg(long, value_name = "VERSION")]
    pub(crate) release: Option<String>,
    /// URL of the source of the bundle, for information
    #[arg(long, value_name = "URL")]
    pub(crate) source: Option<String>,
    /// Write the signature to this file; without it, next to the tar
    /// (`NAME.bundle.tar.sigstore.json`), with the installed bundle, or to the manifest in the
    /// registry
    #[arg(long, value_name = "FILE")]
    pub(crate) signatures: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// A packed bundle (`NAME.bundle.tar`), the name of an installed bundle, or `oci://…`
    #[arg(value_name = "TAR|NAME|oci://…")]
    pub(crate) bundle: String,
    #[command(flatten)]
    pub(crate) policy: PolicyFile,
    /// Trust this public key for every name, instead of a policy
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub(crate) key: Option<PathBuf>,
    /// Read the signatures from this file. By default, they are next to the tar
    /// (`NAME.bundle.tar.sigstore.json`), in the installed bundle, or in the registry.
    #[arg(long, value_name = "FILE")]
    pub(crate) signatures: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// Name of the files: `NAME.key` (keep it secret) and `NAME.pub` (give it to those who verify)
    #[arg(short, long, alias = "out", value_name = "NAME")]
    pub(crate) file: PathBuf,
    /// Overwrite existing keys: what they signed stays valid, but you can sign nothing more with
    /// them
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// A plugin, as for `plumbline run --plugin`; repeatable
    #[arg(short, long = "plugin", required = true, value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// Write the lock file to this file, or to standard output with `-`
    #[arg(short, long, default_value = plumbline_bundle::LOCK_FILE, value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Lock the definitions of built-in plugins for `run --local` instead of those for clusters
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<ExitCode, AppError> {
    let pair = write_pair(&args.file, args.force)?;
    let (private, public) = (pair.private.display(), pair.public.display());
    let data = json!({
        "key-id": pair.key.id(),
        "private-key": private.to_string(),
        "public-key": public.to_string(),
    });
    let lines = [format!("key:     {}", pair.key.id()), format!("private: {private}"), format!("public:  {public}")];
    args.output.print_result(lines, &data)?;
    say(&format!(
        "`{private}` is not encrypted: move it to your secret store, and give `{public}` to the people who verify bundles"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Adds a signature to those of a bundle.
pub(super) fn sign(args: &SignArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
    let key = signing_key(&context, args.key.as_deref())?;
    let target = Target::find(&context, &args.bundle)?.with_signatures(args.signatures.as_deref());
    let predicate = Predicate {
        version: args.release.clone().or_else(|| target.version.clone()),
        source: args.source.clone(),
        modules: target.modules.clone(),
        signed: Some(Timestamp::now().to_string()),
    };
    let attestation = sign_subject(&target.subject, &predicate, &key)
        .system_error(format_args!("failed to sign `{}`", target.shown))?;
    target.add(&context, attestation)?;

    let (name, digest, place) = (&target.subject.name, target.subject.digest(), target.place());
    let data = json!({
        "name": name,
        "digest": digest,
        "key-id": key.public().id(),
        "signatures": place,
    });
    let lines = [
        format!("signed `{name}` {digest}"),
        format!("key:        {}", key.public().id()),
        format!("signatures: {place}"),
    ];
    args.remote.output.print_result(lines, &data)
}

pub(super) fn verify(args: &VerifyArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
    let trust = match &args.key {
        Some(key) => one_key(key)?,
        None => policy(args.policy.policy.as_deref())?,
    };
    let target = Target::find(&context, &args.bundle)?.with_signatures(args.signatures.as_deref());
    let (name, digest) = (&target.subject.name, target.subject.digest());
    match trust.verify(&target.attestations(&context)?, &target.subject, target.reference.as_deref()) {
        Ok(verified) => {
            let said = &verified.predicate;
            let data = json!({
                "name": name, "digest": digest, "verified": true,
                "key": verified.key, "key-id": verified.key_id, "statement": said,
            });
            let mut lines = vec![
                format!("verified: `{name}` {digest}"),
                format!("key:      `{}` ({})", verified.key, verified.key_id),
            ];
            for (label, said) in
                [("version: ", &said.version), ("source:  ", &said.source), ("signed:  ", &said.signed)]
            {
                lines.extend(said.as_ref().map(|said| format!("{label} {said}")));
            }
            args.remote.output.print_result(lines, &data)
        }
        Err(reasons) => {
            let data = json!({"name": name, "digest": digest, "verified": false, "reasons": reasons});
            let head = format!("not verified: `{name}` {digest}");
            let lines = [head].into_iter().chain(reasons.iter().map(|reason| format!("  {reason}")));
            args.remote.output.print_result(lines, &data)?;
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// Writes a lock file with the exact versions of the plugins.
pub(crate) fn lock(args: &LockArgs) -> Result<ExitCode, AppError> {
    let to_stdout = args.file == Path::new("-");
    if to_stdout {
        args.output.not_after_file()?;
    }
    let context = context(&args.registry);
    let place = if args.local { Environment::Local } else { Environment::Cluster };
    let mut found = Vec::new();
    for reference in &args.plugins {
        let plugin = sources::find(&context, reference, place)?;
        let bundle = plugin.bundle()?;
        found.push((sources::url::without_credentials(reference), plugin, bundle));
    }
    let mut subjects = Vec::new();
    for (reference, found, bundle) in &found {
        let Some(definition) = found.digest else { continue };
        let name = found.source.definition.name.as_str();
        subjects.push(Subject { name, origin: reference, definition, bundle: bundle.as_ref() });
    }
    let cannot = "failed to lock these plugins";
    let lock = Lock::of(&subjects).usage_error(cannot)?;
    let text = lock.to_yaml().usage_error(cannot)?;
    if to_stdout {
        return print("failed to print the lock file", |out| out.write_all(text.as_bytes()));
    }
    write_atomic(&args.file, text.as_bytes())
        .system_error(format_args!("failed to write `{}`", args.file.display()))?;
    if args.output.is_json() {
        let plugins: Vec<Value> = lock
            .plugins()
            .map(|plugin| json!({"name": plugin.name, "bundle": plugin.bundle, "definition": plugin.definition}))
            .collect();
        return print("failed to print the result", |out| {
            print_json(&json!({"path": args.file, "plugins": plugins}), out)
        });
    }
    for plugin in lock.plugins() {
        let digest = plugin.bundle.or(plugin.definition).map(|digest| digest.to_string()).unwrap_or_default();
        say(&format!("locked `{}`: {digest}", plugin.name));
    }
    say(&format!("written: {}", args.file.display()));
    Ok(ExitCode::SUCCESS)
}
