//! Stores the run's CA in a Secret, so that existing workers still trust a restarted aggregator.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use plumbline_aggregator::{BoxFuture, DispatchError, Vault};
use plumbline_core::RunId;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::retry::{PATIENCE, retry_until};

/// The key in the Secret.
const KEY: &str = "authority.pem";

/// Stores the CA of one run in the Secret [`names::CA_SECRET`].
pub struct CaSecretStore {
    api: Api<Secret>,
    run: RunId,
    owner: Option<OwnerReference>,
}

impl CaSecretStore {
    /// Creates a vault in this namespace. With an owner, the Secret is deleted together with the
    /// owner.
    #[must_use]
    pub fn new(cluster: &Cluster, namespace: &str, run: RunId, owner: Option<OwnerReference>) -> Self {
        Self { api: Api::namespaced(cluster.client(), namespace), run, owner }
    }

    async fn read(&self) -> Result<Option<String>, ClusterError> {
        let what = format!("read secret `{}`", names::CA_SECRET);
        let found = self.api.get_opt(names::CA_SECRET).await;
        let Some(secret) = found.map_err(|error| ClusterError::api(&what, &error))? else { return Ok(None) };
        let run = secret.metadata.annotations.as_ref().and_then(|all| all.get(names::RUN_ANNOTATION));
        if run != Some(&self.run.to_string()) {
            return Ok(None);
        }
        let Some(ByteString(bytes)) = secret.data.as_ref().and_then(|data| data.get(KEY)) else { return Ok(None) };
        let pem =
            String::from_utf8(bytes.clone()).map_err(|_| ClusterError::new(&what, format!("`{KEY}` is not text")))?;
        self.take_over(&secret, &pem).await?;
        Ok(Some(pem))
    }

    /// Replaces a Secret whose owner is gone. The cluster is about to delete it, and may have
    /// decided that already.
    async fn take_over(&self, secret: &Secret, pem: &str) -> Result<(), ClusterError> {
        let owners = secret.metadata.owner_references.as_deref().unwrap_or_default();
        let Some(owner) = &self.owner else { return Ok(()) };
        if owners.is_empty() || owners.iter().any(|one| one.uid == owner.uid) {
            return Ok(());
        }
        let name = names::CA_SECRET;
        let same = Preconditions { uid: secret.metadata.uid.clone(), resource_version: None };
        match self.api.delete(name, &DeleteParams::default().preconditions(same)).await {
            Ok(_) => {}
            // The Secret is already gone.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(ClusterError::api(format!("replace secret `{name}`"), &error)),
        }
        self.write(pem).await
    }

    async fn write(&self, pem: &str) -> Result<(), ClusterError> {
        let name = names::CA_SECRET;
        let data = [(KEY.to_owned(), ByteString(pem.as_bytes().to_vec()))].into();
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some([(names::COMPONENT_LABEL.to_owned(), names::COMPONENT_VALUE.to_owned())].into()),
                annotations: Some([(names::RUN_ANNOTATION.to_owned(), self.run.to_string())].into()),
                owner_references: self.owner.clone().map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..Secret::default()
        };
        let create = format!("create secret `{name}`");
        let conflict = match self.api.create(&PostParams::default(), &secret).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => kube::Error::Api(status),
            Err(error) => return Err(ClusterError::api(create, &error)),
        };
        // The Secret belongs to an earlier run. There is only one run per namespace, so that run is
        // over.
        match self.api.patch(name, &PatchParams::default(), &Patch::Merge(&secret)).await {
            Ok(_) => Ok(()),
            // The Secret is gone, or the conflict had another cause, such as quota accounting.
            Err(kube::Error::Api(status)) if status.code == 404 => Err(ClusterError::api(create, &conflict)),
            Err(error) => Err(ClusterError::api(format!("replace secret `{name}`"), &error)),
        }
    }
}

impl Vault for CaSecretStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>> {
        Box::pin(async {
            let read = retry_until(PATIENCE, || self.read()).await;
            read.map_err(|error| DispatchError::new(error.to_string()))
        })
    }

    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(async move {
            let written = retry_until(PATIENCE, || self.write(pem)).await;
            written.map_err(|error| DispatchError::new(error.to_string()))
        })
    }
}
