//! `plumbline plugin sign`

use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::signing::{Target, signing_key};
use plumbline_bundle::signing::{Predicate, sign as sign_subject};
use serde_json::json;

use crate::args::{Global, SignArgs};
use crate::commands::plugin::print::print;
use crate::context::context;
use crate::logging;

/// Adds a signature to those of a bundle.
pub(super) fn sign(args: &SignArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let key = signing_key(&context, args.key.as_deref())?;
    let target = Target::find(&context, &args.bundle)?.with_signatures(args.signatures.as_deref());
    let predicate = Predicate {
        version: args.release.clone().or_else(|| target.version.clone()),
        source: args.source.clone(),
        modules: target.modules.clone(),
        signed: Some(Timestamp::now().to_string()),
    };
    let envelope = sign_subject(&target.subject, &predicate, &key)
        .map_err(|error| AppError::system(format!("failed to sign `{}`", target.shown)).because(&error))?;
    target.add(&context, envelope)?;

    let (name, digest, place) = (&target.subject.name, target.subject.digest(), target.place());
    let data = json!({
        "name": name,
        "digest": digest,
        "key-id": key.public().id(),
        "signatures": place,
    });
    let text = format!("signed `{name}` {digest}\nkey:        {}\nsignatures: {place}", key.public().id());
    print(args.format, &text, &data)?;
    Ok(ExitCode::SUCCESS)
}
