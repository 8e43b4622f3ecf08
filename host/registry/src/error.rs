//! Errors of registries and layouts.

use std::io;
use std::path::Path;

use plumbline_core::{Digest, DigestError};

use crate::limits::MAX_MESSAGE_CHARS;
use crate::reference::ReferenceError;

/// Error with the operation and its cause. Its message reads after "failed to".
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct RegistryError {
    /// The operation and its object: ``pull manifest `oci://h/n:1` ``.
    pub what: String,
    /// The cause.
    #[source]
    pub cause: Box<Cause>,
}

/// Cause of an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The reference is invalid.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A digest is invalid or has another algorithm.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// Configured credentials are not available.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// 401: authentication failed.
    #[error("the registry rejected {credentials}{message}")]
    Unauthorized {
        /// The credentials that were sent, and their origin.
        credentials: String,
        /// Message of the registry. Can be empty.
        message: String,
    },
    /// 403: the user has no permission.
    #[error("the registry denied access{0}")]
    Denied(String),
    /// 404: the object does not exist.
    #[error("not found{0}")]
    NotFound(String),
    /// Any other error status.
    #[error("the server responded with {status}{message}")]
    Status {
        /// The HTTP status code.
        status: u16,
        /// Message of the server. Can be empty.
        message: String,
    },
    /// The connection failed, also after all retries.
    #[error("{0}")]
    Connection(String),
    /// The server's certificate is not trusted, or TLS is not available.
    #[error("{0}")]
    Tls(String),
    /// The response took too long. Holds the limit in seconds.
    #[error("timed out after {0} s")]
    Slow(u64),
    /// A server redirects to a URL that must not be used.
    #[error("the server redirects to `{to}`, {why}")]
    Redirect {
        /// Target of the redirect, without its query.
        to: String,
        /// Why the target is rejected.
        why: &'static str,
    },
    /// A registry asks to send its credentials to another host.
    #[error("registry `{registry}` requests its credentials for another host, `{host}`: they were not sent")]
    TokenServer {
        /// The registry.
        registry: String,
        /// The host that the registry specifies, `HOST` or `HOST:PORT`.
        host: String,
    },
    /// The object is larger than the limit.
    #[error("it is too large: more than {0} bytes")]
    TooLarge(u64),
    /// The size differs from the descriptor.
    #[error("expected {said} bytes, received {}", if *.more { "more".to_owned() } else { .got.to_string() })]
    Size {
        /// Size in the descriptor.
        said: u64,
        /// Number of bytes received before the transfer stopped.
        got: u64,
        /// Whether there are more bytes than expected.
        more: bool,
    },
    /// The digest differs from the expected one.
    #[error("wrong digest {got}: expected {wanted}")]
    Mismatch {
        /// The expected digest.
        wanted: Digest,
        /// The actual digest.
        got: Digest,
    },
    /// A document is malformed.
    #[error("{0}")]
    Malformed(String),
    /// The artifact is valid but has an unsupported kind.
    #[error("{0}")]
    Kind(String),
    /// A setting is invalid.
    #[error("{0}")]
    Setting(String),
    /// Access to a file failed.
    #[error("{path}: {error}")]
    File {
        /// Path of the file, in backticks.
        path: String,
        /// The underlying I/O error.
        error: io::Error,
    },
}

/// Error while reading configured credentials. It is always fatal: without credentials, a private
/// repository looks as if it did not exist. The message never quotes a secret.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CredentialError {
    pub(crate) message: String,
    /// Hint with the fix.
    pub(crate) hint: String,
}

/// Returns the message of a server to append to an error: `: MESSAGE`, truncated and without
/// control characters. Empty if there is none.
pub(crate) fn server_message(text: &str) -> String {
    let message = plumbline_core::text::excerpt(text.trim(), MAX_MESSAGE_CHARS);
    if message.is_empty() { message } else { format!(": {message}") }
}

impl Cause {
    /// Adds the operation that failed.
    pub fn of(self, what: impl Into<String>) -> RegistryError {
        RegistryError { what: what.into(), cause: Box::new(self) }
    }

    /// Returns a function for `map_err` that adds the path of a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = format!("`{}`", path.display());
        move |error| Self::File { path, error }
    }
}

impl RegistryError {
    /// Returns whether the object does not exist, for callers that only check its existence.
    pub fn is_not_found(&self) -> bool {
        matches!(*self.cause, Cause::NotFound(_))
    }

    /// Returns whether the cause is the user's input, not a server or a disk.
    pub fn is_usage(&self) -> bool {
        matches!(
            *self.cause,
            Cause::Reference(_) | Cause::Digest(_) | Cause::Kind(_) | Cause::Setting(_) | Cause::NotFound(_)
        )
    }

    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match &*self.cause {
            Cause::Reference(_) => "write a reference such as `oci://registry.example.com/team/name:1.2`",
            Cause::Credentials(error) => return Some(error.hint.clone()),
            Cause::Unauthorized { .. } => {
                "log in with `docker login HOST` or `podman login HOST`; docs/registries.md lists where Plumbline reads credentials"
            }
            Cause::Denied(_) => "log in with an account that has permission for this",
            Cause::NotFound(_) => "check the name and the tag; if the repository is private, log in",
            Cause::Status { status: 429, .. } => "the registry limits requests: try again later, or log in",
            Cause::Tls(_) => {
                "pass the registry's CA with `--registry-ca FILE`; to allow plain HTTP, pass `--insecure-registry HOST[:PORT]`"
            }
            Cause::Redirect { .. } => "to allow plain HTTP, pass `--insecure-registry HOST[:PORT]`",
            Cause::TokenServer { registry, host } => {
                return Some(format!("if you trust that host, pass `--registry-token-server {registry}={host}`"));
            }
            Cause::Mismatch { .. } | Cause::Size { .. } => {
                "the content was damaged or changed, and was not used: try again, or ask the owner of the registry"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
