//! The requirements of the programme, by version of Kubernetes.
//!
//! They follow the checklists `docs/AIConformance-1.33.yaml` to `1.37.yaml` of
//! <https://github.com/cncf/k8s-ai-conformance>, and the tests of
//! <https://github.com/kubernetes-sigs/ai-conformance>.

use std::fmt;

/// The first minor version of Kubernetes with a checklist.
const FIRST: u32 = 33;

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Must,
    Should,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        })
    }
}

/// A requirement.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub(crate) id: &'static str,
    pub(crate) category: &'static str,
    /// What the requirement is about, in a few words.
    pub(crate) subject: &'static str,
    /// The test of the programme's suite that covers the requirement.
    pub(crate) test: Option<&'static str>,
    /// Whether a MUST may be `N/A`, with a reason.
    pub(crate) conditional: bool,
    /// The levels for the versions from [`FIRST`] on.
    levels: [Option<Level>; 5],
}

const M: Option<Level> = Some(Level::Must);
const S: Option<Level> = Some(Level::Should);
const N: Option<Level> = None;

/// The requirements of all versions, in the order of the checklists.
static ALL: [Requirement; 16] = [
    of("accelerators", "dra_support", "Dynamic Resource Allocation", None, [S, M, M, N, N]),
    of(
        "accelerators",
        "driver_runtime_management",
        "verifiable versions of accelerator drivers",
        Some("TestAcceleratorDriverRuntimeManagement"),
        [N, N, S, S, S],
    ),
    of("accelerators", "gpu_sharing", "accelerators that workloads share", None, [N, N, S, S, S]),
    of("accelerators", "virtualized_accelerator", "virtual accelerators", None, [N, N, S, S, S]),
    of("networking", "ai_inference", "the Gateway API, with an implementation", None, [M, M, M, M, M]),
    of("networking", "advanced_inference_ingress", "the Gateway API Inference Extension", None, [N, N, N, S, S]),
    of("networking", "high_performance_networking", "network devices for pods", None, [N, N, N, S, S]),
    of("networking", "disaggregated_inference", "inference in separate phases", None, [N, N, N, S, S]),
    of("schedulingOrchestration", "gang_scheduling", "gang scheduling", Some("TestGangScheduling"), [M, M, M, M, M]),
    Requirement {
        conditional: true,
        ..of(
            "schedulingOrchestration",
            "cluster_autoscaling",
            "autoscaling of nodes with accelerators",
            Some("TestAcceleratorClusterAutoscaling"),
            [M, M, M, M, M],
        )
    },
    of(
        "schedulingOrchestration",
        "pod_autoscaling",
        "autoscaling of pods with accelerators, by custom metrics",
        None,
        [M, M, M, M, M],
    ),
    of(
        "observability",
        "accelerator_metrics",
        "metrics of each accelerator",
        Some("TestAcceleratorPerformanceMetrics"),
        [M, M, M, M, M],
    ),
    of(
        "observability",
        "ai_service_metrics",
        "collection of metrics of workloads",
        Some("TestAIServiceMetrics"),
        [M, M, M, M, M],
    ),
    of(
        "security",
        "secure_accelerator_access",
        "accelerators only for pods that requested them",
        Some("TestSecureAcceleratorAccess"),
        [M, M, M, M, M],
    ),
    of("security", "workload_sandboxing", "sandboxes for workloads", Some("TestWorkloadSandboxing"), [N, N, N, N, S]),
    of(
        "operator",
        "robust_controller",
        "an AI operator with custom resources",
        Some("TestRobustCRDControllerOperation"),
        [M, M, M, M, M],
    ),
];

const fn of(
    category: &'static str,
    id: &'static str,
    subject: &'static str,
    test: Option<&'static str>,
    levels: [Option<Level>; 5],
) -> Requirement {
    Requirement { id, category, subject, test, conditional: false, levels }
}

/// The checklist of a version of Kubernetes.
#[derive(Debug)]
pub(crate) struct Checklist {
    /// The version, such as `1.37`.
    pub(crate) version: String,
    minor: u32,
}

impl Checklist {
    /// Returns the checklist of a version such as `1.37`.
    pub(crate) fn of(version: &str) -> Result<Self, String> {
        let known = || {
            let minor = version.strip_prefix("1.")?.parse::<u32>().ok()?;
            (FIRST..FIRST + 5).contains(&minor).then_some(minor)
        };
        match known() {
            Some(minor) => Ok(Self { version: version.to_owned(), minor }),
            None => Err(format!("found no checklist for Kubernetes `{version}`: use 1.{FIRST} to 1.{}", FIRST + 4)),
        }
    }

    /// Returns the requirements with their levels, in the order of the checklist.
    pub(crate) fn requirements(&self) -> impl Iterator<Item = (&'static Requirement, Level)> {
        let at = (self.minor - FIRST) as usize;
        ALL.iter().filter_map(move |requirement| {
            let level = requirement.levels.get(at).copied().flatten()?;
            Some((requirement, level))
        })
    }

    /// Returns whether `text` is this version, such as `v1.37` or `1.37.2`.
    pub(crate) fn is(&self, text: &str) -> bool {
        let text = text.trim_start_matches('v');
        text.strip_prefix(self.version.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_the_requirements_of_its_checklist() {
        for (version, must, should) in [("1.33", 8, 1), ("1.34", 9, 0), ("1.35", 9, 3), ("1.36", 8, 6), ("1.37", 8, 7)]
        {
            let checklist = Checklist::of(version).unwrap();
            let count = |level| checklist.requirements().filter(|(_, of)| *of == level).count();
            assert_eq!((count(Level::Must), count(Level::Should)), (must, should), "{version}");
        }
        for unknown in ["1.32", "1.38", "v1.37", "2.0", ""] {
            assert!(Checklist::of(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn a_version_is_compared_by_whole_numbers() {
        let checklist = Checklist::of("1.37").unwrap();
        assert!(["v1.37", "1.37", "v1.37.2"].iter().all(|text| checklist.is(text)));
        assert!(!["v1.3", "v1.370", "1.36", ""].iter().any(|text| checklist.is(text)));
    }
}
