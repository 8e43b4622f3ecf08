//! Deletes the planned objects.

use kube::api::{DeleteParams, Preconditions};

use super::model::{Object, Plan};
use crate::cluster::Cluster;
use crate::error::ClusterError;

/// The outcome of deleting one object.
#[derive(Debug)]
pub enum Removed<'a> {
    /// The cluster accepted the deletion: the object is gone, or will be.
    Started(&'a Object),
    /// The object was already gone.
    WasGone(&'a Object),
    /// The object stays, because of this error.
    Failed(&'a Object, ClusterError),
}

/// Deletes the objects of the plan one after the other, and calls `told` after each. A failure does
/// not stop the others.
///
/// An object that has replaced a planned one under the same name stays.
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
        return Removed::Started(object);
    }
    let uid = Preconditions { uid: object.uid.clone(), resource_version: None };
    let params = DeleteParams::background().preconditions(uid);
    match object.kind.api(cluster, object.namespace.as_deref()).delete(&object.name, &params).await {
        Ok(_) => Removed::Started(object),
        Err(kube::Error::Api(status)) if status.code == 404 => Removed::WasGone(object),
        Err(error) => {
            let told = ClusterError::api(format!("delete {object}"), &error);
            let told = match told.code {
                // This is a namespace that is already terminating, which is the goal.
                Some(409) if object.is_namespace() => return Removed::Started(object),
                Some(409) => told.hint("it was made again meanwhile: run the same command again to look at it"),
                _ => told,
            };
            Removed::Failed(object, told)
        }
    }
}
