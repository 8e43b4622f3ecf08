//! Tests with a plugin that tries to get more rights than it was given, in every permission mode.

use serde_json::{Value, json};

use crate::bed::Bed;
use crate::plugin::Plugin;

/// The plugin that is attacked: a Job that runs until the attackers have seen its worker.
const VICTIM: &str = "victim";

/// Writes `plumbline-dev attack` as a plugin with this name.
fn attacker(bed: &Bed, name: &str, driver: &str, user: u32) -> String {
    let per_node = driver == "DaemonSet";
    let mut args = vec!["--victim", VICTIM, "--namespace", bed.namespace()];
    if per_node {
        args.extend(["--host-processes", "--stay"]);
    }
    let file = format!("{name}.yaml");
    let definition = json!({
        "sonobuoy-config": {"driver": driver, "plugin-name": name, "result-format": "junit"},
        // Settings that a Sonobuoy definition may have: the aggregator's service account, and the
        // host's processes.
        "podSpec": {
            "serviceAccountName": "sonobuoy-serviceaccount",
            "hostPID": per_node,
            "restartPolicy": if per_node { "Always" } else { "Never" },
            "tolerations": [{"operator": "Exists"}],
            "containers": [],
        },
        "spec": {
            "name": "plugin",
            "image": bed.image(),
            "imagePullPolicy": "IfNotPresent",
            "command": ["/plumbline-dev", "attack"],
            "args": args,
            "securityContext": {"runAsUser": user},
            "volumeMounts": [{"name": "results", "mountPath": "/tmp/sonobuoy/results"}],
        },
    });
    std::fs::write(bed.path(&file), definition.to_string()).unwrap();
    file
}

/// Fails if any attempt was allowed.
fn nothing_is_allowed(test: &str, mode: &str) {
    let Some(bed) = Bed::new(test) else { return };
    if mode == "namespaceAdmin" || mode == "clusterRead" {
        // These modes are for users who may not create namespaces.
        bed.create_namespace();
    }
    let mut files = vec![attacker(&bed, "thief-job", "Job", 0)];
    // In that mode the aggregator may not read nodes, so it expects no result of a DaemonSet.
    if mode != "namespaceAdmin" {
        files.push(attacker(&bed, "thief-root", "DaemonSet", 0));
        // The user of the aggregator.
        files.push(attacker(&bed, "thief-user", "DaemonSet", 1000));
    }
    let mut more: Vec<&str> = files.iter().flat_map(|file| ["-p", file.as_str()]).collect();
    more.extend(["--aggregator-permissions", mode, "--wait"]);
    // The victim must run as long as the attackers examine its processes.
    let victim = Plugin::job(VICTIM).args(&["--after=45s"]);
    let done = bed.run(&[victim], &more);
    assert!(done.err.contains("gets one without permissions"), "{done:?}");

    let retrieved = bed.command("retrieve", &["."]).expect(0);
    let archive = retrieved.out.trim();
    let trees = bed.plumbline(&["results", archive, "-o", "json"]).json();
    let (mut refused, mut allowed) = (0, Vec::new());
    for tree in trees.as_array().unwrap().iter().filter(|tree| tree["name"] != VICTIM) {
        leaves(tree, &mut |leaf| match leaf["status"].as_str() {
            Some("passed") => refused += 1,
            _ => allowed.push(leaf.to_string()),
        });
    }
    assert!(allowed.is_empty(), "{mode}: {allowed:#?}");
    // Each plugin makes 24 requests to the API server and two to the aggregator, and looks for a
    // token once.
    assert!(refused >= 27 * files.len(), "{mode}: only {refused} attempts");
    done.expect(0);
}

fn leaves(item: &Value, seen: &mut dyn FnMut(&Value)) {
    match item["items"].as_array().filter(|items| !items.is_empty()) {
        Some(items) => items.iter().for_each(|item| leaves(item, seen)),
        None => seen(item),
    }
}

#[test]
fn a_plugin_gets_nothing_in_the_mode_minimal() {
    nothing_is_allowed("attack-minimal", "minimal");
}

#[test]
fn a_plugin_gets_nothing_in_the_mode_namespace_admin() {
    nothing_is_allowed("attack-namespace", "namespaceAdmin");
}

#[test]
fn a_plugin_gets_nothing_in_the_mode_cluster_read() {
    nothing_is_allowed("attack-read", "clusterRead");
}

#[test]
fn a_plugin_gets_nothing_in_the_mode_cluster_admin() {
    nothing_is_allowed("attack-admin", "clusterAdmin");
}

/// Checks that the attack notices allowed requests. Otherwise an attack that tries nothing would
/// pass the tests above.
#[test]
fn an_attack_with_permissions_is_noticed() {
    let Some(bed) = Bed::new("attack-noticed") else { return };
    let file = attacker(&bed, "thief-job", "Job", 0);
    let mut definition: Value = serde_json::from_str(&std::fs::read_to_string(bed.path(&file)).unwrap()).unwrap();
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    definition["plumbline"] = json!({"permissions": {"cluster": everything}});
    std::fs::write(bed.path(&file), definition.to_string()).unwrap();
    let done = bed.run(&[Plugin::job(VICTIM)], &["-p", &file, "--wait"]).expect(1);
    assert!(done.err.contains("plugin `thief-job` may do everything in the cluster"), "{done:?}");
    let retrieved = bed.command("retrieve", &["."]).expect(0);
    let report = bed.plumbline(&["results", retrieved.out.trim()]).expect(1).out;
    for noticed in
        ["find a token", "read the CA key of the run, as this pod", "create a privileged pod", "delete the pod of"]
    {
        assert!(report.contains(noticed), "{noticed}: {report}");
    }
    assert!(!report.contains("as nobody"), "{report}");
}
