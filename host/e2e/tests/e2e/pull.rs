//! Tests of images in a registry that requires credentials, and behind an air gap.

use std::fs;

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::json;

use crate::bed::Bed;
use crate::faults::{error, impatient, retrieve};
use crate::place::{Change, NodeAccess};
use crate::plugin::Plugin;
use crate::settings::loudly;

/// A registry that has the image under test for one user.
struct Registry {
    host: String,
    user: String,
    password: String,
}

impl Registry {
    fn from_env(test: &str) -> Option<Self> {
        let Ok(text) = std::env::var("PLUMBLINE_E2E_CLOSED_REGISTRY") else {
            loudly(&format!(
                "SKIPPED {test}: PLUMBLINE_E2E_CLOSED_REGISTRY (`USER:PASSWORD@HOST`), a registry with the image under test, is not set"
            ));
            return None;
        };
        let (credentials, host) = text.split_once('@').unwrap();
        let (user, password) = credentials.split_once(':').unwrap();
        Some(Self { host: host.to_owned(), user: user.to_owned(), password: password.to_owned() })
    }

    /// Returns the reference of the image under test in it.
    fn image(&self, bed: &Bed) -> String {
        format!("{}/{}", self.host, bed.image().rsplit('/').next().unwrap())
    }
}

#[test]
fn nodes_pull_every_image_of_a_run_with_the_secret_of_its_configuration() {
    let Some(registry) = Registry::from_env("pull") else { return };
    let Some(bed) = Bed::new("pull") else { return };
    let login = json!({"username": registry.user, "password": registry.password});
    fs::write(bed.path("pull.json"), json!({"auths": {&registry.host: login}}).to_string()).unwrap();
    let config = json!({"E2EDockerConfigFile": "pull.json", "ImagePullSecrets": "credentials"});
    fs::write(bed.path("config.json"), config.to_string()).unwrap();
    let plugins = [Plugin::job("once"), Plugin::daemon_set("each")];
    bed.run(&plugins, &["--config", "config.json", "--registry", &registry.host, "--wait"]).expect(0);
    let (pulled, image) = (bed.pulled(), registry.image(&bed));
    assert!(pulled.iter().all(|message| message.contains(&image)), "{pulled:?}");
    // The aggregator's pod, and a worker and a plugin in each further pod.
    assert_eq!(pulled.len(), 3 + 2 * bed.nodes().len(), "{pulled:?}");
}

#[test]
fn an_image_that_needs_missing_credentials_is_reported() {
    let Some(registry) = Registry::from_env("pull-refused") else { return };
    let Some(bed) = Bed::new("pull-refused") else { return };
    let config = impatient(&bed);
    let image = registry.image(&bed);
    // A node may have the image from another test, and kubelets before 1.35 then do not ask for credentials.
    let definition = Plugin::job("refused").image(&image).definition(bed.image()).replace("IfNotPresent", "Always");
    fs::write(bed.path("refused.yaml"), definition).unwrap();
    bed.run(&[], &["-p", "refused.yaml", "--config", config, "--wait"]).expect(3);
    let error = error(&bed, &retrieve(&bed), "refused");
    let sentence = error["name"].as_str().unwrap();
    assert!(sentence.contains(&image) && sentence.contains("pulled"), "{sentence}");
}

/// Packets of a node that leave the cluster.
const OUTWARD: &str = "OUTPUT -o eth0 ! -d 10.0.0.0/8 -j REJECT";

/// Returns whether a container of the pod waits for an image that could not be pulled.
fn lacks_image(pod: &Pod) -> bool {
    let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let mut reasons = statuses.filter_map(|status| status.state.as_ref()?.waiting.as_ref()?.reason.as_deref());
    reasons.any(|reason| ["ErrImagePull", "ImagePullBackOff"].contains(&reason))
}

#[test]
fn a_run_behind_an_air_gap_pulls_only_what_was_carried_over_it() {
    let Ok(registry) = std::env::var("PLUMBLINE_E2E_REGISTRY") else {
        loudly("SKIPPED air-gap: PLUMBLINE_E2E_REGISTRY, a registry with the image under test, is not set");
        return;
    };
    let Some(bed) = Bed::new("air-gap") else { return };
    let Some(nodes) = NodeAccess::of(&bed, "air-gap") else { return };
    let _cut: Vec<Change> = (1..=bed.nodes().len()).map(|node| nodes.filter(node, "filter", OUTWARD)).collect();
    // Only a mirror has the image under its public name.
    let name = bed.image().rsplit('/').next().unwrap();
    let (public, prefix) = (format!("ghcr.io/{name}"), format!("{registry}/air-gap"));
    let files = bed.definitions(&[Plugin::job("once").image(&public), Plugin::daemon_set("each").image(&public)]);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mirror = format!("ghcr.io={registry}");
    let insecure = ["--insecure-registry", registry.as_str()];
    let save = ["images", "save", "-f", "images.tar", "--image", &public, "--mirror", &mirror];
    bed.plumbline(&[&save[..], &files[..], &insecure].concat()).expect(0);
    bed.plumbline(&[&["images", "load", "images.tar", "--to", &prefix][..], &insecure].concat()).expect(0);
    let check = ["images", "check", "--registry", &prefix, "--from", "images.tar"];
    bed.plumbline(&[&check[..], &insecure].concat()).expect(0);

    let run = ["run", "-n", bed.namespace(), "--image", &public, "--image-pull-policy", "IfNotPresent", "--wait"];
    bed.plumbline(&[&run[..], &files[..], &["--registry", &prefix]].concat()).expect(0);
    let (pulled, carried) = (bed.pulled(), format!("{prefix}/{name}"));
    assert!(pulled.iter().all(|message| message.contains(&carried)), "{pulled:?}");
    // The aggregator's pod, and a worker and a plugin in each further pod.
    assert_eq!(pulled.len(), 3 + 2 * bed.nodes().len(), "{pulled:?}");

    // No node can pull it under its public name.
    let container = json!({"name": "c", "image": public, "imagePullPolicy": "IfNotPresent"});
    let pod = json!({"metadata": {"name": "public"}, "spec": {"containers": [container]}});
    bed.ask(bed.api::<Pod>().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()));
    bed.wait_for_pod("public", lacks_image);
}
