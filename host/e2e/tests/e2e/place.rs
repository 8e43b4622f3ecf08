//! Access to nodes of a local cluster, in which commands can be run.

use std::path::Path;
use std::process::Command;

use crate::bed::Bed;
use crate::settings::loudly;

/// Access to the nodes of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct NodeAccess {
    command: Vec<String>,
}

impl NodeAccess {
    /// Returns access to the nodes of the cluster, if they support it.
    pub(crate) fn of(bed: &Bed, test: &str) -> Option<Self> {
        let command = bed.settings().node_command.clone();
        if command.is_empty() {
            loudly(&format!(
                "SKIPPED {test}: PLUMBLINE_E2E_NODE_COMMAND, which runs a command in the place of a node, is not set"
            ));
            return None;
        }
        Some(Self { command })
    }

    /// Runs `what` on a node, and returns its output. Nodes are counted from 1, in the order of their
    /// names.
    #[track_caller]
    pub(crate) fn run(&self, number: usize, what: &[&str]) -> String {
        let (program, args) = self.command.split_first().unwrap();
        let output = Command::new(program).args(args).arg(number.to_string()).args(what).output().unwrap();
        assert!(output.status.success(), "{what:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Adds a rule to the node's packet filter, as `iptables -t TABLE -I …` does, until it is
    /// dropped.
    #[track_caller]
    pub(crate) fn filter(&self, number: usize, table: &str, rule: &str) -> Change {
        // Use `-w`, because others change the rules of the same node.
        let command = |verb: &str| format!("iptables -w -t {table} {verb} {rule}");
        let words = |command: String| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        self.change(number, &words(command("-I")), words(command("-D")))
    }

    /// Returns whether a node has a file.
    #[track_caller]
    pub(crate) fn has(&self, number: usize, path: &str) -> bool {
        self.run(number, &["sh", "-c", r#"if test -e "$1"; then echo yes; fi"#, "sh", path]).trim() == "yes"
    }

    /// Creates a file on a node that only root can read, until it is dropped. A directory that is
    /// created for it is removed with it.
    #[track_caller]
    pub(crate) fn write(&self, number: usize, path: &str, content: &str) -> Change {
        let (directory, _) = path.rsplit_once('/').unwrap();
        let undo = if self.has(number, directory) { vec!["rm", path] } else { vec!["rm", "-r", directory] };
        // With `-C`, an existing file is an error.
        let script = r#"umask 077; mkdir -p "${1%/*}"; set -C; printf %s "$2" > "$1""#;
        let what = ["sh", "-ec", script, "sh", path, content];
        self.change(number, &what, undo.into_iter().map(str::to_owned).collect())
    }

    /// Shows the file or directory `source` of this machine at `target` on a node, until it is dropped.
    #[track_caller]
    pub(crate) fn mount(&self, number: usize, source: &Path, target: &str) -> Change {
        let undo = ["umount", target].map(str::to_owned).to_vec();
        self.change(number, &["mount", "--bind", source.to_str().unwrap(), target], undo)
    }

    /// Shuts a node down, as its kubelet sees it, until this is dropped: the kubelet reports that the
    /// node is not ready, ends its pods, and rejects further ones.
    #[track_caller]
    pub(crate) fn shut_down(&self, number: usize) -> Change {
        // `$LOGIND` is the program of the test cluster that announces shutdowns to the kubelet.
        let signal = |name: &str| ["sh".to_owned(), "-c".to_owned(), format!("kill -{name} $LOGIND")];
        self.change(number, &signal("USR1"), signal("USR2").to_vec())
    }

    #[track_caller]
    fn change<S: AsRef<str>>(&self, number: usize, what: &[S], undo: Vec<String>) -> Change {
        self.run(number, &what.iter().map(|word| word.as_ref()).collect::<Vec<&str>>());
        Change { places: self.clone(), number, undo }
    }
}

/// A change of a node that is undone when dropped.
pub(crate) struct Change {
    places: NodeAccess,
    number: usize,
    undo: Vec<String>,
}

impl Change {
    fn undo(&self) {
        self.places.run(self.number, &self.undo.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A second panic would abort the process. Catch it, so that the first one is reported.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.undo()));
        } else {
            self.undo();
        }
    }
}
