//! A test machine with a journal.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use plumbline_facts::node_logs::{Options, Summary, write_logs};
use serde_json::Value;

const MACHINE: &str = "0123456789abcdef0123456789abcdef";

pub(crate) struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("node")).unwrap();
        Self { dir }
    }

    /// Creates a machine with one file in its journal.
    pub(crate) fn with_journal() -> Self {
        let bed = Self::new();
        let journal = bed.root().join("var/log/journal").join(MACHINE);
        fs::create_dir_all(&journal).unwrap();
        fs::write(journal.join("system.journal"), "").unwrap();
        bed
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("node")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.dir.path().join("systemd_logs")
    }

    /// Returns options that select all logs of this root.
    pub(crate) fn options(&self) -> Options {
        Options { root: self.root(), since: Duration::ZERO, ..Options::default() }
    }

    /// Returns options with a shell script in place of the helper that executes `journalctl` below
    /// the root.
    pub(crate) fn through(&self, script: &str) -> Options {
        let args = ["-c", script, "sh"].map(str::to_owned).to_vec();
        Options { helper: Some(("/bin/sh".into(), args)), ..self.options() }
    }

    /// Writes the logs and returns their lines.
    pub(crate) fn logs(&self, options: &Options) -> (Vec<Value>, Summary) {
        let summary = write_logs(options, Some(&self.output())).unwrap();
        let text = fs::read_to_string(self.output()).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        // No temporary file is left behind.
        let left: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        (parsed(&text), summary)
    }
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn message(line: &Value) -> &str {
    line["MESSAGE"].as_str().unwrap()
}
