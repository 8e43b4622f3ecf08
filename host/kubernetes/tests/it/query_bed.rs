//! A simulated cluster, and a directory for its survey.

use std::path::Path;

use plumbline_core::Config;
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::query::{Summary, survey};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster;

pub(crate) struct Bed {
    pub(crate) double: ApiDouble,
    pub(crate) cluster: Cluster,
    dir: TempDir,
}

impl Bed {
    /// Creates a cluster with the empty namespaces `default` and `kube-system`.
    pub(crate) async fn new() -> Self {
        let double = ApiDouble::start().await.unwrap();
        Self { cluster: cluster(&double).await, double, dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn out(&self) -> std::path::PathBuf {
        self.dir.path().join("out")
    }

    pub(crate) async fn survey(&self, config: &Config) -> Summary {
        // Run on another thread, as a dispatcher does. This also checks that the future is `Send`.
        let (cluster, config, out) = (self.cluster.clone(), config.clone(), self.out());
        tokio::spawn(async move { survey(&cluster, &config, &out, &|_| {}).await }).await.unwrap()
    }

    /// Returns a file of the survey as JSON.
    pub(crate) fn json(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.out().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.out().join(name).exists()
    }

    /// Returns the names of the objects in a list.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let list = self.json(name);
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns all files of the survey, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        walk(&self.out(), &self.out(), &mut files);
        files.sort();
        files
    }

    pub(crate) fn config_map(&self, namespace: &str, name: &str) {
        self.double.put("configmaps", json!({"metadata": {"namespace": namespace, "name": name}}));
    }

    /// Rejects requests whose path and query contain `path` with a status code.
    pub(crate) fn refuse(&self, path: &str, code: u16, times: u32) {
        let kind = FaultKind::Status { code, message: format!("refused with {code}"), retry_after: None };
        self.double.fault(Fault { method: Some("GET"), path_contains: path.to_owned(), kind, times });
    }
}

/// Returns a configuration that selects only these resources.
pub(crate) fn only(resources: &[&str]) -> Config {
    let resources = resources.iter().map(|&name| name.to_owned()).collect();
    let mut config = Config { resources: Some(resources), qps: 1000.0, burst: 1000, ..Config::default() };
    config.plumbline.query_kubelets = true;
    config
}

/// Returns the errors, one line each.
pub(crate) fn errors(summary: &Summary) -> Vec<String> {
    let mut errors: Vec<String> = summary.errors.iter().map(ToString::to_string).collect();
    errors.sort();
    errors
}

fn walk(root: &Path, dir: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(root, &path, files);
        } else {
            files.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}
