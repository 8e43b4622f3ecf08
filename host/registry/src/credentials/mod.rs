//! Credentials for registries, in the files and helpers of Docker and Podman.

mod file;
mod helper;
mod places;

pub use places::CredentialFiles;

use std::path::PathBuf;

/// A secret for a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// A user name and a password.
    Password(String, String),
    /// An identity token, which is exchanged for access tokens (OAuth 2 refresh token).
    Identity(String),
}

// Implemented manually, so that printing the value cannot leak a secret to a log.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Password(..) => "Password",
            Self::Identity(_) => "Identity",
        })
    }
}

/// Credentials and their origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The secret.
    pub secret: Secret,
    /// File or helper that the secret comes from, for messages.
    pub origin: String,
}

impl Credentials {
    /// Describes the credentials for messages, without the secret.
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

/// Error while reading configured credentials. It is always fatal: without credentials, a private
/// repository looks as if it did not exist.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// An existing file is not readable.
    #[error("failed to read credentials in `{}`: {error}", .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        error: std::io::Error,
    },
    /// A file is not a valid credential file.
    #[error("`{}` is not a file of credentials: {why}", .path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong. It never quotes a secret.
        why: String,
    },
    /// A credential helper failed.
    #[error("credential helper `{program}`, named in `{}`, failed: {why}", .path.display())]
    Helper {
        /// Name of the program.
        program: String,
        /// The file that configures the helper.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
}

impl CredentialError {
    /// Returns a hint with the fix.
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
