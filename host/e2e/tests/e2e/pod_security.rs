//! Tests in namespaces that enforce a level of the Pod Security Standards.

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;

use crate::bed::Bed;
use crate::faults::{error, retrieve};
use crate::plugin::Plugin;

#[test]
fn a_restricted_namespace_admits_the_aggregator_its_workers_and_silent_plugins() {
    let Some(bed) = Bed::new("restricted") else { return };
    let plugins = [Plugin::job("once"), Plugin::daemon_set("each")];
    bed.run(&plugins, &["--namespace-psa-enforce-level", "restricted", "--wait"]).expect(0);
    // The level holds for whole pods, so no container has more rights than it admits.
    let pods = bed.ask(bed.api::<Pod>().list(&ListParams::default())).items;
    let users = pods.iter().map(|pod| pod.spec.as_ref().unwrap().security_context.as_ref().unwrap().run_as_non_root);
    assert!(users.clone().count() > 0 && users.clone().all(|non_root| non_root == Some(true)), "{pods:?}");
    let archive = retrieve(&bed);
    assert_eq!(error(&bed, &archive, "once")["status"], "passed");
    assert_eq!(error(&bed, &archive, "each")["status"], "passed");
}

#[test]
fn built_in_plugins_that_need_their_nodes_are_refused_at_once_with_the_reason() {
    for level in ["baseline", "restricted"] {
        let Some(bed) = Bed::new(level) else { return };
        let plugins = ["-p", "host-facts", "-p", "systemd-logs", "--namespace-psa-enforce-level", level, "--wait"];
        bed.run(&[Plugin::job("once"), Plugin::daemon_set("each")], &plugins).expect(3);
        let archive = retrieve(&bed);
        for plugin in ["host-facts", "systemd-logs"] {
            // The first error of the first node.
            let refused = error(&bed, &archive, plugin)["items"][0].clone();
            let sentence = refused["name"].as_str().unwrap();
            assert!(sentence.contains(&format!("violates PodSecurity \"{level}")), "{refused}");
            assert!(sentence.contains("hostPath"), "{refused}");
        }
        // Definitions that leave everything open run at both levels.
        assert_eq!(error(&bed, &archive, "once")["status"], "passed");
        assert_eq!(error(&bed, &archive, "each")["status"], "passed");
    }
}
