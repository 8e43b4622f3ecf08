//! The cluster of a run: its nodes, the run's namespace and accounts, and the resource usage of the
//! API server.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::pin;

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt as _};
use plumbline_core::run_status::RunStatus;
use plumbline_kubernetes::names;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Result;
use crate::simulation::{aggregator_pod, node, node_name};

/// Sizes in bytes at the end of a run.
#[derive(Debug, Clone, Copy)]
pub struct StatusSizes {
    /// The status in the annotation of the aggregator's pod.
    pub status: usize,
    /// All annotations of the aggregator's pod.
    pub annotations: usize,
    /// The compressed full status in its ConfigMap, or 0 without one.
    pub full: usize,
}

const ACCOUNTS: [&str; 2] = ["sonobuoy-serviceaccount", "plumbline-plugin"];
/// The address at which kwok answers as the kubelet of every node. It is on the machine of the API
/// server, and kwok has a certificate for it.
pub const KUBELET: &str = "10.99.0.1";
/// The port at which kwok answers.
pub const KUBELET_PORT: u16 = 10_247;
/// The annotation of simulated nodes.
const PLAYED: &str = "kwok.x-k8s.io/node";
/// Number of nodes to create concurrently.
const AT_ONCE: usize = 16;
/// Number of pods that one request deletes. The server ends a request after a minute, and deletes
/// some hundred pods per second.
const DELETED_AT_ONCE: u32 = 500;
/// Number of attempts to delete everything.
const CLEARING_ATTEMPTS: u32 = 5;

/// An API server, with the rights of its administrator.
pub struct ApiServer {
    config: Config,
    client: Client,
}

impl ApiServer {
    /// Connects to the current context of a kubeconfig, before kwok simulates the cluster's nodes.
    ///
    /// # Errors
    /// The file cannot be read, or its server does not answer. It is also an error if the cluster
    /// has nodes that kwok does not simulate, because runs delete nodes.
    pub async fn connect(kubeconfig: &PathBuf) -> Result<Self> {
        // This fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config =
            Config::from_custom_kubeconfig(Kubeconfig::read_from(kubeconfig)?, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config.clone())?;
        let nodes = Api::<Node>::all(client.clone()).list_metadata(&ListParams::default()).await?;
        if let Some(real) = nodes.items.iter().find(|node| !node.annotations().contains_key(PLAYED)) {
            return Err(format!("node `{}` is not played by kwok: this cluster is left alone", real.name_any()).into());
        }
        // Without this, the leases of an earlier kwok hold its nodes for an hour.
        let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
        leases.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        Ok(Self { client, config })
    }

    /// Returns the administrator's client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns a client with the aggregator's service account, so that the server attributes its
    /// requests to that account.
    pub(super) fn as_aggregator(&self) -> Result<Client> {
        let mut config = self.config.clone();
        let [account, _] = ACCOUNTS;
        config.auth_info.impersonate = Some(format!("system:serviceaccount:{}:{account}", names::DEFAULT_NAMESPACE));
        Ok(Client::try_from(config)?)
    }

    /// Creates this many nodes, which kwok then simulates, and deletes all others.
    ///
    /// # Errors
    /// The server rejects a node.
    pub async fn nodes(&self, count: usize) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client());
        let wanted: BTreeSet<String> = (0..count).map(node_name).collect();
        let there = nodes.list_metadata(&ListParams::default()).await?;
        for name in there.items.into_iter().filter_map(|node| node.metadata.name) {
            if !wanted.contains(&name) {
                nodes.delete(&name, &DeleteParams::default()).await?;
            }
        }
        let made = stream::iter(0..count).map(|n| {
            let mut object = node(n);
            // kwok answers for its kubelet.
            merge(&mut object, "metadata", json!({"annotations": {PLAYED: "fake"}}));
            let addresses = json!([{"type": "InternalIP", "address": KUBELET}]);
            merge(
                &mut object,
                "status",
                json!({"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}}}),
            );
            create(&nodes, object)
        });
        made.buffer_unordered(AT_ONCE).try_collect::<()>().await
    }

    /// Sets up a namespace with accounts and the aggregator's pod, without objects of an earlier
    /// run.
    pub(super) async fn fresh(&self) -> Result<()> {
        let namespace = names::DEFAULT_NAMESPACE;
        create(&Api::<Namespace>::all(self.client()), json!({"metadata": {"name": namespace}})).await?;
        self.clear().await?;
        for name in ACCOUNTS {
            create(&self.api::<ServiceAccount>(), json!({"metadata": {"name": name}})).await?;
        }
        let binding = json!({
            "metadata": {"name": "plumbline-bench"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNTS[0], "namespace": namespace}],
        });
        create(&Api::<ClusterRoleBinding>::all(self.client()), binding).await?;
        let mut pod = aggregator_pod(namespace);
        // Keep the pod off all nodes. kwok deletes pods by name, late under load, and would delete
        // that of the next run.
        merge(&mut pod, "spec", json!({"schedulerName": "nobody"}));
        let pods = self.api::<Pod>();
        create(&pods, pod).await?;
        // Sonobuoy writes its status only to a running pod.
        let runs = Patch::Merge(json!({"status": {"phase": "Running"}}));
        pods.patch_status(names::AGGREGATOR_POD, &PatchParams::default(), &runs).await?;
        Ok(())
    }

    /// Deletes what runs leave behind, and waits until it is gone. A busy server may close a connection
    /// just when it is used again, and that must not cost the measurements.
    pub(super) async fn clear(&self) -> Result<()> {
        for _ in 1..CLEARING_ATTEMPTS {
            if self.delete_all().await.is_ok() {
                return Ok(());
            }
        }
        self.delete_all().await
    }

    async fn delete_all(&self) -> Result<()> {
        let now = DeleteParams::background().grace_period(0);
        let all = ListParams::default();
        self.api::<DaemonSet>().delete_collection(&now, &all).await?;
        self.api::<Secret>().delete_collection(&now, &all).await?;
        let maps = self.api::<ConfigMap>();
        maps.delete_collection(&now, &ListParams::default().fields("metadata.name!=kube-root-ca.crt")).await?;
        let pods = self.api::<Pod>();
        loop {
            pods.delete_collection(&now, &ListParams::default().limit(DELETED_AT_ONCE)).await?;
            if pods.list_metadata(&ListParams::default().limit(1)).await?.items.is_empty() {
                return Ok(());
            }
        }
    }

    /// Runs the DaemonSets without an aggregator. Returns their cost for the server as processor
    /// time in seconds.
    ///
    /// # Errors
    /// The server rejects them, or not all of their pods run.
    pub async fn without_aggregator(&self, plugins: usize, nodes: usize) -> Result<f64> {
        self.fresh().await?;
        let before = self.cpu_seconds().await?;
        for n in 0..plugins {
            let labels = json!({"app": format!("plain-{n}")});
            let container = json!({"name": "plain", "image": "registry.example/plain:v1"});
            let daemon_set = json!({
                "metadata": {"name": format!("plain-{n}")},
                "spec": {"selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
            });
            create(&self.api::<DaemonSet>(), daemon_set).await?;
        }
        self.all_run(plugins * nodes).await?;
        self.clear().await?;
        Ok(self.cpu_seconds().await? - before)
    }

    /// Waits until this many pods run.
    async fn all_run(&self, expected: usize) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut pods = pin!(self.running());
        while seen.len() < expected {
            let pod = pods.try_next().await?.ok_or("the watch of pods has ended")?;
            seen.insert(pod.metadata.name);
        }
        Ok(())
    }

    /// Returns the pods of plugins, as soon as they run and again at each change.
    pub(super) fn running(&self) -> impl Stream<Item = std::result::Result<Pod, watcher::Error>> {
        watcher(self.api::<Pod>(), watcher::Config::default()).applied_objects().try_filter(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            let runs = phase == Some("Running") && pod.metadata.name.as_deref() != Some(names::AGGREGATOR_POD);
            std::future::ready(runs)
        })
    }

    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client(), names::DEFAULT_NAMESPACE)
    }

    /// Returns the status on the aggregator's pod.
    pub(super) async fn run_status(&self) -> Result<Option<RunStatus>> {
        let pod = self.api::<Pod>().get(names::AGGREGATOR_POD).await?;
        let text = pod.metadata.annotations.and_then(|mut all| all.remove(names::STATUS_ANNOTATION));
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    pub(super) async fn status_sizes(&self) -> Result<StatusSizes> {
        let pod = self.api::<Pod>().get(names::AGGREGATOR_POD).await?;
        let annotations = pod.metadata.annotations.unwrap_or_default();
        let stored = self.api::<ConfigMap>().get_opt(names::STATUS_CONFIG_MAP).await?;
        let data = stored.and_then(|stored| stored.binary_data).unwrap_or_default();
        Ok(StatusSizes {
            status: annotations.get(names::STATUS_ANNOTATION).map_or(0, String::len),
            annotations: annotations.iter().map(|(key, value)| key.len() + value.len()).sum(),
            full: data.values().map(|value| value.0.len()).sum(),
        })
    }

    /// Returns the processor time of the server in seconds, according to its metrics.
    ///
    /// # Errors
    /// The server does not report it.
    pub async fn cpu_seconds(&self) -> Result<f64> {
        let text = self.client.request_text(http::Request::get("/metrics").body(Vec::new())?).await?;
        let line = text.lines().find_map(|line| line.strip_prefix("process_cpu_seconds_total "));
        Ok(line.ok_or("the API server has no metric `process_cpu_seconds_total`")?.parse()?)
    }
}

/// Sets fields in a part of an object.
fn merge(object: &mut Value, part: &str, fields: Value) {
    if let (Some(part), Value::Object(fields)) = (object.get_mut(part).and_then(Value::as_object_mut), fields) {
        part.extend(fields);
    }
}

/// Creates an object, unless it exists.
async fn create<K>(api: &Api<K>, object: Value) -> Result<()>
where
    K: Resource + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    match api.create(&PostParams::default(), &serde_json::from_value(object)?).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
