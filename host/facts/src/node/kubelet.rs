//! The version and the configuration of the kubelet.

use serde_json::{Map, Value, json};

use super::flat::flatten;
use super::processes::{Processes, option};
use crate::gathering::Collector;
use crate::program::{Bounds, Programs};
use crate::source::{SMALL, Source, Unreadable};

/// Common paths of the configuration file, for kubelets whose command line does not name one.
const FILES: [&str; 6] = [
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/etc/kubernetes/kubelet-config.yaml",
    "/home/kubernetes/kubelet-config.yaml",
    "/etc/kubernetes/kubelet.yaml",
];

/// Reported top-level fields of `KubeletConfiguration`. None holds a secret.
///
/// Request headers (`staticPodURLHeader`) are left out because they may, and so are fields that do
/// not affect how a node behaves.
const FIELDS: [&str; 74] = [
    "address",
    "allowedUnsafeSysctls",
    "authentication",
    "authorization",
    "cgroupDriver",
    "cgroupRoot",
    "cgroupsPerQOS",
    "clusterDNS",
    "clusterDomain",
    "configMapAndSecretChangeDetectionStrategy",
    "containerLogMaxFiles",
    "containerLogMaxSize",
    "containerRuntimeEndpoint",
    "contentType",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "cpuManagerReconcilePeriod",
    "crashLoopBackOff",
    "enableControllerAttachDetach",
    "enableServer",
    "enableSystemLogHandler",
    "enforceNodeAllocatable",
    "eventBurst",
    "eventRecordQPS",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionMinimumReclaim",
    "evictionPressureTransitionPeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "failCgroupV1",
    "failSwapOn",
    "featureGates",
    "fileCheckFrequency",
    "hairpinMode",
    "healthzBindAddress",
    "healthzPort",
    "httpCheckFrequency",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "iptablesDropBit",
    "iptablesMasqueradeBit",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "kubeReserved",
    "kubeReservedCgroup",
    "kubeletCgroups",
    "localStorageCapacityIsolation",
    "logging",
    "makeIPTablesUtilChains",
    "maxOpenFiles",
    "maxParallelImagePulls",
    "maxPods",
    "memoryManagerPolicy",
    "memorySwap",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "oomScoreAdj",
    "podCIDR",
    "podPidsLimit",
    "podsPerCore",
    "protectKernelDefaults",
    "readOnlyPort",
    "reservedSystemCPUs",
    "resolvConf",
    "rotateCertificates",
    "runtimeRequestTimeout",
    "seccompDefault",
    "serializeImagePulls",
    "serverTLSBootstrap",
];

/// Further fields, in an array of their own because they were added later.
const FURTHER_FIELDS: [&str; 14] = [
    "shutdownGracePeriod",
    "shutdownGracePeriodCriticalPods",
    "staticPodPath",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
    "systemCgroups",
    "systemReserved",
    "systemReservedCgroup",
    "tlsCertFile",
    "tlsCipherSuites",
    "tlsMinVersion",
    "topologyManagerPolicy",
    "topologyManagerScope",
    "volumePluginDir",
];

/// Limits for `kubelet --version`, which normally answers in a tenth of a second.
pub(super) const VERSION_BOUNDS: Bounds = Bounds { patience: std::time::Duration::from_secs(10), bytes: 16 << 10 };

pub(super) fn gather(gathering: &mut Collector<'_>, processes: &Processes) {
    let source = gathering.source;
    let process = processes.get("kubelet");
    let program = Programs::find(source, "kubelet");
    let named = process.and_then(|arguments| option(arguments, &["config"])).map(str::to_owned);
    let file = named.or_else(|| FILES.iter().find(|path| source.exists(path)).map(|path| (*path).to_owned()));
    // A machine without a kubelet is not a node, so nothing is missing.
    if process.is_none() && program.is_none() && file.is_none() {
        return;
    }
    let mut told = Map::new();
    match program {
        Some(program) if gathering.options.run_programs => {
            match Programs::new(gathering.options).run(&program, &["--version"], VERSION_BOUNDS) {
                Ok(answer) => drop(told.insert("version".to_owned(), version(&answer).into())),
                Err(failure) => gathering.miss("plumbline_facts.kubelet.version", failure.to_string()),
            }
        }
        Some(program) => {
            gathering.miss("plumbline_facts.kubelet.version", not_asked(&program));
        }
        None => gathering
            .miss("plumbline_facts.kubelet.version", "no program `kubelet` in the usual directories".to_owned()),
    }
    if let Some(file) = file {
        let found = configuration(source, &file);
        if let Some(config) = gathering.keep("plumbline_facts.kubelet.config", found) {
            told.insert("config".to_owned(), config.into());
        }
        told.insert("config_file".to_owned(), file.into());
    }
    gathering.own("kubelet", told);
}

/// Returns the reason why a version is unknown.
pub(super) fn not_asked(program: &str) -> String {
    format!("no file tells it, and {program} was not asked: `--run-programs` was not given")
}

/// `Kubernetes v1.30.2` becomes `v1.30.2`.
fn version(answer: &str) -> String {
    answer.split_ascii_whitespace().last().unwrap_or_default().to_owned()
}

fn configuration(source: &Source, path: &str) -> Result<Map<String, Value>, Unreadable> {
    let text = source.text(path, SMALL)?;
    let wrong = |what: String| Unreadable::malformed(path, what);
    let budget = serde_saphyr::options! {
        // Aliases can expand a small file into a huge one. A kubelet configuration has none.
        budget: serde_saphyr::budget! { max_aliases: 0, },
    };
    let value: Value =
        serde_saphyr::from_str_with_options(&text, budget).map_err(|error| wrong(first_line(&error.to_string())))?;
    // A kubeconfig is YAML too, and holds keys. Only a document of the expected kind is used.
    if value.get("kind") != Some(&json!("KubeletConfiguration")) {
        return Err(wrong("is not a `KubeletConfiguration`".to_owned()));
    }
    let mut fields = flatten(&value, &FIELDS);
    fields.extend(flatten(&value, &FURTHER_FIELDS));
    Ok(fields)
}

/// Returns the first line of a YAML error, at most 200 characters. The other lines quote the file,
/// which must not be reported.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn a_configuration_is_told_without_what_may_be_secret() {
        let tree = Tree::new();
        tree.file(
            "/k.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\nstaticPodURLHeader:\n  Authorization: [\"Bearer s3cr3t\"]\nevictionHard:\n  memory.available: 100Mi\nauthentication:\n  anonymous:\n    enabled: false\n",
        );
        let config = configuration(&Source::new(tree.root()), "/k.yaml").unwrap();
        assert_eq!(
            Value::from(config),
            json!({"maxPods": 110, "evictionHard.memory.available": "100Mi", "authentication.anonymous.enabled": false})
        );
    }

    #[test]
    fn a_kubeconfig_is_refused_and_not_quoted() {
        let tree = Tree::new();
        tree.file("/k.conf", "kind: Config\nusers:\n- user: {token: s3cr3t}\n");
        tree.file("/broken", "kind: [s3cr3t\n");
        let source = Source::new(tree.root());
        assert_eq!(
            configuration(&source, "/k.conf").unwrap_err().to_string(),
            "/k.conf: is not a `KubeletConfiguration`"
        );
        assert!(!configuration(&source, "/broken").unwrap_err().to_string().contains("s3cr3t"));
    }
}
