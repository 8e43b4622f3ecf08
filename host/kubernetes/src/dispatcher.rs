//! The dispatcher that uses the API server: it runs one pod or DaemonSet per plugin.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use plumbline_aggregator::{BoxFuture, CompiledCheck, Completed, DispatchError, Dispatcher, Exit, Launch, Report};
use plumbline_core::size::Bytes;
use plumbline_core::{Node, session_id};
use tokio::sync::mpsc;

use crate::cluster::Cluster;
use crate::driver::{CheckPod, DriverError, Stage, secret, workload};
use crate::error::ClusterError;
use crate::monitor::{Monitor, MonitorOptions, SettledPlugin, Watched};
use crate::nodes::list_nodes;
use crate::owned::{Created, Kind, Launched, check_admission, clean_up, clean_up_launch, create};

/// A function that adds the survey of the cluster to the tree of the run (see
/// [`plumbline_aggregator::Dispatcher::survey`]).
pub type Survey = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Runs plugins as pods and DaemonSets of a cluster.
pub struct KubernetesDispatcher {
    cluster: Cluster,
    stage: Stage,
    survey: Option<Survey>,
    monitor: Monitor,
    launched: Mutex<Launched>,
}

impl KubernetesDispatcher {
    /// Creates a dispatcher with the settings that all plugins share, and starts its monitor. The
    /// survey follows when all plugins are complete. Must be called within a Tokio runtime.
    #[must_use]
    pub fn new(stage: Stage, monitor: MonitorOptions, survey: Option<Survey>) -> Self {
        let cluster = monitor.cluster.clone();
        Self { cluster, stage, survey, monitor: Monitor::start(monitor), launched: Mutex::default() }
    }

    async fn start(&self, launch: Launch, reports: mpsc::Sender<Report>) -> Result<(), DispatchError> {
        let (cluster, stage) = (&self.cluster, &self.stage);
        let definition = &launch.definition;
        let plugin = &definition.name;
        let session = session_id(&launch.run, plugin);
        // This precedes any creation, so that an invalid definition leaves nothing behind.
        let invalid = |error: DriverError| DispatchError::new(error.to_string());
        let code = compiled(&launch).await;
        let check = CheckPod::of(stage, &launch, &session, code.as_ref()).map_err(invalid)?;
        let workload = workload(stage, definition, &session, &launch.access, check.as_ref()).map_err(invalid)?;
        let secret = secret(stage, definition, &launch.run, &launch.access);
        // This precedes the first request, so that an interrupted launch is cleaned up too.
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), definition.skip_cleanup);
        let kind = if definition.driver.is_per_node() { Kind::DaemonSet } else { Kind::Pod };
        let created = async {
            create(cluster, &stage.namespace, Kind::Secret, &secret).await?;
            for map in check.iter().flat_map(|check| &check.config_maps) {
                create(cluster, &stage.namespace, Kind::ConfigMap, map).await?;
            }
            if kind == Kind::DaemonSet {
                check_admission(cluster, &stage.namespace, &workload).await?;
            }
            create(cluster, &stage.namespace, kind, &workload).await
        };
        match created.await {
            Ok(Created::New) => tracing::info!(%plugin, "{} created", kind.word()),
            // The monitor reports what the pod has done since then.
            Ok(Created::Adopted) => tracing::info!(%plugin, "continuing with {} of an earlier launch", kind.word()),
            // What exists stays until the launch is abandoned: the next attempt adopts it.
            Err(error) => return Err(explain(&error, &stage.namespace)),
        }
        let watched = Watched {
            plugin: plugin.clone(),
            session,
            per_node: definition.driver.is_per_node(),
            missing: launch.missing.iter().cloned().collect(),
            container: crate::names::plugin_container(definition).to_owned(),
            heard: launch.heard.clone(),
        };
        self.monitor.watch(watched, reports).await;
        Ok(())
    }

    async fn abandon_launch(&self, launch: &Launch) {
        let plugin = &launch.definition.name;
        let session = session_id(&launch.run, plugin);
        let stays = launch.definition.skip_cleanup;
        for left in clean_up_launch(&self.cluster, &self.stage.namespace, session, stays).await {
            tracing::warn!(%plugin, "after a failed launch: {left}");
        }
    }

    async fn clean(&self) -> Result<(), DispatchError> {
        self.monitor.stop().await;
        let launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let errors = clean_up(&self.cluster, &self.stage, &launched).await;
        let messages: Vec<String> = errors.iter().map(|error| explain(error, &self.stage.namespace).message).collect();
        if messages.is_empty() { Ok(()) } else { Err(DispatchError::new(messages.join("; "))) }
    }
}

impl Dispatcher for KubernetesDispatcher {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>> {
        Box::pin(async {
            let list = list_nodes(&self.cluster).await.map_err(|error| explain(&error, &self.stage.namespace))?;
            for warning in list.warnings {
                tracing::warn!("{warning}");
            }
            Ok(list.nodes)
        })
    }

    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(self.start(launch, reports))
    }

    fn abandon<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, ()> {
        Box::pin(self.abandon_launch(launch))
    }

    fn settle<'a>(&'a self, plugin: &'a Completed) -> BoxFuture<'a, Vec<Exit>> {
        let definition = &plugin.definition;
        // Nothing is deleted yet: other plugins of the run may continue for hours, and the user may
        // want to inspect the objects.
        Box::pin(self.monitor.settle(SettledPlugin {
            plugin: definition.name.clone(),
            session: session_id(&plugin.run, &definition.name),
            per_node: definition.driver.is_per_node(),
            container: crate::names::plugin_container(definition).to_owned(),
            received: plugin.received.clone(),
            failed: plugin.failed.clone(),
        }))
    }

    fn survey(&self) -> BoxFuture<'_, ()> {
        match &self.survey {
            Some(survey) => survey(),
            None => Box::pin(async {}),
        }
    }

    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(self.clean())
    }
}

/// Compiles the check of a plugin once for all of its pods. If that fails, each pod tries it, and its
/// result says what is wrong.
async fn compiled(launch: &Launch) -> Option<CompiledCheck> {
    let plugin = &launch.definition.name;
    let compiler = launch.check.as_ref()?.compiler.clone();
    let start = Instant::now();
    let compiled = tokio::task::spawn_blocking(move || compiler.compile()).await;
    match compiled.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(code) => {
            let size = Bytes(code.bytes.len() as u64);
            tracing::info!(%plugin, "compiled the check in {:.1} s: {size}", start.elapsed().as_secs_f64());
            Some(code)
        }
        Err(error) => {
            tracing::warn!(%plugin, "failed to compile the check, so each pod compiles it: {error}");
            None
        }
    }
}

/// Returns the error with what failed, why, and how to fix it.
fn explain(error: &ClusterError, namespace: &str) -> DispatchError {
    let advice = advice(error, namespace).or_else(|| error.hint.clone());
    let message = match advice {
        Some(advice) => format!("failed to {}: {} (hint: {advice})", error.what, error.cause),
        None => format!("failed to {}: {}", error.what, error.cause),
    };
    dispatch_error(error, message)
}

/// Returns an error with this message, and whether the cause of `error` may pass.
pub(crate) fn dispatch_error(error: &ClusterError, message: String) -> DispatchError {
    DispatchError { message, is_temporary: error.is_transient() }
}

/// Returns a hint for status 403, which has more causes than a missing permission.
fn advice(error: &ClusterError, namespace: &str) -> Option<String> {
    if error.code != Some(403) {
        return None;
    }
    let cause = error.cause.as_str();
    if let Some((_, rest)) = cause.split_once(" cannot ") {
        // `User "U" cannot VERB resource "RESOURCE" in API group "GROUP" in the namespace "N"`
        let mut quoted = rest.split('"');
        let verb = quoted.next().and_then(|words| words.split_whitespace().next())?;
        let resource = quoted.next()?;
        let group = quoted.nth(1).filter(|group| !group.is_empty()).map(|group| format!(" of `{group}`"));
        return Some(format!(
            "the aggregator's account needs the permission to `{verb}` `{resource}`{} in namespace `{namespace}`",
            group.unwrap_or_default()
        ));
    }
    let known = [
        (
            "violates PodSecurity",
            "start the run with the level that the plugin needs (`--namespace-psa-enforce-level`), or give the plugin a `podSpec` and a `securityContext` that the level admits",
        ),
        ("exceeded quota", "raise the quota of the namespace, or lower the requests of the plugin"),
        ("must specify", "add `resources` to the plugin: the quota of the namespace requires them of every container"),
        ("being terminated", "the namespace is being deleted: use another, or wait until it is gone"),
        ("security context constraint", "let the account use a security context constraint that admits the plugin"),
    ];
    known.iter().find(|(sign, _)| cause.contains(sign)).map(|(_, advice)| (*advice).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(cause: &str, code: u16) -> String {
        let error = ClusterError {
            what: "create pod `p`".into(),
            cause: cause.into(),
            hint: None,
            code: Some(code),
            reason: None,
            is_lasting: false,
        };
        explain(&error, "ns").message
    }

    #[test]
    fn an_api_server_that_does_not_answer_is_a_temporary_cause() {
        let error = |code| ClusterError { code, ..ClusterError::new("list nodes", "no") };
        for (code, is_temporary) in [
            (None, true),
            (Some(429), true),
            (Some(500), true),
            (Some(503), true),
            (Some(401), false),
            (Some(403), false),
            (Some(404), false),
            (Some(422), false),
        ] {
            assert_eq!(explain(&error(code), "ns").is_temporary, is_temporary, "{code:?}");
        }
        assert!(!explain(&error(None).lasting(), "ns").is_temporary);
    }

    #[test]
    fn a_missing_permission_for_the_core_group_is_named() {
        let message = message_of(
            "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\" in the namespace \"ns\"",
            403,
        );
        assert!(message.contains("to `create` `pods` in namespace"), "{message}");
    }

    #[test]
    fn other_refusals_have_other_advice_or_none() {
        assert!(
            message_of("pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": host namespaces", 403)
                .contains("--namespace-psa-enforce-level")
        );
        assert!(message_of("pods \"p\" is forbidden: exceeded quota: q, requested: pods=1", 403).contains("quota"));
        assert!(!message_of("an odd webhook said no: cannot", 403).contains("hint"));
        assert!(!message_of("Pod \"p\" is invalid: spec.containers[0].image: Required value", 422).contains("hint"));
    }
}
