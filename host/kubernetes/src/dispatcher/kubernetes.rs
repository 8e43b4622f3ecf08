//! The dispatcher, which runs one pod or DaemonSet per plugin.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use plumbline_aggregator::{BoxFuture, DispatchError, Dispatcher, Exit, Launch, Report};
use plumbline_core::{Node, PluginName, session_id};
use tokio::sync::mpsc;

use super::advice::explain;
use super::cleanup::{Launched, remove_all, remove_one};
use super::create::{Created, Kind, create};
use super::options::KubernetesOptions;
use crate::driver::{Workload, container_name, secret, workload};
use crate::error::ClusterError;
use crate::monitor::{Monitor, Watched};
use crate::nodes::list_nodes;

/// Runs plugins as pods and DaemonSets of a cluster.
pub struct KubernetesDispatcher {
    options: KubernetesOptions,
    monitor: Monitor,
    launched: Mutex<BTreeMap<PluginName, Launched>>,
}

impl KubernetesDispatcher {
    /// Creates a dispatcher and starts its monitor. Must be called within a Tokio runtime.
    #[must_use]
    pub fn new(options: KubernetesOptions) -> Self {
        let monitor = Monitor::start(options.monitor());
        Self { options, monitor, launched: Mutex::default() }
    }

    async fn start(&self, launch: Launch, reports: mpsc::Sender<Report>) -> Result<(), DispatchError> {
        let definition = &launch.definition;
        let plugin = &definition.name;
        let session = session_id(&launch.run, plugin);
        let stage = &self.options.stage;
        let told = |error: crate::driver::DriverError| DispatchError::new(error.to_string());
        // This precedes any creation, so that an invalid definition leaves nothing behind.
        let workload = workload(stage, definition, &session, &launch.access).map_err(told)?;
        let secret = secret(stage, definition, &launch.run, &launch.access);
        let launched = Launched { session: session.clone(), skip_cleanup: definition.skip_cleanup };
        // This precedes the first request, so that an interrupted launch is cleaned up too.
        self.remember(plugin, launched.clone());
        let (kind, object) = match &workload {
            Workload::Pod(object) => (Kind::Pod, object),
            Workload::DaemonSet(object) => (Kind::DaemonSet, object),
        };
        let created = async {
            create(&self.options.cluster, &stage.namespace, Kind::Secret, &secret).await?;
            create(&self.options.cluster, &stage.namespace, kind, object).await
        };
        match created.await {
            Ok(Created::New) => tracing::info!(%plugin, "{} created", kind.word()),
            // The monitor reports what the pod has done since then.
            Ok(Created::Adopted) => tracing::info!(%plugin, "{} of an earlier launch goes on", kind.word()),
            Err(error) => {
                for left in remove_one(&self.options.cluster, &stage.namespace, &launched).await {
                    tracing::warn!(%plugin, "after a failed launch: {left}");
                }
                return Err(explain(&error, &stage.namespace));
            }
        }
        let watched = Watched {
            plugin: plugin.clone(),
            session,
            per_node: definition.driver.is_per_node(),
            missing: launch.missing.iter().cloned().collect(),
            container: container_name(definition).to_owned(),
            heard: launch.heard.clone(),
        };
        self.monitor.watch(watched, reports).await;
        Ok(())
    }

    fn remember(&self, plugin: &PluginName, launched: Launched) {
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).insert(plugin.clone(), launched);
    }

    async fn clean(&self) -> Result<(), DispatchError> {
        self.monitor.stop().await;
        let launched: Vec<Launched> =
            self.launched.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let errors = remove_all(&self.options.cluster, &self.options.stage, &launched).await;
        summary(&errors, &self.options.stage.namespace)
    }
}

fn summary(errors: &[ClusterError], namespace: &str) -> Result<(), DispatchError> {
    let told: Vec<String> = errors.iter().map(|error| explain(error, namespace).message).collect();
    if told.is_empty() { Ok(()) } else { Err(DispatchError::new(told.join("; "))) }
}

impl Dispatcher for KubernetesDispatcher {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>> {
        Box::pin(async {
            let list = list_nodes(&self.options.cluster)
                .await
                .map_err(|error| explain(&error, &self.options.stage.namespace))?;
            for warning in list.warnings {
                tracing::warn!("{warning}");
            }
            Ok(list.nodes)
        })
    }

    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(self.start(launch, reports))
    }

    fn settle<'a>(&'a self, plugin: &'a PluginName) -> BoxFuture<'a, Vec<Exit>> {
        // Nothing is deleted yet: other plugins of the run may continue for hours, and the user may
        // want to inspect the objects.
        Box::pin(self.monitor.settle(plugin))
    }

    fn survey(&self) -> BoxFuture<'_, ()> {
        match &self.options.survey {
            Some(survey) => survey(),
            None => Box::pin(async {}),
        }
    }

    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(self.clean())
    }
}
