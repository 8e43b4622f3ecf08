//! What can go wrong with registries and layouts, by name.

use std::io;
use std::path::Path;

use crate::credentials::CredentialError;
use crate::digest::{Digest, DigestError};
use crate::limits::MAX_TOLD_CHARS;
use crate::reference::ReferenceError;

/// What was being done, and why it could not be. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct RegistryError {
    /// What could not be done, with the object: ``pull manifest `oci://h/n:1` ``.
    pub what: String,
    /// Why.
    #[source]
    pub cause: Box<Cause>,
}

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The reference is none.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A digest is none, or of another algorithm.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// Credentials are configured but could not be had.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// 401: who asks is not known.
    #[error("the registry does not accept {credentials}{told}")]
    Unauthorized {
        /// What was tried, and where it comes from.
        credentials: String,
        /// The registry's words, or nothing.
        told: Told,
    },
    /// 403: who asks may not.
    #[error("the registry forbids it{0}")]
    Denied(Told),
    /// 404.
    #[error("it is not there{0}")]
    NotFound(Told),
    /// Any other status.
    #[error("the server answers {status}{told}")]
    Status {
        /// The number.
        status: u16,
        /// The server's words, or nothing.
        told: Told,
    },
    /// No connection, or one that broke, after all attempts.
    #[error("{0}")]
    Connection(String),
    /// The server's certificate is not trusted, or there is no encryption to be had.
    #[error("{0}")]
    Tls(String),
    /// The server did not give what it promised in time.
    #[error("it exceeded {0} s")]
    Slow(u64),
    /// A server sends somewhere where nothing of ours may go.
    #[error("the server sends to `{to}`, {why}")]
    Redirect {
        /// Where to, without a query.
        to: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A registry wants its credentials to go to another host.
    #[error("registry `{registry}` asks to send its credentials to another host, `{host}`; nothing was sent")]
    TokenServer {
        /// The registry.
        registry: String,
        /// The host that it names, `HOST` or `HOST:PORT`.
        host: String,
    },
    /// More bytes than there may be.
    #[error("it has more than {limit} bytes, the most that is taken")]
    TooLarge {
        /// The most.
        limit: u64,
    },
    /// Not as many bytes as were promised.
    #[error("{said} bytes were promised, and {} came", if *.more { "more".to_owned() } else { .got.to_string() })]
    Size {
        /// What the descriptor says.
        said: u64,
        /// What came before it was cut off.
        got: u64,
        /// Whether there was more.
        more: bool,
    },
    /// Other bytes than were asked for.
    #[error("the content is {got}, and {wanted} was wanted")]
    Mismatch {
        /// What was asked for or promised.
        wanted: Digest,
        /// What came.
        got: Digest,
    },
    /// A document that is not what it should be.
    #[error("{0}")]
    Malformed(String),
    /// A sound artefact, but of a kind that is of no use here.
    #[error("{0}")]
    Kind(String),
    /// A setting that cannot be used.
    #[error("{0}")]
    Setting(String),
    /// A file.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// What happened.
        error: io::Error,
    },
}

/// A server's own words, cut to a length that fits into a message and free of control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told(String);

impl Told {
    pub(crate) fn new(text: &str) -> Self {
        Self(plumbline_core::text::excerpt(text.trim(), MAX_TOLD_CHARS))
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

impl Cause {
    /// This, of something that was being done.
    #[must_use]
    pub fn of(self, what: impl Into<String>) -> RegistryError {
        RegistryError { what: what.into(), cause: Box::new(self) }
    }

    /// For `map_err`: what happened to a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = format!("`{}`", path.display());
        move |error| Self::File { path, error }
    }
}

impl RegistryError {
    /// Whether what was looked for is not there: no error for somebody who only wants to know.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(*self.cause, Cause::NotFound(_))
    }

    /// Whether what the user named or gave is wrong, and not a server or a disk.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            *self.cause,
            Cause::Reference(_) | Cause::Digest(_) | Cause::Kind(_) | Cause::Setting(_) | Cause::NotFound(_)
        )
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match &*self.cause {
            Cause::Reference(_) => "a reference looks like `oci://registry.example.com/team/name:1.2`",
            Cause::Credentials(error) => return error.hint(),
            Cause::Unauthorized { .. } => {
                "`docker login HOST` or `podman login HOST` writes credentials where they are found; docs/registries.md lists the places"
            }
            Cause::Denied(_) => "the account that is logged in has no right to do this there",
            Cause::NotFound(_) => {
                "check the name and the tag; some registries hide from strangers what is there: log in"
            }
            Cause::Status { status: 429, .. } => {
                "the registry limits how often it is asked: try again later, or log in"
            }
            Cause::Tls(_) => {
                "name the registry's authority with `--registry-ca FILE`; a registry over plain HTTP must be named: `--insecure-registry HOST[:PORT]`"
            }
            Cause::Redirect { .. } => "a host over plain HTTP must be named: `--insecure-registry HOST[:PORT]`",
            Cause::TokenServer { registry, host } => {
                return Some(format!(
                    "if you trust that host, name it with `--registry-token-server {registry}={host}`"
                ));
            }
            Cause::Mismatch { .. } | Cause::Size { .. } => {
                "somebody on the way or the registry itself has changed the content; nothing of it was used"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
