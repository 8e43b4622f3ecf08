//! Helm, if `cargo xtask test` has installed it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::root;
use crate::bed::{Bed, Done};
use crate::generate::documents;

/// The program that `variable` names. If there is none, returns `None` and reports it past the
/// output capture of the test harness.
fn program(variable: &str, what: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|named| !named.is_empty()).map(PathBuf::from);
    if named.is_none() {
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED {}: {variable} does not name {what}; `cargo xtask test` installs it where there is Go",
            std::thread::current().name().unwrap_or_default()
        );
    }
    named
}

/// Helm, with its own home directory.
pub(super) struct Helm {
    program: PathBuf,
    bed: Bed,
}

impl Helm {
    pub(super) fn new() -> Option<Self> {
        Some(Self { program: program("PLUMBLINE_HELM", "Helm")?, bed: Bed::new() })
    }

    pub(super) fn bed(&self) -> &Bed {
        &self.bed
    }

    /// Runs `helm ARGS…` without a cluster.
    pub(super) fn call(&self, args: &[&str]) -> Done {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.bed.root()).env("HOME", self.bed.path("home"));
        for name in ["CACHE", "CONFIG", "DATA"] {
            command.env(format!("HELM_{name}_HOME"), self.bed.path("helm"));
        }
        command.env("KUBECONFIG", self.bed.path("no-cluster"));
        Done::of(command)
    }

    /// Runs `helm COMMAND … CHART` with the values in `values` (YAML).
    pub(super) fn with(&self, command: &[&str], values: &str, more: &[&str]) -> Done {
        let file = self.bed.write("values.yaml", values);
        let chart = root().join("helm/plumbline");
        let paths = [chart.to_str().unwrap(), "-f", file.to_str().unwrap()];
        self.call(&[command, &paths, more].concat())
    }

    /// The objects that the chart renders with these values.
    pub(super) fn rendered(&self, values: &str) -> Vec<Value> {
        documents(&self.with(&["template", "plumbline"], values, &["-n", "releases"]).expect(0).out)
    }

    /// The error if the chart does not render with these values.
    pub(super) fn refusal(&self, values: &str) -> String {
        let done = self.with(&["template", "plumbline"], values, &["-n", "releases"]);
        assert_ne!(done.code, 0, "{}", done.out);
        done.err
    }
}
