//! The suite of Kubernetes as a profile. Its options are those of the command line.

use clap::{Args, Command};

use crate::suite::SuiteOptions;

/// The name of the profile of the suite of Kubernetes.
pub const KUBERNETES: &str = "kubernetes";

pub(super) const TITLE: &str = "Kubernetes conformance";
pub(super) const DESCRIPTION: &str =
    "The conformance tests of Kubernetes, whose results certify a cluster at the CNCF.";

/// The version of the suite, for people.
pub const KUBERNETES_VERSION: &str = "that of the cluster";

/// An option of the suite of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteOption {
    /// The option with its dashes.
    pub flag: String,
    /// The name of its value. `None` if it takes none.
    pub value: Option<String>,
    /// What it does.
    pub help: String,
}

/// Lists the options of the suite of Kubernetes, as `--help` does.
#[must_use]
pub fn suite_options() -> Vec<SuiteOption> {
    let command = SuiteOptions::augment_args(Command::new(KUBERNETES));
    let option = |arg: &clap::Arg| {
        let takes_value = arg.get_action().takes_values();
        Some(SuiteOption {
            flag: format!("--{}", arg.get_long()?),
            value: arg
                .get_value_names()
                .filter(|_| takes_value)
                .and_then(|names| names.first())
                .map(ToString::to_string),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        })
    };
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(option).collect()
}
