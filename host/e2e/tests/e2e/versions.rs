//! What depends on the version of the API server. Tests of a feature are skipped on a server that
//! does not have it by default.

use crate::bed::Bed;
use crate::settings::loudly;

/// A feature that servers have by default from a minor version on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Feature {
    what: &'static str,
    since: u32,
}

/// A change of the resources of a running pod.
pub(crate) const RESIZE: Feature = Feature { what: "the subresource `resize` of pods", since: 33 };

/// The oldest checklist in the profile `ai-conformance`.
pub(crate) const AI_CHECKLIST: Feature = Feature { what: "a checklist of Kubernetes AI Conformance", since: 33 };

/// The rules in the experimental definitions of the Gateway API 1.6.
pub(crate) const GATEWAY_API: Feature = Feature { what: "a definition of the Gateway API 1.6", since: 32 };

impl Feature {
    /// Returns whether the server has the feature. If not, prints that `test` is skipped.
    pub(crate) fn is_on(self, bed: &Bed, test: &str) -> bool {
        let (Self { what, since }, minor) = (self, bed.minor());
        if minor < since {
            loudly(&format!("SKIPPED {test}: {what} needs Kubernetes 1.{since}, and the server has 1.{minor}"));
        }
        minor >= since
    }
}
