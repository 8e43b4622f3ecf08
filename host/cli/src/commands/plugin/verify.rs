//! `plumbline plugin verify`

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::signing::{Target, one_key, policy};
use serde_json::json;

use crate::args::{Global, VerifyArgs};
use crate::commands::plugin::print::print;
use crate::context::context;
use crate::logging;

/// Exit code if no signature counts.
const NOT_VERIFIED: u8 = 1;

/// Checks whether a signature of a bundle counts.
pub(super) fn verify(args: &VerifyArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let trust = match &args.key {
        Some(key) => one_key(key)?,
        None => policy(args.policy.policy.as_deref())?,
    };
    let target = Target::find(&context, &args.bundle)?.with_signatures(args.signatures.as_deref());
    let (name, digest) = (&target.subject.name, target.subject.digest());
    match trust.verify(&target.envelopes(&context)?, &target.subject, target.reference.as_deref()) {
        Ok(verified) => {
            let said = &verified.predicate;
            let data = json!({
                "name": name, "digest": digest, "verified": true,
                "key": verified.key, "key-id": verified.key_id, "statement": said,
            });
            let mut text = format!("verified: `{name}` {digest}\nkey:      `{}` ({})", verified.key, verified.key_id);
            for (label, said) in
                [("version: ", &said.version), ("source:  ", &said.source), ("signed:  ", &said.signed)]
            {
                if let Some(said) = said {
                    // The signer's text goes to a terminal, so its control characters are escaped.
                    text.push_str(&format!("\n{label} {}", said.escape_debug()));
                }
            }
            print(args.format, &text, &data)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(reasons) => {
            let data = json!({"name": name, "digest": digest, "verified": false, "reasons": reasons});
            let mut text = format!("not verified: `{name}` {digest}");
            for reason in &reasons {
                text.push_str(&format!("\n  {}", reason.replace(char::is_control, "\u{fffd}")));
            }
            print(args.format, &text, &data)?;
            Ok(ExitCode::from(NOT_VERIFIED))
        }
    }
}
