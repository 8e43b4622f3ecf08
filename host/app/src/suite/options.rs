//! Options of the conformance suite.

use std::path::PathBuf;

use plumbline_conformance::suite::Mode;

/// Options of the conformance suite.
#[derive(Debug, Clone, Default)]
pub struct SuiteOptions {
    /// The mode, which selects tests.
    pub mode: Option<Mode>,
    /// A regular expression for the tests to run.
    pub focus: Option<String>,
    /// A regular expression for the tests to skip.
    pub skip: Option<String>,
    /// Whether tests run in parallel.
    pub parallel: Option<bool>,
    /// The archive whose failed tests run again.
    pub rerun_failed: Option<PathBuf>,
    /// How often failed tests are retried in further plugins.
    pub retry_failed: u32,
    /// Run no test.
    pub dry_run: bool,
    /// The registry of the images of tests.
    pub repo: Option<String>,
    /// The file with the registries of the images of tests.
    pub repo_config: Option<PathBuf>,
    /// The file with credentials for these registries.
    pub docker_config_file: Option<PathBuf>,
    /// Further arguments of the suite's program.
    pub extra_args: Vec<String>,
    /// The file with the private key for SSH to nodes.
    pub ssh_key: Option<PathBuf>,
    /// The user for SSH to nodes.
    pub ssh_user: Option<String>,
    /// A directory or URL with lists of tests.
    pub lists: Option<String>,
    /// The image of the suite.
    pub image: Option<String>,
    /// The image of the plugin `systemd-logs`.
    pub systemd_logs_image: Option<String>,
    /// Set if the results will be submitted.
    pub submitted: Option<Submitted>,
}

/// A run whose results will be submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    /// Whether the caller gives the list of required tests.
    pub required: bool,
}

impl SuiteOptions {
    /// The first option of the plugin `e2e` that is set, by its name on the command line.
    #[must_use]
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            (self.submitted.is_some(), "--submission-dir"),
            (self.mode.is_some(), "--mode"),
            (self.focus.is_some(), "--e2e-focus"),
            (self.skip.is_some(), "--e2e-skip"),
            (self.parallel.is_some(), "--e2e-parallel"),
            (self.rerun_failed.is_some(), "--rerun-failed"),
            (self.retry_failed > 0, "--retry-failed"),
            (self.dry_run, "--e2e-dry-run"),
            (self.repo.is_some(), "--e2e-repo"),
            (self.repo_config.is_some(), "--e2e-repo-config"),
            (self.docker_config_file.is_some(), "--e2e-docker-config-file"),
            (!self.extra_args.is_empty(), "--e2e-extra-args"),
            (self.ssh_key.is_some(), "--ssh-key"),
            (self.ssh_user.is_some(), "--ssh-user"),
            (self.lists.is_some(), "--e2e-lists"),
            (self.image.is_some(), "--kube-conformance-image"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The first option that is set, of any plugin.
    #[must_use]
    pub fn given_for_any(&self) -> Option<&'static str> {
        self.given().or(self.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"))
    }

    /// Whether an option selects tests.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.mode.is_some() || self.focus.is_some() || self.skip.is_some() || self.rerun_failed.is_some()
    }
}
