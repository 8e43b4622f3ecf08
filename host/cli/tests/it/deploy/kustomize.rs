//! The kustomize base and its overlays.

use serde_json::Value;

use super::generated::EXAMPLE;
use super::objects::{assert_applicable, assert_restricted, assert_same};
use super::objects_of_run;
use super::tools::kustomized;
use crate::bed::Bed;

fn is_what_gen_prints(directory: &str, args: &[&str]) -> Option<Vec<Value>> {
    let built = kustomized(directory)?;
    assert_same(&built, &objects_of_run(&Bed::new(), args));
    assert_restricted(&built);
    Some(built)
}

#[test]
fn the_base_is_a_run_without_roles() {
    let Some(built) = is_what_gen_prints("base", &["--rbac", "disable"]) else { return };
    assert_applicable(&built, "sonobuoy");
}

#[test]
fn overlays_are_runs_with_the_roles_of_their_modes() {
    for (directory, mode) in [("overlays/minimal", "minimal"), ("overlays/cluster-admin", "clusterAdmin")] {
        let Some(built) = is_what_gen_prints(directory, &["--aggregator-permissions", mode]) else { return };
        assert_applicable(&built, "sonobuoy");
    }
}

#[test]
fn the_example_is_what_gen_prints_with_the_same_options() {
    let Some(built) = is_what_gen_prints("overlays/example", &EXAMPLE) else { return };
    assert_applicable(&built, "checks");
    assert!(built.iter().any(|object| object["kind"] == "PersistentVolumeClaim"));
}
