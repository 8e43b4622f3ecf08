//! Reports each kind of failure once, until it is over.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::ClusterError;

/// The failures since the last success.
#[derive(Debug, Default)]
pub(super) struct FailureLog {
    told: BTreeSet<Option<u16>>,
}

impl FailureLog {
    /// Records a failure, and logs it if its kind (the status code of the response) is new.
    pub(super) fn failed(&mut self, error: &ClusterError, consequence: &str) -> bool {
        let new = self.told.insert(error.code);
        if new {
            let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
            tracing::warn!("{error}: {consequence}{hint}");
        }
        new
    }

    /// Records a success, and logs it if there was a failure before.
    pub(super) fn succeeded(&mut self, what: &str) -> bool {
        let over = !self.told.is_empty();
        if over {
            tracing::info!("{what} works again");
            self.told.clear();
        }
        over
    }
}

/// Returns the result of `call`, or an error if it takes longer than `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    what: &str,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result.map_err(|error| ClusterError::api(what, &error)),
        Err(_) => Err(ClusterError::new(what, format!("no answer within {limit:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_once_until_it_is_over() {
        let error = |code| ClusterError { code, ..ClusterError::new("write", "no") };
        let mut complaints = FailureLog::default();
        assert!(!complaints.succeeded("it"));
        assert!(complaints.failed(&error(Some(403)), "so"));
        assert!(!complaints.failed(&error(Some(403)), "so"));
        assert!(complaints.failed(&error(None), "so"));
        assert!(complaints.succeeded("it"));
        assert!(complaints.failed(&error(Some(403)), "so"));
    }
}
