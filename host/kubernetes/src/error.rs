//! The error type for cluster operations. It states what failed, why, and how to fix it.

pub(crate) use plumbline_core::chain;

/// Error while working with a cluster.
#[derive(Debug, thiserror::Error)]
#[error("failed to {what}: {cause}")]
pub struct ClusterError {
    /// The failed operation, which completes "failed to …": ``list nodes``, ``create pod `x` in
    /// namespace `y` ``.
    pub what: String,
    /// The cause, in one sentence.
    pub cause: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
    /// The HTTP status of the API server's response, if there was one.
    pub code: Option<u16>,
    /// The reason in the API server's response, such as `AlreadyExists`, if there was one.
    pub reason: Option<String>,
    /// Whether this process found the cause in objects of the cluster. It lasts until somebody
    /// changes them.
    pub is_lasting: bool,
}

impl ClusterError {
    /// Creates an error that did not come from the API server.
    pub fn new(what: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { what: what.into(), cause: cause.into(), hint: None, code: None, reason: None, is_lasting: false }
    }

    /// Converts an error of the client, with a hint if one is known.
    pub fn api(what: impl Into<String>, error: &kube::Error) -> Self {
        let (cause, hint) = match error {
            kube::Error::Api(status) => {
                let hint = match status.code {
                    401 => Some(
                        "check the user in the kubeconfig, or log in again: the API server rejected these credentials",
                    ),
                    403 => Some("use an account with the permission that the message names, or ask for a role with it"),
                    _ => None,
                };
                let cause = match status.message.as_str() {
                    "" => format!("the API server answered with code {} ({})", status.code, status.reason),
                    message => message.to_owned(),
                };
                (cause, hint)
            }
            kube::Error::Service(_) | kube::Error::HyperError(_) => (
                chain(error),
                Some("check the API server's URL in the kubeconfig, and that no proxy or firewall blocks it"),
            ),
            other => (chain(other), None),
        };
        let (code, reason) = match error {
            kube::Error::Api(status) => (Some(status.code), Some(status.reason.clone())),
            _ => (None, None),
        };
        Self { what: what.into(), cause, hint: hint.map(str::to_owned), code, reason, is_lasting: false }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the cause as one that lasts until somebody changes objects of the cluster.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { is_lasting: true, ..self }
    }

    /// Returns true if the object or resource does not exist (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == Some(404)
    }

    /// Returns true if the account lacks permission (401 or 403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code, Some(401 | 403))
    }

    /// Returns true if the object already exists, or another client changed it (409).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code == Some(409)
    }

    /// Returns true if an object of that name exists.
    #[must_use]
    pub fn already_exists(&self) -> bool {
        self.reason.as_deref() == Some("AlreadyExists")
    }

    /// Returns true if a retry may help: there was no response, too many requests (429), or a
    /// server error.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        !self.is_lasting && self.code.is_none_or(|code| code == 429 || code >= 500)
    }
}
