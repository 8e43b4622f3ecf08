//! The commands that pass plugins on: `pack`, `push`, `pull`, `save`, `load` and `bake`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::bundles::{
    ArtifactLayout, BakeOptions, BakedImage, PulledArtifact, PushedArtifact, bake as bake_image, describe, name_of,
    pull as pull_artifact, push as push_artifact, save as save_artifacts,
};
use plumbline_app::sources::bundle_error;
use plumbline_app::{AppError, Explain as _};
use plumbline_archive::atomic::AtomicFile;
use plumbline_bundle::{Bundle, Packed};
use plumbline_core::size::Bytes;
use serde_json::{Value, json};

use crate::args::shared::{OutputArgs, RemoteArgs, context, insert};
use crate::output::print;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct PackArgs {
    /// Directory of the plugin, with `plugin.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Write the tar to this file, or to standard output with `-` [default: NAME.bundle.tar]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// Directory of a plugin, a packed bundle, or a single WebAssembly file
    #[arg(value_name = "DIR|TAR|FILE.wasm")]
    pub(crate) what: PathBuf,
    /// Target: `oci://HOST[:PORT]/NAME[:TAG]`; without TAG, `latest`
    #[arg(value_name = "OCI")]
    pub(crate) to: String,
    /// Add this annotation to the manifest, such as `org.opencontainers.image.version=1.2`;
    /// repeatable
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    pub(crate) annotations: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

fn annotation(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct PullArgs {
    /// Source: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(value_name = "OCI")]
    pub(crate) reference: String,
    /// Target: a file if the name ends in `.tar`, otherwise a new directory to unpack into
    /// [default: NAME.bundle.tar, or NAME.wasm for a single WebAssembly file]
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    /// Source: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(required = true, value_name = "OCI")]
    pub(crate) references: Vec<String>,
    /// Target: an archive if the name ends in `.tar`, otherwise a directory, which is created, or
    /// extended if it is an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// An OCI layout: a directory, or a tar of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Copy to a registry: `oci://HOST[:PORT]/NAME[:TAG]` for a layout with one bundle, or
    /// `oci://HOST[:PORT]/[PREFIX/]`, ending in `/`, for all bundles under their own names
    #[arg(long, value_name = "OCI", conflicts_with = "install")]
    pub(crate) to: Option<String>,
    /// Install the bundles, so that commands find them by name
    #[arg(long)]
    pub(crate) install: bool,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BakeArgs {
    #[command(flatten)]
    pub(crate) options: BakeOptions,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

pub(crate) fn pack(args: &PackArgs) -> Result<ExitCode, AppError> {
    let to_stdout = args.file.as_deref() == Some(Path::new("-"));
    if to_stdout {
        args.output.not_after_file()?;
    }
    let wrong = |error| bundle_error(format!("failed to pack `{}`", args.dir.display()), &error);
    let bundle = Bundle::open(&args.dir).map_err(wrong)?;
    for warning in &bundle.warnings {
        say(&format!("warning: {warning}"));
    }
    if to_stdout {
        let packed = bundle.pack(BufWriter::new(io::stdout().lock())).map_err(|error| match error {
            plumbline_bundle::BundleError::Write(error) => AppError::printing("failed to write the tar", &error),
            error => wrong(error),
        })?;
        say(&format!("digest: {}", packed.digest));
        return Ok(ExitCode::SUCCESS);
    }
    let path = args.file.clone().unwrap_or_else(|| PathBuf::from(bundle.file_name()));
    let unwritten = format!("failed to write `{}`", path.display());
    let mut file = AtomicFile::create(&path).system_error(&unwritten)?;
    let packed = bundle.pack(BufWriter::new(&mut file)).map_err(wrong)?;
    file.commit().system_error(&unwritten)?;
    let mut data = describe::bundle(&bundle);
    insert(&mut data, "path", path.display().to_string().into());
    args.output.print("failed to print the bundle", &data, |out| print_packed(&bundle, packed, &path, out))
}

fn print_packed(bundle: &Bundle, packed: Packed, path: &Path, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "plugin: {}", bundle.name())?;
    writeln!(out, "bundle: {}", path.display())?;
    writeln!(out, "digest: {}", packed.digest)?;
    writeln!(out, "size:   {}", Bytes(packed.bytes))?;
    writeln!(out, "files:")?;
    for file in &bundle.files {
        writeln!(
            out,
            "  {:>10}  {}{}",
            Bytes(file.bytes).to_string(),
            file.name,
            if file.executable { " (executable)" } else { "" }
        )?;
    }
    Ok(())
}

pub(crate) fn push(args: &PushArgs) -> Result<ExitCode, AppError> {
    let annotations = args.annotations.iter().cloned().collect();
    let PushedArtifact { kind, reference, pushed, signatures } =
        push_artifact(&context(&args.remote.registry), &args.what, &args.to, annotations)?;
    let data = json!({
        "kind": kind, "reference": reference.to_string(), "manifest": pushed.manifest,
        "digest": pushed.content, "bytes": pushed.bytes, "signatures": signatures,
    });
    let there = if pushed.there { ", already present" } else { "" };
    let size = Bytes(pushed.bytes);
    let mut lines = vec![format!("pushed: {reference}"), format!("{kind}: {} ({size}{there})", pushed.content)];
    if signatures > 0 {
        lines.push(format!("signatures: {signatures}"));
    }
    args.remote.output.print_result(lines, &data)
}

pub(crate) fn pull(args: &PullArgs) -> Result<ExitCode, AppError> {
    let PulledArtifact { kind, path, artifact } =
        pull_artifact(&context(&args.remote.registry), &args.reference, args.file.as_deref())?;
    let pulled = &artifact.pulled;
    let data = json!({
        "kind": kind, "path": path.display().to_string(), "reference": artifact.reference.to_string(),
        "manifest": pulled.manifest, "digest": pulled.layer.digest, "bytes": pulled.layer.size,
        "annotations": pulled.annotations, "signatures": artifact.signatures.is_some(),
    });
    let signed = if artifact.signatures.is_some() { "yes (not verified)" } else { "no" };
    let (path, digest, size) = (path.display(), pulled.layer.digest, Bytes(pulled.layer.size));
    let lines = [format!("pulled: {path}"), format!("{kind}: {digest} ({size})"), format!("signed: {signed}")];
    args.remote.output.print_result(lines, &data)
}

pub(crate) fn save(args: &SaveArgs) -> Result<ExitCode, AppError> {
    let mut listing = Listing::new("failed to print the saved bundles", args.remote.output);
    let size = save_artifacts(
        &context(&args.remote.registry),
        &args.references,
        &args.file,
        &mut |reference, digest, referrers| {
            let signed = match referrers {
                0 => String::new(),
                1 => ", with 1 attached artifact".to_owned(),
                count => format!(", with {count} attached artifacts"),
            };
            let data = json!({"reference": reference.to_string(), "digest": digest, "referrers": referrers});
            listing.add(&format!("saved: {reference} is {digest}{signed}"), data)
        },
    )?;
    let data = json!({"path": args.file, "bytes": size.map(|size| size.0), "artifacts": listing.artifacts});
    let size = size.map(|size| format!(" ({size})")).unwrap_or_default();
    args.remote.output.print(listing.failed, &data, |out| writeln!(out, "written: {}{size}", args.file.display()))
}

pub(crate) fn load(args: &LoadArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
    let layout = ArtifactLayout::open(&args.from)?;
    let mut listing = Listing::new("failed to print the loaded bundles", args.remote.output);
    if let Some(to) = &args.to {
        layout.copy(&context, to, &mut |reference, there| {
            let line = format!("loaded: {reference}{}", if there { " (already present)" } else { "" });
            listing.add(&line, json!({"reference": reference.to_string(), "present": there}))
        })?;
    } else if args.install {
        layout.install(&context, &mut |from, installed| {
            let bundle = &installed.bundle;
            let line = format!("installed: `{}` from {from}: {}", bundle.name(), bundle.digest());
            listing.add(&line, json!({"name": bundle.name(), "digest": bundle.digest(), "from": from}))
        })?;
    } else {
        say("next: `--to oci://…` copies it into a registry, `--install` installs it here");
        for entry in &layout.entries {
            let (digest, name) = (&entry.descriptor.digest, name_of(entry));
            listing.add(&format!("{digest} {name}"), json!({"name": name, "digest": digest}))?;
        }
    }
    args.remote.output.print(listing.failed, &json!({"artifacts": listing.artifacts}), |_| Ok(()))
}

/// Artifacts that are processed one after the other. A line is printed at once, so that it is shown
/// even if the next artifact fails. Data is for the end.
struct Listing {
    failed: &'static str,
    output: OutputArgs,
    artifacts: Vec<Value>,
}

impl Listing {
    fn new(failed: &'static str, output: OutputArgs) -> Self {
        Self { failed, output, artifacts: Vec::new() }
    }

    fn add(&mut self, line: &str, data: Value) -> Result<(), AppError> {
        if self.output.is_json() {
            self.artifacts.push(data);
            return Ok(());
        }
        print(self.failed, |out| writeln!(out, "{line}")).map(drop)
    }
}

pub(crate) fn bake(args: &BakeArgs) -> Result<ExitCode, AppError> {
    let options = &args.options;
    let BakedImage { bundles, image, bytes } = bake_image(&context(&args.remote.registry), options)?;
    let listed: Vec<_> = bundles.iter().map(|bundle| (bundle.name(), bundle.digest().to_string())).collect();
    let data: Vec<_> = listed.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect();
    let path = options.file.as_ref().map(|path| path.display().to_string());
    let data = json!({"digest": image.digest, "path": path, "reference": options.push, "bundles": data});
    let lines = listed.iter().map(|(name, digest)| format!("baked: {name} {digest}"));
    let end = match (&options.file, &options.push) {
        (Some(path), _) => Some(format!("written: {} ({})", path.display(), Bytes(bytes))),
        (None, Some(to)) => Some(format!("pushed: {to}@{}", image.digest)),
        (None, None) => None,
    };
    let lines = lines.chain([format!("image: {}", image.digest)]).chain(end);
    args.remote.output.print_result(lines, &data)
}
