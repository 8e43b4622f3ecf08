//! Tests of runs that are resumed after the aggregator died.

use std::path::{Path, PathBuf};

use plumbline_aggregator::journal::JournalError;
use plumbline_aggregator::{ExitKind, Finished, Report, RunError, StartKind};
use plumbline_archive::pack::{PackOptions, write_archive};
use plumbline_core::ledger::{ErrorRecord, Event, Refusal};
use plumbline_core::{Status, Verdict};
use plumbline_phonehome::{Outcome, Upload};
use sha2::Digest;
use tokio_util::sync::CancellationToken;

use crate::harness::{
    Archive, LiveRun, PATIENCE, Raw, RunFixture, TestDispatcher, file, key, put_head, send, source, until,
};

/// Returns the access of a worker of the first life for the second one, in which only the port
/// differs.
fn moved(
    old: &plumbline_aggregator::WorkerAccess,
    new: &plumbline_aggregator::WorkerAccess,
) -> plumbline_aggregator::WorkerAccess {
    plumbline_aggregator::WorkerAccess { aggregator_url: new.aggregator_url.clone(), ..old.clone() }
}

/// Starts the plugin `p` on three nodes, of which the first one has sent its result.
async fn one_of_three() -> (RunFixture, LiveRun, plumbline_aggregator::WorkerAccess) {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n1", "n2", "n3"]).await;
    let access = live.launch().await.access;
    send(&access, "p/n1", &file("a.txt", "first life")).await.unwrap();
    (fixture, live, access)
}

#[tokio::test]
async fn an_interrupted_run_resumes_where_it_stopped() {
    let (fixture, first, old) = one_of_three().await;
    // A worker in the middle of its upload.
    let mut half = Raw::connect(&old).await;
    half.send(put_head("by-node/n2/p", &["Content-Length: 200000"])).await.unwrap();
    // Less would stay in memory.
    half.send("x".repeat(100_000)).await.unwrap();
    let incoming = fixture.root().join("incoming");
    let on_disk = async {
        while std::fs::read_dir(&incoming).unwrap().count() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, on_disk).await.expect("the half upload is not on disk");
    // The acknowledged upload after it forces the journal to disk.
    let run = first.state.status();
    assert!(first.launched.is_empty(), "{run:?}");
    let crashed = fixture.crashed();
    assert!(std::fs::read_dir(crashed.root().join("incoming")).unwrap().count() > 0);

    // The nodes have changed, but the expected results stay the same. So do the plugins.
    let mut second = crashed.live(vec![source("other", "Job", "")], &["n8", "n9"]).await;
    assert_eq!(second.begun, StartKind::Continued);
    let launch = second.launch().await;
    assert_eq!(launch.definition.name.as_str(), "p");
    assert_eq!(launch.missing, ["p/n2", "p/n3"].map(key));
    assert_eq!(std::fs::read_dir(crashed.root().join("incoming")).unwrap().count(), 0, "the half upload is forgotten");
    assert_eq!(launch.access.ca_cert, old.ca_cert);

    let old = moved(&old, &launch.access);
    assert_eq!(
        send(&old, "p/n1", &file("a.txt", "again")).await.unwrap(),
        Outcome::OtherReceived,
        "a certificate of the first life, and a result of it"
    );
    assert_eq!(send(&old, "p/n2", &file("a.txt", "second life")).await.unwrap(), Outcome::Stored);
    assert_eq!(send(&launch.access, "p/n3", &file("a.txt", "second life")).await.unwrap(), Outcome::Stored);
    let finished = second.finished().await;
    assert_eq!(finished.verdict, Verdict::NothingToJudge);
    let archive = Archive::of(&finished);
    assert_eq!(archive.text("plugins/p/results/n1/a.txt"), "first life");
    assert_eq!(archive.text("plugins/p/results/n2/a.txt"), "second life");
    drop(first);
}

#[tokio::test]
async fn errors_are_written_again_and_finished_plugins_are_not_launched_again() {
    let fixture = RunFixture::new();
    let sources = vec![source("done", "Job", ""), source("rest", "DaemonSet", "")];
    let mut first = fixture.live(sources, &["n1", "n2"]).await;
    let mut reports = None;
    let mut done = None;
    for _ in 0..2 {
        let (launch, to) = first.launched.next().await;
        if launch.definition.name.as_str() == "done" { done = Some(launch.access) } else { reports = Some(to) }
    }
    send(&done.unwrap(), "done/global", &file("a.txt", "a")).await.unwrap();
    let error = ErrorRecord::new("the pod is gone");
    reports.unwrap().send(Report::Failed { key: key("rest/n1"), error }).await.unwrap();
    until(&first.state, |ledger| {
        ledger.plugin_result(&"done".parse().unwrap()).is_some() && ledger.error(&key("rest/n1")).is_some()
    })
    .await;
    // A durable event after the report forces the report to disk.
    first.state.apply_durable(Event::Launched { plugin: "rest".parse().unwrap() }).await.unwrap();
    let crashed = fixture.crashed();
    let errors = crashed.root().join("tree/plugins/rest/errors");
    let _ = std::fs::remove_dir_all(&errors);

    let mut second = crashed.live(Vec::new(), &[]).await;
    let launch = second.launch().await;
    assert_eq!(launch.missing, [key("rest/n2")]);
    until(&second.state, |ledger| ledger.plugin_result(&"done".parse().unwrap()).is_some()).await;
    assert!(second.launched.is_empty(), "`done` is done");
    send(&launch.access, "rest/n2", &file("a.txt", "a")).await.unwrap();
    let finished = second.finished().await;
    let archive = Archive::of(&finished);
    assert_eq!(archive.json("plugins/rest/errors/n1/error.json")["error"], "the pod is gone");
    assert_eq!(archive.tree("done").status, Status::NotRead);
    assert_eq!(finished.plugins.len(), 2);
    assert_eq!(finished.plugins[0].outcome.total.status, Status::NotRead);
}

/// Runs the plugins `p` and `rest` until `p` is read, whose execution ends so, and returns what is
/// then on disk.
async fn crashed_after_the_end(text: &str, kind: ExitKind) -> RunFixture {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let dispatcher = dispatcher.exit_as("p/global", text, kind);
    let sources = vec![source("p", "Job", "  result-format: junit"), source("rest", "Job", "  result-format: junit")];
    let mut first = fixture.live_with(sources, dispatcher, launched).await;
    let launches = first.launches(2).await;
    send(&launches[0].access, "p/global", &passing()).await.unwrap();
    until(&first.state, |ledger| ledger.plugin_result(&"p".parse().unwrap()).is_some()).await;
    fixture.crashed()
}

fn passing() -> Upload {
    file("r.xml", "<testsuite name='s'><testcase name='t'/></testsuite>")
}

#[tokio::test]
async fn a_restarted_aggregator_keeps_the_end_that_the_last_one_learned() {
    for (kind, verdict) in [
        (ExitKind::Failure, Verdict::Failed),
        (ExitKind::Success, Verdict::Passed),
        (ExitKind::Unknown, Verdict::Incomplete),
    ] {
        let crashed = crashed_after_the_end("the first end", kind).await;
        // The pod is gone meanwhile.
        let (dispatcher, launched) = TestDispatcher::new(&[]);
        let dispatcher = dispatcher.exit_as("p/global", "the pod is gone", ExitKind::Unknown);
        let second = crashed.live_with(Vec::new(), dispatcher, launched).await;
        let finished = second.finished_with("rest/global", &passing()).await;
        assert_eq!(finished.verdict, verdict, "{kind:?}");
    }
}

#[tokio::test]
async fn a_run_whose_results_are_all_in_only_has_to_be_read_and_packed() {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let hold = CancellationToken::new();
    let dispatcher = dispatcher.hold(hold.clone());
    let mut first = fixture.live_with(vec![source("p", "Job", "")], dispatcher, launched).await;
    let access = first.launch().await.access;
    send(&access, "p/global", &file("a.txt", "a")).await.unwrap();
    let crashed = fixture.crashed();
    hold.cancel();
    let first = first.finished().await;

    let second = crashed.live(Vec::new(), &[]).await.finished().await;
    assert_eq!((second.run, second.started), (first.run, first.started));
    assert_eq!(second.archive.file_name(), first.archive.file_name(), "the same run, the same name");
    assert_eq!(second.verdict, Verdict::NothingToJudge);
    let (first, second) = (Archive::of(&first), Archive::of(&second));
    assert_eq!(second.tree("p"), first.tree("p"));
    assert_eq!(second.text("plugins/p/results/global/a.txt"), "a");
}

#[tokio::test]
async fn a_plugin_that_a_restart_completes_is_post_processed_once() {
    let fixture = RunFixture::new();
    let mut first = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let (launch, reports) = first.launched.next().await;
    // The failure waits for the upload, which ends with the process.
    let mut half = Raw::connect(&launch.access).await;
    half.send(put_head("global/p", &["Content-Length: 10"])).await.unwrap();
    until(&first.state, |ledger| ledger.uploads().count() == 1).await;
    let error = ErrorRecord::new("the pod is gone");
    reports.send(Report::Failed { key: key("p/global"), error }).await.unwrap();
    until(&first.state, |ledger| matches!(ledger.admit(&key("p/global")), Err(Refusal::AlreadyReceived(_)))).await;
    // A durable event after the report forces the report to disk.
    first.state.apply_durable(Event::Launched { plugin: "p".parse().unwrap() }).await.unwrap();
    let crashed = fixture.crashed();

    let mut second = crashed.live(Vec::new(), &[]).await;
    assert_eq!(second.launched.calls_to_cleanup().await, ["p", ""]);
    let finished = second.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let archive = Archive::of(&finished);
    assert_eq!(archive.json("plugins/p/errors/global/error.json")["error"], "the pod is gone");
    assert!(archive.tree("p").find("the pod is gone").is_some());
}

#[tokio::test]
async fn a_torn_last_line_of_the_journal_is_what_a_crash_leaves() {
    let (fixture, _first, old) = one_of_three().await;
    let crashed = fixture.crashed();
    let path = crashed.root().join("journal");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"0badc0de {\"at\":\"2026-");
    std::fs::write(&path, bytes).unwrap();
    let mut second = crashed.live(Vec::new(), &[]).await;
    let launch = second.launch().await;
    assert_eq!(launch.missing, ["p/n2", "p/n3"].map(key));
    let old = moved(&old, &launch.access);
    for result in ["p/n2", "p/n3"] {
        send(&old, result, &file("a.txt", "a")).await.unwrap();
    }
    assert_eq!(second.finished().await.verdict, Verdict::NothingToJudge);
}

#[tokio::test]
async fn damage_in_the_middle_of_the_journal_is_named_and_nothing_is_touched() {
    let (fixture, _first, _old) = one_of_three().await;
    let crashed = fixture.crashed();
    let path = crashed.root().join("journal");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[30] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let (dispatcher, launched) = TestDispatcher::new(&[]);
    let Err(error) = crashed.begin(Vec::new(), dispatcher).await else { panic!("it went on") };
    assert!(matches!(error, RunError::Journal(JournalError::Damaged { line: 1, .. })), "{error}");
    assert!(launched.is_empty());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert!(crashed.root().join("tree/plugins/p/results/n1/a.txt").exists());
}

#[tokio::test]
async fn the_directory_of_a_run_is_used_by_one_at_a_time() {
    let (fixture, _first, _old) = one_of_three().await;
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let Err(error) = fixture.begin(Vec::new(), dispatcher).await else { panic!("two at once") };
    assert!(matches!(error, RunError::WorkDir(plumbline_aggregator::WorkDirError::Locked(_))), "{error}");
}

#[tokio::test]
async fn a_run_that_is_dropped_does_not_listen_any_more() {
    let fixture = RunFixture::new();
    let (dispatcher, _launched) = TestDispatcher::new(&[]);
    let (run, _) = fixture.begin(vec![source("p", "Job", "")], dispatcher).await.unwrap();
    let address = run.url().strip_prefix("https://").unwrap().to_owned();
    tokio::net::TcpStream::connect(&address).await.unwrap();
    drop(run);
    let closed = async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, closed).await.expect("it still listens");
}

/// Starts a run in the directory of `fixture`, and returns the error.
async fn refused(fixture: &RunFixture) -> RunError {
    let (dispatcher, launched) = TestDispatcher::new(&["n1", "n2", "n3"]);
    let Err(error) = fixture.begin(vec![source("p", "DaemonSet", "")], dispatcher).await else { panic!("it went on") };
    assert!(launched.is_empty());
    error
}

#[tokio::test]
async fn a_directory_that_is_not_whole_is_not_continued() {
    for lost in ["run.json", "journal", "tree/plugins/p/results/n1"] {
        let (fixture, _first, _old) = one_of_three().await;
        let crashed = fixture.crashed();
        let path = crashed.root().join(lost);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
        let error = refused(&crashed).await;
        assert!(matches!(error, RunError::NotWhole { .. }), "without {lost}: {error}");
    }
}

/// Runs a plugin that sends `upload` to its end. Returns its fixture, and one with the state on disk
/// when the archive was there and the working directory still existed.
async fn lost_power_after_the_archive(upload: &Upload) -> (RunFixture, RunFixture, Finished) {
    let (mut fixture, after) = (RunFixture::new(), RunFixture::new());
    let (from, to) = (fixture.root(), after.root());
    fixture.settings.on_archived = Some(std::sync::Arc::new(move |_| {
        crate::harness::copy_all(&from, &to);
        Ok(())
    }));
    let live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let finished = live.finished_with("p/global", upload).await;
    (fixture, after, finished)
}

#[tokio::test]
async fn a_crash_after_the_archive_neither_repeats_the_run_nor_touches_the_archive() {
    let (fixture, after, finished) = lost_power_after_the_archive(&file("a.txt", "a")).await;
    assert!(!fixture.root().exists());
    match refused(&after).await {
        RunError::Finished { archive, status } => {
            assert_eq!(archive.file_name(), finished.archive.file_name());
            assert_eq!(status.tar_info.sha256, finished.sha256);
        }
        other => panic!("{other}"),
    }
}

/// Returns a run that crashed after it renamed its archive and before it recorded that, and the
/// path of the archive.
async fn archived_but_not_recorded() -> (RunFixture, PathBuf) {
    archived_but_not_recorded_with(&file("a.txt", "a")).await
}

async fn archived_but_not_recorded_with(upload: &Upload) -> (RunFixture, PathBuf) {
    let (_fixture, after, finished) = lost_power_after_the_archive(upload).await;
    let archive = after.settings.output.join(finished.archive.file_name().unwrap());
    std::fs::copy(&finished.archive, &archive).unwrap();
    let journal = after.root().join("journal");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let (before, record) = lines.trim_end().rsplit_once('\n').unwrap();
    assert!(record.contains(&finished.sha256), "{record}");
    std::fs::write(&journal, format!("{before}\n")).unwrap();
    (after, archive)
}

#[tokio::test]
async fn an_archive_that_was_not_recorded_before_a_crash_is_recorded_and_not_replaced() {
    let (crashed, archive) = archived_but_not_recorded().await;
    let before = std::fs::read(&archive).unwrap();
    let second = crashed.live(Vec::new(), &[]).await;
    assert!(second.launched.is_empty());
    let finished = second.finished().await;
    assert_eq!(finished.archive, archive);
    assert!(std::fs::read(&archive).unwrap() == before, "the archive changed");
    assert_eq!(finished.bytes, before.len() as u64);
    assert_eq!(finished.sha256, hex::encode(sha2::Sha256::digest(&before)));
    assert_eq!(finished.status.tar_info.sha256, finished.sha256);
    assert!(!crashed.root().exists());
}

#[tokio::test]
async fn a_damaged_archive_is_moved_aside_and_written_again() {
    let (crashed, archive) = archived_but_not_recorded().await;
    let half: Vec<u8> = std::fs::read(&archive).unwrap().into_iter().take(100).collect();
    std::fs::write(&archive, &half).unwrap();
    std::fs::write(with_suffix(&archive, ".replaced"), "of an earlier crash").unwrap();
    let finished = crashed.live(Vec::new(), &[]).await.finished().await;
    assert_eq!(finished.archive, archive);
    assert_eq!(Archive::of(&finished).text("plugins/p/results/global/a.txt"), "a");
    assert_eq!(std::fs::read_to_string(with_suffix(&archive, ".replaced")).unwrap(), "of an earlier crash");
    assert_eq!(std::fs::read(with_suffix(&archive, ".replaced.2")).unwrap(), half);
}

fn with_suffix(archive: &Path, suffix: &str) -> PathBuf {
    archive.with_file_name(format!("{}{suffix}", archive.file_name().unwrap().display()))
}

const TREE: &str = "plugins/p/sonobuoy_results.yaml";

/// Replaces the result tree in the archive. Returns the earlier one.
fn replace_tree(archive: &Path, change: impl FnOnce(&str) -> String) -> String {
    let mut files = Archive::read(archive).0;
    let tree = String::from_utf8(files.remove(TREE).unwrap()).unwrap();
    files.insert(TREE.to_owned(), change(&tree).into_bytes());
    let other = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = other.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    write_archive(other.path(), archive, &PackOptions::default()).unwrap();
    tree
}

/// The archive of another program version, or of somebody else, can have another verdict.
#[tokio::test]
async fn an_archive_with_other_items_is_moved_aside_and_written_again() {
    for other in ["name: p\nstatus: passed\n", "name: p\nstatus: passed\nitems:\n- name: a.txt\n  status: passed\n"] {
        let (crashed, archive) = archived_but_not_recorded().await;
        let tree = replace_tree(&archive, |_| other.to_owned());
        let packed = std::fs::read(&archive).unwrap();

        let finished = crashed.live(Vec::new(), &[]).await.finished().await;
        assert_eq!(finished.archive, archive);
        assert_eq!(Archive::of(&finished).text(TREE), tree);
        let status = &finished.plugins[0].outcome.total.status;
        assert_eq!(Archive::of(&finished).tree("p").status, *status, "the run reports what its archive has");
        assert_eq!(finished.sha256, hex::encode(sha2::Sha256::digest(std::fs::read(&archive).unwrap())));
        assert_eq!(std::fs::read(with_suffix(&archive, ".replaced")).unwrap(), packed);
    }
}

/// The time and the order of a hash table, which modules can write, differ after a restart.
#[tokio::test]
async fn an_archive_whose_items_have_another_order_and_other_times_is_recorded() {
    let (crashed, archive) = archived_but_not_recorded_with(&crate::story::archive("a")).await;
    let tree = replace_tree(&archive, |tree| {
        let items: Vec<&str> = tree.split("- name: ").collect();
        let [head, first, second] = items.as_slice() else { panic!("there are not two items: {tree}") };
        format!("{head}- name: {second}- name: {first}").replace("    file: ", "    at: now\n    file: ")
    });
    let before = std::fs::read(&archive).unwrap();
    assert_ne!(Archive::read(&archive).text(TREE), tree);

    let finished = crashed.live(Vec::new(), &[]).await.finished().await;
    assert!(std::fs::read(&archive).unwrap() == before, "the archive changed");
    assert_eq!(finished.sha256, hex::encode(sha2::Sha256::digest(&before)));
    assert!(!with_suffix(&archive, ".replaced").exists());
}

#[tokio::test]
async fn links_and_directories_in_the_place_of_the_archive_are_moved_aside() {
    for kind in ["link", "dangling link", "directory"] {
        let (crashed, archive) = archived_but_not_recorded().await;
        let elsewhere = crashed.dir.path().join("elsewhere.tar.gz");
        match kind {
            "directory" => {
                std::fs::remove_file(&archive).unwrap();
                std::fs::create_dir(&archive).unwrap();
            }
            link => {
                if link == "link" {
                    std::fs::copy(&archive, &elsewhere).unwrap();
                }
                std::fs::remove_file(&archive).unwrap();
                std::os::unix::fs::symlink(&elsewhere, &archive).unwrap();
            }
        }
        let finished = crashed.live(Vec::new(), &[]).await.finished().await;
        assert!(finished.archive.symlink_metadata().unwrap().is_file(), "{kind}");
        assert_eq!(Archive::of(&finished).text("plugins/p/results/global/a.txt"), "a", "{kind}");
        let aside = with_suffix(&archive, ".replaced").symlink_metadata().unwrap();
        assert_eq!((aside.is_symlink(), aside.is_dir()), (kind != "directory", kind == "directory"), "{kind}");
    }
}

#[tokio::test]
async fn a_directory_whose_end_could_not_be_recorded_stays() {
    let mut fixture = RunFixture::new();
    fixture.settings.on_archived = Some(std::sync::Arc::new(|_| Err(std::io::ErrorKind::StorageFull.into())));
    let live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let finished = live.finished_with("p/global", &file("a.txt", "a")).await;
    assert!(finished.archive.is_file() && fixture.root().join("run.json").is_file());
    assert!(matches!(refused(&fixture).await, RunError::Finished { .. }));
}

#[tokio::test]
async fn an_unrecorded_file_is_removed_when_the_result_is_sent_again() {
    for (stray, text) in [
        ("plugins/p/results/n2/stray.txt", "never acknowledged"),
        ("plugins/p/errors/n2/error.json", r#"{"error":"timeout waiting for results"}"#),
    ] {
        let (fixture, _first, old) = one_of_three().await;
        let crashed = fixture.crashed();
        let path = crashed.root().join("tree").join(stray);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        let mut second = crashed.live(Vec::new(), &[]).await;
        let launch = second.launch().await;
        let old = moved(&old, &launch.access);
        for result in ["p/n2", "p/n3"] {
            send(&old, result, &file("a.txt", "a")).await.unwrap();
        }
        let archive = Archive::of(&second.finished().await);
        assert!(!archive.has(stray));
        assert_eq!(archive.text("plugins/p/results/n2/a.txt"), "a");
    }
}

#[tokio::test]
async fn an_unrecorded_file_takes_no_space_of_the_result_that_is_sent_again() {
    let (fixture, _first, _old) = one_of_three().await;
    let mut crashed = fixture.crashed();
    crashed.settings.receive.plugin_bytes = 1_000;
    let unrecorded = crashed.root().join("tree/plugins/p/results/n2");
    std::fs::create_dir_all(&unrecorded).unwrap();
    std::fs::write(unrecorded.join("a.txt"), [b'x'; 900]).unwrap();
    let mut second = crashed.live(Vec::new(), &[]).await;
    let access = second.launch().await.access;
    assert_eq!(send(&access, "p/n2", &file("a.txt", [b'x'; 900])).await.unwrap(), Outcome::Stored);
    send(&access, "p/n3", &file("a.txt", "a")).await.unwrap();
    assert_eq!(Archive::of(&second.finished().await).text("plugins/p/results/n2/a.txt"), "x".repeat(900));
}

#[tokio::test]
async fn certificates_outlive_the_longest_timeout_of_the_plugins() {
    let expires = async |rest: &str, settings: fn(&mut plumbline_aggregator::Settings)| {
        let mut fixture = RunFixture::new();
        settings(&mut fixture.settings);
        let (dispatcher, _launched) = TestDispatcher::new(&[]);
        let (run, _) = fixture.begin(vec![source("p", "Job", rest)], dispatcher).await.unwrap();
        let pem = std::fs::read_to_string(fixture.root().join("ca.pem")).unwrap();
        let days = plumbline_phonehome::RunCa::from_pem(&pem).unwrap().not_after().duration_since(run.started());
        days.as_hours()
    };
    assert!(expires("plumbline:\n  timeout: 72h", |_| ()).await >= 72);
    let endless = expires("plumbline:\n  timeout: 0s", |_| ()).await;
    assert_eq!(endless, expires("", |settings| settings.timeout = None).await, "no limit");
    assert!(endless > 24 * 30);
}
