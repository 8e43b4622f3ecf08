//! `plumbline plugin sign`

use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_bundle::signing::{Predicate, sign as sign_subject};
use serde_json::json;

use crate::args::{Global, SignArgs};
use crate::commands::plugin::print::print;
use crate::error::CliError;
use crate::logging;
use crate::signed::{Target, signing_key};
use crate::sources::remote;

/// Adds a signature to those of a bundle.
pub(super) fn sign(args: &SignArgs, global: &Global) -> Result<ExitCode, CliError> {
    logging::init(global);
    remote::use_registries(&args.registry);
    let key = signing_key(args.key.as_deref())?;
    let target = Target::find(&args.bundle)?.with_signatures(args.signatures.as_deref());
    let predicate = Predicate {
        version: args.release.clone().or_else(|| target.version.clone()),
        source: args.source.clone(),
        modules: target.modules.clone(),
        signed: Some(Timestamp::now().to_string()),
    };
    let envelope = sign_subject(&target.subject, &predicate, &key)
        .map_err(|error| CliError::system(format!("failed to sign `{}`", target.shown)).because(&error))?;
    target.add(envelope)?;

    let (name, digest, place) = (&target.subject.name, target.subject.digest(), target.place());
    let data = json!({
        "name": name,
        "digest": digest,
        "key-id": key.public().id().as_str(),
        "signatures": place,
    });
    let text = format!("signed `{name}` {digest}\nkey:        {}\nsignatures: {place}", key.public().id());
    print(args.format, &text, &data)?;
    Ok(ExitCode::SUCCESS)
}
