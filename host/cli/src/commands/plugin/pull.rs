//! `plumbline plugin pull`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::{PulledArtifact, pull as pull_artifact};
use plumbline_app::report::print_json;
use plumbline_core::size::Bytes;
use serde_json::json;

use crate::args::{Global, PullArgs};
use crate::context::context;
use crate::logging;

/// Fetches a bundle or a WebAssembly file.
pub(crate) fn pull(args: &PullArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let PulledArtifact { kind, path, artifact } =
        pull_artifact(&context(&args.registry), &args.reference, args.output.as_deref())?;
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
