//! Whose signatures count.

use std::env;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Envelope, Policy, PolicyError, Subject, Verified, default_policy_path, read_public, verify,
};

use super::key::key_error;
use crate::args::PolicyArg;
use crate::error::CliError;

/// Names the file, where no option does.
const VARIABLE: &str = "PLUMBLINE_POLICY";

/// A policy, and what to call it.
pub(crate) struct Trust {
    policy: Policy,
    /// For messages.
    name: String,
}

/// The policy that is named, else that of the environment, else that of the user.
pub(crate) fn policy(arg: &PolicyArg) -> Result<Trust, CliError> {
    let named = arg.policy.clone().or_else(|| env::var_os(VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from));
    let path = match named {
        Some(path) => path,
        None => {
            let path = default_policy_path(env::var_os("XDG_CONFIG_HOME").as_deref(), env::var_os("HOME").as_deref());
            path.filter(|path| path.exists()).ok_or_else(no_policy)?
        }
    };
    let policy = Policy::load(&path).map_err(|error| {
        let told = match &error {
            PolicyError::Read { source, .. } => CliError::usage(error.to_string()).because(source),
            PolicyError::Wrong { .. } => CliError::usage(error.to_string()),
        };
        told.hint("docs/signing.md shows a policy; one that is not understood as a whole is not used at all")
    })?;
    Ok(Trust { policy, name: format!("policy `{}`", path.display()) })
}

fn no_policy() -> CliError {
    CliError::usage("nothing says whose signatures count").hint(format!(
        "write a policy to `~/.config/plumbline/policy.yaml` (docs/signing.md), or name one with `--policy FILE` or `{VARIABLE}`; `plumbline plugin verify` also takes a single `--key FILE.pub`"
    ))
}

/// One key, for every name.
pub(crate) fn one_key(file: &Path) -> Result<Trust, CliError> {
    let key = read_public(file).map_err(|error| key_error(&error))?;
    let name = file.display().to_string();
    Ok(Trust { policy: Policy::of_key(&name, key), name: format!("key `{name}`") })
}

impl Trust {
    /// What to call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a signature among `envelopes` counts for `subject`, which came from `reference` if it came from a registry; or why none
    /// does, each reason once.
    pub(crate) fn verify(
        &self,
        envelopes: &[Envelope],
        subject: &Subject,
        reference: Option<&str>,
    ) -> Result<Verified, Vec<String>> {
        let Some(keys) = self.policy.keys_for(&subject.name, reference) else {
            return Err(vec![format!("no rule of {} is for this name, so nobody may sign it", self.name)]);
        };
        verify(envelopes, subject, &keys, Timestamp::now())
            .map_err(|not| not.reasons.iter().map(ToString::to_string).collect())
    }
}
