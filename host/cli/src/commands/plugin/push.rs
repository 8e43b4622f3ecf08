//! `plumbline plugin push`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::{PushedArtifact, push as push_artifact};
use plumbline_app::report::print_json;
use plumbline_core::size::Bytes;
use serde_json::json;

use crate::args::{Global, PushArgs};
use crate::context::context;
use crate::logging;

/// Pushes a bundle or a WebAssembly file.
pub(crate) fn push(args: &PushArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let annotations = args.annotations.iter().cloned().collect();
    let PushedArtifact { kind, reference, pushed, signatures } =
        push_artifact(&context(&args.registry), &args.what, &args.to, annotations)?;
    let mut out = anstream::stdout().lock();
    let printed = match args.json {
        true => print_json(
            &json!({
                "kind": kind, "reference": reference.to_string(), "manifest": pushed.manifest,
                "digest": pushed.content, "bytes": pushed.bytes, "signatures": signatures,
            }),
            &mut out,
        ),
        false => {
            let size = Bytes(pushed.bytes);
            let there = if pushed.there { ", was there already" } else { "" };
            let signed = if signatures > 0 { format!("signatures: {signatures}\n") } else { String::new() };
            write!(out, "pushed: {reference}\n{kind}: {} ({size}{there})\n{signed}", pushed.content)
        }
    };
    printed.map_err(|error| AppError::printing("what was pushed cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
