//! Access to nodes of a local cluster, in which commands can be run.

use std::process::Command;

use crate::bed::Bed;
use crate::settings::loudly;

/// Access to the nodes of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    command: Vec<String>,
}

impl Places {
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
    pub(crate) fn filter(&self, number: usize, table: &'static str, rule: &str) -> Filter {
        let rule: Vec<String> = rule.split_whitespace().map(str::to_owned).collect();
        let filter = Filter { places: self.clone(), number, table, rule };
        filter.change_rule("-I");
        filter
    }
}

/// A packet filter rule that is removed when dropped.
pub(crate) struct Filter {
    places: Places,
    number: usize,
    table: &'static str,
    rule: Vec<String>,
}

impl Filter {
    #[track_caller]
    fn change_rule(&self, verb: &str) {
        // Use `-w`, because others change the rules of the same node.
        let mut what = vec!["iptables", "-w", "-t", self.table, verb];
        what.extend(self.rule.iter().map(String::as_str));
        self.places.run(self.number, &what);
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A second panic would abort the process. Catch it, so that the first one is reported.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.change_rule("-D")));
        } else {
            self.change_rule("-D");
        }
    }
}
