//! The kinds of objects that a deletion considers.

use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::{Api, api::ListParams};

use crate::cluster::Cluster;

/// Objects per page: the API server's own chunk size.
const PAGE: u32 = 500;

/// Maximum number of objects of one kind: twice the pods of two plugins on 5,000 nodes.
const MAX_OBJECTS: usize = 20_000;

/// A kind of object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    /// The name for messages.
    pub(super) word: &'static str,
}

impl Kind {
    const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        word: &'static str,
    ) -> Self {
        Self { group, version, kind, plural, word }
    }

    fn resource(&self) -> ApiResource {
        let api_version =
            if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) };
        ApiResource {
            group: self.group.into(),
            version: self.version.into(),
            api_version,
            kind: self.kind.into(),
            plural: self.plural.into(),
        }
    }

    /// Returns the API for objects of this kind, in `namespace` or cluster-wide.
    pub(super) fn api(&self, cluster: &Cluster, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &self.resource()),
            None => Api::all_with(cluster.client(), &self.resource()),
        }
    }

    /// Lists the metadata of all objects that match `selector`. The content of Secrets is never
    /// read.
    ///
    /// For a kind that the server does not have, the list is empty.
    pub(super) async fn list(
        &self,
        cluster: &Cluster,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Vec<PartialObjectMeta<DynamicObject>>, kube::Error> {
        let api = self.api(cluster, namespace);
        let mut params =
            ListParams { label_selector: selector.map(str::to_owned), ..ListParams::default() }.limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let page = match api.list_metadata(&params).await {
                Ok(page) => page,
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(objects),
                Err(error) => return Err(error),
            };
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) if objects.len() < MAX_OBJECTS => params = params.continue_token(&token),
                _ => return Ok(objects),
            }
        }
    }
}

/// The namespace of the run.
pub(super) static NAMESPACE: Kind = Kind::new("", "v1", "Namespace", "namespaces", "namespace");
/// Pods, which take longest to terminate.
pub(super) static POD: Kind = Kind::new("", "v1", "Pod", "pods", "pod");
/// Cluster-wide permissions of a run. The binding comes first, because without it the role grants
/// nothing.
pub(super) static CLUSTER_WIDE: [Kind; 2] = [
    Kind::new("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "cluster role binding"),
    Kind::new("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "cluster role"),
];
/// The objects of a run in its namespace, in deletion order. A remaining DaemonSet would recreate
/// its pods.
pub(super) static OF_RUN: [&Kind; 10] =
    [&DAEMON_SET, &POD, &SERVICE, &NETWORK_POLICY, &CONFIG_MAP, &SECRET, &CLAIM, &BINDING, &ROLE, &ACCOUNT];
/// Further kinds that show that somebody else uses the namespace.
pub(super) static OF_OTHERS: [Kind; 5] = [
    Kind::new("apps", "v1", "Deployment", "deployments", "deployment"),
    Kind::new("apps", "v1", "StatefulSet", "statefulsets", "stateful set"),
    Kind::new("apps", "v1", "ReplicaSet", "replicasets", "replica set"),
    Kind::new("batch", "v1", "Job", "jobs", "job"),
    Kind::new("batch", "v1", "CronJob", "cronjobs", "cron job"),
];

static DAEMON_SET: Kind = Kind::new("apps", "v1", "DaemonSet", "daemonsets", "daemon set");
static SERVICE: Kind = Kind::new("", "v1", "Service", "services", "service");
static NETWORK_POLICY: Kind =
    Kind::new("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "network policy");
static CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", "config map");
static SECRET: Kind = Kind::new("", "v1", "Secret", "secrets", "secret");
static CLAIM: Kind = Kind::new("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "volume claim");
static BINDING: Kind = Kind::new("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "role binding");
static ROLE: Kind = Kind::new("rbac.authorization.k8s.io", "v1", "Role", "roles", "role");
static ACCOUNT: Kind = Kind::new("", "v1", "ServiceAccount", "serviceaccounts", "service account");
