//! Pushes bundles and modules to registries, and pulls them into files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_bundle::limits::MAX_ENTRY_BYTES;
use plumbline_bundle::signing::SignatureFile;
use plumbline_bundle::{Bundle, Cache};
use plumbline_core::size::Bytes;
use plumbline_registry::{
    BundleConfig, BundleModule, Client, Component, Kind, Pushed, Reference, media, push_bundle, push_module,
};
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, Explain as _, bundle_error};
use crate::files::{self, NO_ROOM, read_start};
use crate::signing::readable;
use crate::sources;
use crate::sources::registry::{self, Artifact};

const WASM: &[u8] = b"\0asm";
/// The bytes after these in a core module. A component has another version.
const CORE: &[u8] = b"\x01\0\0\0";

/// An artifact that was pushed.
pub struct PushedArtifact {
    /// `bundle` or `module`.
    pub kind: &'static str,
    /// The reference with the digest of the manifest.
    pub reference: Reference,
    /// The digests and the size.
    pub pushed: Pushed,
    /// The number of signatures that were attached.
    pub signatures: usize,
}

/// Pushes the directory of a bundle, a packed bundle with the signatures next to it, or a
/// WebAssembly file.
pub fn push(
    context: &Context,
    path: &Path,
    to: &str,
    annotations: BTreeMap<String, String>,
) -> Result<PushedArtifact, AppError> {
    let to = registry::reference(to)?;
    let client = registry::client(context)?;
    let (kind, pushed, signatures) = if path.is_dir() {
        let wrong = |error| bundle_error(format!("failed to pack `{}`", path.display()), &error);
        let bundle = Bundle::open(path).map_err(wrong)?;
        let tar = NamedTempFile::new().system_error(NO_ROOM)?;
        bundle.pack(BufWriter::new(tar.as_file())).map_err(wrong)?;
        ("bundle", upload_bundle(context, &client, &to, tar.path(), &bundle, annotations)?, 0)
    } else if sources::is_packed(path) {
        let file = File::open(path)
            .usage_error(format_args!("failed to read bundle `{}`", path.display()))
            .hint(CHECK_FILE)?;
        // Unpacked first, so that only bundles that can be installed are pushed.
        let scratch = files::scratch()?;
        let bundle = Cache::at(scratch.path().into())
            .unpacked(BufReader::new(file))
            .map_err(|error| sources::cache_error(format!("failed to push `{}`", path.display()), &error))?;
        let pushed = upload_bundle(context, &client, &to, path, &bundle, annotations)?;
        ("bundle", pushed, attach_signatures(&client, &to, path, pushed)?)
    } else {
        ("module", upload_module(&client, &to, path, annotations)?, 0)
    };
    let reference = to.with_tag(to.tag_or_default()).map_or(to, |to| to.with_digest(pushed.manifest));
    Ok(PushedArtifact { kind, reference, pushed, signatures })
}

fn upload_bundle(
    context: &Context,
    client: &Client,
    to: &Reference,
    tar: &Path,
    bundle: &Bundle,
    mut annotations: BTreeMap<String, String>,
) -> Result<Pushed, AppError> {
    for warning in &bundle.warnings {
        context.reporter.warning(&warning.to_string());
    }
    let description = bundle.definition.description.clone();
    let module = |module: &plumbline_bundle::ModuleFile| BundleModule {
        name: module.name.clone(),
        file: module.file.clone(),
        digest: module.digest.to_string(),
        roles: module.info.roles.names().into_iter().map(str::to_owned).collect(),
        wit: module.info.generation.clone(),
    };
    let config = BundleConfig {
        name: bundle.name().to_owned(),
        description: description.clone(),
        version: annotations.get("org.opencontainers.image.version").cloned(),
        modules: bundle.modules.iter().map(module).collect(),
    };
    annotations.entry(media::TITLE.to_owned()).or_insert_with(|| bundle.name().to_owned());
    if let Some(description) = description {
        annotations.entry("org.opencontainers.image.description".to_owned()).or_insert(description);
    }
    registry::wait(push_bundle(client, to, tar, &config, annotations))
}

fn upload_module(
    client: &Client,
    to: &Reference,
    path: &Path,
    annotations: BTreeMap<String, String>,
) -> Result<Pushed, AppError> {
    let bytes =
        read_start(path, MAX_ENTRY_BYTES + 1).usage_error(format_args!("failed to read `{}`", path.display()))?;
    let none = |why: String| {
        AppError::usage(format!("cannot push `{}`: {why}", path.display())).hint(
            "pass a directory with `plugin.yaml`, a tar that `plumbline plugin pack` wrote, or a WebAssembly file",
        )
    };
    if bytes.len() as u64 > MAX_ENTRY_BYTES {
        return Err(none(format!("it has more than {}", Bytes(MAX_ENTRY_BYTES))));
    }
    let rest =
        bytes.strip_prefix(WASM).ok_or_else(|| none("it is neither a bundle nor a WebAssembly file".to_owned()))?;
    let component = if rest.starts_with(CORE) {
        None
    } else {
        let info = plumbline_sandbox::inspect(&bytes).map_err(|error| none(plumbline_core::chain(&error)))?;
        Some(Component { exports: info.exports, imports: info.imports, target: None })
    };
    registry::wait(push_module(client, to, path, component.as_ref(), annotations))
}

/// Attaches the signatures next to a tar. Returns their number.
fn attach_signatures(client: &Client, to: &Reference, tar: &Path, pushed: Pushed) -> Result<usize, AppError> {
    let attestations = SignatureFile::next_to(tar)
        .read()
        .hint("sign the bundle again, and push again; the bundle itself was pushed")?;
    registry::wait(registry::attach(client, to, pushed.manifest, &attestations))?;
    Ok(attestations.len())
}

/// An artifact that was pulled into a file or directory.
pub struct PulledArtifact {
    /// `bundle` or `module`.
    pub kind: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The artifact.
    pub artifact: Artifact,
}

/// Pulls a bundle or a module into `output`: bundles into a tar, or unpacked if the path does not
/// end in `.tar`. By default, the file is named after the artifact.
pub fn pull(context: &Context, reference: &str, output: Option<&Path>) -> Result<PulledArtifact, AppError> {
    let artifact = registry::fetch(context, reference)?;
    let (kind, path) = match artifact.pulled.kind {
        Kind::Bundle => ("bundle", keep_bundle(context, &artifact, output)?),
        Kind::Module => ("module", keep_module(&artifact, output)?),
    };
    Ok(PulledArtifact { kind, path, artifact })
}

fn keep_bundle(context: &Context, artifact: &Artifact, output: Option<&Path>) -> Result<PathBuf, AppError> {
    let (tar, reference) = (&artifact.pulled.file, &artifact.reference);
    let unpacks = output.filter(|output| output.extension().is_none_or(|end| !end.eq_ignore_ascii_case("tar")));
    if let Some(into) = unpacks {
        let file = reopened(tar)?;
        plumbline_bundle::unpack(BufReader::new(file), into).map_err(|error| {
            let what = format!("failed to unpack `{reference}` into `{}`", into.display());
            let failed = if error.is_systems() { AppError::system(what) } else { AppError::usage(what) };
            failed.because(&error).hint_if(error.hint())
        })?;
        let bundle = Bundle::open(into)
            .map_err(|error| bundle_error(format!("`{reference}` is not a complete bundle"), &error))?;
        bundle.warnings.iter().for_each(|warning| context.reporter.warning(&warning.to_string()));
        return Ok(into.to_owned());
    }
    // Only valid bundles are written.
    let scratch = files::scratch()?;
    let bundle = Cache::at(scratch.path().into())
        .unpacked(BufReader::new(reopened(tar)?))
        .map_err(|error| sources::cache_error(format!("`{reference}` is not a valid bundle"), &error))?;
    let path = output.map_or_else(|| PathBuf::from(bundle.file_name()), Path::to_path_buf);
    write(tar, &path)?;
    let signatures = readable(context, artifact.signatures.as_deref(), "signatures", reference)?;
    if !signatures.is_empty() {
        SignatureFile::next_to(&path).merge(signatures, artifact.pulled.layer.digest.as_bytes())?;
    }
    Ok(path)
}

fn keep_module(artifact: &Artifact, output: Option<&Path>) -> Result<PathBuf, AppError> {
    // The name comes from the reference. One from the registry could be any path.
    let name = artifact.reference.repository().rsplit('/').next().unwrap_or("module");
    let path = output.map_or_else(|| PathBuf::from(format!("{name}.wasm")), Path::to_path_buf);
    write(&artifact.pulled.file, &path)?;
    Ok(path)
}

fn reopened(file: &NamedTempFile) -> Result<File, AppError> {
    file.reopen().system_error("failed to read the downloaded bundle")
}

fn write(from: &NamedTempFile, path: &Path) -> Result<(), AppError> {
    let mut source = reopened(from)?;
    let mut copied = || -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        io::copy(&mut source, &mut file)?;
        file.commit()
    };
    copied().system_error(format_args!("failed to write `{}`", path.display()))
}
