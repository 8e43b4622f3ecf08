//! The files in `deploy/`. They are what `gen` prints today, Helm renders its chart to the same
//! objects, and an API server accepts all of them.

mod generated;
mod helm;
mod helm_refusals;
mod helm_variants;
mod objects;
mod tools;
mod walk;

use std::path::PathBuf;

use serde_json::Value;

use crate::bed::{Bed, Done};
use crate::generate::documents;

/// The built-in plugins of a run that is ready to apply.
const PLUGINS: [&str; 1] = ["host-facts"];

/// The modes of permissions, as options spell them.
const MODES: [&str; 4] = ["minimal", "namespaceAdmin", "clusterRead", "clusterAdmin"];

/// The directory `deploy` of the checkout.
fn root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "deploy"].iter().collect()
}

/// Runs `gen` with these arguments, without a cluster.
fn printed(bed: &Bed, args: &[&str]) -> Done {
    let args = [&["gen"], args].concat();
    let mut command = bed.command(&args);
    command.env("KUBECONFIG", bed.path("no-cluster")).env_remove("KUBERNETES_SERVICE_HOST");
    Done::of(command).expect(0)
}

/// What `gen` prints for a run of the built-in plugins with these arguments.
fn run(bed: &Bed, more: &[&str]) -> String {
    let plugins: Vec<&str> = PLUGINS.iter().flat_map(|name| ["-p", name]).collect();
    printed(bed, &[&plugins, more].concat()).out
}

/// The same, as objects.
fn objects_of_run(bed: &Bed, more: &[&str]) -> Vec<Value> {
    documents(&run(bed, more))
}
