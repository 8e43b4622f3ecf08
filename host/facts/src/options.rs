//! The options for gathering facts.

use std::path::PathBuf;

/// The directory in which Ansible looks for local facts.
pub const DEFAULT_FACTS_DIR: &str = "/etc/ansible/facts.d";

/// Selects the machine and the permitted actions.
#[derive(Debug, Clone)]
pub struct Options {
    /// The root of the machine's file tree: `/` for this machine.
    pub root: PathBuf,
    /// The directory of local facts, a path below the root.
    pub facts_dir: String,
    /// Whether to run executable files in [`Options::facts_dir`]. If false, each of them is listed
    /// among the errors.
    pub run_collectors: bool,
    /// Whether to run the machine's `kubelet`, container runtime and `chronyc` for facts that are
    /// not in any file.
    pub run_programs: bool,
    /// The program that executes another program in a root, with its first arguments.
    ///
    /// Like `chroot`, it is called with a root, a program and the program's arguments. Without a
    /// helper, nothing runs below a foreign root.
    pub helper: Option<(PathBuf, Vec<String>)>,
    /// The path of the program `ansible`, or `None` to search for it.
    pub ansible: Option<PathBuf>,
}

impl Options {
    /// Returns options that only read files below `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            facts_dir: DEFAULT_FACTS_DIR.to_owned(),
            run_collectors: false,
            run_programs: false,
            helper: None,
            ansible: None,
        }
    }
}
