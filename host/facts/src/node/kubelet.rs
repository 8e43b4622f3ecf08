//! The version and the configuration of the kubelet.

use serde_json::{Map, Value, json};

use super::configuration::{Processes, flatten, option};
use crate::collector::{Collector, present};
use crate::program::{self, version};
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
const FIELDS: [&str; 88] = [
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

pub(super) fn gather(collector: &mut Collector<'_>, processes: &Processes) {
    let source = collector.source;
    let process = processes.get("kubelet");
    let named = process.and_then(|arguments| option(arguments, &["config"]));
    let file = named.or_else(|| FILES.into_iter().find(|path| source.exists(path)));
    // A machine without a kubelet is not a node, so nothing is missing.
    if process.is_none() && file.is_none() && program::find(source, "kubelet").is_none() {
        return;
    }
    // `Kubernetes v1.30.2` becomes `v1.30.2`.
    let last_word = |answer: &str| answer.split_ascii_whitespace().last().unwrap_or_default().to_owned();
    let version = version(collector, "kubelet", "kubelet", last_word);
    let config = file.and_then(|file| collector.keep("plumbline_facts.kubelet.config", configuration(source, file)));
    collector.own("kubelet", present(json!({"version": version, "config": config, "config_file": file})));
}

fn configuration(source: &Source, path: &str) -> Result<Map<String, Value>, Unreadable> {
    let text = source.text(path, SMALL)?;
    let wrong = |what: String| Unreadable::malformed(path, what);
    let budget = serde_saphyr::options! {
        // Aliases can expand a small file into a huge one. A kubelet configuration has none.
        budget: serde_saphyr::budget! { max_aliases: 0, },
    };
    let value: Value = serde_saphyr::from_str_with_options(&text, budget).map_err(|error| {
        // The other lines of the error quote the file, which must not be reported.
        wrong(error.to_string().lines().next().unwrap_or_default().chars().take(200).collect())
    })?;
    // A kubeconfig is YAML too, and holds keys. Only a document of the expected kind is used.
    if value.get("kind") != Some(&json!("KubeletConfiguration")) {
        return Err(wrong("is not a `KubeletConfiguration`".to_owned()));
    }
    Ok(flatten(&value, &FIELDS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

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
