//! The Pod Security level `restricted`, as its rules are published
//! (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>), over the pods that are made here.

use plumbline_core::config::{Permissions, SecurityContextMode};
use plumbline_kubernetes::driver::{Stage, WorkerSecurity, daemon_set, pod};
use serde_json::{Value, json};

use crate::dispatch::samples::{SESSION, access, definition, stage};
use crate::manifest::{DAEMON_SET, made, of_kind, options};

/// Volumes that `restricted` allows.
const VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];
/// Settings of the kernel that `baseline` calls safe.
const SYSCTLS: [&str; 11] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_rmem",
];

fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

/// Every rule that a pod spec breaks; none: it is admitted.
fn broken(spec: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, what: String| {
        if !holds {
            broken.push(what);
        }
    };
    for key in ["hostNetwork", "hostPID", "hostIPC"] {
        rule(spec[key].is_null() || spec[key] == false, format!("{key} is set"));
    }
    for sysctl in list(spec, "/securityContext/sysctls") {
        rule(SYSCTLS.contains(&sysctl["name"].as_str().unwrap()), format!("{sysctl}"));
    }
    for volume in list(spec, "/volumes") {
        let kinds: Vec<_> = volume.as_object().unwrap().keys().filter(|key| *key != "name").collect();
        rule(matches!(&kinds[..], [kind] if VOLUMES.contains(&kind.as_str())), format!("volume {volume}"));
    }
    let of_pod = &spec["securityContext"];
    rule(of_pod["runAsUser"] != 0, "the pod runs as root".to_owned());
    rule(of_pod["windowsOptions"]["hostProcess"] != true, "hostProcess".to_owned());
    let sets = ["/containers", "/initContainers", "/ephemeralContainers"];
    for container in sets.iter().flat_map(|set| list(spec, set)) {
        let name = container["name"].as_str().unwrap();
        let own = &container["securityContext"];
        rule(own["privileged"] != true, format!("{name} is privileged"));
        rule(own["allowPrivilegeEscalation"] == false, format!("{name} may gain privileges"));
        let told = |key: &str| if own[key].is_null() { &of_pod[key] } else { &own[key] };
        rule(*told("runAsNonRoot") == true, format!("{name} may run as root"));
        rule(own["runAsUser"] != 0, format!("{name} runs as root"));
        let seccomp = told("seccompProfile")["type"].as_str();
        rule(matches!(seccomp, Some("RuntimeDefault" | "Localhost")), format!("{name} has no seccomp profile"));
        rule(list(own, "/capabilities/drop").any(|one| one == "ALL"), format!("{name} keeps capabilities"));
        rule(list(own, "/capabilities/add").all(|one| one == "NET_BIND_SERVICE"), format!("{name} has capabilities"));
        rule(own["procMount"].is_null() || own["procMount"] == "Default", format!("{name} sees all of /proc"));
        rule(list(container, "/ports").all(|port| port["hostPort"].is_null() || port["hostPort"] == 0), format!("{name} has a port of the host"));
        for context in [own, of_pod] {
            let options = &context["seLinuxOptions"];
            rule(options["user"].is_null() && options["role"].is_null(), format!("{name} has SELinux options"));
            let kind = options["type"].as_str().unwrap_or_default();
            let known = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
            rule(known.contains(&kind), format!("{name} has the SELinux type {kind}"));
            let armor = context["appArmorProfile"]["type"].as_str().unwrap_or("RuntimeDefault");
            rule(armor != "Unconfined", format!("{name} has no AppArmor profile"));
        }
    }
    broken
}

/// A plugin that needs no more than `restricted` gives: what an author has to write for such a namespace.
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
        assert_eq!(broken(&of_kind(&objects, "Pod")[0]["spec"]), Vec::<String>::new(), "{mode}");
        options.config.security_context_mode = SecurityContextMode::None;
        assert!(!broken(&of_kind(&made(&options), "Pod")[0]["spec"]).is_empty());
    }
}

#[test]
fn a_worker_needs_no_more_than_its_plugin() {
    for security in [WorkerSecurity::LikePlugin, WorkerSecurity::Platform] {
        for native_sidecar in [false, true] {
            let stage = Stage { security, native_sidecar, ..stage() };
            let job = definition(&MODEST.replace("DRIVER", "Job"));
            let job = pod(&stage, &job, SESSION, &access()).unwrap();
            assert_eq!(broken(&job["spec"]), Vec::<String>::new(), "{job:#}");
            let each = definition(&MODEST.replace("DRIVER", "DaemonSet"));
            let each = daemon_set(&stage, &each, SESSION, &access()).unwrap();
            assert_eq!(broken(&each["spec"]["template"]["spec"]), Vec::<String>::new(), "{each:#}");
        }
    }
}

#[test]
fn what_is_not_modest_is_refused_for_what_it_asks_for() {
    let greedy = MODEST.replace("DRIVER", "Job").replace("runAsNonRoot: true", "runAsNonRoot: false");
    let job = pod(&stage(), &definition(&greedy), SESSION, &access()).unwrap();
    assert!(broken(&job["spec"]).contains(&"plugin may run as root".to_owned()));
    let spec = json!({
        "hostPID": true,
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        "containers": [{"name": "c", "ports": [{"hostPort": 80}], "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}],
    });
    let told = broken(&spec).join("\n");
    for word in ["hostPID", "hostPath", "may gain", "may run as root", "seccomp", "keeps", "has capabilities", "port of the host"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}
