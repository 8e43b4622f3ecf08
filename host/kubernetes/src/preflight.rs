//! What is looked at before anything is created: that the run can work where it is meant to.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::cluster::{Cluster, ServerVersion};
use crate::error::ClusterError;
use crate::names;

/// The oldest server that a run works with.
pub const OLDEST: (u32, u32) = (1, 17);

/// A check, by the name that `--skip-preflight` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// There is a DNS server for pods.
    Dns,
    /// The server's version.
    Version,
    /// No run is under way in the namespace.
    ExistingRun,
    /// The account may create what a run consists of.
    Permissions,
}

impl Check {
    /// All of them, in the order in which they are made.
    pub const ALL: [Self; 4] = [Self::Version, Self::Permissions, Self::ExistingRun, Self::Dns];

    /// The name; the three that other tools of the field know are called as there.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dns => "dnscheck",
            Self::Version => "versioncheck",
            Self::ExistingRun => "existingnamespace",
            Self::Permissions => "permissions",
        }
    }
}

/// Where and for what.
#[derive(Debug, Clone)]
pub struct Preflight {
    /// The namespace of the run.
    pub namespace: String,
    /// Where the DNS server's pods are.
    pub dns_namespace: String,
    /// Label selectors, one of which finds them.
    pub dns_labels: Vec<String>,
    /// Left out.
    pub skip: Vec<Check>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// By which check.
    pub check: Check,
    /// Whether a run makes no sense.
    pub fatal: bool,
    /// What, in one sentence.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Finding {
    fn fatal(check: Check, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, fatal: true, what: what.into(), hint: hint.into() }
    }

    fn warning(check: Check, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, fatal: false, what: what.into(), hint: hint.into() }
    }
}

impl Preflight {
    /// Makes every check but that of [`Preflight::permissions`], whatever the others found.
    ///
    /// # Errors
    /// When the server cannot be asked at all.
    pub async fn run(&self, cluster: &Cluster) -> Result<(ServerVersion, Vec<Finding>), ClusterError> {
        let version = cluster.version().await?;
        let mut findings = Vec::new();
        for check in Check::ALL.into_iter().filter(|check| !self.skip.contains(check)) {
            match check {
                Check::Version => findings.extend(version_finding(&version)),
                Check::Permissions => {}
                Check::ExistingRun => findings.extend(self.existing_run(cluster).await?),
                Check::Dns => findings.extend(self.dns(cluster).await),
            }
        }
        Ok((version, findings))
    }

    async fn existing_run(&self, cluster: &Cluster) -> Result<Option<Finding>, ClusterError> {
        let namespaces: Api<Namespace> = Api::all(cluster.client());
        let name = &self.namespace;
        match namespaces.get_opt(name).await {
            Ok(Some(namespace)) if namespace.metadata.deletion_timestamp.is_some() => {
                return Ok(Some(Finding::fatal(
                    Check::ExistingRun,
                    format!("namespace `{name}` is being deleted"),
                    format!(
                        "wait until it is gone (`plumbline delete -n {name} --wait` shows what blocks it), or use another with `-n`"
                    ),
                )));
            }
            // Who may not look at namespaces may still have one.
            Ok(_) => {}
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => {}
            Err(error) => return Err(ClusterError::api(format!("look for namespace `{name}`"), &error)),
        }
        let pods: Api<Pod> = Api::namespaced(cluster.client(), name);
        let selector = format!("{}={}", names::ROLE_LABEL, names::AGGREGATOR);
        let found = pods.list(&ListParams::default().labels(&selector).limit(1)).await;
        let found = match found {
            Ok(found) => found,
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => return Ok(None),
            Err(error) => return Err(ClusterError::api(format!("look for a run in namespace `{name}`"), &error)),
        };
        Ok((!found.items.is_empty()).then(|| {
            Finding::fatal(
                Check::ExistingRun,
                format!("there is a run in namespace `{name}` already"),
                format!("`plumbline status -n {name}` shows it; remove it with `plumbline delete -n {name} --wait`, or use another namespace with `-n`"),
            )
        }))
    }

    /// A label says little about whether names resolve: nobody is kept from a run by it. The aggregator tries it from inside.
    async fn dns(&self, cluster: &Cluster) -> Option<Finding> {
        let pods: Api<Pod> = Api::namespaced(cluster.client(), &self.dns_namespace);
        for labels in &self.dns_labels {
            if let Ok(found) = pods.list(&ListParams::default().labels(labels).limit(1)).await
                && !found.items.is_empty()
            {
                return None;
            }
        }
        Some(Finding::warning(
            Check::Dns,
            format!("no DNS server for pods was found in namespace `{}`", self.dns_namespace),
            "the run tries itself whether names resolve; `--dns-namespace` and `--dns-pod-labels` say where to look",
        ))
    }

    /// Asks whether this account may create each of `objects`, unless the check is skipped.
    pub async fn permissions(&self, cluster: &Cluster, objects: &[Value]) -> Vec<Finding> {
        if self.skip.contains(&Check::Permissions) {
            return Vec::new();
        }
        let kinds: BTreeSet<_> = objects.iter().filter_map(kind_of).collect();
        let mut findings = Vec::new();
        for (group, resource, namespace) in kinds {
            if may(cluster, "create", &group, &resource, namespace.as_deref()).await == Some(false) {
                let place = namespace.map_or(String::new(), |namespace| format!(" in namespace `{namespace}`"));
                findings.push(Finding::fatal(
                    Check::Permissions,
                    format!("this account may not create {resource}{place}"),
                    "use an account with that permission, or fewer of them: `--aggregator-permissions namespaceAdmin`, `--rbac disable`, `--existing-service-account`",
                ));
            }
        }
        findings
    }
}

/// Group, resource and namespace of an object. A namespace is not asked for: it may exist, and then it stays.
fn kind_of(object: &Value) -> Option<(String, String, Option<String>)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").filter(|kind| *kind != "Namespace")?;
    let (group, version) = text("/apiVersion")?.split_once('/').unwrap_or(("", text("/apiVersion")?));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)).plural;
    Some((group.to_owned(), resource.to_string(), text("/metadata/namespace").map(str::to_owned)))
}

fn version_finding(version: &ServerVersion) -> Option<Finding> {
    ((version.major, version.minor) < OLDEST).then(|| {
        Finding::fatal(
            Check::Version,
            format!("the API server is {}, older than v{}.{}", version.git_version, OLDEST.0, OLDEST.1),
            "use a newer cluster, or try all the same with `--skip-preflight=versioncheck`",
        )
    })
}

/// `None`: the server does not say.
async fn may(cluster: &Cluster, verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> Option<bool> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                namespace: namespace.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(cluster.client());
    let answer = api.create(&PostParams::default(), &review).await.ok()?;
    answer.status.map(|status| status.allowed)
}
