//! The key that signs.

use std::env;
use std::path::{Path, PathBuf};

use plumbline_bundle::signing::{KeyFileError, PrivateKey, is_open_to_others, read_private};

use crate::error::CliError;
use crate::ui::say;

/// Holds the key itself, as pipelines keep it, or names its file.
const VARIABLE: &str = "PLUMBLINE_SIGNING_KEY";

/// The key in `file`, else what the environment has.
pub(crate) fn signing_key(file: Option<&Path>) -> Result<PrivateKey, CliError> {
    if let Some(file) = file {
        return from_file(file);
    }
    let Some(value) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return Err(CliError::usage("there is no key to sign with").hint(format!(
            "name one with `--key FILE`, or put it into `{VARIABLE}`; `plumbline plugin keygen --out NAME` makes a pair"
        )));
    };
    match value.to_str().filter(|text| text.trim_start().starts_with("-----BEGIN")) {
        Some(text) => PrivateKey::from_pem(text.as_bytes())
            .map_err(|error| CliError::usage(format!("invalid key in `{VARIABLE}`")).because(&error)),
        None => from_file(&PathBuf::from(value)),
    }
}

fn from_file(file: &Path) -> Result<PrivateKey, CliError> {
    let key = read_private(file).map_err(|error| key_error(&error))?;
    if is_open_to_others(file) {
        say(&format!(
            "warning: others on this machine may read the private key `{0}`: `chmod 600 {0}`",
            file.display()
        ));
    }
    Ok(key)
}

/// A key file that is not there or holds something else is a wrong argument; one that cannot be written is not.
pub(crate) fn key_error(error: &KeyFileError) -> CliError {
    let told = match error {
        KeyFileError::Write { .. } | KeyFileError::Generate(_) => CliError::system(error.to_string()),
        _ => CliError::usage(error.to_string()),
    };
    let told = match std::error::Error::source(error) {
        Some(source) => told.because(source),
        None => told,
    };
    match error {
        KeyFileError::Exists(_) => told.hint("choose another name, or replace it with `--force`"),
        _ => told,
    }
}
