//! The Helm chart: its default rendering, the roles of each mode, lint, and its notes.

use plumbline_dev::ApiDouble;

use super::objects::{assert_applicable, assert_restricted, assert_same};
use super::tools::Helm;
use super::{MODES, objects_of_run, root};

#[test]
fn the_default_rendering_is_what_gen_prints() {
    let Some(helm) = Helm::new() else { return };
    let rendered = helm.rendered("");
    assert_same(&rendered, &objects_of_run(helm.bed(), &[]));
    assert_applicable(&rendered, "sonobuoy");
    assert_restricted(&rendered);
    // The labels of an object name the release that made it, and what it is a part of.
    for object in &rendered {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/instance"], "plumbline", "{object:#}");
        assert_eq!(labels["component"], "sonobuoy", "{object:#}");
    }
}

#[test]
fn roles_of_every_mode_are_those_that_gen_prints() {
    let Some(helm) = Helm::new() else { return };
    for mode in MODES {
        // In two of the modes, `gen` creates no namespace. They are for users who may not create
        // one.
        let create = ["minimal", "clusterAdmin"].contains(&mode);
        let values = format!("{{permissions: {mode}, namespace: {{create: {create}, name: sonobuoy}}}}");
        let rendered = helm.rendered(&values);
        assert_same(&rendered, &objects_of_run(helm.bed(), &["--aggregator-permissions", mode]));
        assert_applicable(&rendered, "sonobuoy");
    }
}

#[test]
fn lint_finds_nothing() {
    let Some(helm) = Helm::new() else { return };
    for values in ["", "{permissions: clusterAdmin, storage: {type: pvc}, upload: {url: 's3://b/p', secret: s}}"] {
        let done = helm.with(&["lint", "--strict"], values, &[]).expect(0);
        assert!(done.out.contains("0 chart(s) failed"), "{}", done.out);
        assert!(!done.out.contains("[WARNING]") && !done.out.contains("[ERROR]"), "{}", done.out);
    }
}

/// Helm asks for a server even if it creates nothing there.
#[tokio::test(flavor = "multi_thread")]
async fn notes_tell_what_to_do_next() {
    let Some(helm) = Helm::new() else { return };
    let double = ApiDouble::start().await.unwrap();
    let kubeconfig = helm.bed().write("kubeconfig", &double.kubeconfig());
    let kubeconfig = kubeconfig.to_str().unwrap();
    let args = ["-n", "releases", "--dry-run=client", "--disable-openapi-validation", "--kubeconfig", kubeconfig];
    let values = "upload: {url: 's3://audits/nightly'}";
    let output = tokio::task::block_in_place(|| helm.with(&["install", "nightly"], values, &args)).expect(0).out;
    insta::assert_snapshot!("chart_notes", output.split_once("NOTES:\n").unwrap().1);
}

#[test]
fn an_upgrade_is_refused_because_a_run_is_one_shot() {
    let Some(helm) = Helm::new() else { return };
    let done = helm.with(&["template", "nightly"], "", &["-n", "releases", "--is-upgrade"]);
    assert_ne!(done.code, 0);
    assert!(
        done.err.contains("a run cannot be upgraded") && done.err.contains("`helm uninstall nightly -n releases`"),
        "{}",
        done.err
    );
    let schedule = "{schedule: {cron: '@daily'}, storage: {type: pvc}}";
    let done = helm.with(&["template", "nightly"], schedule, &["-n", "releases", "--is-upgrade"]).expect(0);
    assert!(done.out.contains("kind: CronJob"), "an upgrade applies to the next run");
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let text = std::fs::read_to_string(root().join("helm/plumbline/Chart.yaml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("\nversion: {version}\n")), "{text}");
    assert!(text.contains(&format!("\nappVersion: v{version}\n")), "{text}");
}
