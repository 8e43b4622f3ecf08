//! Reads objects of the cluster for a check, as far as they are granted. The check never gets the
//! credentials.

use plumbline_core::Rights;
use plumbline_kubernetes::query::{ObjectReader, Objects};
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions};
use plumbline_sandbox::{ClusterReader, ObjectPage, ObjectQuery};
use tokio::runtime::Runtime;

use super::output::because;
use crate::runtime::one_thread;

/// Reads what `rights` grant, with the service account of this pod, or the current kubeconfig. It
/// connects at the first read.
pub(super) struct GrantedObjects {
    rights: Rights,
    connection: Option<(Runtime, ObjectReader)>,
}

impl GrantedObjects {
    pub(super) fn new(rights: Rights) -> Self {
        Self { rights, connection: None }
    }

    fn admitted(&mut self, query: &ObjectQuery) -> Result<&(Runtime, ObjectReader), String> {
        self.rights
            .admit(&query.api_version, &query.resource, query.namespace.as_deref())
            .map_err(|error| error.to_string())?;
        match &mut self.connection {
            Some(connection) => Ok(connection),
            absent => {
                let runtime = one_thread().map_err(|error| because(&error).reason().to_owned())?;
                let connected = runtime.block_on(Cluster::connect(&ConnectOptions::default()));
                let reader = ObjectReader::new(&connected.map_err(|error| error.to_string())?);
                Ok(absent.insert((runtime, reader)))
            }
        }
    }
}

fn objects(query: &ObjectQuery) -> Objects<'_> {
    Objects {
        api_version: &query.api_version,
        resource: &query.resource,
        namespace: query.namespace.as_deref(),
        label_selector: &query.label_selector,
        field_selector: &query.field_selector,
    }
}

impl ClusterReader for GrantedObjects {
    fn list(&mut self, query: &ObjectQuery, token: Option<&str>) -> Result<ObjectPage, String> {
        let (runtime, reader) = self.admitted(query)?;
        let page = runtime.block_on(reader.page(&objects(query), token));
        let (found, next) = page.map_err(|error: ClusterError| error.to_string())?;
        Ok(ObjectPage { objects: found.iter().map(ToString::to_string).collect(), next })
    }

    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<String>, String> {
        let (runtime, reader) = self.admitted(query)?;
        let found = runtime.block_on(reader.get(&objects(query), name));
        Ok(found.map_err(|error| error.to_string())?.map(|object| object.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_a_grant_are_rejected_before_any_connection() {
        let rights = serde_json::json!({"kubernetes": [
            {"api-version": "v1", "resources": ["pods"], "namespaces": ["kube-system"]}
        ]});
        let mut reader = GrantedObjects::new(serde_json::from_value(rights).unwrap());
        let query = |resource: &str, namespace: Option<&str>| ObjectQuery {
            api_version: "v1".to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            ..ObjectQuery::default()
        };
        for refused in [query("pods", None), query("pods", Some("default")), query("secrets", Some("kube-system"))] {
            let error = reader.list(&refused, None).unwrap_err();
            assert!(error.contains("is not granted"), "{error}");
            assert!(reader.get(&refused, "x").is_err());
        }
        assert!(reader.connection.is_none());
    }
}
