//! `plumbline plugin bake`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::{BakeOptions, BakedImage, bake as bake_image};
use plumbline_app::report::print_json;
use plumbline_core::size::Bytes;
use serde_json::json;

use crate::args::{BakeArgs, Global};
use crate::context::context;
use crate::logging;

/// Bakes bundles into an image.
pub(crate) fn bake(args: &BakeArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let options = BakeOptions {
        references: args.references.clone(),
        base: args.base.clone(),
        platform: args.platform.clone(),
        push: args.push.clone(),
        output: args.output.clone(),
        tag: args.tag.clone(),
    };
    let BakedImage { bundles, image, bytes } = bake_image(&context(&args.registry), &options)?;
    let listed: Vec<_> = bundles.iter().map(|bundle| (bundle.name(), bundle.digest().to_string())).collect();
    let mut out = anstream::stdout().lock();
    let printed = match args.json {
        true => {
            let bundles: Vec<_> = listed.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect();
            let push = args.push.as_deref();
            print_json(
                &json!({"digest": image.digest, "path": args.output, "reference": push, "bundles": bundles}),
                &mut out,
            )
        }
        false => {
            let lines: String = listed.iter().map(|(name, digest)| format!("baked: {name} {digest}\n")).collect();
            let end = match (&args.output, &args.push) {
                (Some(path), _) => format!("written: {} ({})\n", path.display(), Bytes(bytes)),
                (None, Some(to)) => format!("pushed: {to}@{}\n", image.digest),
                (None, None) => String::new(),
            };
            write!(out, "{lines}image: {}\n{end}", image.digest)
        }
    };
    printed.map_err(|error| AppError::printing("what was baked cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
