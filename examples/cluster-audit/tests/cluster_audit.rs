//! The rules on recorded objects.

use plumbline_module_cluster_audit::ClusterAudit;
use plumbline_sdk::testing::Case;
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn role(name: &str, verbs: &[&str], labels: Value) -> Value {
    json!({"metadata": {"name": name, "labels": labels}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]})
}

fn binding(name: &str, role: &str, subjects: Value) -> Value {
    json!({"metadata": {"name": name}, "roleRef": {"name": role}, "subjects": subjects})
}

fn pod(name: &str, image: &str) -> Value {
    json!({"metadata": {"namespace": "web", "name": name}, "spec": {"containers": [{"image": image}]}})
}

fn cluster() -> Case {
    Case::new()
        .objects(
            RBAC,
            "clusterroles",
            [
                role("cluster-admin", &["*"], Value::Null),
                role("reader", &["get", "list"], Value::Null),
                role("operator", &["*"], json!({"kubernetes.io/bootstrapping": "rbac-defaults"})),
            ],
        )
        .objects(RBAC, "roles", [])
        .objects(
            RBAC,
            "clusterrolebindings",
            [
                binding("cluster-admin", "cluster-admin", json!([{"kind": "Group", "name": "system:masters"}])),
                binding(
                    "ci",
                    "cluster-admin",
                    json!([{"kind": "ServiceAccount", "namespace": "ci", "name": "deployer"}]),
                ),
                binding("view", "view", json!([{"kind": "User", "name": "alice"}])),
            ],
        )
        .objects(
            "v1",
            "pods",
            [
                pod("pinned", &format!("registry.k8s.io/pause@sha256:{}", "a".repeat(64))),
                pod("short", "nginx:1.29"),
                pod("look-alike", "registry.k8s.io.example.com/pause:3.10"),
            ],
        )
}

#[test]
fn wide_permissions_are_named() {
    let run = cluster().check::<ClusterAudit>();
    assert_eq!(
        run.outline(),
        "no role grants everything: failed\n  operator: failed\ncluster-admin is bound to nobody else: failed\n  ci: failed\n\
         images come from known registries: skipped\nimages have a digest: skipped\nimages run with an allowed digest: skipped\n"
    );
    let ci = format!("{:?}", run.item("ci"));
    assert!(ci.contains("ServiceAccount ci/deployer"), "{ci}");
}

#[test]
fn images_are_compared_with_their_whole_registry() {
    let options = cluster().option("registries", json!(["registry.k8s.io"])).option("digests", true);
    let run = options.check::<ClusterAudit>();
    let images = run.outline();
    let images = images.split("images come").nth(1).unwrap();
    assert_eq!(
        images,
        " from known registries: failed\n  web/short: failed\n  web/look-alike: failed\n\
         images have a digest: failed\n  web/short: failed\n  web/look-alike: failed\n\
         images run with an allowed digest: skipped\n"
    );
}

/// Some runtimes report the ID of an image in place of its name.
#[test]
fn a_digest_counts_also_if_the_status_does_not_name_the_image() {
    let allowed = format!("sha256:{}", "a".repeat(64));
    let pod = |name: &str, id: Value| {
        let status = json!({"name": "main", "image": format!("sha256:{}", "c".repeat(64)), "imageID": id});
        json!({"metadata": {"namespace": "web", "name": name},
            "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
            "status": {"containerStatuses": [status]}})
    };
    let pods = [
        pod("allowed", json!(format!("registry.k8s.io/pause@{allowed}"))),
        pod("other", json!(format!("registry.k8s.io/pause@sha256:{}", "b".repeat(64)))),
        pod("not-started", Value::Null),
    ];
    let case = Case::new().objects("v1", "pods", pods).option("allowed", json!({"registry.k8s.io/pause": [allowed]}));
    let run = case.check::<ClusterAudit>();
    let rule = run.outline().split("images run with an allowed digest").nth(1).unwrap().to_owned();
    assert_eq!(rule, ": failed\n  web/other: failed\n  web/not-started: failed\n");
}

#[test]
fn unreadable_objects_do_not_pass() {
    let run = Case::new().check::<ClusterAudit>();
    assert!(
        run.outline()
            .starts_with("no role grants everything: unknown\ncluster-admin is bound to nobody else: unknown\n"),
        "{}",
        run.outline()
    );
}

#[test]
fn unknown_options_are_an_error() {
    let run = cluster().option("registry", "x").check::<ClusterAudit>();
    assert!(run.outcome.as_ref().is_err_and(|error| error.contains("registry")), "{run:?}");
}
