use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const INCUMBENT: &str = r#"{"Description":"DEFAULT","UUID":"","Version":"v0.57.5","ResultsDir":"/tmp/sonobuoy/results","Resources":null,
"Filters":{"Namespaces":".*","LabelSelector":""},
"Limits":{"PodLogs":{"Namespaces":"kube-system","SonobuoyNamespace":true,"FieldSelectors":[],"LabelSelector":"","Previous":false,"SinceSeconds":null,"SinceTime":null,"Timestamps":false,"TailLines":null,"LimitBytes":null}},
"QPS":30,"Burst":50,
"Server":{"bindaddress":"0.0.0.0","bindport":8080,"advertiseaddress":"","timeoutseconds":21600},
"Plugins":null,"PluginSearchPath":["./plugins.d","/etc/sonobuoy/plugins.d","~/sonobuoy/plugins.d"],
"Namespace":"sonobuoy","WorkerImage":"sonobuoy/sonobuoy:v0.57.5","ImagePullPolicy":"IfNotPresent","ImagePullSecrets":"",
"AggregatorPermissions":"clusterAdmin","ServiceAccountName":"sonobuoy-serviceaccount","NamespacePSAEnforceLevel":"privileged",
"ProgressUpdatesPort":"8099","SecurityContextMode":"nonroot"}"#;

/// A configuration in which every key differs from its default.
const FULL: &str = r#"{"Description":"d","UUID":"u","Version":"v9","ResultsDir":"/r","QueryDir":"/q","Resources":["pods"],
"Filters":{"Namespaces":"a|b","LabelSelector":"x=y"},
"Limits":{"PodLogs":{"Namespaces":"n","SonobuoyNamespace":false,"FieldSelectors":["f"],"LabelSelector":"l","Previous":true,
"SinceSeconds":null,"SinceTime":"2026-01-31T12:00:00Z","Timestamps":true,"TailLines":7,"LimitBytes":9}},
"QPS":1.5,"Burst":2,"Server":{"bindaddress":"::","bindport":1,"advertiseaddress":"h:1","timeoutseconds":5},
"Plugins":[{"name":"x"}],"PluginSearchPath":["/p"],"Namespace":"ns","SkipPlugins":true,"WorkerImage":"i",
"ImagePullPolicy":"Always","ForceImagePullPolicy":true,"ImagePullSecrets":"s","CustomAnnotations":{"Key/K":"v"},
"AggregatorPermissions":"clusterRead","AggregatorTolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoExecute"}],
"ServiceAccountName":"sa","ExistingServiceAccount":true,"E2EDockerConfigFile":"/d","NamespacePSAEnforceLevel":"restricted",
"ProgressUpdatesPort":"1","SecurityContextMode":"platform","Plumbline":{"Graces":{"ImagePull":1,"Starting":9,"Unschedulable":2,"NodeGone":3,
"PodGone":4,"CrashLoop":5,"NoResult":6,"Hello":7,"NoPod":8,"Silent":10,"SilentLost":11},"FailFast":true,"NativeSidecar":"always","JobTolerations":[{"key":"g","operator":"Exists"}],"Storage":"pvc:1Gi:fast",
"UploadURL":"https://h/p","UploadSecret":"c","DeadlineSeconds":10,"KubernetesVersion":"v1.30.2","NamespaceLabels":{"a":"b"},
"NamespaceAnnotations":{"c":"d"},"PluginSources":{"x":"oci://r/x"},"PluginBundles":{"x":"sha256:00"},
"Bundles":[{"Plugin":"x","Reference":"oci://r/x@sha256:00","Digest":"sha256:11"},{"Plugin":"y","Reference":"","Digest":"sha256:22"}],
"Telemetry":{"MetricsPort":9464,"OTLPEndpoint":"http://c:4318","OTLPSecret":"o","TraceParent":"00-1-2-01","TraceState":"a=b"},
"Registry":{"Insecure":["r:5000"],"TokenServers":["r=a"],"CA":"-----BEGIN CERTIFICATE-----"}}}"#;

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Changes the keys of every object, except for keys that are data.
fn recased(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    let data = [
        "CustomAnnotations",
        "AggregatorTolerations",
        "JobTolerations",
        "NamespaceLabels",
        "NamespaceAnnotations",
        "PluginSources",
        "PluginBundles",
    ];
    match value {
        Value::Object(fields) => {
            let pairs = fields.iter().map(|(key, value)| {
                let value = if data.contains(&key.as_str()) { value.clone() } else { recased(value, change) };
                (change(key), value)
            });
            Value::Object(pairs.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| recased(item, change)).collect()),
        other => other.clone(),
    }
}

#[test]
fn defaults_are_written_in_sonobuoys_form() {
    let ours = Config::default().to_json().unwrap();
    // Compares Sonobuoy's keys in order. The keys after them are Plumbline's own.
    let keys = |json: &str| -> Vec<String> {
        let keys = json.split('"').skip(1).step_by(2);
        keys.filter(|text| text.starts_with(|c: char| c.is_ascii_uppercase()) && *text != "DEFAULT")
            .map(str::to_owned)
            .collect()
    };
    let (ours_keys, theirs) = (keys(&ours), keys(INCUMBENT));
    assert_eq!(ours_keys[..theirs.len()], theirs[..]);

    let (mut ours, mut theirs) = (parsed(&ours), parsed(INCUMBENT));
    assert_eq!(ours["AggregatorPermissions"], "minimal");
    for differs in ["Version", "WorkerImage", "AggregatorPermissions"] {
        ours[differs] = Value::Null;
        theirs[differs] = Value::Null;
    }
    ours.as_object_mut().unwrap().remove("Plumbline");
    assert_eq!(ours, theirs);
}

#[test]
fn every_key_is_read_and_written() {
    for config in [Config::over_defaults(FULL).unwrap(), Config::over_zero(FULL).unwrap()] {
        assert_eq!(parsed(&config.to_json().unwrap()), parsed(FULL));
    }
    let default = Config::default().to_json().unwrap();
    assert_eq!(Config::over_zero(&default).unwrap(), Config::default());
}

#[test]
fn absent_keys_keep_defaults_here_and_are_zero_in_the_aggregator() {
    assert_eq!(Config::over_defaults("{}").unwrap(), Config::default());
    let zero = Config::over_zero("{}").unwrap();
    assert_eq!((zero.server.bind_address.as_str(), zero.server.bind_port), ("0.0.0.0", 8080));
    assert_eq!((zero.server.timeout_seconds, zero.results_dir.as_str(), zero.burst), (0, "", 0));
    assert!(!zero.limits.pod_logs.sonobuoy_namespace && zero.plugin_search_path.is_empty());
    // Sonobuoy writes no grace periods, and grace periods of 0 would fail every plugin at once.
    assert_eq!(zero.plumbline, PlumblineConfig::default());
    assert!(zero.from_sonobuoy, "only Sonobuoy leaves our section out");
    let partly = Config::over_zero(r#"{"Plumbline":{"Graces":{"Hello":5}}}"#).unwrap();
    assert_eq!(partly.plumbline.graces, GracePeriods { hello: 5, ..GracePeriods::default() });
}

#[test]
fn null_means_none_where_there_is_one() {
    let config =
        Config::over_defaults(r#"{"Resources":["pods"],"Plugins":[],"PluginSearchPath":null,"Burst":null}"#).unwrap();
    assert_eq!(config.plugins, Some(Vec::new()));
    assert!(config.plugin_search_path.is_empty());
    assert_eq!(config.burst, 50);
    assert_eq!(Config::over_defaults(r#"{"Resources":null}"#).unwrap().resources, None);
}

#[test]
fn bundles_to_fetch_are_complete_and_not_too_many() {
    let error_of = |json: &str| Config::over_zero(json).unwrap_err().to_string();
    let no_digest = error_of(r#"{"Plumbline":{"Bundles":[{"Plugin":"x","Reference":"oci://r/x"}]}}"#);
    assert_eq!(no_digest, "`Plumbline.Bundles[0].Digest` must be the digest of a bundle: found nothing");
    assert!(error_of(r#"{"Plumbline":{"Bundles":[{"Digest":"d"}]}}"#).contains("`Plumbline.Bundles[0].Plugin`"));
    let many = vec![json!({"Plugin": "x", "Digest": "d"}); MAX_BUNDLES + 1];
    assert!(error_of(&json!({"Plumbline": {"Bundles": many}}).to_string()).contains("at most 256"));
    for none in [r#"{"Plumbline":{"Bundles":null}}"#, r#"{"Plumbline":{"Registry":null}}"#, "{}"] {
        let config = Config::over_defaults(none).unwrap();
        assert!(!config.to_json().unwrap().contains("Bundles") && !config.to_json().unwrap().contains("Registry"));
    }
}

#[test]
fn unknown_and_old_keys_have_no_effect() {
    let old = r#"{"LimitSize":1,"Limits":{"PodLogs":{"LimitTime":"x"}},"Plumbline":{"Colour":"red"}}"#;
    assert_eq!(Config::over_defaults(old).unwrap(), Config::default());
}

#[test]
fn a_schedule_is_read_as_it_is_written() {
    let schedule = json!({"Cron": "0 3 * * 1-5", "TimeZone": "Europe/Paris", "KeepRuns": 30, "KeepBytes": 1024});
    let config = Config::over_defaults(&json!({"Plumbline": {"schedule": schedule}}).to_string()).unwrap();
    let written: Value = serde_json::from_str(&config.to_json().unwrap()).unwrap();
    assert_eq!(written["Plumbline"]["Schedule"], schedule);
    assert_eq!(Config::over_zero(&written.to_string()).unwrap().plumbline.schedule, config.plumbline.schedule);
    let short = Config::over_defaults(r#"{"Plumbline": {"Schedule": {"Cron": "@daily"}}}"#).unwrap();
    assert_eq!(short.plumbline.schedule.unwrap().zone.to_string(), "Etc/UTC");
}

#[test]
fn errors_name_the_key() {
    let error_of = |json: Value| Config::over_defaults(&json.to_string()).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            error_of(json!([])),
            error_of(json!({"burst": -1})),
            error_of(json!({"Server": {"bindport": 70000}})),
            error_of(json!({"Limits": {"PodLogs": {"FieldSelectors": ["a", 1]}}})),
            error_of(json!({"limits": {"podlogs": {"sincetime": "yesterday"}}})),
            error_of(json!({"Limits": {"PodLogs": {"SinceSeconds": 1, "SinceTime": "2026-01-31T12:00:00Z"}}})),
            error_of(json!({"Namespace": "a", "namespace": "b"})),
            error_of(json!({"AggregatorPermissions": "root"})),
            error_of(json!({"AggregatorTolerations": [{"effect": "Never"}]})),
            error_of(json!({"Plugins": [{}]})),
            error_of(json!({"Plumbline": {"Storage": "disk"}})),
            error_of(json!({"Plumbline": {"Graces": {"Hello": "1m"}}})),
            error_of(json!({"Plumbline": {"Schedule": {"TimeZone": "Etc/UTC"}}})),
            error_of(json!({"Plumbline": {"Schedule": {"Cron": "0 25 * * *"}}})),
            error_of(json!({"Plumbline": {"Schedule": {"Cron": "@daily", "TimeZone": "Mars/Olympus"}}})),
            error_of(json!({"Plumbline": {"Schedule": {"Cron": "@daily", "KeepRuns": "all"}}})),
            Config::over_defaults("{").unwrap_err().to_string(),
            Config::over_defaults(&" ".repeat(MAX_CONFIG_BYTES + 1)).unwrap_err().to_string(),
        ]
        .join("\n")
    );
}

#[test]
fn workers_get_an_address_that_is_valid_in_a_url() {
    let server = Server::default();
    assert_eq!(server.advertised(Some("10.0.0.7"), "pod"), "10.0.0.7:8080");
    assert_eq!(server.advertised(Some("fd00::7"), "pod"), "[fd00::7]:8080");
    assert_eq!(server.advertised(Some(""), "pod"), "pod:8080");
    let configured = Server { advertise_address: "a.b:1".to_owned(), ..server };
    assert_eq!(configured.advertised(Some("10.0.0.7"), "pod"), "a.b:1");
}

proptest! {
    #[test]
    fn keys_are_matched_without_regard_to_case(upper in proptest::collection::vec(any::<bool>(), 64)) {
        let change = |key: &str| -> String {
            let flip = key.chars().zip(upper.iter().cycle());
            flip.map(|(c, up)| if *up { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
        };
        let json = recased(&parsed(FULL), &change).to_string();
        prop_assert_eq!(Config::over_defaults(&json).unwrap(), Config::over_defaults(FULL).unwrap());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}\":,a-zA-Z0-9. ]{0,200}") {
        let _ = Config::over_defaults(&text);
    }
}
