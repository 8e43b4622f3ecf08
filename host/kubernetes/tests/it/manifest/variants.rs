//! Settings that change the objects.

use k8s_openapi::api::rbac::v1::PolicyRule;
use plumbline_core::Config;
use plumbline_core::config::{BundleSource, Permissions, PodSecurity, SecurityContextMode, Storage, Toleration};
use plumbline_kubernetes::manifest::rbac::{Needs, Queries, notices, rules, why};
use plumbline_kubernetes::manifest::{DockerConfig, ManifestOptions, manifest, to_yaml};
use serde_json::{Value, json};

use super::{DAEMON_SET, JOB, made, of_kind, options};

/// The definition of the conformance suite.
const E2E: &str = include_str!("../../../../../plugins/profiles/kubernetes/plugin.yaml");

fn with(mode: Permissions, change: impl FnOnce(&mut ManifestOptions)) -> Vec<Value> {
    let mut options = options(mode, DAEMON_SET);
    change(&mut options);
    made(&options)
}

fn names_of(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| {
        format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
    };
    objects.iter().map(name).collect()
}

#[test]
fn all_options_together_give_objects_in_order() {
    let objects = with(Permissions::Minimal, |options| {
        options.config.image_pull_secrets = "registry".to_owned();
        options.docker_config = Some(DockerConfig { name: "registry".to_owned(), json: b"{}".to_vec() });
        options.ssh_key = Some(b"key".to_vec());
        options.config.plumbline.storage = "pvc:5Gi:fast".parse().unwrap();
        options.plugins[0].modules = vec![("m.wasm".to_owned(), b"module".to_vec())];
        options.plugins.push(super::options(Permissions::Minimal, JOB).plugins.remove(0));
    });
    assert_eq!(
        names_of(&objects),
        [
            "Namespace/sonobuoy",
            "ServiceAccount/sonobuoy-serviceaccount",
            "ServiceAccount/plumbline-plugin",
            "Secret/registry",
            "ClusterRoleBinding/sonobuoy-serviceaccount-sonobuoy",
            "ClusterRole/sonobuoy-serviceaccount-sonobuoy",
            "RoleBinding/sonobuoy-serviceaccount-sonobuoy",
            "Role/sonobuoy-serviceaccount-sonobuoy",
            "ConfigMap/sonobuoy-config-cm",
            "Secret/ssh-key",
            "ConfigMap/sonobuoy-plugins-cm",
            "ConfigMap/plugin-probe-cm",
            "ConfigMap/plumbline-modules-0",
            "PersistentVolumeClaim/plumbline-output",
            "NetworkPolicy/plumbline-aggregator",
            "Pod/sonobuoy",
            "Service/sonobuoy-aggregator",
        ]
    );
    let pod = of_kind(&objects, "Pod")[0];
    insta::assert_snapshot!("everything-pod", to_yaml(std::slice::from_ref(pod)));
    assert_eq!(objects[9]["data"]["id_rsa"], "a2V5", "encoded once");
    assert!(objects.iter().skip(1).all(|object| {
        object["kind"].as_str().unwrap().starts_with("Cluster") || object["metadata"]["namespace"] == "sonobuoy"
    }));
    // All objects can be found when the run is deleted.
    assert!(objects.iter().all(|object| object["metadata"]["labels"]["component"] == "sonobuoy"));
}

#[test]
fn an_aggregator_that_fetches_bundles_gets_the_pull_secret_and_no_further_right() {
    let bundle = |reference: &str| BundleSource {
        plugin: "disks".to_owned(),
        reference: reference.to_owned(),
        digest: format!("sha256:{}", "0".repeat(64)),
    };
    let fetching = |reference: &str, secret: &str| {
        with(Permissions::Minimal, |options| {
            options.config.image_pull_secrets = secret.to_owned();
            options.config.plumbline.bundles = vec![bundle(reference)];
        })
    };
    let reference = format!("oci://registry.example.com/disks:1@sha256:{}", "1".repeat(64));
    let objects = fetching(&reference, "registry");
    let pod = of_kind(&objects, "Pod")[0];
    insta::assert_snapshot!("fetching-pod", to_yaml(std::slice::from_ref(pod)));
    let plain = with(Permissions::Minimal, |options| options.config.image_pull_secrets = "registry".to_owned());
    let roles = |objects: &[Value]| {
        let of = |kind| of_kind(objects, kind).into_iter().map(|role| role["rules"].clone()).collect::<Vec<_>>();
        [of("Role"), of("ClusterRole")]
    };
    assert_eq!(roles(&objects), roles(&plain));
    // Without a Secret, or with bundles in the image, the pod is the usual one.
    let pod_of = |objects: &[Value]| of_kind(objects, "Pod")[0].clone();
    assert_eq!(pod_of(&fetching("", "registry")), pod_of(&plain));
    assert_eq!(pod_of(&fetching(&reference, "")), pod_of(&with(Permissions::Minimal, |_| {})));
}

#[test]
fn bindings_name_the_configured_account() {
    let objects = with(Permissions::ClusterRead, |options| {
        options.config.service_account_name = "robot".to_owned();
        options.config.existing_service_account = true;
        options.config.namespace = "checks".to_owned();
    });
    assert!(of_kind(&objects, "ServiceAccount").is_empty());
    let bindings = [of_kind(&objects, "ClusterRoleBinding"), of_kind(&objects, "RoleBinding")].concat();
    assert_eq!(bindings.len(), 2);
    for binding in bindings {
        let subject = json!([{"kind": "ServiceAccount", "name": "robot", "namespace": "checks"}]);
        assert_eq!(binding["subjects"], subject);
    }
    assert_eq!(of_kind(&objects, "Pod")[0]["spec"]["serviceAccountName"], "robot");
    assert!(names_of(&objects).contains(&"ClusterRole/sonobuoy-serviceaccount-checks".to_owned()));
}

#[test]
fn without_rbac_there_are_no_roles() {
    let objects = with(Permissions::Minimal, |options| options.rbac = false);
    assert!(!names_of(&objects).iter().any(|name| name.contains("Role")));
}

#[test]
fn ways_to_be_confined() {
    let contexts = |mode| {
        let objects = with(Permissions::Minimal, |options| options.config.security_context_mode = mode);
        let spec = of_kind(&objects, "Pod")[0]["spec"].clone();
        (spec["securityContext"].clone(), spec["containers"][0]["securityContext"].clone())
    };
    let (pod, container) = contexts(SecurityContextMode::NonRoot);
    assert_eq!((&pod["runAsUser"], &pod["runAsGroup"], &pod["fsGroup"]), (&json!(1000), &json!(3000), &json!(2000)));
    // These are the requirements of the Pod Security level `restricted`.
    assert_eq!((&pod["runAsNonRoot"], &pod["seccompProfile"]["type"]), (&json!(true), &json!("RuntimeDefault")));
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    let (pod, container) = contexts(SecurityContextMode::Platform);
    assert_eq!(pod, json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}));
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(contexts(SecurityContextMode::None), (Value::Null, Value::Null));
}

#[test]
fn the_namespace_says_whose_it_is() {
    let objects = with(Permissions::Minimal, |options| {
        options.config.namespace_psa_enforce_level = PodSecurity::Restricted;
        options.config.plumbline.namespace_labels.insert("team".to_owned(), "infra".to_owned());
        options.config.plumbline.namespace_annotations.insert("owner".to_owned(), "us".to_owned());
    });
    let metadata = &objects[0]["metadata"];
    assert_eq!(metadata["labels"]["plumbline.dev/run-namespace"], "true");
    assert_eq!(metadata["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    assert_eq!((&metadata["labels"]["team"], &metadata["annotations"]["owner"]), (&json!("infra"), &json!("us")));
}

#[test]
fn the_aggregator_is_scheduled_as_configured() {
    let objects = with(Permissions::Minimal, |options| {
        options.aggregator_node_selector.insert("pool".to_owned(), "system".to_owned());
        options.aggregator_env.insert("HTTPS_PROXY".to_owned(), "http://p".to_owned());
        options.config.aggregator_tolerations =
            vec![Toleration { key: "gpu".to_owned(), operator: "Exists".to_owned(), ..Toleration::default() }];
        options.config.custom_annotations.insert("a".to_owned(), "b".to_owned());
        options.log_level = "trace".to_owned();
    });
    let pod = of_kind(&objects, "Pod")[0];
    let spec = &pod["spec"];
    assert_eq!(spec["nodeSelector"], json!({"kubernetes.io/os": "linux", "pool": "system"}));
    let tolerations = spec["tolerations"].as_array().unwrap();
    assert_eq!(tolerations.last().unwrap(), &json!({"key": "gpu", "operator": "Exists"}));
    assert_eq!(pod["metadata"]["annotations"], json!({"a": "b"}));
    let container = &spec["containers"][0];
    assert!(container["env"].as_array().unwrap().contains(&json!({"name": "HTTPS_PROXY", "value": "http://p"})));
    let args: Vec<_> = container["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(args, ["aggregator", "--no-exit", "--level=trace", "-v=6", "--alsologtostderr"]);
}

#[test]
fn the_aggregator_reads_the_configuration_that_was_given() {
    let objects = with(Permissions::Minimal, |options| {
        options.config.uuid = "7f3a9c".to_owned();
        options.config.plumbline.storage = Storage::Claim { size: "1Gi".to_owned(), class: None };
        options.config.plumbline.kubernetes_version = "v1.30.2".to_owned();
    });
    let map = of_kind(&objects, "ConfigMap")[0];
    let json = map["data"]["config.json"].as_str().unwrap();
    assert!(!json.contains('\n'));
    let read = Config::over_zero(json).unwrap();
    assert_eq!(read.uuid, "", "each run chooses its own");
    assert_eq!(read.plumbline.kubernetes_version, "v1.30.2");
    assert_eq!(read.server.timeout_seconds, 21_600);
}

#[test]
fn the_conformance_suite_gets_every_permission_under_any_name() {
    for name in ["e2e", "nightly"] {
        let suite =
            E2E.replace("plugin-name: e2e", &format!("plugin-name: {name}")).replace("$SONOBUOY_K8S_VERSION", "v1");
        for (mode, aggregator) in [(Permissions::Minimal, false), (Permissions::ClusterAdmin, true)] {
            let objects = made(&options(mode, &suite));
            let roles = of_kind(&objects, "ClusterRole");
            assert_eq!(roles.len(), 2, "{name}");
            assert_eq!(roles[0].to_string().contains(r#""verbs":["*"]"#), aggregator);
            assert_eq!(roles[1]["metadata"]["name"], format!("sonobuoy-serviceaccount-sonobuoy-plugin-{name}"));
            assert_eq!(roles[1]["metadata"]["labels"], json!({"component": "sonobuoy", "namespace": "sonobuoy"}));
            assert_eq!(roles[1]["rules"][0]["verbs"], json!(["*"]));
            // Conformance tests request the path `/` since 1.29.
            assert!(roles[1]["rules"][1]["nonResourceURLs"].as_array().unwrap().contains(&json!("/")));
            let bound = &of_kind(&objects, "ClusterRoleBinding")[1]["subjects"][0]["name"];
            assert_eq!(bound, &format!("plumbline-plugin-{name}"));
        }
    }
}

/// Returns true if a rule allows the request.
fn allows(rules: &[PolicyRule], group: &str, resource: &str, verb: &str) -> bool {
    let has = |list: &Option<Vec<String>>, one: &str| {
        list.as_ref().is_some_and(|list| list.iter().any(|it| it == one || it == "*"))
    };
    rules.iter().any(|rule| {
        has(&rule.api_groups, group)
            && has(&rule.resources, resource)
            && rule.verbs.iter().any(|it| it == verb || it == "*")
            && rule.resource_names.is_none()
    })
}

#[test]
fn minimal_rules_follow_what_is_recorded() {
    let needs = |queries| Needs { queries, kubelets: false, schedule: false };
    let named = |names: &[&str]| needs(Queries::Named(names.iter().map(|&name| name.to_owned()).collect()));

    for all in [needs(Queries::Nothing), needs(Queries::Everything), named(&["pods"])] {
        let (cluster, inside) = rules(&all);
        assert!(allows(&cluster, "", "nodes", "watch"));
        assert!(!allows(&cluster, "", "secrets", "list"), "{all:?}");
        assert!(!allows(&inside, "", "secrets", "list"));
        for write in ["create", "update", "patch", "delete", "deletecollection", "*"] {
            assert!(cluster.iter().all(|rule| !rule.verbs.contains(&write.to_owned())), "{write}");
        }
        let events = [("events", "list"), ("events", "watch"), ("events", "create")];
        for (resource, verb) in [("pods", "create"), ("pods", "patch"), ("secrets", "create")].into_iter().chain(events)
        {
            assert!(allows(&inside, "", resource, verb), "{resource} {verb}");
        }
        for (resource, verb) in [("secrets", "get"), ("secrets", "patch"), ("secrets", "delete"), ("events", "delete")]
        {
            assert!(!allows(&inside, "", resource, verb), "{resource} {verb}");
        }
        assert!(allows(&inside, "apps", "daemonsets", "create"));
    }
    for (queries, watches) in [
        (needs(Queries::Nothing), false),
        (named(&["pods"]), false),
        (named(&["pods", "events"]), true),
        (needs(Queries::Everything), true),
    ] {
        assert_eq!(allows(&rules(&queries).0, "", "events", "watch"), watches, "{queries:?}");
    }
    let (nothing, _) = rules(&needs(Queries::Nothing));
    assert!(!allows(&nothing, "", "pods", "list") && !allows(&nothing, "", "nodes/proxy", "get"));
    let (everything, _) = rules(&needs(Queries::Everything));
    for (group, resource) in [("", "pods"), ("", "services"), ("apps", "deployments"), ("", "pods/log")] {
        assert!(allows(&everything, group, resource, "get"), "{resource}");
    }
    assert!(!allows(&everything, "", "nodes/proxy", "get"));
    let kubelets = |queries| rules(&Needs { queries, kubelets: true, schedule: false }).0;
    assert!(allows(&kubelets(Queries::Everything), "", "nodes/proxy", "get"));
    assert!(!allows(&kubelets(Queries::Nothing), "", "nodes/proxy", "get"));
    // Secrets are collected if they are requested by name.
    let (secrets, _) = rules(&named(&["secrets", "podlogs"]));
    assert!(allows(&secrets, "", "secrets", "list") && allows(&secrets, "", "pods/log", "get"));
    assert!(!allows(&secrets, "", "nodes/proxy", "get"));
    // Queries record only names of resources, and neither wildcards nor subresources.
    let (wild, _) = rules(&named(&["*", "*/*", "pods/exec", "nodes/proxy", "services"]));
    assert!(allows(&wild, "", "services", "list"));
    for resource in ["*", "*/*", "pods/exec", "nodes/proxy", "secrets"] {
        assert!(!allows(&wild, "", resource, "get"), "{resource}");
    }
}

/// Returns the rules of all roles of this kind.
fn rules_of(objects: &[Value], kind: &str) -> Vec<PolicyRule> {
    let roles = of_kind(objects, kind);
    roles.iter().flat_map(|role| serde_json::from_value::<Vec<PolicyRule>>(role["rules"].clone()).unwrap()).collect()
}

#[test]
fn cluster_read_reads_no_secrets_and_no_subresource_that_executes() {
    let objects = with(Permissions::ClusterRead, |_| {});
    let cluster = rules_of(&objects, "ClusterRole");
    for (group, resource) in [("", "pods"), ("apps", "deployments"), ("", "pods/log")] {
        assert!(allows(&cluster, group, resource, "get"), "{resource}");
    }
    for resource in ["secrets", "pods/exec", "pods/attach", "pods/portforward", "nodes/proxy", "services/proxy"] {
        assert!(!allows(&cluster, "", resource, "get"), "{resource}");
    }
    let inside = rules_of(&objects, "Role");
    assert!(!allows(&inside, "", "secrets", "get") && !allows(&inside, "", "pods/exec", "create"));
}

/// A conformance suite under another name, and a plugin that reads pods of the run.
const RENAMED: &str = "
sonobuoy-config: {driver: Job, plugin-name: suite}
spec: {image: i}
podSpec: {serviceAccountName: sonobuoy-serviceaccount, containers: []}
plumbline: {permissions: {cluster: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}}
";
const READER: &str = "
sonobuoy-config: {driver: Job, plugin-name: reader}
spec: {image: i}
plumbline: {permissions: {namespace: [{apiGroups: [''], resources: [pods], resourceNames: [p], verbs: [get]}]}}
";

fn plugins(mode: Permissions, definitions: &[&str]) -> ManifestOptions {
    let mut all = definitions.iter().map(|yaml| options(mode, yaml));
    let mut options = all.next().unwrap();
    options.plugins.extend(all.flat_map(|one| one.plugins));
    options
}

#[test]
fn a_plugin_gets_what_its_definition_asks_for_under_any_name() {
    let objects = made(&plugins(Permissions::Minimal, &[RENAMED, READER, JOB]));
    let accounts: Vec<&Value> = of_kind(&objects, "ServiceAccount");
    let accounts: Vec<_> = accounts.iter().map(|account| account["metadata"]["name"].as_str().unwrap()).collect();
    let own = ["plumbline-plugin-reader", "plumbline-plugin-suite"];
    assert_eq!(accounts, [&["sonobuoy-serviceaccount", "plumbline-plugin"][..], &own[..]].concat());
    let subject = |name: &str| {
        let bound = objects.iter().find(|object| object.pointer("/roleRef/name").is_some_and(|role| role == name));
        bound.unwrap()["subjects"][0]["name"].clone()
    };
    assert_eq!(subject("sonobuoy-serviceaccount-sonobuoy-plugin-suite"), "plumbline-plugin-suite");
    assert_eq!(subject("plumbline-plugin-reader"), "plumbline-plugin-reader");
    // The suite's name alone grants nothing.
    let named = "sonobuoy-config: {driver: Job, plugin-name: e2e}\nspec: {image: i}";
    assert_eq!(of_kind(&made(&options(Permissions::Minimal, named)), "ClusterRole").len(), 1);
}

const CHECK: &str = "
sonobuoy-config: {driver: DaemonSet, plugin-name: look}
plumbline:
  component: look.wasm
  grants:
    files: [/etc/kubernetes]
    env: [LEVEL]
    kubernetes:
    - {api-version: v1, resources: [nodes]}
    - {api-version: apps/v1, resources: [daemonsets], namespaces: [kube-system]}
";

#[test]
fn the_reads_of_a_check_become_roles_of_its_account() {
    let options = plugins(Permissions::Minimal, &[CHECK]);
    let objects = made(&options);
    let account = "plumbline-plugin-look";
    let of_account = |object: &&Value| object.pointer("/subjects/0/name").is_some_and(|name| name == account);
    let mut bindings: Vec<String> = Vec::new();
    for binding in objects.iter().filter(of_account) {
        let (metadata, role) = (&binding["metadata"], &binding["roleRef"]);
        assert_eq!(metadata["labels"]["namespace"], "sonobuoy", "a deletion finds it");
        let role = objects
            .iter()
            .find(|object| object["kind"] == role["kind"] && object["metadata"]["name"] == role["name"])
            .unwrap();
        assert_eq!(role["metadata"]["namespace"], metadata["namespace"]);
        bindings.push(format!("{} {}", metadata["namespace"].as_str().unwrap_or("-"), role["rules"]));
    }
    assert_eq!(
        bindings,
        [
            r#"- [{"apiGroups":[""],"resources":["nodes"],"verbs":["get","list"]}]"#,
            r#"kube-system [{"apiGroups":["apps"],"resources":["daemonsets"],"verbs":["get","list"]}]"#,
        ]
    );
    insta::assert_snapshot!("why-check", why(&options).join("\n"));
    let refused = |options: &ManifestOptions| manifest(options).unwrap_err().to_string();
    assert!(refused(&plugins(Permissions::NamespaceAdmin, &[CHECK])).contains("`namespaceAdmin`"));
    let mut strict = options;
    strict.config.namespace_psa_enforce_level = PodSecurity::Restricted;
    assert!(refused(&strict).contains("which the Pod Security level `restricted` does not allow"));
}

#[test]
fn permissions_that_cannot_be_given_are_refused() {
    let refused = |options: &ManifestOptions| manifest(options).unwrap_err().to_string();
    assert!(refused(&plugins(Permissions::NamespaceAdmin, &[RENAMED])).contains("`namespaceAdmin`"));
    let both =
        READER.replace("spec: {image: i}", "spec: {image: i}\npodSpec: {serviceAccountName: own, containers: []}");
    assert!(refused(&plugins(Permissions::Minimal, &[&both])).contains("`own` and has `plumbline.permissions`"));
    let thief = "sonobuoy-config: {driver: Job, plugin-name: thief}\nspec: {image: i}\nextra-volumes: [{name: v, secret: {secretName: plumbline-ca}}]";
    assert!(refused(&plugins(Permissions::Minimal, &[thief])).contains("`plumbline-ca` is reserved"));
}

#[test]
fn a_plugin_cannot_take_the_account_of_another() {
    let named = |key: &str| {
        format!(
            "sonobuoy-config: {{driver: Job, plugin-name: thief}}\nspec: {{image: i}}\npodSpec: {{{key}: plumbline-plugin-reader, containers: []}}"
        )
    };
    for key in ["serviceAccountName", "serviceAccount"] {
        for rbac in [true, false] {
            let mut options = plugins(Permissions::Minimal, &[READER, &named(key)]);
            options.rbac = rbac;
            let error = manifest(&options).unwrap_err().to_string();
            assert!(error.contains("`plumbline-plugin-reader`, which is that of plugin `reader`"), "{error}");
        }
    }
    // Without that plugin, it is the name of an account of the user.
    manifest(&plugins(Permissions::Minimal, &[JOB, &named("serviceAccountName")])).unwrap();
}

#[test]
fn a_dry_run_lists_the_permissions_of_the_aggregator_and_of_each_plugin() {
    for &mode in Permissions::ALL {
        let definitions: &[&str] =
            if mode == Permissions::NamespaceAdmin { &[READER, JOB] } else { &[RENAMED, READER, JOB] };
        let mut options = plugins(mode, definitions);
        options.config.plumbline.query_kubelets = true;
        let lines = [why(&options), notices(&options)].concat();
        insta::assert_snapshot!(format!("why-{mode}"), lines.join("\n"));
    }
}

#[test]
fn a_plugin_that_calls_kubectl_without_permissions_is_named_before_the_run() {
    let notes = |definition: &str| notices(&plugins(Permissions::Minimal, &[definition]));
    let script = "sonobuoy-config: {driver: Job, plugin-name: audit}\n\
                  spec: {image: i, command: [sh, -c, 'kubectl get nodes']}\n";
    let noted = "plugin `audit` has no permissions and no token, but its definition contains `kubectl`: \
                 `plumbline.permissions` in the definition grants what it needs";
    assert_eq!(notes(script), [noted]);
    let file = "sonobuoy-config: {driver: Job, plugin-name: audit}\nspec: {image: i}\n\
                config-map: {run.sh: 'kubectl get nodes'}\n";
    assert_eq!(notes(file), [noted]);
    // Its own permissions or account may suffice.
    let grants = "plumbline: {permissions: {cluster: [{apiGroups: [''], resources: [nodes], verbs: [get, list]}]}}\n";
    assert_eq!(notes(&format!("{script}{grants}")), [""; 0]);
    assert_eq!(notes(&format!("{script}podSpec: {{serviceAccountName: own, containers: []}}\n")), [""; 0]);
    assert_eq!(notes(JOB), [""; 0]);
}

#[test]
fn only_pods_of_the_run_reach_the_aggregator_unless_one_is_on_the_host_network() {
    let ingress = |definitions: &[&str]| {
        let objects = made(&plugins(Permissions::Minimal, definitions));
        of_kind(&objects, "NetworkPolicy")[0]["spec"]["ingress"][0].clone()
    };
    let run = json!([{"podSelector": {"matchLabels": {"component": "sonobuoy"}}}]);
    assert_eq!(ingress(&[JOB])["from"], run);
    let host = READER.replace("spec: {image: i}", "spec: {image: i}\npodSpec: {hostNetwork: true, containers: []}");
    assert_eq!(ingress(&[JOB, &host])["from"], Value::Null);
    assert_eq!(ingress(&[JOB, &host])["ports"], json!([{"port": 8080, "protocol": "TCP"}]));
}

#[test]
fn credentials_for_the_archive_come_from_a_secret() {
    let objects = with(Permissions::Minimal, |options| {
        "s3://audits/nightly".clone_into(&mut options.config.plumbline.upload_url);
        "storage".clone_into(&mut options.config.plumbline.upload_secret);
    });
    let pod = objects.iter().find(|object| object["kind"] == "Pod").unwrap();
    assert_eq!(pod["spec"]["containers"][0]["envFrom"], serde_json::json!([{"secretRef": {"name": "storage"}}]));
}

#[test]
fn the_port_for_metrics_is_open_only_if_metrics_are_served() {
    let of = |port: u16| {
        let objects = with(Permissions::Minimal, |options| options.config.plumbline.telemetry.metrics_port = port);
        let pod = of_kind(&objects, "Pod")[0]["spec"]["containers"][0]["ports"].clone();
        (pod, of_kind(&objects, "NetworkPolicy")[0]["spec"]["ingress"].clone())
    };
    let (ports, ingress) = of(0);
    assert_eq!((ports, ingress.as_array().unwrap().len()), (Value::Null, 1));
    let (ports, ingress) = of(9464);
    assert_eq!(ports, json!([{"containerPort": 9464, "name": "metrics", "protocol": "TCP"}]));
    assert_eq!(ingress[1], json!({"ports": [{"port": 9464, "protocol": "TCP"}]}));
    assert!(!ingress[0]["from"].is_null(), "the port for results stays closed");
}

#[test]
fn values_of_secrets_are_in_secrets_and_nowhere_else() {
    let mut options = options(Permissions::Minimal, JOB);
    let values = [("suite.password".to_owned(), "s3cret".to_owned())];
    options.secrets.insert("plumbline-options".to_owned(), values.into());
    let (secrets, others): (Vec<Value>, Vec<Value>) =
        made(&options).into_iter().partition(|object| object["metadata"]["name"] == "plumbline-options");
    let [secret] = secrets.as_slice() else { panic!("{secrets:?}") };
    assert_eq!((&secret["kind"], &secret["data"]["suite.password"]), (&json!("Secret"), &json!("czNjcmV0")));
    // `delete` finds it by the label of runs.
    assert!(secret["metadata"]["labels"].is_object());
    assert!(!json!(others).to_string().contains("czNjcmV0"));
}
