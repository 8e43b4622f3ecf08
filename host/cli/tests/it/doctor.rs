//! `plumbline doctor`

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};

fn doctor(bed: &Bed, kubeconfig: Option<&str>, more: &[&str]) -> Done {
    let mut command = bed.command(&[&["doctor", "-o", "json"], more].concat());
    command.env("KUBECONFIG", kubeconfig.unwrap_or_default()).env_remove("KUBERNETES_SERVICE_HOST");
    Done::of(command)
}

fn outcome(report: &Value, name: &str) -> String {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"));
    check["outcome"].as_str().unwrap().to_owned()
}

#[test]
fn a_machine_without_a_cluster_is_fine() {
    let bed = Bed::new();
    let done = doctor(&bed, None, &[]).expect(0);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(report["healthy"], true, "{report:#}");
    assert_eq!(report["version"], concat!("v", env!("CARGO_PKG_VERSION")));
    let shown = ["sandbox", "cache", "plugins", "policy", "cluster"].map(|name| outcome(&report, name));
    assert_eq!(shown, ["ok", "ok", "ok", "skipped", "skipped"], "{report:#}");
}

#[test]
fn problems_are_reported_with_a_fix() {
    let bed = Bed::new();
    bed.write("home/config/plumbline/policy.yaml", "keys: [\n");
    bed.write("limits.yaml", "modules: {memroy: 1}\n");
    let done = doctor(&bed, Some("nobody"), &["--limits", "limits.yaml"]).expect(1);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(report["healthy"], false);
    for name in ["sandbox", "policy", "cluster"] {
        assert_eq!(outcome(&report, name), "failed", "{report:#}");
    }
    let text = Done::of({
        let mut command = bed.command(&["doctor"]);
        command.env("KUBECONFIG", "nobody");
        command
    });
    assert!(text.expect(1).out.contains("hint: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_answers_is_shown_with_its_version_and_the_run_in_it() {
    let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
    bed.write("kubeconfig", &double.kubeconfig());
    double.set_version("v1.36.2");
    let examine =
        |code| tokio::task::block_in_place(|| doctor(&bed, None, &["--kubeconfig", "kubeconfig"]).expect(code).out);
    let report: Value = serde_json::from_str(&examine(0)).unwrap();
    assert_eq!(outcome(&report, "cluster"), "ok", "{report:#}");
    assert!(report.to_string().contains("v1.36.2"), "{report:#}");

    double.put("namespaces", json!({"metadata": {"name": "sonobuoy"}}));
    let labels = json!({"component": "sonobuoy", "sonobuoy-component": "aggregator"});
    double
        .put("pods", json!({"metadata": {"name": "sonobuoy", "namespace": "sonobuoy", "labels": labels}, "spec": {}}));
    let report: Value = serde_json::from_str(&examine(1)).unwrap();
    assert!(report.to_string().contains("namespace `sonobuoy` already has a run"), "{report:#}");
}
