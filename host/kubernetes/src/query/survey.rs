//! The survey of a cluster, which runs all queries concurrently within the throttle's limits.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use plumbline_archive::layout;
use plumbline_core::Config;
use plumbline_core::config::Filters;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::discovery::{Resource, discover};
use super::fetch::Fetch;
use super::health::{Incomplete, assess};
use super::kubelets::{Nodes, query_kubelets};
use super::list::{Selection, collect, list};
use super::podlogs::pod_logs;
use super::record::{Progress, Recorder, SURVEY, Summary, not_written, unfinished};
use super::selection::{NamespaceFilter, selected, valid_selector};
use super::store::{Destination, ListFiles, Scratch};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names::is_safe_name;

/// Maximum number of concurrent jobs. Most have one pending request, and others have limits of
/// their own. The throttle limits requests.
const JOBS: usize = 16;

/// Sustained rate in requests per second, if the configuration has none.
const QPS: f64 = 30.0;

/// Maximum number of requests at once after a pause, if the configuration has none.
const BURST: u32 = 50;

/// The file with the list of groups.
const SERVER_GROUPS: &str = "servergroups.json";

/// Writes the survey of the cluster below `out`, with the layout of an archive. Calls `observer`
/// after each query.
///
/// `config` selects the resources, namespaces, objects and logs. Its namespace is that of the run,
/// which is surveyed if namespaces cannot be listed.
///
/// No failure is fatal: failures are in `meta/query-time.json` and in the summary. If the future is
/// dropped, all existing files are complete, and `meta/query-time.json` says that the survey is not.
/// That file is written before the first request.
pub async fn survey(cluster: &Cluster, config: &Config, out: &Path, observer: &(dyn Fn(&Progress) + Sync)) -> Summary {
    let record = Recorder::new(observer);
    let scratch = match Scratch::new(out) {
        Ok(scratch) => scratch,
        Err(error) => {
            record.problem(SURVEY, "", not_written(out, &error));
            return record.summary();
        }
    };
    let qps = if config.qps > 0.0 { config.qps } else { QPS };
    let burst = if config.burst > 0 { config.burst } else { BURST };
    let fetch = Fetch::new(cluster.client(), qps, burst);
    let work = Work { fetch: &fetch, record: &record, scratch: &scratch, config, incomplete: Mutex::default() };
    if let Err(error) = work.put(layout::META_QUERY_TIME, &unfinished()) {
        work.problem(layout::META_QUERY_TIME, &error);
    }
    work.all().await;
    let (tree, incomplete) = (out.to_owned(), std::mem::take(&mut *work.incomplete()));
    match tokio::task::spawn_blocking(move || assess(&tree, incomplete)).await {
        Ok((health, problems)) => {
            for problem in problems {
                record.problem("clusterhealth", "", problem);
            }
            work.write(layout::META_CLUSTER_HEALTH, &health);
        }
        Err(error) => record.problem("clusterhealth", "", error.to_string()),
    }
    // This is last, because it contains all earlier failures. If this file itself cannot be
    // written, the first one stays, and the summary reports why.
    work.write(layout::META_QUERY_TIME, &record.query_times());
    record.summary()
}

struct Work<'a> {
    fetch: &'a Fetch,
    record: &'a Recorder<'a>,
    scratch: &'a Arc<Scratch>,
    config: &'a Config,
    /// What the health of the cluster lacks.
    incomplete: Mutex<Incomplete>,
}

struct Targets {
    selection: Selection,
    filter: NamespaceFilter,
    taken: Vec<String>,
    in_one_list: bool,
}

impl Work<'_> {
    async fn all(&self) {
        let wanted = self.config.resources.as_deref();
        let asked = |name: &str| wanted.is_none_or(|names| names.iter().any(|other| other == name));
        let (resources, groups) = discover(self.fetch, self.record, wanted).await;
        let all = self.namespaces().await;
        let targets = self.targets(&all);
        let targets = &targets;
        let nodes = if asked("nodes") || asked("podlogs") { self.nodes().await } else { Nodes::default() };
        let nodes = &nodes;
        let mut jobs: Vec<BoxFuture<'_, ()>> = Vec::new();
        // Jobs with long waits come first.
        if self.config.plumbline.query_kubelets && asked("nodes") {
            jobs.push(Box::pin(query_kubelets(self.fetch, self.record, self.scratch, nodes)));
        }
        if asked("podlogs") {
            jobs.push(Box::pin(pod_logs(self.fetch, self.record, self.scratch, self.config, &all, &nodes.away)));
        }
        if asked("serverversion") {
            jobs.push(Box::pin(self.version()));
        }
        if let Some(groups) = groups.filter(|_| asked("servergroups")) {
            self.record.query("servergroups", "", Instant::now(), Ok(0));
            self.write(SERVER_GROUPS, &groups);
        }
        for resource in &resources {
            jobs.push(Box::pin(async move {
                if resource.namespaced {
                    self.namespaced(resource, targets).await;
                } else {
                    let began = Instant::now();
                    let result = self.collect(resource, &targets.selection, Destination::Cluster).await;
                    self.record_query(resource, "", began, result);
                }
            }));
        }
        futures_util::stream::iter(jobs).buffer_unordered(JOBS).collect::<()>().await;
    }

    /// Returns the nodes of the cluster, or none if they cannot be listed.
    async fn nodes(&self) -> Nodes {
        Nodes::list(self.fetch).await.unwrap_or_else(|error| {
            self.record.problem("hosts", "", error.to_string());
            Nodes::default()
        })
    }

    /// Returns all namespaces of the cluster, or only the run's own if they cannot be listed.
    async fn namespaces(&self) -> Vec<String> {
        let all = Selection { metadata_only: true, ..Selection::default() };
        let name = |item: Value| Some(item.pointer("/metadata/name")?.as_str()?.to_owned());
        match collect(self.fetch, "list the namespaces", "/api/v1/namespaces", &all, name).await {
            Ok(names) => {
                let (good, bad): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_safe_name(name));
                for name in bad {
                    self.lacks_namespaces(format!("{name:?} is not a name of a namespace"));
                }
                good
            }
            Err(error) => {
                let own = &self.config.namespace;
                self.lacks_namespaces(format!("only namespace `{own}` is queried: {error}"));
                if is_safe_name(own) { vec![own.clone()] } else { Vec::new() }
            }
        }
    }

    fn targets(&self, all: &[String]) -> Targets {
        let Filters { namespaces, label_selector } = &self.config.filters;
        let own = &self.config.namespace;
        let filter = NamespaceFilter::matching(namespaces).unwrap_or_else(|error| {
            let why = format!("only namespace `{own}` is queried: the filter is not a regular expression: {error}");
            self.lacks_namespaces(why);
            NamespaceFilter::only(own)
        });
        let labels = valid_selector(self.record, "filters", "the label selector", label_selector);
        let (taken, in_one_list) = selected(all, &filter);
        Targets { selection: Selection { labels, ..Selection::default() }, filter, taken, in_one_list }
    }

    /// Collects the objects of one resource, in one list that is split by namespace, or in one list
    /// per namespace.
    async fn namespaced(&self, resource: &Resource, targets: &Targets) {
        if targets.in_one_list {
            let began = Instant::now();
            let place = Destination::EachNamespace(targets.filter.clone());
            match self.collect(resource, &targets.selection, place).await {
                // Permissions may be granted in each namespace, but not cluster-wide.
                Err(error) if error.is_forbidden() => tracing::debug!("{error}: asking in each namespace"),
                result => return self.record_query(resource, "", began, result),
            }
        }
        for namespace in &targets.taken {
            let began = Instant::now();
            let result = self.collect(resource, &targets.selection, Destination::Namespace(namespace.clone())).await;
            self.record_query(resource, namespace, began, result);
        }
    }

    /// Reads one list into its files, and returns their number.
    async fn collect(
        &self,
        resource: &Resource,
        selection: &Selection,
        place: Destination,
    ) -> Result<usize, ClusterError> {
        let plural = &resource.plural;
        let namespace = match &place {
            Destination::Namespace(namespace) => Some(namespace.as_str()),
            Destination::Cluster | Destination::EachNamespace(_) => None,
        };
        let of = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
        let what = format!("list {plural}{of}");
        let path = resource.path(namespace);
        let files = ListFiles::new(Arc::clone(self.scratch), resource.clone(), place.clone());
        let (files, metadata) = list(self.fetch, &what, &path, selection, files).await?;
        let finished = tokio::task::spawn_blocking(move || files.finish(&metadata)).await;
        let (count, left_out) = finished
            .map_err(io::Error::other)
            .and_then(|finished| finished)
            .map_err(|error| ClusterError::new(format!("write what `{what}` gave"), error.to_string()))?;
        if left_out.count > 0 {
            let why = format!("{} objects were left out: {}", left_out.count, left_out.first);
            self.lacks(resource, &why);
            self.record.problem(plural, "", why);
        }
        Ok(count)
    }

    fn incomplete(&self) -> MutexGuard<'_, Incomplete> {
        self.incomplete.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that objects of a resource are missing, if the health of the cluster depends on them.
    fn lacks(&self, resource: &Resource, why: &str) {
        match resource.plural.as_str() {
            // Other groups have resources of the same name.
            _ if !resource.at.group.is_empty() => {}
            "nodes" => self.incomplete().nodes(why),
            "pods" => self.incomplete().pods(why),
            _ => {}
        }
    }

    /// Records that not all namespaces are queried.
    fn lacks_namespaces(&self, why: String) {
        self.incomplete().pods(why.as_str());
        self.record.problem("namespaces", "", why);
    }

    fn record_query(&self, resource: &Resource, namespace: &str, began: Instant, result: Result<usize, ClusterError>) {
        let result = result.map_err(|error| error.to_string());
        if let Err(why) = &result {
            self.lacks(resource, why);
        }
        self.record.query(&resource.plural, namespace, began, result);
    }

    async fn version(&self) {
        let began = Instant::now();
        let version = self.fetch.json("ask the API server for its version", "/version").await;
        let outcome = version.as_ref().map(|_| 0).map_err(ToString::to_string);
        self.record.query("serverversion", "", began, outcome);
        if let Ok(version) = version {
            self.write(layout::SERVER_VERSION, &version);
        }
    }

    fn write(&self, relative: &str, document: &impl Serialize) {
        match self.put(relative, document) {
            Ok(()) => self.record.wrote(1),
            Err(error) => self.problem(relative, &error),
        }
    }

    fn put(&self, relative: &str, document: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(document)?;
        bytes.push(b'\n');
        self.scratch.write(relative, &bytes)
    }

    /// Records that a file could not be written.
    fn problem(&self, relative: &str, error: &io::Error) {
        self.record.problem(relative, "", not_written(&self.scratch.place(relative), error));
    }
}
