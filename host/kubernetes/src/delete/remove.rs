//! Deleting what was planned.

use kube::api::{DeleteParams, Preconditions};

use super::model::{Object, Plan};
use crate::cluster::Cluster;
use crate::error::ClusterError;

/// How the deletion of an object went.
#[derive(Debug)]
pub enum Removed<'a> {
    /// The cluster has taken it on: it is gone, or will be.
    Begun(&'a Object),
    /// Somebody else was faster.
    WasGone(&'a Object),
    /// It stays.
    Failed(&'a Object, ClusterError),
}

/// Deletes every object of the plan, one after the other, telling each. One that cannot be deleted does not keep the others.
/// Whatever took the place of an object meanwhile, under the same name, stays.
pub async fn remove<'a>(
    cluster: &Cluster,
    plan: &'a Plan,
    told: &mut (dyn FnMut(&Removed<'a>) + Send),
) -> Vec<ClusterError> {
    let mut failed = Vec::new();
    for object in &plan.objects {
        let removed = one(cluster, object).await;
        told(&removed);
        if let Removed::Failed(_, error) = removed {
            failed.push(error);
        }
    }
    failed
}

async fn one<'a>(cluster: &Cluster, object: &'a Object) -> Removed<'a> {
    if object.terminating {
        // Deleting it again would change nothing.
        return Removed::Begun(object);
    }
    let uid = Preconditions { uid: object.uid.clone(), resource_version: None };
    let params = DeleteParams::background().preconditions(uid);
    match object.kind.api(cluster, object.namespace.as_deref()).delete(&object.name, &params).await {
        Ok(_) => Removed::Begun(object),
        Err(kube::Error::Api(status)) if status.code == 404 => Removed::WasGone(object),
        Err(error) => {
            let told = ClusterError::api(format!("delete {object}"), &error);
            let told = match told.code {
                // Of a namespace that is going: that is what was wanted.
                Some(409) if object.is_namespace() => return Removed::Begun(object),
                Some(409) => told.hint("it was made again meanwhile: run the same command again to look at it"),
                _ => told,
            };
            Removed::Failed(object, told)
        }
    }
}
