//! A release of the Helm chart with a schedule, and its upgrade.

use std::fs;
use std::path::PathBuf;

use k8s_openapi::api::batch::v1::CronJob;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::place::NodeAccess;
use crate::plugin::Plugin;
use crate::schedule::{SCHEDULE, next_job, outcome};
use crate::settings::loudly;
use crate::volume::Volume;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/helm/plumbline");

/// A release in the namespace of the test, with its archives on a volume.
struct Release<'a> {
    bed: &'a Bed,
    helm: PathBuf,
}

impl Release<'_> {
    /// Runs `helm COMMAND` with a schedule.
    fn with_schedule(&self, command: &str, cron: &str) -> Done {
        let (repository, tag) = self.bed.image().rsplit_once(':').unwrap();
        let plugin: Value = serde_json::from_str(&Plugin::job("quick").definition(self.bed.image())).unwrap();
        let values = json!({
            "namespace": {"create": false},
            "image": {"repository": repository, "tag": tag},
            "builtInPlugins": [],
            "plugins": {"quick": plugin},
            "schedule": {"cron": cron},
            "storage": {"type": "pvc", "size": "1Gi", "class": self.bed.namespace()},
        });
        fs::write(self.bed.path("values.yaml"), values.to_string()).unwrap();
        self.bed.program(&self.helm, &[command, "e2e", CHART, "-n", self.bed.namespace(), "-f", "values.yaml"])
    }

    fn schedule(&self) -> Option<String> {
        let job = self.bed.ask(self.bed.api::<CronJob>().get(SCHEDULE));
        job.spec.map(|spec| spec.schedule)
    }
}

#[test]
fn an_upgrade_of_a_release_applies_to_the_next_run() {
    let Some(bed) = Bed::new("helm") else { return };
    let Some(helm) = std::env::var_os("PLUMBLINE_HELM").filter(|named| !named.is_empty()) else {
        loudly("SKIPPED helm: PLUMBLINE_HELM names no program; `cargo xtask e2e` builds it");
        return;
    };
    let Some(places) = NodeAccess::of(&bed, "helm") else { return };
    bed.create_namespace();
    let volume = Volume::new(&bed, &places);
    let release = Release { bed: &bed, helm: helm.into() };
    // No run starts by itself before the upgrade.
    release.with_schedule("install", "0 0 1 1 *").expect(0);
    assert_eq!(release.schedule().as_deref(), Some("0 0 1 1 *"));
    release.with_schedule("upgrade", "* * * * *").expect(0);
    assert_eq!(release.schedule().as_deref(), Some("* * * * *"));
    let job = next_job(&bed, None);
    assert!(outcome(&bed, &job), "the run of job {job} passed");
    let files = volume.files();
    assert!(files.iter().any(|name| name.ends_with(".tar.gz")), "{files:?}");
    bed.program(&release.helm, &["uninstall", "e2e", "-n", bed.namespace()]).expect(0);
    drop(volume);
}
