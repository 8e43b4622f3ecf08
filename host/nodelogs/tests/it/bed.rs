//! A machine with a journal.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_nodelogs::{Options, Summary, Via, write_logs};
use serde_json::Value;

pub(crate) const MACHINE: &str = "0123456789abcdef0123456789abcdef";

/// A file of the test data, unpacked.
pub(crate) fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{name}.gz"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

pub(crate) struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("node")).unwrap();
        Self { dir }
    }

    /// With these files in its journal.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let bed = Self::new();
        let journal = bed.root().join("var/log/journal").join(MACHINE);
        fs::create_dir_all(&journal).unwrap();
        for (name, bytes) in files {
            fs::write(journal.join(name), bytes).unwrap();
        }
        bed
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("node")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.dir.path().join("systemd_logs")
    }

    /// Everything, read by this program.
    pub(crate) fn options(&self) -> Options {
        Options { root: self.root(), since: Duration::ZERO, via: Via::Files, ..Options::default() }
    }

    /// A shell script in the place of what executes `journalctl` below the root.
    pub(crate) fn through(&self, script: &str) -> Options {
        let args = ["-c", script, "sh"].map(str::to_owned).to_vec();
        Options { via: Via::Auto, helper: Some(("/bin/sh".into(), args)), ..self.options() }
    }

    /// The lines that were written.
    pub(crate) fn logs(&self, options: &Options) -> (Vec<Value>, Summary) {
        let summary = write_logs(options, Some(&self.output())).unwrap();
        let text = fs::read_to_string(self.output()).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        // Nothing else is left.
        let left: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        (parsed(&text), summary)
    }
}

pub(crate) fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn message(line: &Value) -> &str {
    line["MESSAGE"].as_str().unwrap()
}
