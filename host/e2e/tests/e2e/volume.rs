//! Tests of a run on a volume that outlives its pod.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use k8s_openapi::api::core::v1::{Event, PersistentVolume, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::faults::{error, impatient, retrieve};
use crate::place::NodeAccess;
use crate::plugin::Plugin;
use crate::settings::loudly;

/// A directory of the first node, as a volume with a storage class of its own. Both are removed
/// when dropped.
pub(crate) struct Volume<'a> {
    bed: &'a Bed,
    places: &'a NodeAccess,
    path: String,
}

impl<'a> Volume<'a> {
    pub(crate) fn new(bed: &'a Bed, places: &'a NodeAccess) -> Self {
        let path = format!("/var/tmp/plumbline-{}", bed.namespace());
        // The kubelet does not set the group of a directory on its node, so it must be writable for
        // everyone.
        places.run(1, &["mkdir", "-m", "777", &path]);
        let volume = Self { bed, places, path };
        let object = json!({
            "metadata": {"name": bed.namespace()},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": volume.path, "type": "Directory"},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": bed.namespace(),
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [bed.nodes()[0]]},
                ]}]}},
            },
        });
        let volumes = bed.cluster_api::<PersistentVolume>();
        bed.ask(volumes.create(&PostParams::default(), &serde_json::from_value(object).unwrap()));
        volume
    }

    /// Returns the names of the files on the volume.
    pub(crate) fn files(&self) -> Vec<String> {
        self.places.run(1, &["ls", &self.path]).lines().map(str::to_owned).collect()
    }
}

impl Drop for Volume<'_> {
    fn drop(&mut self) {
        let volumes = self.bed.cluster_api::<PersistentVolume>();
        self.bed.ask(volumes.delete(self.bed.namespace(), &DeleteParams::background()));
        self.places.run(1, &["rm", "-rf", &self.path]);
    }
}

/// Returns the UIDs of the plugin's pods that were ever scheduled.
fn pods_of(bed: &Bed, plugin: &str) -> BTreeSet<String> {
    let events = bed.ask(bed.api::<Event>().list(&ListParams::default().fields("reason=Scheduled")));
    let objects = events.items.into_iter().map(|event| event.involved_object);
    let named = format!("sonobuoy-{plugin}-job-");
    let of_plugin = objects.filter(|object| object.name.as_deref().is_some_and(|name| name.starts_with(&named)));
    of_plugin.filter_map(|object| object.uid).collect()
}

/// Returns whether there is `kubectl`. Otherwise prints that `test` is skipped.
pub(crate) fn has_kubectl(test: &str) -> bool {
    let found = Command::new("kubectl").args(["version", "--client"]).output().is_ok();
    if !found {
        loudly(&format!("SKIPPED {test}: `kubectl` not found: the test needs it"));
    }
    found
}

/// Runs `kubectl`, and returns its output.
pub(crate) fn kubectl(bed: &Bed, args: &[&str]) -> String {
    let mut command = Command::new("kubectl");
    command.env("KUBECONFIG", &bed.settings().kubeconfig).current_dir(bed.path("")).args(args);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{args:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_run_on_a_claim_resumes_in_the_next_pod() {
    let Some(bed) = Bed::new("volume") else { return };
    let Some(places) = NodeAccess::of(&bed, "volume") else { return };
    if !has_kubectl("volume") {
        return;
    }
    let volume = Volume::new(&bed, &places);
    let config = impatient(&bed);
    let storage = format!("pvc:1Gi:{}", bed.namespace());
    let plugins = [Plugin::job("first"), Plugin::job("second").args(&["--after=25s"])];
    let manifest = bed.with_plugins("gen", &plugins, &["--config", config, "--storage", &storage]).expect(0);
    fs::write(bed.path("run.yaml"), &manifest.out).unwrap();
    bed.plumbline(&["run", "-f", "run.yaml"]).expect(0);

    let first = bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        let status: Value = status.and_then(|status| serde_json::from_str(status).ok()).unwrap_or_default();
        let entries = status["plugins"].as_array().cloned().unwrap_or_default();
        entries.iter().any(|entry| entry["plugin"] == "first" && entry["status"] == "complete")
    });
    assert_eq!((pods_of(&bed, "first").len(), pods_of(&bed, "second").len()), (1, 1));
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    bed.ask(bed.api::<Pod>().delete("sonobuoy", &now));
    kubectl(&bed, &["apply", "-f", "run.yaml"]);

    bed.command("wait", &["--timeout", "5m"]).expect(0);
    let next = bed.wait_for_pod("sonobuoy", |_| true);
    assert_ne!(first.metadata.uid, next.metadata.uid);
    let archive = retrieve(&bed);
    for plugin in ["first", "second"] {
        assert_eq!(error(&bed, &archive, plugin)["status"], "passed", "{plugin}");
    }
    assert_eq!(pods_of(&bed, "first").len(), 1, "what was in is not run again");
    assert_eq!(pods_of(&bed, "second").len(), 2, "what was running went with the pod");
    let log = bed.logs("sonobuoy", "kube-sonobuoy");
    assert!(log.contains("Continued"), "{log}");
    // The claim is deleted with its namespace, and the volume after it.
    bed.command("delete", &["--wait", "--yes"]).expect(0);
    drop(volume);
}
