//! What went wrong with the cluster, told so that a person can act: what failed, why, what to do.

pub(crate) use plumbline_core::chain;

/// An operation on a cluster that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {what}: {cause}")]
pub struct ClusterError {
    /// What was tried, in words that read after «failed to»: `list nodes`, `create pod `x` in namespace `y``.
    pub what: String,
    /// Why, in one sentence.
    pub cause: String,
    /// What to do, if that can be told.
    pub hint: Option<String>,
    /// The HTTP status that the API server answered with, if it answered.
    pub code: Option<u16>,
}

impl ClusterError {
    /// An error that the API server is not the cause of.
    pub fn new(what: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { what: what.into(), cause: cause.into(), hint: None, code: None }
    }

    /// What the client could not do, explained.
    pub fn api(what: impl Into<String>, error: &kube::Error) -> Self {
        let what = what.into();
        match error {
            kube::Error::Api(status) => {
                let hint = match status.code {
                    401 => Some(
                        "the API server does not accept these credentials: check the kubeconfig's user, or log in again"
                            .to_owned(),
                    ),
                    403 => Some(
                        "this account lacks the permission that the message names: ask for a role with it, or use another account"
                            .to_owned(),
                    ),
                    _ => None,
                };
                let cause = if status.message.is_empty() {
                    format!("the API server answered with code {} ({})", status.code, status.reason)
                } else {
                    status.message.clone()
                };
                Self { what, cause, hint, code: Some(status.code) }
            }
            other => Self { what, cause: chain(other), hint: reach_hint(other), code: None },
        }
    }

    /// With advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The object or resource is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == Some(404)
    }

    /// The account may not do this (401 or 403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code, Some(401 | 403))
    }

    /// The object is there already, or was changed by somebody else (409).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code == Some(409)
    }

    /// Trying again may help: no answer at all, too many requests, or a failure of the server.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.code.is_none_or(|code| code == 429 || code >= 500)
    }
}

fn reach_hint(error: &kube::Error) -> Option<String> {
    matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_)).then(|| {
        "check that the API server's address in the kubeconfig is right and can be reached from here, and that no proxy is in the way"
            .to_owned()
    })
}
