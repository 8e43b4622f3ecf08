//! The created pods comply with the Pod Security level `restricted`.

use plumbline_core::config::{Permissions, PodSecurity, SecurityContextMode};
use plumbline_dev::schema::breaches;
use plumbline_kubernetes::driver::{Stage, WorkerSecurity, workload};
use serde_json::{Value, json};

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
            let job = workload(&stage, &job, SESSION, &access(), None).unwrap();
            assert_eq!(breaches(&job["spec"]), Vec::<String>::new(), "{job:#}");
            let each = definition(&MODEST.replace("DRIVER", "DaemonSet"));
            let each = workload(&stage, &each, SESSION, &access(), None).unwrap();
            assert_eq!(breaches(&each["spec"]["template"]["spec"]), Vec::<String>::new(), "{each:#}");
        }
    }
}

/// Plugins that say nothing about their security.
const SILENT: &str = "
sonobuoy-config: {driver: DRIVER, plugin-name: silent, result-format: raw}
spec: {name: plugin, image: example/silent:v1}
";

#[test]
fn in_a_restricted_namespace_a_silent_plugin_gets_what_the_level_requires() {
    let pod = |security, yaml: &str| {
        let stage = Stage { pod_security: PodSecurity::Restricted, native_sidecar: true, security, ..stage() };
        let object = workload(&stage, &definition(yaml), SESSION, &access(), None).unwrap();
        object.pointer("/spec/template/spec").unwrap_or(&object["spec"]).clone()
    };
    for driver in ["Job", "DaemonSet"] {
        let yaml = SILENT.replace("DRIVER", driver);
        for security in [WorkerSecurity::LikePlugin, WorkerSecurity::Platform] {
            let pod = pod(security, &yaml);
            assert_eq!(breaches(&pod), Vec::<String>::new(), "{pod:#}");
            // A platform chooses the user itself.
            let user = (security == WorkerSecurity::LikePlugin).then(|| json!(65532));
            assert_eq!(pod["securityContext"].get("runAsUser"), user.as_ref(), "{pod:#}");
        }
    }
    let windows = SILENT.replace("DRIVER", "Job") + "podSpec: {os: {name: windows}, containers: []}\n";
    let windows = pod(WorkerSecurity::LikePlugin, &windows);
    assert_eq!(windows["securityContext"], json!({"runAsNonRoot": true}), "the API has no other field there");
    // What a definition sets stays. The worker has the plugin's user, so it can read its files.
    let yaml = SILENT.replace("DRIVER", "Job").replace("v1}", "v1, securityContext: {runAsUser: 1000}}");
    let pod = pod(WorkerSecurity::LikePlugin, &yaml);
    assert_eq!(breaches(&pod), Vec::<String>::new(), "{pod:#}");
    let user = |container: &Value| container["securityContext"]["runAsUser"].clone();
    assert_eq!((user(&pod["containers"][0]), user(&pod["initContainers"][0])), (json!(1000), json!(1000)), "{pod:#}");
}

#[test]
fn without_a_privileged_namespace_a_silent_daemon_set_uses_nothing_of_its_nodes() {
    let each = definition(&SILENT.replace("DRIVER", "DaemonSet"));
    let pod = |pod_security| {
        let stage = Stage { pod_security, ..stage() };
        workload(&stage, &each, SESSION, &access(), None).unwrap()["spec"]["template"]["spec"].clone()
    };
    assert_eq!(pod(PodSecurity::Privileged)["hostNetwork"], true);
    let baseline = pod(PodSecurity::Baseline);
    assert!(!breaches(&baseline).iter().any(|what| what.contains("host")), "{baseline:#}");
    assert!(baseline["containers"][0].get("securityContext").is_none(), "{baseline:#}");
}

#[test]
fn a_privileged_pod_is_rejected_for_each_privilege() {
    let greedy = MODEST.replace("DRIVER", "Job").replace("runAsNonRoot: true", "runAsNonRoot: false");
    let job = workload(&stage(), &definition(&greedy), SESSION, &access(), None).unwrap();
    assert!(breaches(&job["spec"]).contains(&"container `plugin`: `runAsNonRoot` is not true".to_owned()));
    let spec = json!({
        "hostPID": true,
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        "containers": [{"name": "c", "ports": [{"hostPort": 80}], "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}],
    });
    let text = breaches(&spec).join("\n");
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
        assert!(text.contains(word), "{word}: {text}");
    }
}
