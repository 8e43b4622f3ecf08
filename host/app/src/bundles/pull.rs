//! Pulls bundles and modules from registries into files.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_bundle::{Bundle, Cache};
use plumbline_registry::Kind;
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::error::AppError;
use crate::sources::registry::{self, Artifact};
use crate::sources::{self, bundle_error};

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
///
/// # Errors
/// The registry does not have the artifact, it is invalid, or the file cannot be written.
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
            let hint = error.hint().map(str::to_owned);
            let failed = failed.because(&error);
            match hint {
                Some(hint) => failed.hint(hint),
                None => failed,
            }
        })?;
        let bundle = Bundle::open(into)
            .map_err(|error| bundle_error(format!("`{reference}` is not a complete bundle"), &error))?;
        bundle.warnings.iter().for_each(|warning| context.reporter.warning(&warning.to_string()));
        return Ok(into.to_owned());
    }
    // Only valid bundles are written.
    let scratch = tempfile::tempdir().map_err(|error| AppError::system("nothing can be unpacked").because(&error))?;
    let bundle = Cache::at(scratch.path().into())
        .unpacked(BufReader::new(reopened(tar)?))
        .map_err(|error| sources::cache_error(format!("`{reference}` is not a valid bundle"), &error))?;
    let path = output.map_or_else(|| PathBuf::from(bundle.file_name()), Path::to_path_buf);
    write(tar, &path)?;
    if let Some(signatures) = &artifact.signatures {
        let mut beside: OsString = path.clone().into();
        beside.push(".dsse.json");
        fs::write(&beside, signatures).map_err(|error| {
            AppError::system(format!("failed to write `{}`", beside.to_string_lossy())).because(&error)
        })?;
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

fn reopened(file: &NamedTempFile) -> Result<fs::File, AppError> {
    file.reopen().map_err(|error| AppError::system("what was pulled cannot be read").because(&error))
}

/// Writes a copy atomically.
fn write(from: &NamedTempFile, path: &Path) -> Result<(), AppError> {
    let mut source = reopened(from)?;
    let mut copied = || -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        io::copy(&mut source, &mut file)?;
        file.commit()
    };
    copied().map_err(|error| AppError::system(format!("failed to write `{}`", path.display())).because(&error))
}
