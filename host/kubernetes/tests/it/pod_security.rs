//! The created pods comply with the Pod Security level `restricted`.

use plumbline_core::config::{Permissions, SecurityContextMode};
use plumbline_dev::schema::breaches;
use plumbline_kubernetes::driver::{Stage, WorkerSecurity, workload};
use serde_json::json;

use crate::dispatch::samples::{SESSION, access, definition, stage};
use crate::manifest::{DAEMON_SET, made, of_kind, options};

/// A plugin that complies with `restricted`, as its author has to write it for such a namespace.
const MODEST: &str = "
sonobuoy-config: {driver: DRIVER, plugin-name: modest, result-format: raw}
spec:
  name: plugin
  image: example/modest:v1
  securityContext:
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
podSpec:
  securityContext:
    runAsNonRoot: true
    seccompProfile: {type: RuntimeDefault}
  containers: []
";

#[test]
fn the_aggregator_is_admitted() {
    for mode in [SecurityContextMode::NonRoot, SecurityContextMode::Platform] {
        let mut options = options(Permissions::Minimal, DAEMON_SET);
        options.config.security_context_mode = mode;
        options.config.plumbline.storage = "pvc:5Gi:fast".parse().unwrap();
        options.config.plumbline.upload_url = "s3://audits/nightly".to_owned();
        options.config.plumbline.upload_secret = "storage".to_owned();
        options.plugins[0].modules = vec![("m.wasm".to_owned(), b"module".to_vec())];
        let objects = made(&options);
        assert_eq!(breaches(&of_kind(&objects, "Pod")[0]["spec"]), Vec::<String>::new(), "{mode}");
        options.config.security_context_mode = SecurityContextMode::None;
        assert!(!breaches(&of_kind(&made(&options), "Pod")[0]["spec"]).is_empty());
    }
}

#[test]
fn a_worker_needs_no_more_than_its_plugin() {
    for security in [WorkerSecurity::LikePlugin, WorkerSecurity::Platform] {
        for native_sidecar in [false, true] {
            let stage = Stage { security, native_sidecar, ..stage() };
            let job = definition(&MODEST.replace("DRIVER", "Job"));
            let job = workload(&stage, &job, SESSION, &access()).unwrap();
            assert_eq!(breaches(&job["spec"]), Vec::<String>::new(), "{job:#}");
            let each = definition(&MODEST.replace("DRIVER", "DaemonSet"));
            let each = workload(&stage, &each, SESSION, &access()).unwrap();
            assert_eq!(breaches(&each["spec"]["template"]["spec"]), Vec::<String>::new(), "{each:#}");
        }
    }
}

#[test]
fn what_is_not_modest_is_refused_for_what_it_asks_for() {
    let greedy = MODEST.replace("DRIVER", "Job").replace("runAsNonRoot: true", "runAsNonRoot: false");
    let job = workload(&stage(), &definition(&greedy), SESSION, &access()).unwrap();
    assert!(breaches(&job["spec"]).contains(&"container `plugin`: `runAsNonRoot` is not true".to_owned()));
    let spec = json!({
        "hostPID": true,
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        "containers": [{"name": "c", "ports": [{"hostPort": 80}], "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}],
    });
    let told = breaches(&spec).join("\n");
    for word in [
        "`hostPID`",
        "`hostPath`",
        "`allowPrivilegeEscalation`",
        "`runAsNonRoot`",
        "seccomp",
        "not all capabilities",
        "capabilities are added",
        "a port of the host",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
}
