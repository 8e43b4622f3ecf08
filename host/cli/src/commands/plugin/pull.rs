//! `plumbline plugin pull`

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_app::sources::registry::{self, Artifact};
use plumbline_app::sources::{self, bundle_error};
use plumbline_archive::atomic::AtomicFile;
use plumbline_bundle::{Bundle, Cache};
use plumbline_core::size::Bytes;
use plumbline_registry::Kind;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::args::{Global, PullArgs};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Fetches a bundle or a WebAssembly file.
pub(crate) fn pull(args: &PullArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let artifact = registry::fetch(&context, &args.reference)?;
    let (kind, path) = match artifact.pulled.kind {
        Kind::Bundle => ("bundle", a_bundle(&artifact, args.output.as_deref())?),
        Kind::Module => ("module", a_module(&artifact, args.output.as_deref())?),
    };
    let pulled = &artifact.pulled;
    let mut out = anstream::stdout().lock();
    let printed = match args.json {
        true => print_json(
            &json!({
                "kind": kind, "path": path.display().to_string(), "reference": artifact.reference.to_string(),
                "manifest": pulled.manifest, "digest": pulled.layer.digest, "bytes": pulled.layer.size,
                "annotations": pulled.annotations, "signatures": artifact.signatures.is_some(),
            }),
            &mut out,
        ),
        false => writeln!(
            out,
            "pulled: {}\n{kind}: {} ({})\nsigned: {}",
            path.display(),
            pulled.layer.digest,
            Bytes(pulled.layer.size),
            if artifact.signatures.is_some() { "yes; not verified by this" } else { "no" }
        ),
    };
    printed.map_err(|error| AppError::printing("what was pulled cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}

fn a_bundle(artifact: &Artifact, output: Option<&Path>) -> Result<PathBuf, AppError> {
    let (tar, reference) = (&artifact.pulled.file, &artifact.reference);
    let unpacks = output.filter(|output| output.extension().is_none_or(|end| !end.eq_ignore_ascii_case("tar")));
    if let Some(into) = unpacks {
        let file = reopened(tar)?;
        plumbline_bundle::unpack(BufReader::new(file), into).map_err(|error| {
            let what = format!("failed to unpack `{reference}` into `{}`", into.display());
            let told = if error.is_systems() { AppError::system(what) } else { AppError::usage(what) };
            let hint = error.hint().map(str::to_owned);
            let told = told.because(&error);
            match hint {
                Some(hint) => told.hint(hint),
                None => told,
            }
        })?;
        let bundle = Bundle::open(into)
            .map_err(|error| bundle_error(format!("`{reference}` is not a complete bundle"), &error))?;
        bundle.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
        return Ok(into.to_owned());
    }
    // Looked at before it gets a name: what is no bundle is not kept.
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

fn a_module(artifact: &Artifact, output: Option<&Path>) -> Result<PathBuf, AppError> {
    // By the name that the user gave, not by one that the registry gives: that might be any path.
    let name = artifact.reference.repository().rsplit('/').next().unwrap_or("module");
    let path = output.map_or_else(|| PathBuf::from(format!("{name}.wasm")), Path::to_path_buf);
    write(&artifact.pulled.file, &path)?;
    Ok(path)
}

fn reopened(file: &NamedTempFile) -> Result<fs::File, AppError> {
    file.reopen().map_err(|error| AppError::system("what was pulled cannot be read").because(&error))
}

/// Writes a copy, whole or not at all.
fn write(from: &NamedTempFile, path: &Path) -> Result<(), AppError> {
    let mut source = reopened(from)?;
    let mut copied = || -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        io::copy(&mut source, &mut file)?;
        file.commit()
    };
    copied().map_err(|error| AppError::system(format!("failed to write `{}`", path.display())).because(&error))
}
