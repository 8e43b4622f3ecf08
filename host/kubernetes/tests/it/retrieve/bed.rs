//! An API double with an aggregator's pod, whose directory is a local one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plumbline_archive::finished::{copy_piece, list_archives, snapshot};
use plumbline_archive::gzip::Digest;
use plumbline_dev::{ApiDouble, ExecReply, ExecRequest};

use plumbline_archive::splat::splat;
use plumbline_kubernetes::retrieve::{
    Progress, Retries, RetrieveError, RetrieveOptions, Retrieved, retrieve, retrieve_snapshot,
};
use plumbline_kubernetes::{Cluster, names};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster;

pub(super) const ARCHIVE: &str = "202611201300_plumbline_x.tar.gz";
pub(super) const NAMESPACE: &str = "sonobuoy";

pub(super) struct Bed {
    pub(super) double: ApiDouble,
    pub(super) cluster: Cluster,
    dir: TempDir,
}

impl Bed {
    /// Creates a running pod with this status annotation, which executes commands with the real
    /// code.
    pub(super) async fn new(status: &Value) -> Self {
        let double = ApiDouble::start().await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pod")).unwrap();
        double.put("namespaces", json!({"metadata": {"name": NAMESPACE}}));
        double.put(
            "pods",
            json!({
                "metadata": {
                    "name": "sonobuoy", "namespace": NAMESPACE,
                    "labels": {"component": "sonobuoy", "sonobuoy-component": "aggregator"},
                    "annotations": {names::STATUS_ANNOTATION: status.to_string()},
                },
                "spec": {"containers": [{"name": "kube-sonobuoy", "image": "x"}]},
                "status": {"phase": "Running"},
            }),
        );
        let bed = Self { cluster: cluster(&double).await, double, dir };
        bed.on_exec(carry_out);
        bed
    }

    /// Sets the handler that executes commands. It gets the directory of the pod.
    pub(super) fn on_exec(&self, handler: impl Fn(&Path, &[&str]) -> ExecReply + Send + Sync + 'static) {
        let pod = self.pod();
        self.double.on_exec(move |request: ExecRequest| {
            assert_eq!((request.pod.as_str(), request.container.as_str()), ("sonobuoy", "kube-sonobuoy"));
            let words: Vec<&str> = request.command.iter().map(String::as_str).collect();
            handler(&pod, &words)
        });
    }

    /// Returns the directory of the pod.
    pub(super) fn pod(&self) -> PathBuf {
        self.dir.path().join("pod")
    }

    /// Returns the directory into which archives are retrieved.
    pub(super) fn download_dir(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(super) fn options(&self) -> RetrieveOptions {
        let mut options = RetrieveOptions::new(NAMESPACE, self.download_dir());
        options.retries = Retries { times: 3, pause: Duration::from_millis(1) };
        options.look = Duration::from_millis(10);
        options
    }

    pub(super) async fn retrieve(
        &self,
        options: &RetrieveOptions,
    ) -> (Result<Vec<Retrieved>, RetrieveError>, Vec<String>) {
        let mut events = Vec::new();
        let mut tell = |progress: Progress<'_>| {
            if !matches!(progress, Progress::Bytes(_)) {
                events.push(format!("{progress:?}"));
            }
        };
        let result = Box::pin(retrieve(&self.cluster, options, &mut tell)).await;
        (result, events)
    }

    pub(super) async fn snapshot(&self) -> Result<Retrieved, RetrieveError> {
        Box::pin(retrieve_snapshot(&self.cluster, &self.options(), &mut |_| {})).await
    }

    pub(super) fn set_status(&self, status: &Value) {
        let text = status.to_string();
        assert!(self.double.update("pods", NAMESPACE, "sonobuoy", |pod| {
            pod["metadata"]["annotations"][names::STATUS_ANNOTATION] = Value::String(text);
        }));
    }

    /// Returns the names of the files in the directory into which archives are retrieved.
    pub(super) fn downloaded_files(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.download_dir()) else { return Vec::new() };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns bytes that do not repeat.
pub(super) fn bytes(size: usize) -> Vec<u8> {
    (0..size as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

/// Returns the status of a run whose archive contains `data`.
pub(super) fn complete(data: &[u8]) -> Value {
    let sha256 = Digest::of_reader(data).unwrap().sha256;
    json!({"status": "complete", "plugins": [], "tar-info": {"name": ARCHIVE, "sha256": sha256, "size": data.len()}})
}

pub(super) fn running() -> Value {
    json!({"status": "running", "plugins": [
        {"plugin": "e2e", "node": "global", "status": "running"},
        {"plugin": "logs", "node": "n1", "status": "complete"},
    ]})
}

/// Executes the real commands on the directory of the pod, instead of the one in the command.
pub(super) fn carry_out(dir: &Path, words: &[&str]) -> ExecReply {
    assert_eq!(words[2], names::AGGREGATOR_DIR);
    let mut stdout = Vec::new();
    let result: Result<(), Box<dyn std::error::Error>> = match (words[0], words[1], &words[3..]) {
        (names::BINARY, "archive-piece", ["--list"]) => list_archives(dir)
            .map_err(Into::into)
            .and_then(|list| serde_json::to_writer(&mut stdout, &list).map_err(Into::into)),
        (names::BINARY, "archive-piece", ["--name", name, "--offset", offset, "--length", length]) => {
            let (offset, length) = (offset.parse().unwrap(), length.parse().unwrap());
            copy_piece(dir, name, offset, length, &mut stdout).map(drop).map_err(Into::into)
        }
        (names::BINARY, "archive-piece", ["--snapshot"]) => snapshot(dir, &mut stdout).map(drop).map_err(Into::into),
        (names::BINARY, "splat", []) => splat(dir, &mut stdout).map(drop).map_err(Into::into),
        _ => panic!("{words:?}"),
    };
    match result {
        Ok(()) => ExecReply { stdout, ..ExecReply::default() },
        Err(error) => ExecReply { stderr: format!("error: {error}\n").into(), exit_code: 4, ..ExecReply::default() },
    }
}

/// Responds like another tool's image, which does not know the command.
pub(super) fn only_splat(dir: &Path, words: &[&str]) -> ExecReply {
    if words[1] == "splat" {
        return carry_out(dir, words);
    }
    let stderr = b"Error: unknown command \"archive-piece\" for \"sonobuoy\"\nRun 'sonobuoy --help'\n".to_vec();
    ExecReply { stderr, exit_code: 1, ..ExecReply::default() }
}

/// Returns a queue from which handlers take values.
pub(super) fn queue(values: &[usize]) -> Arc<Mutex<Vec<usize>>> {
    Arc::new(Mutex::new(values.iter().rev().copied().collect()))
}
