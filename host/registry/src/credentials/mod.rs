//! Who we are to a registry: as Docker and Podman keep it.

mod file;
mod helper;
mod places;

pub use places::CredentialFiles;

use std::path::PathBuf;

/// What is shown to a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// A name and a password.
    Password(String, String),
    /// A token that is exchanged for others (OAuth 2 refresh token).
    Identity(String),
}

// By hand, as that of what holds it: a secret must not get into a log because somebody prints something.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Password(..) => "Password",
            Self::Identity(_) => "Identity",
        })
    }
}

/// Credentials and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The secret.
    pub secret: Secret,
    /// For messages: the file or the helper.
    pub origin: String,
}

impl Credentials {
    /// For messages: whose, and where from, without the secret.
    pub(crate) fn told(&self) -> String {
        match &self.secret {
            Secret::Password(user, _) => {
                let user = plumbline_core::text::excerpt(user, 100);
                format!("user `{user}` with the password from {}", self.origin)
            }
            Secret::Identity(_) => format!("the identity token from {}", self.origin),
        }
    }
}

/// Why configured credentials could not be had. Never a reason to go on without them: what is then missing looks as if it did not exist.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// A file that is there cannot be read.
    #[error("failed to read credentials in `{}`: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file is no such file.
    #[error("`{}` is not a file of credentials: {why}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong; no secret is quoted.
        why: String,
    },
    /// A helper did not give what it was asked for.
    #[error("credential helper `{program}`, named in `{}`, failed: {why}", .path.display())]
    Helper {
        /// The program.
        program: String,
        /// The file that names it.
        path: PathBuf,
        /// What happened.
        why: String,
    },
}

impl CredentialError {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { .. } => {
                "make the file readable, or name another: `REGISTRY_AUTH_FILE`, `DOCKER_CONFIG`".to_owned()
            }
            Self::Malformed { .. } => "`docker login` or `podman login` writes such a file again".to_owned(),
            Self::Helper { program, .. } => {
                format!("install `{program}`, try it by hand (`echo HOST | {program} get`), or take it out of the file")
            }
        })
    }
}
