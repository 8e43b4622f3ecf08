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
fn a_port_and_an_upper_case_letter_make_another_registry() {
    let names = ["example.com/a:1", "example.com:5000/b", "Example/c", "d:1", "index.docker.io/e", "docker.io/f"];
    let pods = names.map(|image| pod(image.rsplit('/').next().unwrap_or_default(), image));
    let case = Case::new().objects("v1", "pods", pods);
    let rule = |registries: Value| {
        let run = case.clone().option("registries", registries).check::<ClusterAudit>();
        let rules = run.outline();
        rules
            .split("known registries")
            .nth(1)
            .and_then(|rest| rest.split("images").next())
            .unwrap_or_default()
            .to_owned()
    };
    let others = "  web/d:1: failed\n  web/e: failed\n  web/f: failed\n";
    assert_eq!(rule(json!(["example.com"])), format!(": failed\n  web/b: failed\n  web/c: failed\n{others}"));
    let two = "  web/a:1: failed\n  web/b: failed\n  web/c: failed\n";
    assert_eq!(rule(json!(["docker.io/library"])), format!(": failed\n{two}"));
    assert_eq!(rule(json!(["example.com/a", "example.com:5000", "Example", "docker.io"])), ": passed\n");
    // Names as the images have them.
    let rest = format!("{two}  web/d:1: failed\n");
    assert_eq!(rule(json!(["index.docker.io", "docker.io/f"])), format!(": failed\n{rest}"));
}

#[test]
fn digests_are_compared_for_every_name_of_an_image() {
    let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
    let rule = |image: &str, option: &str| {
        let status = json!({"name": "main", "imageID": format!("docker.io/library/nginx@{}", digest("b"))});
        let pod = json!({"metadata": {"namespace": "web", "name": "p"},
            "spec": {"containers": [{"name": "main", "image": image}]}, "status": {"containerStatuses": [status]}});
        let case = Case::new().objects("v1", "pods", [pod]).option("allowed", json!({option: [digest("a")]}));
        let run = case.check::<ClusterAudit>();
        run.outline().split("images run with an allowed digest").nth(1).unwrap_or_default().to_owned()
    };
    for image in ["nginx", "nginx:1.29", "library/nginx", "docker.io/nginx:1.29", "index.docker.io/library/nginx"] {
        for option in ["docker.io/library/nginx", "nginx", "docker.io/nginx:1.29"] {
            assert_eq!(rule(image, option), ": failed\n  web/p: failed\n", "{image} {option}");
        }
    }
    // A policy that is about none of the images shows nothing.
    assert_eq!(rule("nginx", "registry.k8s.io/nginx"), ": skipped\n");
}

#[test]
fn without_objects_no_rule_passes() {
    let case = Case::new().objects(RBAC, "clusterroles", []).objects(RBAC, "roles", []);
    let case = case.objects(RBAC, "clusterrolebindings", []).objects("v1", "pods", []).option("digests", true);
    let run = case.option("registries", json!(["registry.k8s.io"])).check::<ClusterAudit>();
    assert!(run.outcome.is_ok() && !run.outline().contains("passed"), "{}", run.outline());
    assert_eq!(run.outline().matches("skipped").count(), 5, "{}", run.outline());
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
