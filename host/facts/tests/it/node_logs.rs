//! Logs of machines, read with `journalctl`, and its failures.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use plumbline_facts::node_logs::{
    CollectError, FAILED, LIMIT_BYTES, MISSING_BYTES, MISSING_LINES, NO_JOURNAL, Options, Summary, TRUNCATED,
    write_logs,
};
use serde_json::{Value, json};

const MACHINE: &str = "0123456789abcdef0123456789abcdef";

/// A test machine with a journal.
struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("node")).unwrap();
        Self { dir }
    }

    /// Creates a machine with one file in its journal.
    fn with_journal() -> Self {
        let bed = Self::new();
        let journal = bed.root().join("var/log/journal").join(MACHINE);
        fs::create_dir_all(&journal).unwrap();
        fs::write(journal.join("system.journal"), "").unwrap();
        bed
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("node")
    }

    fn output(&self) -> PathBuf {
        self.dir.path().join("systemd_logs")
    }

    /// Returns options that select all logs of this root.
    fn options(&self) -> Options {
        Options { root: self.root(), since: Duration::ZERO, ..Options::default() }
    }

    /// Returns options with a shell script in place of the helper that executes `journalctl` below
    /// the root.
    fn through(&self, script: &str) -> Options {
        let args = ["-c", script, "sh"].map(str::to_owned).to_vec();
        Options { helper: Some(("/bin/sh".into(), args)), ..self.options() }
    }

    /// Writes the logs and returns their lines.
    fn logs(&self, options: &Options) -> (Vec<Value>, Summary) {
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

fn message(line: &Value) -> &str {
    line["MESSAGE"].as_str().unwrap()
}

#[test]
fn it_runs_in_its_root_with_the_usual_arguments() {
    let bed = Bed::with_journal();
    let script = r#"printf '{"MESSAGE":"%s"}\n' "$*"; printf '{"MESSAGE":"broken off"}'"#;
    let (lines, summary) = bed.logs(&bed.through(script));
    assert_eq!(message(&lines[0]), format!("{} journalctl -o json -a --no-pager", bed.root().display()));
    assert_eq!(message(&lines[1]), "broken off", "a last line without an end gets one");
    assert!(summary.lines == 2 && summary.failure.is_none(), "{summary:?}");

    let (lines, _) = bed.logs(&Options { since: Duration::from_secs(60), ..bed.through(script) });
    assert!(message(&lines[0]).contains(" --since=@1"), "{}", lines[0]);
}

#[test]
fn without_it_the_logs_are_missing_and_the_file_says_why() {
    let bed = Bed::with_journal();
    for (script, why) in [
        ("echo 'no such program' >&2; exit 127", "no such program"),
        ("echo 'not permitted' >&2; exit 125", "not permitted"),
    ] {
        let (lines, summary) = bed.logs(&bed.through(script));
        assert!(matches!(summary.failure, Some(CollectError::Journalctl { .. })), "{summary:?}");
        assert_eq!((lines.len(), &lines[0][FAILED]), (1, &json!("1")));
        assert!(message(&lines[0]).contains(why), "{}", lines[0]);
    }
    let (_, summary) = bed.logs(&bed.options());
    assert!(
        matches!(summary.failure, Some(CollectError::Journalctl { .. })),
        "no helper enters that root: {summary:?}"
    );
}

#[test]
fn lines_before_a_failure_are_kept_and_the_rest_is_reported() {
    let bed = Bed::with_journal();
    let (lines, summary) = bed.logs(&bed.through(r#"echo '{"MESSAGE":"one"}'; echo 'bad file' >&2; exit 1"#));
    assert!(matches!(summary.failure, Some(CollectError::Interrupted(_))), "{summary:?}");
    assert_eq!(message(&lines[0]), "one");
    assert!(lines[1][FAILED] == "1" && message(&lines[1]).contains("bad file"), "{}", lines[1]);
}

#[test]
fn a_journalctl_that_hangs_is_killed() {
    let bed = Bed::with_journal();
    let time_limit = Duration::from_millis(300);
    // The second script also closes its output.
    for (script, lines_before) in [(r#"echo '{"MESSAGE":"one"}'; exec sleep 600"#, 1), ("exec sleep 600 >&- 2>&-", 0)] {
        let (lines, _) = bed.logs(&Options { time_limit, ..bed.through(script) });
        assert_eq!(lines.len(), lines_before + 1);
        assert!(message(&lines[lines_before]).contains("was killed after"), "{lines:?}");
    }
}

#[test]
fn output_on_stderr_becomes_a_note() {
    let bed = Bed::with_journal();
    let (lines, summary) = bed.logs(&bed.through("echo 'Hint: you see only your own messages' >&2"));
    assert_eq!((summary.notes.len(), lines.len()), (2, 2));
    assert!(message(&lines[0]).contains("only your own") && message(&lines[1]).contains("no entries"));
}

#[test]
fn beyond_the_limit_the_newest_lines_stay_and_the_first_line_says_so() {
    let bed = Bed::new();
    let script = r#"i=0; while [ $i -lt 500 ]; do echo "{\"MESSAGE\":\"entry $i\"}"; i=$((i+1)); done"#;
    let (lines, summary) = bed.logs(&Options { max_bytes: 2_000, ..bed.through(script) });
    let (first, rest) = lines.split_first().unwrap();
    assert_eq!(message(rest.last().unwrap()), "entry 499");
    let missing = 500 - rest.len();
    assert_eq!((first[TRUNCATED].as_str(), summary.missing_lines), (Some("1"), missing as u64));
    assert_eq!((&first[MISSING_LINES], &first[LIMIT_BYTES]), (&json!(missing.to_string()), &json!("2000")));
    let bytes: usize = first[MISSING_BYTES].as_str().unwrap().parse().unwrap();
    assert!(bytes > 1000 && message(first).contains("are omitted"), "{first}");
    assert!(fs::metadata(bed.output()).unwrap().len() < 2_000 + 400);
}

#[test]
fn a_machine_without_a_journal_says_so() {
    let bed = Bed::new();
    for options in [bed.options(), bed.through("echo 'No journal files were found.' >&2"), bed.through("exit 127")] {
        let (lines, summary) = bed.logs(&options);
        assert!(matches!(summary.failure, Some(CollectError::NoJournal(_))), "{summary:?}");
        assert_eq!((lines.len(), &lines[0][NO_JOURNAL]), (1, &json!("1")));
        assert!(message(&lines[0]).contains("run/log/journal"), "{}", lines[0]);
    }
    let (lines, summary) = bed.logs(&Options { root: "/does/not/exist".into(), ..bed.options() });
    assert!(matches!(summary.failure, Some(CollectError::Root { .. })), "{summary:?}");
    assert!(message(&lines[0]).contains("No such file"), "{}", lines[0]);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let bed = Bed::with_journal();
    let error = write_logs(&bed.options(), Some(&bed.root().join("nowhere/logs"))).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}
