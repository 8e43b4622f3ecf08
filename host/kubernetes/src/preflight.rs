//! Checks before anything is created that a run can work in the cluster.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding, Subject};
use kube::api::{ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::{Cluster, ServerVersion};
use crate::create::resource_of;
use crate::error::ClusterError;
use crate::names;

/// The oldest supported server version.
pub const OLDEST: (u32, u32) = (1, 17);

/// A check, as named by `--skip-preflight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// There is a DNS server for pods.
    Dns,
    /// The server's version is supported.
    Version,
    /// The namespace has no active run, and no permissions of an earlier one.
    ExistingRun,
    /// The account may create the objects of a run.
    Permissions,
}

impl Check {
    /// All checks, in execution order.
    pub const ALL: [Self; 4] = [Self::Version, Self::Permissions, Self::ExistingRun, Self::Dns];

    /// Returns the name of the check. Three of them have the same name in Sonobuoy.
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

/// The options of the checks.
#[derive(Debug, Clone)]
pub struct Preflight {
    /// The namespace of the run.
    pub namespace: String,
    /// The namespace of the DNS server's pods.
    pub dns_namespace: String,
    /// Label selectors, of which one must match those pods.
    pub dns_labels: Vec<String>,
    /// The checks to skip.
    pub skip: Vec<Check>,
}

/// A problem that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether the problem prevents a run.
    pub fatal: bool,
    /// The problem, in one sentence.
    pub what: String,
    /// How to fix it.
    pub hint: String,
}

impl Finding {
    fn fatal(what: String, hint: impl Into<String>) -> Self {
        Self { fatal: true, what, hint: hint.into() }
    }
}

impl Preflight {
    /// Performs all checks that do not depend on the objects of the run, and does not stop at a
    /// finding.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or if a request fails.
    pub async fn run(&self, cluster: &Cluster) -> Result<(ServerVersion, Vec<Finding>), ClusterError> {
        let version = cluster.version().await?;
        let mut findings = Vec::new();
        if (version.major, version.minor) < OLDEST && !self.skip.contains(&Check::Version) {
            findings.push(Finding::fatal(
                format!("the API server is {}, older than v{}.{}", version.git_version, OLDEST.0, OLDEST.1),
                "use a newer cluster, or skip this check with `--skip-preflight=versioncheck`",
            ));
        } else if !version.has_native_sidecars() && !self.skip.contains(&Check::Version) {
            findings.push(Finding {
                fatal: false,
                what: format!(
                    "the API server is {}, which has no native sidecars: workers of Jobs run as plain containers",
                    version.git_version
                ),
                hint: "results are the same; the tests of Plumbline run on v1.31 and later".to_owned(),
            });
        }
        if !self.skip.contains(&Check::ExistingRun) {
            findings.extend(self.existing_run(cluster).await?);
        }
        if !self.skip.contains(&Check::Dns) {
            findings.extend(self.dns(cluster).await);
        }
        Ok((version, findings))
    }

    async fn existing_run(&self, cluster: &Cluster) -> Result<Option<Finding>, ClusterError> {
        let namespaces: Api<Namespace> = Api::all(cluster.client());
        let name = &self.namespace;
        match namespaces.get_opt(name).await {
            Ok(Some(namespace)) if namespace.metadata.deletion_timestamp.is_some() => {
                return Ok(Some(Finding::fatal(
                    format!("namespace `{name}` is being deleted"),
                    format!(
                        "wait until it is gone (`plumbline delete -n {name} --wait` shows what blocks it), or use another with `-n`"
                    ),
                )));
            }
            // An account that may not read namespaces may still be able to use one.
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
                format!("namespace `{name}` already has a run"),
                format!("see it with `plumbline status -n {name}`; remove it with `plumbline delete -n {name} --wait`, or use another namespace with `-n`"),
            )
        }))
    }

    /// Looks for a DNS server. A label is weak evidence, so this is never fatal. The aggregator
    /// tests DNS from inside the cluster.
    async fn dns(&self, cluster: &Cluster) -> Option<Finding> {
        let pods: Api<Pod> = Api::namespaced(cluster.client(), &self.dns_namespace);
        for labels in &self.dns_labels {
            if let Ok(found) = pods.list(&ListParams::default().labels(labels).limit(1)).await
                && !found.items.is_empty()
            {
                return None;
            }
        }
        Some(Finding {
            fatal: false,
            what: format!("no DNS server for pods was found in namespace `{}`", self.dns_namespace),
            hint:
                "the run itself tests whether names resolve; set `--dns-namespace` and `--dns-pod-labels` to find the server"
                    .to_owned(),
        })
    }

    /// Checks whether this account may create each of `objects`, unless the check is skipped.
    pub async fn permissions(&self, cluster: &Cluster, objects: &[Value]) -> Vec<Finding> {
        if self.skip.contains(&Check::Permissions) {
            return Vec::new();
        }
        let kinds: BTreeSet<_> = objects.iter().filter_map(kind_of).collect();
        let mut findings = Vec::new();
        for (group, resource, namespace) in kinds {
            if may_create(cluster, &group, &resource, namespace.as_deref()).await == Some(false) {
                let place = namespace.map_or(String::new(), |namespace| format!(" in namespace `{namespace}`"));
                findings.push(Finding::fatal(
                    format!("this account has no permission to create {resource}{place}"),
                    "use an account with that permission, or request fewer permissions: `--aggregator-permissions namespaceAdmin`, `--rbac disable`, `--existing-service-account`",
                ));
            }
        }
        findings
    }

    /// Looks for bindings of an earlier run that give permissions to an account that `objects`
    /// create, and that `objects` do not replace. `kubectl delete namespace` leaves such bindings
    /// behind, and an account of the same name would have the permissions of the earlier run.
    ///
    /// # Errors
    /// Returns an error if a request fails. Bindings that this account may not list are skipped.
    pub async fn leftovers(&self, cluster: &Cluster, objects: &[Value]) -> Result<Vec<Finding>, ClusterError> {
        if self.skip.contains(&Check::ExistingRun) {
            return Ok(Vec::new());
        }
        let cluster_wide: Vec<ClusterRoleBinding> = self.bindings(Api::all(cluster.client())).await?;
        let of_namespaces: Vec<RoleBinding> = self.bindings(Api::all(cluster.client())).await?;
        let bindings = cluster_wide.into_iter().map(|it| ("ClusterRoleBinding", it.metadata, it.subjects));
        let bindings = bindings.chain(of_namespaces.into_iter().map(|it| ("RoleBinding", it.metadata, it.subjects)));
        let is_created = |kind: &str, name: Option<&str>, namespace: Option<&str>| {
            objects.iter().any(|object| {
                let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
                let place = (text("/metadata/name"), text("/metadata/namespace"));
                text("/kind") == Some(kind) && place == (name, namespace)
            })
        };
        let is_account = |subject: &Subject| {
            is_created("ServiceAccount", Some(&subject.name), subject.namespace.as_deref())
                && subject.kind == "ServiceAccount"
        };
        let mut findings = Vec::new();
        for (kind, metadata, subjects) in bindings {
            let Some(account) = subjects.iter().flatten().find(|subject| is_account(subject)) else { continue };
            if !is_created(kind, metadata.name.as_deref(), metadata.namespace.as_deref()) {
                findings.push(Finding::fatal(
                    format!(
                        "{kind} `{}` of an earlier run would give permissions to service account `{}`",
                        metadata.name.unwrap_or_default(),
                        account.name
                    ),
                    format!("remove what the earlier run left behind: `plumbline delete -n {}`", self.namespace),
                ));
            }
        }
        Ok(findings)
    }

    /// Lists the bindings of runs in this namespace.
    async fn bindings<K>(&self, api: Api<K>) -> Result<Vec<K>, ClusterError>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let labels = [(names::COMPONENT_LABEL, names::COMPONENT_VALUE), (names::NAMESPACE_LABEL, &self.namespace)];
        let selector = labels.map(|(key, value)| format!("{key}={value}")).join(",");
        match api.list(&ListParams::default().labels(&selector)).await {
            Ok(found) => Ok(found.items),
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => Ok(Vec::new()),
            Err(error) => Err(ClusterError::api("list the permissions of earlier runs", &error)),
        }
    }
}

/// Returns group, resource and namespace of an object. Namespaces are skipped, because they may
/// exist, and are then kept.
fn kind_of(object: &Value) -> Option<(String, String, Option<String>)> {
    let object: DynamicObject = serde_json::from_value(object.clone()).ok()?;
    let ApiResource { group, plural, kind, .. } = resource_of(&object)?;
    (kind != "Namespace").then_some((group, plural, object.metadata.namespace))
}

/// Asks the server whether this account may create objects. Returns `None` if there is no answer.
async fn may_create(cluster: &Cluster, group: &str, resource: &str, namespace: Option<&str>) -> Option<bool> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                verb: Some("create".to_owned()),
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
