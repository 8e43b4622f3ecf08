//! Ends of plugins and of runs that must not get lost: crashes, exit codes after the upload, kills of
//! the run, and content that an archive of a plugin loses.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::bed::{Bed, DEADLINE, Done};

/// A report with a passed and a failed test.
const REPORT: &str = r#"<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>"#;
/// A report with a passed test.
const PASSED: &str = r#"<testsuite><testcase name="a"/></testsuite>"#;

fn junit(bed: &Bed, name: &str, script: &str) {
    bed.plugin(name, "result-format: junit", script);
}

fn local(bed: &Bed, args: &[&str]) -> Done {
    bed.plumbline(&[&["run", "--local", "--dir", "out"], args].concat())
}

/// Returns the working directory of the run, once it exists.
fn work(bed: &Bed) -> Option<PathBuf> {
    let entries = fs::read_dir(bed.path("out")).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.join("journal").is_file()).last()
}

/// Starts a run, kills it as soon as its journal has `word`, and returns its working directory. `None`
/// if the run was over before.
fn killed_at(bed: &Bed, args: &[&str], word: &str) -> Option<PathBuf> {
    let run = bed.start("run", &[&["run", "--local", "--dir", "out"], args].concat());
    let has = |work: &PathBuf| fs::read_to_string(work.join("journal")).is_ok_and(|journal| journal.contains(word));
    let begin = Instant::now();
    // The moment is short, so this looks without a pause.
    let found = loop {
        let found = work(bed).filter(has);
        if found.is_some() || !bed.archives().is_empty() {
            break found;
        }
        assert!(begin.elapsed() < DEADLINE, "waited for {word}");
    };
    run.signal("KILL");
    run.wait();
    found.filter(|work| work.join("run.json").is_file())
}

/// Kills a run of the JUnit plugin `name` with this script after its upload, and continues it. On a
/// busy machine, a run may be over before it is killed, so this tries several times.
fn continued_after_upload(name: &str, script: &str) -> (Bed, Done) {
    for _ in 0..20 {
        let bed = Bed::new();
        junit(&bed, name, script);
        if let Some(work) = killed_at(&bed, &["-p", &format!("{name}.yaml")], "upload-stored") {
            let done = continued(&bed, &work);
            return (bed, done);
        }
    }
    panic!("no run could be killed between its upload and its end");
}

fn continued(bed: &Bed, work: &Path) -> Done {
    bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()])
}

#[test]
fn a_crash_counts_also_if_every_failed_test_is_excused() {
    for end in ["kill -SEGV $$", "exit 139"] {
        let bed = Bed::new();
        bed.write("known.yaml", "- {test: b, reason: known}\n- {pattern: 'killed|exited', reason: all}\n");
        junit(&bed, "crash", &format!("echo '{REPORT}' > $SONOBUOY_RESULTS_DIR/a.xml\n{end}"));
        let done = local(&bed, &["-p", "crash.yaml", "--known-failures", "known.yaml"]).expect(1);
        assert!(done.out.contains("process was killed by signal 11") || done.out.contains("code 139"), "{}", done.out);
        // An earlier run with the same crash does not excuse it either.
        let baseline = bed.archive();
        let done = local(&bed, &["-p", "crash.yaml", "--baseline", &baseline]).expect(1);
        assert!(done.out.contains("FAILED") || done.out.contains("failed"), "{}", done.out);
    }
}

#[test]
fn an_exit_code_that_says_that_no_test_was_found_counts_if_tests_ran() {
    let definition = |report: &str| {
        format!(
            "sonobuoy-config: {{driver: Process, plugin-name: none, result-format: junit}}\n\
             plumbline: {{no-tests-exit-codes: [5]}}\n\
             spec:\n  command: [sh, -c, 'echo \"$REPORT\" > $SONOBUOY_RESULTS_DIR/a.xml; exit 5']\n  \
             env: [{{name: REPORT, value: '{report}'}}]\n"
        )
    };
    let bed = Bed::new();
    bed.write("none.yaml", &definition(PASSED));
    assert!(local(&bed, &["-p", "none.yaml"]).expect(1).out.contains("process exited with code 5"));
    bed.write("none.yaml", &definition("<testsuite tests=\"0\"/>"));
    local(&bed, &["-p", "none.yaml"]).expect(5);
}

/// The worker is stopped after the upload, as on a busy machine.
#[test]
fn an_exit_code_after_the_upload_counts_even_if_the_worker_is_slow() {
    let bed = Bed::new();
    let script = format!(
        "echo '{PASSED}' > $SONOBUOY_RESULTS_DIR/a.xml
        home=$(dirname $SONOBUOY_RESULTS_DIR)
        for process in /proc/[0-9]*; do
            if [ \"$(readlink $process/cwd)\" = $home ] && grep -q worker $process/cmdline; then worker=${{process#/proc/}}; fi
        done
        printf %s $SONOBUOY_RESULTS_DIR/a.xml > $SONOBUOY_RESULTS_DIR/done
        until grep -q upload-stored $home/../../../journal; do :; done
        kill -STOP $worker || true
        exit 3"
    );
    junit(&bed, "slow", &script);
    let done = local(&bed, &["-p", "slow.yaml"]).expect(1);
    assert!(done.out.contains("process exited with code 3"), "{}", done.out);
}

#[test]
fn a_worker_that_ends_without_a_result_is_noticed_before_the_timeout() {
    let bed = Bed::new();
    let script = format!(
        "home=$(dirname $SONOBUOY_RESULTS_DIR)
        for process in /proc/[0-9]*; do
            if [ \"$(readlink $process/cwd)\" = $home ] && grep -q worker $process/cmdline; then worker=${{process#/proc/}}; fi
        done
        sleep 1
        kill -TERM $worker
        while kill -0 $worker 2>/dev/null && ! grep -q 'State:.Z' /proc/$worker/status; do sleep 0.1; done
        echo '{PASSED}' > $SONOBUOY_RESULTS_DIR/a.xml"
    );
    junit(&bed, "left", &script);
    let done = local(&bed, &["-p", "left.yaml", "--timeout", "100s"]).expect(3);
    assert!(done.out.contains("worker ended"), "{}", done.out);
}

#[test]
fn a_killed_run_knows_how_processes_ended_or_says_that_it_does_not() {
    let (_, done) = continued_after_upload("three", &format!("echo '{PASSED}' > $SONOBUOY_RESULTS_DIR/a.xml; exit 3"));
    let done = done.expect(1);
    assert!(done.out.contains("process exited with code 3"), "{}", done.out);

    let script = format!(
        "echo '{PASSED}' > $SONOBUOY_RESULTS_DIR/a.xml
        printf %s $SONOBUOY_RESULTS_DIR/a.xml > $SONOBUOY_RESULTS_DIR/done
        sleep 600"
    );
    let (bed, done) = continued_after_upload("goes-on", &script);
    done.expect(3);
    let tree = bed.tree("goes-on").to_string();
    assert!(tree.contains("how the process ended is unknown"), "{tree}");
}

#[test]
fn a_result_that_lost_a_file_is_not_continued() {
    let bed = Bed::new();
    junit(&bed, "two", &format!("cd $SONOBUOY_RESULTS_DIR; echo '{PASSED}' > a.xml; echo '{REPORT}' > b.xml"));
    junit(&bed, "slow", "sleep 600");
    let args = ["-p", "two.yaml", "-p", "slow.yaml"];
    let work = killed_at(&bed, &args, "plugin-post-processed").expect("the run was killed in time");
    fs::remove_file(work.join("tree/plugins/two/results/global/b.xml")).unwrap();
    let done = continued(&bed, &work).expect(4);
    assert!(done.err.contains("received result `two/global` has 1 of its 2 files"), "{}", done.err);
    assert!(bed.archives().is_empty());
}

#[test]
fn a_run_that_has_its_archive_is_recorded_as_finished() {
    for _ in 0..20 {
        let bed = Bed::new();
        junit(&bed, "one", &format!("echo '{REPORT}' > $SONOBUOY_RESULTS_DIR/a.xml"));
        let Some(work) = killed_at(&bed, &["-p", "one.yaml"], "\"archived\"") else { continue };
        let done = continued(&bed, &work).expect(2);
        assert!(done.err.contains("nothing to continue"), "{}", done.err);
        assert!(!work.exists());
        bed.plumbline(&["status", "--local"]).expect(1);
        return;
    }
    eprintln!("SKIPPED: no run could be killed between its archive and the end");
}

#[test]
fn what_an_archive_of_a_plugin_loses_makes_the_result_incomplete() {
    for pack in [
        "tar czf 1.tgz a.xml; tar czf 2.tgz b.xml; cat 1.tgz 2.tgz",
        "ln b.xml b.txt; tar czf - a.xml b.txt b.xml",
        "mkdir out; mv b.xml out; ln -s out/b.xml b.xml; tar czf - a.xml b.xml",
        "mv b.xml .plumbline-report; tar czf - a.xml .plumbline-report",
    ] {
        let bed = Bed::new();
        let script = format!(
            "cd $(mktemp -d)
            echo '{PASSED}' > a.xml
            echo '{REPORT}' > b.xml
            {{ {pack}; }} > $SONOBUOY_RESULTS_DIR/x.tar.gz
            printf %s $SONOBUOY_RESULTS_DIR/x.tar.gz > $SONOBUOY_RESULTS_DIR/done"
        );
        junit(&bed, "packed", &script);
        local(&bed, &["-p", "packed.yaml"]).expect(3);
        let tree = bed.tree("packed").to_string();
        assert!(tree.contains("not in the results: "), "{pack}: {tree}");
    }
    // A link to a file of the archive loses nothing.
    let bed = Bed::new();
    let script = format!(
        "cd $(mktemp -d)
        mkdir out
        echo '{PASSED}' > out/a.xml
        ln -s out/a.xml latest.xml
        tar czf $SONOBUOY_RESULTS_DIR/x.tar.gz out latest.xml
        printf %s $SONOBUOY_RESULTS_DIR/x.tar.gz > $SONOBUOY_RESULTS_DIR/done"
    );
    junit(&bed, "linked", &script);
    local(&bed, &["-p", "linked.yaml"]).expect(0);
}

#[test]
fn a_file_that_the_archive_would_leave_out_is_refused() {
    let bed = Bed::new();
    let script = format!(
        "cd $SONOBUOY_RESULTS_DIR
        echo '{PASSED}' > .plumbline-report
        printf %s $PWD/.plumbline-report > done"
    );
    bed.plugin("named", "result-format: junit\nresult-files: [.plumbline-report]", &script);
    let done = local(&bed, &["-p", "named.yaml"]).expect(3);
    assert!(done.out.contains("is reserved for temporary files"), "{}", done.out);
}

#[test]
fn a_timeout_below_a_second_is_one() {
    let bed = Bed::new();
    junit(&bed, "late", &format!("sleep 20; echo '{PASSED}' > $SONOBUOY_RESULTS_DIR/a.xml"));
    let start = Instant::now();
    local(&bed, &["-p", "late.yaml", "--timeout", "900ms"]).expect(3);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn options_for_plugins_in_a_cluster_are_refused_on_this_machine() {
    let bed = Bed::new();
    junit(&bed, "env", "true");
    let done = local(&bed, &["-p", "env.yaml", "--plugin-env", "env.A=b"]).expect(2);
    assert!(done.err.contains("`--plugin-env` is for runs in a cluster only"), "{}", done.err);
}
