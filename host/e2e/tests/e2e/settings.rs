//! The cluster, the image and the program under test.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;

/// The settings of the tests.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    /// The image with the program, as pods refer to it.
    pub(crate) image: String,
    /// The path of the local program.
    pub(crate) binary: PathBuf,
    /// Whether to keep the namespaces of tests, for debugging.
    pub(crate) keep: bool,
    /// The command that runs a command on a node (`COMMAND… NUMBER WHAT…`); empty if that is not
    /// supported.
    pub(crate) node_command: Vec<String>,
}

impl Settings {
    /// Reads the settings from the environment. Without a cluster, prints a message and returns
    /// `None`.
    pub(crate) fn from_env(test: &str) -> Option<Self> {
        let Some(kubeconfig) = set("PLUMBLINE_E2E_KUBECONFIG") else {
            loudly(&format!(
                "SKIPPED {test}: PLUMBLINE_E2E_KUBECONFIG is not set; `cargo xtask e2e` puts a cluster up"
            ));
            return None;
        };
        let image = env::var("PLUMBLINE_E2E_IMAGE").ok().filter(|image| !image.is_empty());
        let binary = set("PLUMBLINE_E2E_BINARY").unwrap_or_else(default_binary);
        assert!(binary.is_file(), "`{}` not found: build it, or set PLUMBLINE_E2E_BINARY", binary.display());
        Some(Self {
            kubeconfig,
            image: image.unwrap_or_else(|| panic!("PLUMBLINE_E2E_IMAGE is not set")),
            binary,
            keep: set("PLUMBLINE_E2E_KEEP").is_some(),
            node_command: env::var("PLUMBLINE_E2E_NODE_COMMAND")
                .map(|words| words.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
        })
    }
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the default path of the program. Cargo puts programs one directory above tests.
fn default_binary() -> PathBuf {
    let me = env::current_exe().unwrap();
    me.parent().and_then(|deps| deps.parent()).unwrap().join("plumbline")
}

/// Prints a line to the real stderr, in one piece. The test harness captures the normal output of
/// tests that pass. `cargo xtask e2e` counts lines that start with `SKIPPED`.
pub(crate) fn loudly(text: &str) {
    let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}
