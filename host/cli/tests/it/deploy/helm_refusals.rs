//! Values that the chart rejects, with the messages that users see.

use super::tools::Helm;

#[track_caller]
fn refused(helm: &Helm, values: &str, sentences: &[&str]) {
    let message = helm.refusal(values);
    for sentence in sentences {
        assert!(message.contains(sentence), "{values}: no `{sentence}` in:\n{message}");
    }
}

#[test]
fn the_schema_names_the_value_and_what_it_may_be() {
    let Some(helm) = Helm::new() else { return };
    refused(&helm, "permissions: root", &["permissions", "minimal", "namespaceAdmin", "clusterRead", "clusterAdmin"]);
    refused(&helm, "permission: minimal", &["permission", "not allowed"]);
    refused(&helm, "timeoutSeconds: 6h", &["timeoutSeconds", "integer"]);
    refused(&helm, "timeoutSeconds: -1", &["timeoutSeconds", "minimum"]);
    refused(&helm, "image: example.org/plumbline:v1", &["image", "object"]);
    refused(&helm, "storage: {type: nfs}", &["storage", "emptyDir", "pvc"]);
    refused(&helm, "storage: {type: pvc, size: 5GiB}", &["size", "does not match pattern"]);
    refused(&helm, "namespace: {name: My Checks}", &["name", "does not match pattern"]);
    refused(&helm, "schedule: {cron: '0 3 * *'}", &["cron", "does not match pattern"]);
    refused(&helm, "upload: {url: 'ftp://host/'}", &["url", "does not match pattern"]);
    refused(&helm, "kubernetesVersion: 1.30", &["kubernetesVersion", "string"]);
    refused(&helm, "plugins: [smoke]", &["plugins", "object"]);
}

#[test]
fn templates_name_the_setting_and_what_to_do() {
    let Some(helm) = Helm::new() else { return };
    refused(&helm, "config: {qps: 5}", &["`config.qps`: this key is spelled `QPS`"]);
    refused(&helm, "config: {Limits: {podLogs: {}}}", &["`config.Limits.podLogs`: this key is spelled `PodLogs`"]);
    refused(&helm, "config: {WorkerImage: i}", &["`config.WorkerImage` has a setting of its own: use `image`"]);
    refused(&helm, "config: {plumbline: {Storage: x}}", &["this key is spelled `Plumbline`"]);
    refused(
        &helm,
        "config: {Plumbline: {Storage: x}}",
        &["`config.Plumbline.Storage` has a setting of its own: use `storage`"],
    );
    refused(&helm, "schedule: {cron: '@daily'}", &["set `storage.type` to `pvc`, or `upload.url`"]);
    let kept = "{schedule: {cron: '@daily', keepRuns: 3}, upload: {url: 's3://b'}}";
    refused(&helm, kept, &["need a volume: set `storage.type` to `pvc`"]);
    refused(&helm, "builtInPlugins: [nobody]", &["this chart has no plugin `nobody`, only `host-facts`"]);
    refused(&helm, "plugins: {host-facts: {spec: {}}}", &["`plugins.host-facts`: the built-in plugin of this name"]);
    refused(
        &helm,
        "plugins: {smoke: {spec: {image: i}}}",
        &["`plugins.smoke`: its `sonobuoy-config.plugin-name` must also be `smoke`"],
    );
    refused(&helm, "plugins: {smoke: 'a: b: c'}", &["`plugins.smoke`: this text is not YAML"]);
    let version = "plugins: {p: {sonobuoy-config: {plugin-name: p}, spec: {image: 'i:$SONOBUOY_K8S_VERSION'}}}";
    refused(&helm, version, &["set `kubernetesVersion`"]);
    let nothing = "plugins: {p: {sonobuoy-config: {plugin-name: p}, spec: {name: plugin}}}";
    refused(&helm, nothing, &["plugin `p`: its `spec` names neither an `image` nor a `command`"]);
    for key in ["serviceAccountName", "serviceAccount"] {
        let account = format!(
            "{{serviceAccount: {{create: false}}, rbac: {{create: false}}, plugins: {{\
              p: {{sonobuoy-config: {{driver: Job, plugin-name: p}}, spec: {{image: i}}, podSpec: {{{key}: plumbline-plugin-q}}}}, \
              q: {{sonobuoy-config: {{driver: Job, plugin-name: q}}, spec: {{image: i}}, \
                plumbline: {{permissions: {{namespace: [{{apiGroups: [''], resources: [secrets], verbs: [get]}}]}}}}}}}}}}"
        );
        let sentence = "plugin `p` names the service account `plumbline-plugin-q`, which is that of plugin `q`";
        refused(&helm, &account, &[sentence]);
    }
}
