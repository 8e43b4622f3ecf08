//! The ways in which a plugin can end, and the verdict of each. Each row is one case, and one line
//! of the table in docs/exit-codes.md.

use super::Extra::{self, *};
use super::{Ending, Process::*};

const PASSED: &str = "junit passed";
const FAILED: &str = "junit failed";

/// A row: how the process ends, what the done file names, the files, the format, the items, the
/// script, and the exit code. A further setting of the definition or the run may follow.
macro_rules! endings {
    ($($name:literal: $process:expr, $done:expr, $files:expr, $format:expr, $items:expr, $script:expr => $code:expr $(, $extra:expr)?;)*) => {
        /// Every ending that matters. In a script, `$R` is the results directory. `passed`,
        /// `failed`, `skipped`, `mixed`, `none`, `zero`, `rubbish` and `empty` are functions that
        /// write such a report.
        pub(super) const ENDINGS: &[Ending] = &[$(Ending {
            name: $name,
            process: $process,
            done: $done,
            files: $files,
            format: $format,
            items: $items,
            script: $script,
            code: $code,
            extra: [$($extra,)? Extra::Nothing][0],
        }),*];
    };
}

endings! {
    // Statuses of the items.
    "passed": Exits(0), "file", "one", PASSED, "passed", "passed $R/r.xml; finish r.xml" => 0;
    "failed": Exits(0), "file", "one", FAILED, "failed", "failed $R/r.xml; finish r.xml" => 1;
    "skipped_only": Exits(0), "file", "one", "junit", "skipped only", "skipped $R/r.xml; finish r.xml" => 5;
    "skipped_next_to_passed":
        Exits(0), "file", "one", "junit", "passed, skipped", "mixed $R/r.xml; finish r.xml" => 0;
    "no_test": Exits(0), "file", "one", "junit", "unknown", "none $R/r.xml; finish r.xml" => 5;
    "no_test_stated": Exits(0), "file", "one", "junit", "none", "zero $R/r.xml; finish r.xml" => 5;
    "not_junit": Exits(0), "file", "one", "junit", "unknown", "rubbish $R/r.xml; finish r.xml" => 5;
    "unknown_next_to_passed":
        Exits(0), "directory", "several", "junit", "passed, unknown", "passed $R/d/a.xml; rubbish $R/d/b.xml; finish d" => 3;
    "unknown_next_to_failed":
        Exits(0), "directory", "several", "junit", "failed, unknown", "failed $R/d/a.xml; rubbish $R/d/b.xml; finish d" => 1;
    "own_status":
        Exits(0), "file", "one", "manual", "custom status", "echo 'items: [{name: a, status: warning}]' > $R/r.yaml; finish r.yaml" => 0;
    // Kinds of files.
    "empty_report": Exits(0), "file", "empty", "junit", "unknown", "empty $R/r.xml; finish r.xml" => 5;
    "empty_report_next_to_passed":
        Exits(0), "directory", "one empty", "junit", "passed, unknown", "passed $R/d/a.xml; empty $R/d/b.xml; finish d" => 3;
    "no_test_next_to_passed":
        Exits(0), "directory", "one without a test", "junit", "passed, unknown", "passed $R/d/a.xml; none $R/d/b.xml; finish d" => 3;
    "no_matching_file":
        Exits(0), "directory", "of another format", "junit", "none", "echo 1 > $R/a.txt; finish ." => 5;
    "empty_directory": Exits(0), "directory", "none", "junit", "none", "mkdir $R/d; finish d" => 5;
    "link_to_nothing": Exits(0), "file", "unreadable", "junit", "unknown", "ln -s nowhere $R/r.xml; finish r.xml" => 3;
    "link_next_to_passed":
        Exits(0), "directory", "one unreadable", "junit", "passed, unknown", "passed $R/d/a.xml; ln -s nowhere $R/d/b.xml; finish d" => 3;
    "pipe_next_to_passed":
        Exits(0), "absent", "one unreadable", "junit", "passed, unknown", "passed $R/d/a.xml; mkfifo $R/d/b.xml" => 3;
    "link_to_a_result":
        Exits(0), "directory", "one and a link to it", "junit", "passed", "passed $R/d/a.xml; ln -s a.xml $R/d/b.xml; ln -s $R/d/a.xml $R/d/c.xml; finish d" => 0;
    // Contents of the done file.
    "whole_directory":
        Exits(0), "the results directory", "one", PASSED, "passed", "passed $R/r.xml; finish ." => 0;
    "done_is_no_result": Exits(0), "the results directory", "none", "raw", "none", "finish ." => 5;
    "done_names_itself": Exits(0), "the done file itself", "one", PASSED, "none", "passed $R/r.xml; finish done" => 3;
    "done_names_nothing": Exits(0), "nothing", "none", "junit", "none", "finish r.xml" => 3;
    "no_done_file": Exits(0), "absent", "one", PASSED, "passed", "passed $R/r.xml" => 0;
    "no_done_file_failed": Exits(0), "absent", "one", FAILED, "failed", "failed $R/r.xml" => 1;
    "no_done_file_no_files": Exits(0), "absent", "none", "junit", "none", "true" => 3;
    // Ends of the process.
    "exit_code_and_passed":
        Exits(3), "file", "one", PASSED, "passed", "passed $R/r.xml; finish r.xml; exit 3" => 1;
    "exit_code_and_failed":
        Exits(3), "file", "one", FAILED, "failed", "failed $R/r.xml; finish r.xml; exit 3" => 1;
    "exit_code_and_skipped":
        Exits(3), "file", "one", "junit", "skipped only", "skipped $R/r.xml; finish r.xml; exit 3" => 1;
    "exit_code_no_done_file": Exits(3), "absent", "one", PASSED, "passed", "passed $R/r.xml; exit 3" => 1;
    "exit_code_no_done_file_failed":
        Exits(3), "absent", "one", FAILED, "failed", "failed $R/r.xml; exit 3" => 1;
    "exit_code_no_files": Exits(3), "absent", "none", "junit", "none", "exit 3" => 3;
    "signal_and_passed":
        Signal, "file", "one", PASSED, "passed", "passed $R/r.xml; finish r.xml; kill -9 $$" => 1;
    "signal_no_done_file": Signal, "absent", "one", PASSED, "passed", "passed $R/r.xml; kill -9 $$" => 1;
    "signal_no_files": Signal, "absent", "none", "junit", "none", "kill -9 $$" => 3;
    "timeout_no_files": Timeout, "absent", "none", "junit", "none", "sleep 600" => 3, ShortTimeout;
    "timeout_with_files":
        Timeout, "absent", "one", PASSED, "passed", "passed $R/r.xml; sleep 600" => 3, ShortTimeout;
    "runs_on_after_done":
        RunsOn, "file", "one", PASSED, "passed", "passed $R/r.xml; finish r.xml; sleep 600" => 0;
    "never_started": NotStarted, "absent", "none", "junit", "none", "" => 3, NoSuchProgram;
    // Formats and modules.
    "raw": Exits(0), "file", "one", "raw", "not-read", "echo 1 > $R/a.txt; finish a.txt" => 0;
    "raw_exit_code":
        Exits(3), "file", "one", "raw", "not-read", "echo 1 > $R/a.txt; finish a.txt; exit 3" => 1;
    "raw_runs_on":
        RunsOn, "file", "one", "raw", "not-read", "echo 1 > $R/a.txt; finish a.txt; sleep 600" => 5;
    "raw_empty_file": Exits(0), "file", "empty", "raw", "unknown", ": > $R/a.txt; finish a.txt" => 5;
    "raw_failed_report": Exits(0), "file", "one", "raw", "not-read", "failed $R/r.xml; finish r.xml" => 0;
    "no_format": Exits(0), "file", "one", "none", "not-read", "echo 1 > $R/a.txt; finish a.txt" => 0;
    "unknown_format": NotStarted, "", "", "junt", "", "passed $R/r.xml; finish r.xml" => 2;
    "unknown_summarizer":
        NotStarted, "", "", PASSED, "", "passed $R/r.xml; finish r.xml" => 2, Plumbline("summarizer: nobody");
    "module_over_limit":
        Exits(0), "file", "one", "junit", "unknown", "passed $R/r.xml; finish r.xml" => 5, Plumbline("limits: {input-bytes: 10}");
    "module_over_limit_halfway":
        Exits(0), "file", "one", "junit", "unknown", "mixed $R/r.xml; finish r.xml" => 5, Plumbline("limits: {items: 3}");
    "module_endless":
        Exits(0), "file", "one", "misbehave", "unknown", "passed $R/r.xml; finish r.xml" => 5, Module("endless-loop");
    "module_traps":
        Exits(0), "file", "one", "misbehave", "its own, unknown", "passed $R/r.xml; finish r.xml" => 3, Module("panic-halfway");
    "module_fails":
        Exits(0), "file", "one", "misbehave", "its own, unknown", "passed $R/r.xml; finish r.xml" => 3, Module("refuse-halfway");
    // Definitions that allow empty results.
    "allowed_skipped_only":
        Exits(0), "file", "one", "junit", "skipped only", "skipped $R/r.xml; finish r.xml" => 0, AllowEmpty;
    "allowed_no_test_stated":
        Exits(0), "file", "one", "junit", "none", "zero $R/r.xml; finish r.xml" => 0, AllowEmpty;
    "allowed_nothing":
        Exits(0), "directory", "none", "junit", "none", "mkdir $R/d; finish d" => 0, AllowEmpty;
    "allowed_raw_runs_on":
        RunsOn, "file", "one", "raw", "not-read", "echo 1 > $R/a.txt; finish a.txt; sleep 600" => 0, AllowEmpty;
    "allowed_failed":
        Exits(0), "file", "one", FAILED, "failed", "failed $R/r.xml; finish r.xml" => 1, AllowEmpty;
    "allowed_unknown":
        Exits(0), "file", "one", "junit", "unknown", "rubbish $R/r.xml; finish r.xml" => 5, AllowEmpty;
    "allowed_no_result": Exits(0), "absent", "none", "junit", "none", "true" => 3, AllowEmpty;
    // Other plugins in the same run.
    "skipped_only_next_to_a_plugin":
        Exits(0), "file", "one", "junit", "skipped only", "skipped $R/r.xml; finish r.xml" => 3, NextToPassed;
    "unknown_next_to_a_plugin":
        Exits(0), "file", "one", "junit", "unknown", "rubbish $R/r.xml; finish r.xml" => 3, NextToPassed;
    "raw_next_to_a_plugin":
        RunsOn, "file", "one", "raw", "not-read", "echo 1 > $R/a.txt; finish a.txt; sleep 600" => 0, NextToPassed;
    "no_result_next_to_a_plugin": Exits(0), "absent", "none", "junit", "none", "true" => 3, NextToPassed;
}
