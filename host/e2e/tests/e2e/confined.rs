//! Tests with users that a platform assigns.

use std::fs;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::bed::Bed;
use crate::faults::{error, retrieve};
use crate::plugin::Plugin;

/// A user as OpenShift assigns them: from the range of a namespace, and unknown to any image.
const USER: i64 = 1_000_680_000;

#[test]
fn an_aggregator_and_workers_of_any_user_complete_a_run() {
    let Some(bed) = Bed::new("any-user") else { return };
    let assigned = json!({"runAsUser": USER, "runAsGroup": 0, "fsGroup": USER, "runAsNonRoot": true});
    let plugins = [Plugin::job("once").secured(&assigned), Plugin::daemon_set("each").secured(&assigned)];
    let manifest = bed.with_plugins("gen", &plugins, &["--security-context-mode", "platform"]).expect(0).out;
    // Do what the platform does for pods without a user. Pods of plugins already have one here.
    let (before, after) = manifest.rsplit_once("runAsNonRoot: true\n").unwrap();
    let indent = &before[before.rfind('\n').unwrap()..];
    let assigned = format!("runAsNonRoot: true{indent}runAsUser: {USER}{indent}runAsGroup: 0{indent}fsGroup: {USER}\n");
    fs::write(bed.path("run.yaml"), format!("{before}{assigned}{after}")).unwrap();
    bed.plumbline(&["run", "-f", "run.yaml", "--wait"]).expect(0);
    let pod = bed.ask(bed.api::<Pod>().get("sonobuoy"));
    let context = pod.spec.unwrap().security_context.unwrap();
    assert_eq!((context.run_as_user, context.fs_group), (Some(USER), Some(USER)));
    let archive = retrieve(&bed);
    assert_eq!(error(&bed, &archive, "once")["status"], "passed");
    assert_eq!(error(&bed, &archive, "each")["status"], "passed");
}
