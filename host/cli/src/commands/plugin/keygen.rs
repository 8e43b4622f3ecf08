//! `plumbline plugin keygen`

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::signing::key_error;
use plumbline_bundle::signing::write_pair;
use serde_json::json;

use crate::args::{Global, KeygenArgs};
use crate::commands::plugin::print::print;
use crate::logging;
use crate::ui::say;

/// Generates a key pair.
pub(super) fn keygen(args: &KeygenArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let pair = write_pair(&args.out, args.force).map_err(|error| key_error(&error))?;
    let (private, public) = (pair.private.display(), pair.public.display());
    let data = json!({
        "key-id": pair.key.id(),
        "private-key": private.to_string(),
        "public-key": public.to_string(),
    });
    let text = format!("key:     {}\nprivate: {private}\npublic:  {public}", pair.key.id());
    print(args.format, &text, &data)?;
    say(&format!(
        "`{private}` is not encrypted: move it to where secrets are kept, and give `{public}` to those who verify"
    ));
    Ok(ExitCode::SUCCESS)
}
