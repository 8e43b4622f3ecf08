//! What facts are gathered from, and with what.

use std::path::PathBuf;

/// Where Ansible looks for facts that a machine's owner put there.
pub const DEFAULT_FACTS_DIR: &str = "/etc/ansible/facts.d";

/// What to gather, and what may be done for it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the machine's file tree begins: `/` for this one.
    pub root: PathBuf,
    /// The directory of additional facts, a path below the root.
    pub facts_dir: String,
    /// Whether executable files of [`Options::facts_dir`] are run. Else each is named among the errors.
    pub run_collectors: bool,
    /// Whether the machine's own `kubelet`, container runtime and `chronyc` are run to ask what no file tells.
    pub run_programs: bool,
    /// A program, with its first arguments, that makes the directory after them its root and becomes the program after that, as `chroot` does.
    /// Without it nothing runs below a foreign root.
    pub helper: Option<(PathBuf, Vec<String>)>,
    /// The program `ansible`, where it is not to be searched for.
    pub ansible: Option<PathBuf>,
}

impl Options {
    /// Files below `root` only.
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
