//! Turns an API server error into one sentence with a hint.

use plumbline_aggregator::DispatchError;

use crate::error::ClusterError;

/// Returns the error with what failed, why, and how to fix it.
pub(super) fn explain(error: &ClusterError, namespace: &str) -> DispatchError {
    let advice = advice(error, namespace).or_else(|| error.hint.clone());
    DispatchError::new(match advice {
        Some(advice) => format!("failed to {}: {} (hint: {advice})", error.what, error.cause),
        None => format!("failed to {}: {}", error.what, error.cause),
    })
}

/// Returns a hint for status 403, which has several causes besides a missing permission.
fn advice(error: &ClusterError, namespace: &str) -> Option<String> {
    if error.code != Some(403) {
        return None;
    }
    let cause = error.cause.as_str();
    if let Some((_, rest)) = cause.split_once(" cannot ") {
        // `User "U" cannot VERB resource "RESOURCE" in API group "GROUP" in the namespace "N"`
        let mut quoted = rest.split('"');
        let verb = quoted.next().and_then(|words| words.split_whitespace().next())?;
        let resource = quoted.next()?;
        let group = quoted.nth(1).filter(|group| !group.is_empty()).map(|group| format!(" of `{group}`"));
        return Some(format!(
            "the aggregator's account needs the permission to `{verb}` `{resource}`{} in namespace `{namespace}`",
            group.unwrap_or_default()
        ));
    }
    let known = [
        (
            "violates PodSecurity",
            "the namespace admits no such pods: give it a wider Pod Security level, or the plugin a `podSpec` and a `securityContext` that the level admits",
        ),
        ("exceeded quota", "raise the quota of the namespace, or let the plugin ask for less"),
        (
            "must specify",
            "the quota of the namespace wants every container to say what it needs: give the plugin `resources`",
        ),
        ("being terminated", "the namespace is being deleted: use another, or wait until it is gone"),
        ("security context constraint", "let the account use a security context constraint that admits the plugin"),
    ];
    known.iter().find(|(sign, _)| cause.contains(sign)).map(|(_, advice)| (*advice).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(cause: &str, code: u16) -> String {
        let error = ClusterError { what: "create pod `p`".into(), cause: cause.into(), hint: None, code: Some(code) };
        explain(&error, "ns").message
    }

    #[test]
    fn a_missing_permission_is_named() {
        let cause = "daemonsets.apps is forbidden: User \"system:serviceaccount:ns:sa\" cannot create resource \"daemonsets\" in API group \"apps\" in the namespace \"ns\"";
        let message = told(cause, 403);
        assert!(message.contains(cause), "{message}");
        assert!(message.contains("permission to `create` `daemonsets` of `apps` in namespace `ns`"), "{message}");
        let core = told(
            "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\" in the namespace \"ns\"",
            403,
        );
        assert!(core.contains("to `create` `pods` in namespace"), "{core}");
    }

    #[test]
    fn other_refusals_have_other_advice_or_none() {
        assert!(
            told("pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": host namespaces", 403)
                .contains("Pod Security level")
        );
        assert!(told("pods \"p\" is forbidden: exceeded quota: q, requested: pods=1", 403).contains("quota"));
        assert!(!told("an odd webhook said no: cannot", 403).contains("hint"));
        assert!(!told("Pod \"p\" is invalid: spec.containers[0].image: Required value", 422).contains("hint"));
    }
}
