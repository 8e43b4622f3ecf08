//! Values of the chart, each compared with the options of `gen` that mean the same.

use serde_json::{Value, json};

use super::objects::{assert_applicable, assert_same};
use super::tools::Helm;
use super::{PLUGINS, objects_of_run, printed};
use crate::generate::{documents, of_kind};

/// A plugin with files, another container, its own variables, and a mount at another path.
const PROBE: &str = r#"
sonobuoy-config: {driver: Job, plugin-name: my.probe, result-format: junit}
plumbline: {timeout: 1000000}
spec:
  name: plugin
  image: example.org/probe:$SONOBUOY_K8S_VERSION
  command: [./run.sh]
  env: [{name: zone, value: a}, {name: RESULTS_DIR, value: /elsewhere}, {name: Alpha, value: "1"}, {name: zone, value: b}]
  volumeMounts: [{name: results, mountPath: /elsewhere}]
podSpec:
  restartPolicy: Never
  securityContext: {runAsUser: 1000000}
  containers: [{name: helper, image: "example.org/helper:v1", env: [{name: A, value: "1"}]}]
config-map:
  settings.yaml: |
    deep: [1, 2]
"#;

/// Indents a mapping, to be put below a key.
fn below(text: &str) -> String {
    text.trim().lines().map(|line| format!("    {line}\n")).collect()
}

#[test]
fn settings_mean_what_options_of_gen_mean() {
    let Some(helm) = Helm::new() else { return };
    let bed = helm.bed();
    let config = json!({
        "QPS": 12.5,
        "Resources": [],
        "Limits": {"PodLogs": {"SonobuoyNamespace": false, "TailLines": 100}},
        "CustomAnnotations": {"team": "infra"},
        "AggregatorTolerations": [{"key": "gpu", "operator": "Exists"}],
        "ImagePullSecrets": "registry",
        "Plumbline": {
            "FailFast": true, "DeadlineSeconds": 7200, "NamespaceLabels": {"team": "infra"}, "NamespaceAnnotations": {"a": "b"},
        },
    });
    bed.write("config.json", &config.to_string());
    let table: [(&str, &[&str]); 11] = [
        ("storage: {type: pvc}", &["--storage", "pvc:5Gi"]),
        ("storage: {type: pvc, size: 1.5Ti, class: fast}", &["--storage", "pvc:1.5Ti:fast"]),
        (
            "{image: {repository: mirror/plumbline, tag: v9, pullPolicy: Always}, timeoutSeconds: 60, config: {ForceImagePullPolicy: true}}",
            &[
                "--image",
                "mirror/plumbline:v9",
                "--image-pull-policy",
                "Always",
                "--timeout",
                "60s",
                "--force-image-pull-policy",
            ],
        ),
        (
            "{upload: {url: 's3://audits/nightly', secret: storage}, logLevel: debug, securityContextMode: platform}",
            &[
                "--upload",
                "s3://audits/nightly",
                "--upload-secret",
                "storage",
                "--level",
                "debug",
                "--security-context-mode",
                "platform",
            ],
        ),
        (
            "{namespace: {name: checks, podSecurity: restricted}, securityContextMode: none, nodeSelector: {pool: system}, env: {B: '2', SONOBUOY_POD: ''}}",
            &[
                "-n",
                "checks",
                "--namespace-psa-enforce-level",
                "restricted",
                "--security-context-mode",
                "none",
                "--aggregator-node-selector",
                "pool:system",
                "--plugin-env",
                "sonobuoy.B=2",
                "--plugin-env",
                "sonobuoy.SONOBUOY_POD=",
            ],
        ),
        (
            "{serviceAccount: {create: false, name: robot}, namespace: {create: false, name: checks}, rbac: {create: false}}",
            &["-n", "checks", "--service-account-name", "robot", "--existing-service-account", "--rbac", "disable"],
        ),
        (
            "{telemetry: {metricsPort: 9464, otlp: {endpoint: 'http://collector:4318', secret: otlp}}, upload: {url: 's3://audits/x', secret: storage}}",
            &[
                "--metrics",
                "--otlp-endpoint",
                "http://collector:4318",
                "--otlp-secret",
                "otlp",
                "--upload",
                "s3://audits/x",
                "--upload-secret",
                "storage",
            ],
        ),
        ("kubernetesVersion: v1.30.2", &["--kubernetes-version", "v1.30.2"]),
        (
            "{schedule: {cron: '0 3 * * 1-5', timeZone: Europe/Paris, keepRuns: 30, keepBytes: 1024}, storage: {type: pvc}, permissions: clusterRead, namespace: {create: false, name: sonobuoy}}",
            &[
                "--schedule",
                "0 3 * * 1-5",
                "--time-zone",
                "Europe/Paris",
                "--keep-runs",
                "30",
                "--keep-size",
                "1024",
                "--storage",
                "pvc:5Gi",
                "--aggregator-permissions",
                "clusterRead",
            ],
        ),
        (
            "{schedule: {cron: '@hourly'}, upload: {url: 's3://audits/nightly'}, annotations: {}}",
            &["--schedule", "@hourly", "--upload", "s3://audits/nightly"],
        ),
        (
            "{imagePullSecret: registry, annotations: {team: infra}, tolerations: [{key: gpu, operator: Exists}], deadlineSeconds: 7200, \
              namespace: {labels: {team: infra}, annotations: {a: b}}, \
              config: {QPS: 12.5, Resources: [], Limits: {PodLogs: {SonobuoyNamespace: false, TailLines: 100}}, Plumbline: {FailFast: true}}}",
            &["--config", "config.json"],
        ),
    ];
    for (values, options) in table {
        let rendered = helm.rendered(values);
        assert_same(&rendered, &objects_of_run(bed, options));
        let namespace = if options.contains(&"checks") { "checks" } else { "sonobuoy" };
        assert_applicable(&rendered, namespace);
    }
}

#[test]
fn plugins_are_prepared_as_gen_prepares_them() {
    let Some(helm) = Helm::new() else { return };
    let bed = helm.bed();
    bed.write("probe.yaml", PROBE);
    // The definition has the URL for progress, as `gen plugin e2e` prints it. `gen` adds the URL if
    // it is missing, but a chart uses definitions as they are.
    let env = "[{name: E2E_EXTRA_ARGS, value: '--progress-report-url=http://localhost:8099/progress'}]";
    let permissions = "{cluster: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}], namespace: [{apiGroups: [''], resources: [pods], verbs: [get]}]}";
    let e2e = format!(
        "{{sonobuoy-config: {{driver: Job, plugin-name: e2e}}, spec: {{name: e2e, image: i, env: {env}}}, plumbline: {{permissions: {permissions}}}}}\n"
    );
    bed.write("e2e.yaml", &e2e);
    let args = ["-p", "probe.yaml", "-p", PLUGINS[0], "-p", "e2e.yaml", "--kubernetes-version", "v1.30.2"];
    let expected = documents(&printed(bed, &args).out);
    assert_eq!(of_kind(&expected, "ClusterRole").len(), 2, "`e2e` has a role of its own");

    let e2e = format!("  e2e: {e2e}");
    let as_mapping = format!("kubernetesVersion: v1.30.2\nplugins:\n{e2e}  my.probe:\n{}", below(PROBE));
    let as_text = format!("kubernetesVersion: v1.30.2\nplugins:\n{e2e}  my.probe: |\n{}", below(PROBE));
    for values in [as_mapping, as_text] {
        let rendered = helm.rendered(&values);
        assert_same(&rendered, &expected);
        assert_applicable(&rendered, "sonobuoy");
    }
}

#[test]
fn only_pods_on_the_host_network_open_the_port_to_every_address() {
    let Some(helm) = Helm::new() else { return };
    for pod_spec in ["", ", podSpec: {}", ", podSpec: {hostNetwork: true}"] {
        let nodes = format!(
            "{{sonobuoy-config: {{driver: DaemonSet, plugin-name: nodes}}, spec: {{name: plugin, image: i}}{pod_spec}}}"
        );
        helm.bed().write("nodes.yaml", &nodes);
        for level in ["privileged", "baseline", "restricted"] {
            let args = ["-p", "nodes.yaml", "--namespace-psa-enforce-level", level];
            let expected = documents(&printed(helm.bed(), &args).out);
            let values =
                format!("{{namespace: {{podSecurity: {level}}}, builtInPlugins: [], plugins: {{nodes: {nodes}}}}}");
            assert_same(&helm.rendered(&values), &expected);
        }
    }
}

#[test]
fn minimal_roles_follow_what_is_recorded() {
    let Some(helm) = Helm::new() else { return };
    // Wildcards and subresources would permit reading Secrets, or running commands in pods.
    let wild = "['*', '*/*', pods/exec, services]";
    for resources in
        ["[]", "[pods, Secrets, podlogs]", "[nodes, serverversion]", "[podlogs]", "[Events]", wild, "['*']"]
    {
        helm.bed().write(
            "config.json",
            &format!("{{\"Resources\": {}}}", serde_json::to_string(&documents(resources)[0]).unwrap()),
        );
        let rendered = helm.rendered(&format!("config: {{Resources: {resources}}}"));
        assert_same(&rendered, &objects_of_run(helm.bed(), &["--config", "config.json"]));
        for mode in ["minimal", "clusterRead"] {
            // `clusterRead` creates no namespace.
            let namespace = format!("{{create: {}, name: sonobuoy}}", mode == "minimal");
            let values = format!(
                "{{permissions: {mode}, namespace: {namespace}, config: {{Resources: {resources}, Plumbline: {{QueryKubelets: true}}}}}}"
            );
            let args = ["--config", "config.json", "--query-kubelets", "--aggregator-permissions", mode];
            assert_same(&helm.rendered(&values), &objects_of_run(helm.bed(), &args));
        }
    }
}

#[test]
fn a_namespace_that_is_there_is_the_one_of_the_release() {
    let Some(helm) = Helm::new() else { return };
    let rendered = helm.rendered("namespace: {create: false}");
    assert!(of_kind(&rendered, "Namespace").is_empty());
    assert_applicable(&rendered, "releases");
    assert_eq!(of_kind(&rendered, "ClusterRole")[0]["metadata"]["name"], "sonobuoy-serviceaccount-releases");
}

#[test]
fn labels_go_everywhere_and_do_not_replace_those_that_the_program_needs() {
    let Some(helm) = Helm::new() else { return };
    let rendered = helm.rendered("labels: {team: infra, component: mine, tier: mine}");
    assert!(rendered.iter().all(|object| object["metadata"]["labels"]["team"] == "infra"));
    assert!(rendered.iter().all(|object| object["metadata"]["labels"]["component"] == "sonobuoy"));
    let pod: &Value = of_kind(&rendered, "Pod")[0];
    assert_eq!(pod["metadata"]["labels"]["tier"], "analysis");
    assert_applicable(&rendered, "sonobuoy");
}
