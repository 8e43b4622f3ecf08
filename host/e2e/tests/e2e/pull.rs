//! Tests of images in a registry that requires credentials.

use std::fs;

use serde_json::json;

use crate::bed::Bed;
use crate::faults::{error, impatient, retrieve};
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
    bed.run(&[Plugin::job("refused").image(&image)], &["--config", config, "--wait"]).expect(3);
    let error = error(&bed, &retrieve(&bed), "refused");
    let sentence = error["name"].as_str().unwrap();
    assert!(sentence.contains(&image) && sentence.contains("pulled"), "{sentence}");
}
