//! Tests of the image: that it starts, with which user, and how its test plugin behaves in a pod.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use serde_json::json;

use crate::bed::{Bed, phase};

fn ended(pod: &Pod) -> ContainerStateTerminated {
    let statuses = pod.status.clone().unwrap().container_statuses.unwrap();
    statuses[0].state.clone().unwrap().terminated.unwrap()
}

#[test]
fn the_image_starts_as_an_arbitrary_user() {
    let Some(bed) = Bed::new("image-starts") else { return };
    bed.create_namespace();
    let strict = json!({"securityContext": {
        "runAsNonRoot": true,
        "readOnlyRootFilesystem": true,
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
    }});
    let pod = bed.pod("version", &["version"], &strict);
    assert_eq!(phase(&pod), "Succeeded");
    let log = bed.logs("version", "c");
    assert!(log.contains("Plumbline Version: v"), "{log}");
}

#[test]
fn it_answers_to_both_names() {
    let Some(bed) = Bed::new("image-names") else { return };
    bed.create_namespace();
    // Each program has its own exit code for an unknown command.
    for (path, code) in [("/sonobuoy", 1), ("/plumbline", 2)] {
        let pod = bed.pod(path.trim_start_matches('/'), &["no-such-command"], &json!({"command": [path]}));
        assert_eq!(ended(&pod).exit_code, code, "{path}");
    }
}

#[test]
fn its_test_plugin_follows_its_settings() {
    let Some(bed) = Bed::new("image-plugin") else { return };
    bed.create_namespace();
    let dev = json!({"command": ["/plumbline-dev", "plugin"]});
    let pod = bed.pod("archive", &["--archive", "--bytes=1MiB", "--progress=1", "--after=100ms"], &dev);
    let log = bed.logs("archive", "c");
    assert_eq!(phase(&pod), "Succeeded", "{log}");
    assert!(log.contains("/tmp/sonobuoy/results/test-plugin.tar.gz` is done"), "{log}");
    // Nothing listens there, but the name was resolved, which requires files from the kubelet and
    // the image.
    assert!(log.contains("refused"), "{log}");
    let pod = bed.pod("crash", &["--outcome=crash", "--exit=7"], &dev);
    assert_eq!(ended(&pod).exit_code, 7);
    let little = json!({"command": ["/plumbline-dev", "plugin"], "resources": {"limits": {"memory": "64Mi"}}});
    let pod = bed.pod("oom", &["--outcome=oom"], &little);
    assert_eq!(ended(&pod).reason.as_deref(), Some("OOMKilled"));
}
