//! Stores the run's CA in a Secret, so that existing workers still trust a restarted aggregator.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_aggregator::{BoxFuture, DispatchError, Vault};
use plumbline_core::RunId;
use serde_json::json;

use crate::cluster::Cluster;
use crate::dispatcher::dispatch_error;
use crate::error::ClusterError;
use crate::names;
use crate::owned::{Kind, create, get};
use crate::parts::secret_of_run;

/// The key in the Secret.
const KEY: &str = "authority.pem";

/// Stores the CA of one run in the Secret [`names::CA_SECRET`].
pub struct CaSecretStore {
    cluster: Cluster,
    namespace: String,
    run: RunId,
    owner: Option<OwnerReference>,
}

impl CaSecretStore {
    /// Creates a vault in this namespace. With an owner, the Secret is deleted together with the
    /// owner.
    #[must_use]
    pub fn new(cluster: &Cluster, namespace: &str, run: RunId, owner: Option<OwnerReference>) -> Self {
        Self { cluster: cluster.clone(), namespace: namespace.to_owned(), run, owner }
    }

    async fn read(&self) -> Result<Option<String>, ClusterError> {
        let what = format!("read secret `{}`", names::CA_SECRET);
        let unusable = |cause: String| ClusterError::new(&what, cause).lasting();
        let found = get(&self.cluster, &self.namespace, Kind::Secret, names::CA_SECRET, &what).await?;
        let Some(found) = found else { return Ok(None) };
        let Secret { metadata, data, .. } =
            serde_json::from_value(found).map_err(|error| unusable(error.to_string()))?;
        let run = metadata.annotations.as_ref().and_then(|all| all.get(names::RUN_ANNOTATION));
        if run != Some(&self.run.to_string()) {
            return Ok(None);
        }
        let Some(ByteString(bytes)) = data.and_then(|mut data| data.remove(KEY)) else { return Ok(None) };
        let pem = String::from_utf8(bytes).map_err(|_| unusable(format!("`{KEY}` is not text")))?;
        // A Secret whose owner is gone is replaced. The cluster is about to delete it, and may have
        // decided that already.
        let owners = metadata.owner_references.unwrap_or_default();
        if let Some(owner) = &self.owner
            && !owners.is_empty()
            && !owners.iter().any(|one| one.uid == owner.uid)
        {
            self.write(&pem).await?;
        }
        Ok(Some(pem))
    }

    /// Creates the Secret. One of an earlier run is replaced. There is only one run per namespace,
    /// so that run is over.
    async fn write(&self, pem: &str) -> Result<(), ClusterError> {
        let data = json!({KEY: ByteString(pem.as_bytes().to_vec())});
        let secret = secret_of_run(&self.namespace, names::CA_SECRET, &self.run, self.owner.as_ref(), data);
        create(&self.cluster, &self.namespace, Kind::Secret, &secret).await.map(drop)
    }
}

impl Vault for CaSecretStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>> {
        Box::pin(async { self.read().await.map_err(|error| dispatch_error(&error, error.to_string())) })
    }

    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(async move { self.write(pem).await.map_err(|error| dispatch_error(&error, error.to_string())) })
    }
}
