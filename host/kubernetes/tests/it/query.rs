//! Surveys of a cluster.

use std::time::Duration;

use plumbline_core::Config;
use plumbline_core::config::Filters;
use plumbline_dev::{Fault, FaultKind};
use plumbline_kubernetes::query::{Progress, survey};
use serde_json::{Value, json};

use crate::query_bed::{Bed, errors, only};

#[tokio::test]
async fn all_files_are_where_readers_expect_them() {
    let bed = Bed::new().await;
    bed.double.put(
        "nodes",
        json!({"metadata": {"name": "n1", "managedFields": [{"manager": "kubelet"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}),
    );
    bed.double.set_node_proxy("n1", "configz", 200, r#"{"kubeletconfig":{}}"#);
    bed.double.set_node_proxy("n1", "healthz", 200, "ok");
    bed.double.put(
        "pods",
        json!({"metadata": {"name": "dns", "namespace": "kube-system"}, "spec": {"containers": [{"name": "dns"}]},
            "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "reason": "Waiting"}]}}),
    );
    bed.double.set_log("kube-system", "dns", "dns", "E0101 no\nwell\n");
    bed.config_map("default", "a");
    bed.double.put("secrets", json!({"metadata": {"namespace": "default", "name": "hidden"}}));
    let mut config = Config::default();
    config.plumbline.query_kubelets = true;
    let summary = bed.survey(&config).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    insta::assert_snapshot!(bed.files().join("\n"), @r"
    hosts/n1/configz.json
    hosts/n1/healthz.json
    meta/clusterhealth.json
    meta/query-time.json
    podlogs/kube-system/dns/logs/dns.txt
    resources/cluster/core_v1_namespaces.json
    resources/cluster/core_v1_nodes.json
    resources/ns/default/core_v1_configmaps.json
    resources/ns/kube-system/core_v1_pods.json
    servergroups.json
    serverversion.json
    ");
    assert_eq!(summary.files, bed.files().len());
    let nodes = bed.json("resources/cluster/core_v1_nodes.json");
    assert_eq!((&nodes["apiVersion"], &nodes["kind"]), (&json!("v1"), &json!("NodeList")));
    assert_eq!(nodes["items"][0]["kind"], "Node");
    assert!(nodes["items"][0]["metadata"].get("managedFields").is_none());
    assert_eq!(bed.json("hosts/n1/healthz.json"), json!({"status": 200}));
    assert_eq!(bed.json("serverversion.json")["gitVersion"], "v1.30.2");
    assert_eq!(bed.json("servergroups.json")["groups"][0]["name"], "");
    let health = bed.json("meta/clusterhealth.json");
    assert_eq!(
        (&health["node_health"]["healthy_nodes"], &health["pod_health"]["healthy_nodes"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(health["pod_health"]["details"][0]["reason"], "Waiting");
    assert_eq!(health["error_summary"]["Errors"], json!({"podlogs/kube-system/dns/logs/dns.txt": 1}));
    let times = bed.json("meta/query-time.json");
    assert!(
        times.as_array().unwrap().iter().any(|entry| entry["queryobj"] == "configmaps" && entry["time"].is_string())
    );
}

#[tokio::test]
async fn long_lists_come_in_pages_and_are_split_by_namespace() {
    let bed = Bed::new().await;
    for n in 0..600 {
        bed.config_map("default", &format!("a{n:03}"));
        bed.config_map("kube-system", &format!("b{n:03}"));
    }
    // The server's continue token expires in the middle of the list.
    bed.refuse("continue=", 410, 1);
    let summary = bed.survey(&only(&["configmaps"])).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    for (namespace, first) in [("default", "a000"), ("kube-system", "b000")] {
        let mut names = bed.names(&format!("resources/ns/{namespace}/core_v1_configmaps.json"));
        assert_eq!((names.len(), names[0].as_str()), (600, first));
        names.dedup();
        assert_eq!(names.len(), 600);
    }
    let lists = bed.double.requests().iter().filter(|request| request.path == "/api/v1/configmaps").count();
    // There is one page, an error, and the three pages of the second attempt.
    assert_eq!(lists, 5);
}

#[tokio::test]
async fn a_list_that_never_ends_well_is_given_up_and_recorded() {
    let bed = Bed::new().await;
    for n in 0..501 {
        bed.config_map("default", &format!("a{n}"));
    }
    bed.refuse("continue=", 410, 100);
    let summary = bed.survey(&only(&["configmaps"])).await;
    assert_eq!(errors(&summary), ["configmaps: failed to list configmaps: refused with 410"]);
    assert!(!bed.has("resources"));
    let times = bed.json("meta/query-time.json");
    assert_eq!(
        times[times.as_array().unwrap().len() - 1]["error"]["message"],
        "failed to list configmaps: refused with 410"
    );
}

#[tokio::test]
async fn rights_in_each_namespace_do() {
    let bed = Bed::new().await;
    bed.config_map("default", "a");
    bed.config_map("kube-system", "b");
    bed.refuse("/api/v1/configmaps?", 403, 1);
    let summary = bed.survey(&only(&["configmaps"])).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
    assert_eq!(bed.names("resources/ns/kube-system/core_v1_configmaps.json"), ["b"]);
}

#[tokio::test]
async fn forbidden_queries_are_recorded_and_the_rest_continues() {
    let bed = Bed::new().await;
    bed.config_map("default", "a");
    bed.double.deny("list", "services");
    bed.refuse("/apis/batch/v1", 500, 100);
    let summary = bed.survey(&only(&["services", "configmaps", "jobs"])).await;
    let errors = errors(&summary);
    let beginnings: Vec<&str> = errors.iter().map(|error| error.split(':').next().unwrap()).collect();
    assert_eq!(
        beginnings,
        ["discovery/batch/v1", "jobs", "services in namespace `default`", "services in namespace `kube-system`"],
        "{errors:#?}"
    );
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
}

#[tokio::test]
async fn a_failing_node_holds_up_no_other() {
    let bed = Bed::new().await;
    for node in ["n1", "n2"] {
        bed.double.put("nodes", json!({"metadata": {"name": node}}));
        bed.double.set_node_proxy(node, "configz", 200, "{}");
        bed.double.set_node_proxy(node, "healthz", 200, "ok");
    }
    bed.double.set_node_proxy("n1", "configz", 500, "broken");
    bed.double.set_node_proxy("n1", "healthz", 500, "unwell");
    let summary = bed.survey(&only(&["nodes"])).await;
    assert_eq!(
        errors(&summary),
        [
            "hosts/n1/configz: failed to ask the kubelet of node `n1` for `configz`: broken",
            "hosts/n1/healthz: failed to ask the kubelet of node `n1` for `healthz`: unwell",
        ]
    );
    assert!(!bed.has("hosts/n1/configz.json") && bed.has("hosts/n2/configz.json"));
    assert_eq!(bed.json("hosts/n1/healthz.json"), json!({"status": 500}));
    assert_eq!(bed.names("resources/cluster/core_v1_nodes.json"), ["n1", "n2"]);
}

#[tokio::test]
async fn nodes_that_are_not_ready_are_not_waited_for() {
    let bed = Bed::new().await;
    for (node, ready) in [("n1", "Unknown"), ("n2", "True")] {
        let status = json!({"conditions": [{"type": "Ready", "status": ready}]});
        bed.double.put("nodes", json!({"metadata": {"name": node}, "status": status}));
        bed.double.set_node_proxy(node, "configz", 200, "{}");
        bed.double.set_node_proxy(node, "healthz", 200, "ok");
        let metadata = json!({"namespace": "default", "name": format!("p-{node}")});
        let spec = json!({"nodeName": node, "containers": [{"name": "c"}]});
        bed.double.put("pods", json!({"metadata": metadata, "spec": spec}));
        bed.double.set_log("default", &format!("p-{node}"), "c", "a line\n");
    }
    let mut options = only(&["nodes", "podlogs"]);
    options.limits.pod_logs.namespaces = "default".to_owned();
    let summary = bed.survey(&options).await;
    assert_eq!(
        errors(&summary),
        [
            "hosts/n1: not asked: node `n1` is not ready",
            "podlogs in namespace `default`: not asked for the logs of pod `p-n1`: its node `n1` is not ready",
        ]
    );
    let times = bed.json("meta/query-time.json");
    let failed = |entry: &&Value| entry["queryobj"] == "podlogs" && !entry["error"].is_null();
    let pods: Vec<&Value> = times.as_array().unwrap().iter().filter(failed).map(|entry| &entry["pod"]).collect();
    assert_eq!(pods, ["p-n1"]);
    assert!(bed.has("hosts/n2/configz.json") && bed.has("podlogs/default/p-n2/logs/c.txt"));
    let asked = bed.double.requests();
    assert!(!asked.iter().any(|request| request.path.contains("/n1/") || request.path.contains("/p-n1/")), "{asked:?}");
}

#[tokio::test]
async fn an_overloaded_server_is_asked_again() {
    let bed = Bed::new().await;
    bed.config_map("default", "a");
    bed.refuse("/api/v1/configmaps?", 503, 1);
    bed.refuse("/version", 429, 1);
    let summary = bed.survey(&only(&["configmaps", "serverversion"])).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
    assert!(bed.has("serverversion.json"));
}

#[tokio::test]
async fn secrets_come_when_they_are_named() {
    let bed = Bed::new().await;
    bed.double.put("secrets", json!({"metadata": {"namespace": "default", "name": "s"}}));
    let summary = bed.survey(&only(&["secrets", "podlogs", "ghosts"])).await;
    assert_eq!(bed.names("resources/ns/default/core_v1_secrets.json"), ["s"]);
    let errors = errors(&summary);
    assert!(errors.len() == 1 && errors[0].contains("ghosts"), "{errors:?}");
    assert!(errors[0].contains("the server has no such resource"), "{errors:?}");
}

#[tokio::test]
async fn filters_choose_objects_and_namespaces() {
    let bed = Bed::new().await;
    for (namespace, name, app) in [("default", "a", "x"), ("default", "b", "y"), ("kube-system", "c", "x")] {
        bed.double
            .put("configmaps", json!({"metadata": {"namespace": namespace, "name": name, "labels": {"app": app}}}));
    }
    let filters = Filters { label_selector: "app in (x)".to_owned(), namespaces: "^def".to_owned() };
    let options = Config { filters, ..only(&["configmaps"]) };
    let summary = bed.survey(&options).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
    assert!(!bed.has("resources/ns/kube-system"));
}

#[tokio::test]
async fn invalid_filters_are_reported_once_and_the_rest_continues() {
    let bed = Bed::new().await;
    bed.config_map("default", "a");
    bed.config_map("kube-system", "b");
    let filters = Filters { label_selector: "app in x".to_owned(), namespaces: "(".to_owned() };
    let options = Config { filters, namespace: "default".to_owned(), ..only(&["configmaps"]) };
    let errors = errors(&bed.survey(&options).await);
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert!(errors[0].starts_with("filters: the label selector is left out"), "{errors:#?}");
    assert!(errors[1].starts_with("namespaces: only namespace `default` is queried"), "{errors:#?}");
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
    assert!(!bed.has("resources/ns/kube-system"));
}

#[tokio::test]
async fn without_a_list_of_namespaces_the_own_one_is_looked_at() {
    let bed = Bed::new().await;
    bed.config_map("default", "a");
    bed.double.deny("list", "namespaces");
    let options = Config { namespace: "default".to_owned(), ..only(&["configmaps"]) };
    let errors = errors(&bed.survey(&options).await);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
}

#[tokio::test]
async fn an_interrupted_query_leaves_whole_files() {
    let bed = Bed::new().await;
    bed.config_map("default", "a");
    let hang = FaultKind::Stall(Duration::from_secs(3600));
    bed.double.fault(Fault { method: None, path_contains: "/services?".to_owned(), kind: hang, times: 1 });
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let observer = |progress: &Progress| sender.send(progress.latest.clone()).unwrap();
    let (options, out) = (only(&["configmaps", "services"]), bed.out());
    {
        let survey = survey(&bed.cluster, &options, &out, &observer);
        let collected = async {
            while heard.recv().await.is_some_and(|latest| latest != "configmaps") {}
            // The other list is in progress.
            bed.double.requests();
        };
        tokio::select! {
            _ = survey => panic!("a list that hangs did not hold up the survey"),
            () = collected => {}
        }
    }
    assert_eq!(bed.files(), ["meta/query-time.json", "resources/ns/default/core_v1_configmaps.json"]);
    assert_eq!(bed.names("resources/ns/default/core_v1_configmaps.json"), ["a"]);
    let unfinished = json!([{"queryobj": "survey", "time": "0s", "error": {"message": "the survey did not finish"}}]);
    assert_eq!(bed.json("meta/query-time.json"), unfinished);
    // A survey in the same place replaces it, as after a restart.
    bed.survey(&only(&["configmaps"])).await;
    let times = bed.json("meta/query-time.json");
    assert!(times.as_array().unwrap().iter().all(|entry| entry["queryobj"] != "survey"), "{times}");
}

#[tokio::test]
async fn a_survey_that_is_dropped_at_once_is_not_taken_for_none() {
    let bed = Bed::new().await;
    let (options, out, observer) = (only(&["configmaps"]), bed.out(), |_: &Progress| {});
    tokio::select! {
        biased;
        _ = survey(&bed.cluster, &options, &out, &observer) => panic!("it did not ask the API server"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(bed.files(), ["meta/query-time.json"]);
    assert_eq!(bed.json("meta/query-time.json")[0]["error"]["message"], "the survey did not finish");
}

#[tokio::test]
async fn health_that_lacks_objects_says_so() {
    let bed = Bed::new().await;
    bed.double.put("nodes", json!({"metadata": {"name": "n1"}}));
    for namespace in ["default", "kube-system"] {
        let pod = json!({"metadata": {"name": "p", "namespace": namespace}, "status": {"phase": "Running"}});
        bed.double.put("pods", pod);
    }
    let complete = bed.survey(&only(&["nodes", "pods"])).await;
    assert!(complete.errors.iter().all(|error| error.query.starts_with("hosts/")), "{:?}", complete.errors);
    assert_eq!(bed.json("meta/clusterhealth.json").get("incomplete"), None);

    bed.refuse("/api/v1/pods?", 403, u32::MAX);
    bed.refuse("/api/v1/namespaces/kube-system/pods", 403, u32::MAX);
    bed.survey(&only(&["nodes", "pods"])).await;
    let health = bed.json("meta/clusterhealth.json");
    assert_eq!(health["pod_health"]["total_nodes"], 2, "files of the earlier survey");
    let incomplete = health["incomplete"].as_object().unwrap();
    assert_eq!(incomplete.keys().collect::<Vec<_>>(), ["pods"]);
    let why = incomplete["pods"][0].as_str().unwrap();
    assert!(why.starts_with("failed to list pods in namespace `kube-system`: refused with 403"), "{why}");
}

#[tokio::test]
async fn health_without_a_list_of_namespaces_lacks_pods() {
    let bed = Bed::new().await;
    bed.double.deny("list", "namespaces");
    bed.survey(&Config { namespace: "default".to_owned(), ..only(&["pods"]) }).await;
    let pods = &bed.json("meta/clusterhealth.json")["incomplete"]["pods"];
    assert!(pods[0].as_str().unwrap().starts_with("only namespace `default` is queried"), "{pods}");
}
