//! The kinds of objects that a deletion considers.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::{Api, Resource};
use serde::{Serialize, Serializer};

use crate::cluster::Cluster;
use crate::retry::PAGE;

/// Maximum number of objects of one kind: twice the pods of two plugins on 5,000 nodes.
pub(super) const MAX_OBJECTS: usize = 20_000;

/// A kind of object. Its word identifies it.
#[derive(Debug)]
pub(super) struct Kind {
    resource: fn() -> ApiResource,
    /// The name for messages.
    pub(super) word: &'static str,
}

/// Writes the word.
impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word)
    }
}

/// The objects of a kind.
pub(super) struct Listed {
    /// The metadata of at most [`MAX_OBJECTS`] objects, rounded up to a page.
    pub(super) objects: Vec<PartialObjectMeta<DynamicObject>>,
    /// Whether there are more.
    pub(super) has_more: bool,
}

impl Kind {
    const fn of<K: Resource<DynamicType = ()>>(word: &'static str) -> Self {
        Self { resource: || ApiResource::erase::<K>(&()), word }
    }

    /// Returns the API for objects of this kind, in `namespace` or cluster-wide.
    pub(super) fn api(&self, cluster: &Cluster, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &(self.resource)()),
            None => Api::all_with(cluster.client(), &(self.resource)()),
        }
    }

    /// Lists the metadata of the objects that match `selector`. The content of Secrets is never
    /// read.
    ///
    /// For a kind that the server does not have, the list is empty.
    pub(super) async fn list(
        &self,
        cluster: &Cluster,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Listed, kube::Error> {
        let api = self.api(cluster, namespace);
        let selector = selector.map(str::to_owned);
        let mut params = ListParams { label_selector: selector, ..ListParams::default() }.limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let page = match api.list_metadata(&params).await {
                Ok(page) => page,
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Listed { objects, has_more: false }),
                Err(error) => return Err(error),
            };
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) if objects.len() < MAX_OBJECTS => params = params.continue_token(&token),
                token => return Ok(Listed { objects, has_more: token.is_some() }),
            }
        }
    }
}

/// The namespace of the run.
pub(super) static NAMESPACE: Kind = Kind::of::<Namespace>("namespace");
/// Cluster-wide permissions of a run. The binding comes first, because without it the role grants
/// nothing.
pub(super) static CLUSTER_WIDE: [Kind; 2] =
    [Kind::of::<ClusterRoleBinding>("cluster role binding"), Kind::of::<ClusterRole>("cluster role")];
/// Permissions of a run in other namespaces, which checks can have.
pub(super) static ELSEWHERE: [Kind; 2] = [Kind::of::<RoleBinding>("role binding"), Kind::of::<Role>("role")];
/// The objects of a run in its namespace, in deletion order. A remaining CronJob, Job or DaemonSet
/// would recreate its pods.
pub(super) static OF_RUN: [Kind; 12] = [
    Kind::of::<CronJob>("cron job"),
    Kind::of::<Job>("job"),
    Kind::of::<DaemonSet>("daemon set"),
    Kind::of::<Pod>("pod"),
    Kind::of::<Service>("service"),
    Kind::of::<NetworkPolicy>("network policy"),
    Kind::of::<ConfigMap>("config map"),
    Kind::of::<Secret>("secret"),
    Kind::of::<PersistentVolumeClaim>("volume claim"),
    Kind::of::<RoleBinding>("role binding"),
    Kind::of::<Role>("role"),
    Kind::of::<ServiceAccount>("service account"),
];
/// Further kinds that show that somebody else uses the namespace.
pub(super) static OF_OTHERS: [Kind; 3] = [
    Kind::of::<Deployment>("deployment"),
    Kind::of::<StatefulSet>("stateful set"),
    Kind::of::<ReplicaSet>("replica set"),
];
