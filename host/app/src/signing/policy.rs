//! Keys and policies: what signs a bundle, and whose signatures count.

use std::env;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Envelope, Policy, PrivateKey, SigningError, Subject, Verified, default_policy_path, is_open_to_others,
    read_private, read_public, verify,
};

use crate::context::Context;
use crate::error::AppError;

/// The variable with the private key itself, or the path of its file.
const KEY_VARIABLE: &str = "PLUMBLINE_SIGNING_KEY";

/// Reads the private key in `file`, or else the key that the environment names. Warns if other
/// users can read the file.
///
/// # Errors
/// There is no key, or it is invalid.
pub fn signing_key(context: &Context, file: Option<&Path>) -> Result<PrivateKey, AppError> {
    if let Some(file) = file {
        return from_file(context, file);
    }
    let Some(value) = env::var_os(KEY_VARIABLE).filter(|value| !value.is_empty()) else {
        return Err(AppError::usage("there is no key to sign with").hint(format!(
            "name one with `--key FILE`, or put it into `{KEY_VARIABLE}`; `plumbline plugin keygen --out NAME` makes a pair"
        )));
    };
    match value.to_str().filter(|text| text.trim_start().starts_with("-----BEGIN")) {
        Some(text) => PrivateKey::from_pem(text.as_bytes())
            .map_err(|error| AppError::usage(format!("invalid key in `{KEY_VARIABLE}`")).because(&error)),
        None => from_file(context, &PathBuf::from(value)),
    }
}

fn from_file(context: &Context, file: &Path) -> Result<PrivateKey, AppError> {
    let key = read_private(file).map_err(|error| key_error(&error))?;
    if is_open_to_others(file) {
        let what = format!("others on this machine may read the private key `{0}`: `chmod 600 {0}`", file.display());
        context.reporter.warning(&what);
    }
    Ok(key)
}

/// An error of a file of keys, signatures or rules. An error while writing is one of the system,
/// every other one of the caller.
pub fn key_error(error: &SigningError) -> AppError {
    let failed = match error.is_systems() {
        true => AppError::system(error.to_string()),
        false => AppError::usage(error.to_string()),
    };
    let failed = match std::error::Error::source(error) {
        Some(source) => failed.because(source),
        None => failed,
    };
    match error {
        SigningError::Exists(_) => failed.hint("choose another name, or replace it with `--force`"),
        _ => failed,
    }
}

/// The variable with the path of the policy, if no option names it.
const POLICY_VARIABLE: &str = "PLUMBLINE_POLICY";

/// Whose signatures count.
pub struct Trust {
    policy: Policy,
    /// The policy or key, for messages.
    name: String,
}

/// Reads the policy in `file`, or else that of the environment, or else that of the user.
///
/// # Errors
/// There is no policy, or it is invalid.
pub fn policy(file: Option<&Path>) -> Result<Trust, AppError> {
    let named = file
        .map(Path::to_owned)
        .or_else(|| env::var_os(POLICY_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from));
    let path = match named {
        Some(path) => path,
        None => {
            let path = default_policy_path(env::var_os("XDG_CONFIG_HOME").as_deref(), env::var_os("HOME").as_deref());
            path.filter(|path| path.exists()).ok_or_else(no_policy)?
        }
    };
    let policy = Policy::load(&path).map_err(|error| {
        key_error(&error)
            .hint("docs/signing.md shows a policy; one that is not understood as a whole is not used at all")
    })?;
    Ok(Trust { policy, name: format!("policy `{}`", path.display()) })
}

fn no_policy() -> AppError {
    AppError::usage("nothing says whose signatures count").hint(format!(
        "write a policy to `~/.config/plumbline/policy.yaml` (docs/signing.md), or name one with `--policy FILE` or `{POLICY_VARIABLE}`; `plumbline plugin verify` also takes a single `--key FILE.pub`"
    ))
}

/// Trusts the public key in `file` for every name.
///
/// # Errors
/// The key cannot be read.
pub fn one_key(file: &Path) -> Result<Trust, AppError> {
    let key = read_public(file).map_err(|error| key_error(&error))?;
    let name = file.display().to_string();
    Ok(Trust { policy: Policy::of_key(&name, key), name: format!("key `{name}`") })
}

impl Trust {
    /// The policy or key, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Verifies `envelopes`, the signatures of `subject`, which was pulled from `reference`.
    ///
    /// # Errors
    /// The reasons why no signature counts, without repetitions.
    pub fn verify(
        &self,
        envelopes: &[Envelope],
        subject: &Subject,
        reference: Option<&str>,
    ) -> Result<Verified, Vec<String>> {
        let Some(keys) = self.policy.keys_for(&subject.name, reference) else {
            return Err(vec![format!("no rule of {} is for this name, so nobody may sign it", self.name)]);
        };
        verify(envelopes, subject, &keys, Timestamp::now())
    }
}
