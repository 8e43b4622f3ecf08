//! `history`, from the command line: archives, their index, views, lists for judges, retention.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use plumbline_aggregator::deliver::{Archive, Destination};
use plumbline_archive::pack::{PackOptions, pack_directory};
use plumbline_core::Digest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::bed::{Bed, Done, entries};
use crate::registries::Registry;

const SONOBUOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

/// Writes the archive of a run on `day` of November 2026. Each letter is the outcome of a test, named
/// after its position.
pub(crate) fn archive(bed: &Bed, dir: &str, day: u32, outcomes: &str) -> String {
    let config = json!({
        "UUID": format!("00000000-0000-4000-8000-{day:012}"), "Version": "v0.57.0", "PlumblineVersion": "0.1.0",
        "PlumblineStarted": format!("2026-11-{day:02}T03:00:00Z"),
    });
    let name = format!("{dir}/202611{day:02}0300_plumbline_{day}.tar.gz");
    archive_of(bed, &name, &config, outcomes);
    name
}

/// Writes the archive `name` of a run with this configuration.
fn archive_of(bed: &Bed, name: &str, config: &Value, outcomes: &str) {
    let tree = format!("trees/{name}");
    bed.write(&format!("{tree}/meta/config.json"), &config.to_string());
    bed.write(&format!("{tree}/meta/info.json"), r#"{"plugins": ["unit"]}"#);
    bed.write(&format!("{tree}/serverversion.json"), r#"{"gitVersion": "v1.37.2"}"#);
    bed.write(
        &format!("{tree}/resources/cluster/core_v1_namespaces.json"),
        r#"{"items": [{"metadata": {"name": "kube-system", "uid": "5f3a1c09-0000-4000-8000-000000000000"}}]}"#,
    );
    bed.write(
        &format!("{tree}/plugins/unit/definition.json"),
        r#"{"Definition": {"sonobuoy-config": {"driver": "Job", "plugin-name": "unit"}, "spec": {"name": "p"}}, "SessionID": "1"}"#,
    );
    let test = |(at, letter): (usize, char)| {
        let (status, seconds) = match letter {
            '.' => ("passed", 2),
            'F' => ("failed", 3),
            _ => ("skipped", 0),
        };
        format!("- name: \"test {at}\"\n  status: {status}\n  meta:\n    duration: \"{seconds}\"\n")
    };
    let tests: String = outcomes.chars().enumerate().map(test).collect();
    let status = if outcomes.contains('F') { "failed" } else { "passed" };
    bed.write(
        &format!("{tree}/plugins/unit/sonobuoy_results.yaml"),
        &format!("name: unit\nstatus: {status}\nmeta:\n  type: summary\nitems:\n{tests}"),
    );
    let path = bed.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    pack(&bed.path(&tree), &path);
}

fn pack(tree: &Path, to: &Path) {
    pack_directory(tree, File::create(to).unwrap(), &PackOptions::default(), &mut || false).unwrap();
}

/// Six runs of three tests: one always passes, one is flaky, one fails since the fourth run.
fn six(bed: &Bed) {
    for (day, outcomes) in (10..).zip(["...", ".F.", "...", ".FF", "..F", "..F"]) {
        archive(bed, "runs", day, outcomes);
    }
}

fn report(bed: &Bed, code: i32, options: &[&str]) -> Value {
    let args = [&["history", "runs", "-o", "json"], options].concat();
    serde_json::from_str(&bed.plumbline(&args).expect(code).out).unwrap()
}

#[test]
fn failing_and_flaky_tests_are_shown_with_rates_and_first_bad_runs() {
    let bed = Bed::new();
    six(&bed);
    let done = bed.plumbline(&["history", "runs"]).expect(0);
    insta::assert_snapshot!("history_text", done.shown(&bed));
    let every = bed.plumbline(&["history", "runs", "--test", "test [01]"]).expect(0).out;
    assert!(every.contains("tests: 2\n  unit test 0\n      ......  passed 6 of 6 (100 %)"), "{every}");
    let json = report(&bed, 0, &[]);
    assert_eq!(json["runs"].as_array().unwrap().len(), 6);
    assert_eq!(json["runs"][3]["archive"], "202611130300_plumbline_13.tar.gz");
    assert_eq!((&json["runs"][3]["failed"], &json["runs"][3]["started"]), (&2.into(), &"2026-11-13T03:00:00Z".into()));
    let flaky = &json["tests"][1];
    assert_eq!((&flaky["name"], &flaky["ran"], &flaky["flakes"]), (&"test 1".into(), &6.into(), &2.into()));
    let failing = &json["tests"][2];
    assert_eq!(
        (&failing["first-bad"], &failing["last-good"], &failing["streak"]["runs"]),
        (&"202611130300_plumbline_13.tar.gz".into(), &"202611120300_plumbline_12.tar.gz".into(), &3.into())
    );
    assert_eq!(report(&bed, 0, &["--last", "2"])["tests"][1]["outcomes"], "..");
}

#[test]
fn the_page_has_sparklines_and_needs_nothing_else() {
    let bed = Bed::new();
    six(&bed);
    let page = bed.plumbline(&["history", "runs", "-o", "html"]).expect(0).out;
    assert!(
        page.contains("<svg") && page.contains("aria-label=\".F.F..\"") && page.contains("<h2>Failing (1)"),
        "{page}"
    );
    for foreign in ["<script", "src=", "@import", "url(", "http://", "https://", "onclick"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn archives_of_sonobuoy_are_runs_too() {
    let bed = Bed::new();
    let done = bed.plumbline(&["history", SONOBUOY, "-p", "e2e", "-o", "json"]).expect(0);
    let json: Value = serde_json::from_str(&done.out).unwrap();
    let run = &json["runs"][0];
    assert_eq!(
        (&run["tool"], &run["version"], &run["failed"]),
        (&"Sonobuoy v0.53.2".into(), &"v1.21.1".into(), &4.into())
    );
    assert_eq!((&run["passed"], json["tests"].as_array().unwrap().len()), (&21.into(), 25));
    assert!(run["cluster"].as_str().is_some_and(|cluster| cluster.len() == 8), "{run}");
    // The files of the other plugin were not read, so they did not pass.
    let done = bed.plumbline(&["history", SONOBUOY, "-o", "json"]).expect(0);
    let all: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(all["runs"][0]["passed"], 21, "{}", all["runs"]);
}

#[test]
fn unchanged_archives_are_not_read_again_and_a_damaged_index_is_made_again() {
    let bed = Bed::new();
    six(&bed);
    let (first, index) = (report(&bed, 0, &[]), bed.path("runs/.plumbline-history"));
    let made = fs::read(&index).unwrap();
    // The same size and time stand for the same content, which is not read.
    let one = bed.path("runs/202611100300_plumbline_10.tar.gz");
    let content = fs::read(&one).unwrap();
    let modified = fs::metadata(&one).unwrap().modified().unwrap();
    fs::write(&one, vec![0; content.len()]).unwrap();
    File::options().write(true).open(&one).unwrap().set_modified(modified).unwrap();
    assert_eq!(report(&bed, 0, &[]), first);
    fs::write(&one, &content).unwrap();
    for damage in [made[..made.len() / 2].to_vec(), b"rubbish".to_vec(), Vec::new()] {
        fs::write(&index, damage).unwrap();
        assert_eq!(report(&bed, 0, &[]), first);
        assert_eq!(fs::read(&index).unwrap().len(), made.len());
    }
    // New archives are added, and removed ones disappear.
    archive(&bed, "runs", 16, "...");
    fs::remove_file(&one).unwrap();
    let runs: Vec<String> =
        report(&bed, 0, &[])["runs"].as_array().unwrap().iter().map(|run| run["run"].to_string()).collect();
    assert!(runs.len() == 6 && runs[0].ends_with("11\"") && runs[5].ends_with("16\""), "{runs:?}");
}

#[test]
fn where_the_directory_takes_no_index_the_cache_does() {
    let bed = Bed::new();
    six(&bed);
    // Nothing replaces a directory, not even for the root user.
    fs::create_dir_all(bed.path("runs/.plumbline-history/x")).unwrap();
    let done = bed.plumbline(&["history", "runs"]).expect(0);
    assert_eq!(done.err, "");
    let cached = bed.plumbline(&["cache", "list"]).expect(0).out;
    assert!(cached.contains("indexes of directories with archives"), "{cached}");
    bed.plumbline(&["cache", "clean", "history"]).expect(0);
    bed.plumbline(&["history", "runs"]).expect(0);
}

#[test]
fn an_archive_that_cannot_be_read_is_named_and_changes_the_exit_code() {
    let bed = Bed::new();
    six(&bed);
    let good = fs::read(bed.path("runs/202611100300_plumbline_10.tar.gz")).unwrap();
    fs::write(bed.path("runs/cut.tar.gz"), &good[..good.len() / 2]).unwrap();
    // It is named each time, with the index too.
    for _ in 0..2 {
        let done = bed.plumbline(&["history", "runs"]).expect(3);
        assert!(done.err.contains("failed to read archive `runs/cut.tar.gz`"), "{}", done.err);
        assert!(done.out.starts_with("6 runs, 2026-11-10 to 2026-11-15; 3 tests ran"), "{}", done.out);
    }
    assert_eq!(report(&bed, 3, &[])["unreadable"].as_array().unwrap().len(), 1);
    // Other files are no archives that cannot be read.
    fs::remove_file(bed.path("runs/cut.tar.gz")).unwrap();
    bed.write("other/src/main.c", "int main() {}");
    pack(&bed.path("other"), &bed.path("runs/source.tar.gz"));
    let done = bed.plumbline(&["history", "runs"]).expect(0);
    assert!(done.err.contains("`runs/source.tar.gz` is not an archive of results: skipped"), "{}", done.err);
    let none = bed.plumbline(&["history", "other"]).expect(2);
    assert!(none.err.contains("no run can be read from `other`"), "{}", none.err);
    let away = bed.plumbline(&["history", "ftp://r.example/runs"]).expect(2);
    assert!(away.err.contains("`ftp://r.example/runs` is not a source of archives"), "{}", away.err);
}

#[test]
fn a_plugin_that_cannot_be_read_does_not_hide_the_others() {
    let bed = Bed::new();
    bed.write("one/meta/info.json", r#"{"plugins": ["bad", "good"]}"#);
    bed.write("one/plugins/bad/sonobuoy_results.yaml", "name: [");
    bed.write(
        "one/plugins/good/sonobuoy_results.yaml",
        "name: good\nstatus: passed\nitems:\n- {name: a, status: passed}\n",
    );
    let done = bed.plumbline(&["history", "one", "-o", "json"]).expect(3);
    assert!(done.err.contains("failed to read the result tree of plugin `bad` in `one`"), "{}", done.err);
    let json: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(json["tests"][0]["plugin"], "good");
}

#[test]
fn trees_that_an_archive_does_not_have_are_computed() {
    let bed = Bed::new();
    bed.write("one/meta/info.json", r#"{"plugins": ["e2e"]}"#);
    bed.write("one/plugins/e2e/results/global/junit_01.xml", "<testsuite name='s'><testcase name='a'/></testsuite>");
    let done = bed.plumbline(&["history", "one", "--test", "a"]).expect(0);
    assert!(done.out.contains("tests: 1\n  a\n      .  passed 1 of 1"), "{}", done.out);
}

#[test]
fn a_history_proposes_lists_and_is_a_baseline() {
    let bed = Bed::new();
    six(&bed);
    let list = bed.plumbline(&["history", "runs", "--propose-known-failures"]).expect(0).out;
    insta::assert_snapshot!("history_known_failures", list);
    assert_eq!(
        bed.plumbline(&["history", "runs", "--propose-known-failures", "--failed-runs", "4"]).expect(0).out,
        "[]\n"
    );
    bed.plumbline(&["history", "runs", "--failed-runs", "4"]).expect(2);
    bed.write("known.yaml", &list);
    let last = archive(&bed, "later", 20, ".FF");
    let class = |options: &[&str], code: i32| {
        let args = [&["results", last.as_str(), "-o", "json"], options].concat();
        let trees: Value = serde_json::from_str(&bed.plumbline(&args).expect(code).out).unwrap();
        let items = trees[0]["verdict"]["items"].as_array().unwrap().clone();
        items.iter().map(|item| format!("{}: {}", item["path"][0], item["class"])).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        class(&["--known-failures", "known.yaml", "--flaky", "runs"], 0),
        r#""test 1": "flaky", "test 2": "known-failure""#
    );
    assert_eq!(class(&["--baseline", "runs"], 1), r#""test 1": "new-failure", "test 2": "baseline-failure""#);
    // Four runs in a row are more than it has failed.
    assert_eq!(
        class(&["--baseline", "runs", "--baseline-runs", "4"], 1),
        r#""test 1": "new-failure", "test 2": "new-failure""#
    );
    let other = bed.plumbline(&["results", SONOBUOY, "-p", "e2e", "--baseline", "runs"]).expect(2);
    assert!(other.err.contains("the history has the plugins unit"), "{}", other.err);
}

/// Runs a plugin in which two tests fail, with `options`. Returns the rulings in its archive: names,
/// classes and reasons.
fn rulings(bed: &Bed, dir: &str, code: i32, options: &[&str]) -> Vec<[String; 3]> {
    let failed = |name: &str| format!("<testcase name='{name}'><failure/></testcase>");
    let tests = format!("<testcase name='test 0'/>{}{}", failed("test 1"), failed("test 2"));
    bed.write("report.xml", &format!("<testsuite name='s'>{tests}</testsuite>"));
    bed.plugin("unit", "result-format: junit", "cp report.xml $SONOBUOY_RESULTS_DIR/");
    bed.plumbline(&[&["run", "--local", "--dir", dir, "-p", "unit.yaml"], options].concat()).expect(code);
    let archive = entries(&bed.path(dir)).into_iter().find(|path| path.extension().is_some_and(|e| e == "gz")).unwrap();
    let done = bed.plumbline(&["results", archive.to_str().unwrap(), "-o", "json"]).expect(code);
    let trees: Value = serde_json::from_str(&done.out).unwrap();
    let items = trees[0]["verdict"]["items"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let last = |path: &Value| text(path.as_array().unwrap().last().unwrap());
    items.iter().map(|item| [last(&item["path"]), text(&item["class"]), text(&item["reason"])]).collect()
}

#[test]
fn a_run_is_judged_by_the_history_in_a_directory_with_the_measured_rates() {
    let bed = Bed::new();
    six(&bed);
    let judged = rulings(&bed, "first", 1, &["--baseline", "runs"]);
    let classes = |judged: &[[String; 3]]| judged.iter().map(|[name, class, _]| format!("{name}: {class}")).collect();
    let found: Vec<String> = classes(&judged);
    assert_eq!(found, ["test 1: new-failure", "test 2: baseline-failure"], "{judged:?}");
    let judged = rulings(&bed, "second", 0, &["--baseline", "runs", "--flaky", "runs"]);
    let found: Vec<String> = classes(&judged);
    assert!(found.contains(&"test 1: flaky".to_owned()), "{judged:?}");
    assert!(judged[0][2].contains("2 of 6 (33 %)"), "{judged:?}");
}

#[test]
fn a_link_to_an_archive_of_the_directory_is_no_run_of_its_own() {
    let bed = Bed::new();
    six(&bed);
    let alone = report(&bed, 0, &[]);
    // The start of this run is in the name of its archive.
    fs::copy(SONOBUOY, bed.path("runs/202611160300_sonobuoy_00000000-0000-4000-8000-000000000016.tar.gz")).unwrap();
    let seven = report(&bed, 0, &[]);
    for (target, link) in [
        ("202611150300_plumbline_15.tar.gz", "newest.tar.gz"),
        ("202611160300_sonobuoy_00000000-0000-4000-8000-000000000016.tar.gz", "sonobuoy.tar.gz"),
    ] {
        std::os::unix::fs::symlink(target, bed.path("runs").join(link)).unwrap();
    }
    assert_eq!(report(&bed, 0, &[])["runs"], seven["runs"]);
    // A directory of links to archives elsewhere is a history.
    fs::create_dir(bed.path("links")).unwrap();
    for day in 10..16 {
        let name = format!("202611{day}0300_plumbline_{day}.tar.gz");
        std::os::unix::fs::symlink(bed.path("runs").join(&name), bed.path("links").join(&name)).unwrap();
    }
    let linked = bed.plumbline(&["history", "links", "-o", "json"]).expect(0).out;
    assert_eq!(serde_json::from_str::<Value>(&linked).unwrap()["tests"], alone["tests"]);
    // The same archives from two sources are the same runs.
    let both = bed.plumbline(&["history", "links", "runs", "-p", "unit", "-o", "json"]).expect(0).out;
    assert_eq!(serde_json::from_str::<Value>(&both).unwrap()["tests"], alone["tests"]);
}

#[test]
fn an_archive_with_a_plugin_that_cannot_be_read_does_not_displace_older_archives() {
    let bed = Bed::new();
    bed.plugin(
        "good",
        "result-format: raw",
        "echo > \"$SONOBUOY_RESULTS_DIR/x\"; printf %s \"$SONOBUOY_RESULTS_DIR\" > \"$SONOBUOY_RESULTS_DIR/done\"",
    );
    six(&bed);
    let config = r#"{"UUID": "00000000-0000-4000-8000-000000000016", "Version": "v0.57.0", "PlumblineVersion": "0.1.0", "PlumblineStarted": "2026-11-16T03:00:00Z"}"#;
    bed.write("bad/meta/config.json", config);
    bed.write("bad/meta/info.json", r#"{"plugins": ["unit"]}"#);
    bed.write("bad/plugins/unit/sonobuoy_results.yaml", "- foreign\n");
    pack(&bed.path("bad"), &bed.path("runs/202611160300_plumbline_16.tar.gz"));
    let done =
        bed.plumbline(&["run", "--local", "-p", "good.yaml", "--history", "runs", "--keep-size", "1GiB"]).expect(0);
    assert!(done.err.contains("failed to read the result tree of plugin `unit`"), "{}", done.err);
    assert!(!done.err.contains("removed runs/"), "{}", done.err);
    let left = entries(&bed.path("runs")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "gz"));
    assert_eq!(left.count(), 8);
}

/// A server that speaks S3, with the bucket `audits`. It is stopped when this is dropped.
struct Moto {
    child: Child,
    host: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Moto {
    /// Starts the server. If it is not installed, returns `None` and prints that the test is skipped.
    fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("PLUMBLINE_MOTO_SERVER").filter(|named| !named.is_empty()) else {
            eprintln!("SKIPPED: PLUMBLINE_MOTO_SERVER names no program; `cargo xtask test` installs it");
            return None;
        };
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut moto = Self { child: command.spawn().unwrap(), host: String::new() };
        // It prints its address when it listens. Its other lines are discarded, so that it never waits.
        let mut lines = BufReader::new(moto.child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let listens = lines.find_map(|line| Some(line.split_once("Running on http://")?.1.trim().to_owned()));
        moto.host = listens.unwrap_or_else(|| panic!("the S3 server does not listen"));
        thread::spawn(move || lines.for_each(drop));
        let mut stream = TcpStream::connect(&moto.host).unwrap();
        write!(stream, "PUT /audits HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", moto.host)
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.lines().next().is_some_and(|status| status.contains(" 200 ")), "{answer}");
        Some(moto)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        [
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", &format!("http://{}", self.host)),
            ("AWS_ALLOW_HTTP", "true"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    /// Uploads the archives in `dir` as an aggregator does.
    fn upload(&self, dir: &Path, url: &str) {
        let destination = Destination::parse(url, &self.settings()).unwrap();
        let runtime = Runtime::new().unwrap();
        for path in entries(dir).into_iter().filter(|path| path.extension().is_some_and(|e| e == "gz")) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let sha256 = Digest::of_reader(File::open(&path).unwrap()).unwrap().hex();
            let archive = Archive { bytes: fs::metadata(&path).unwrap().len(), path, name, sha256 };
            runtime.block_on(destination.deliver(&archive)).unwrap();
        }
    }

    fn plumbline(&self, bed: &Bed, args: &[&str]) -> Done {
        let mut command = bed.command(args);
        command.envs(self.settings()).env("NO_PROXY", "127.0.0.1");
        Done::of(command)
    }
}

#[test]
fn archives_in_a_bucket_are_a_history() {
    let bed = Bed::new();
    let Some(moto) = Moto::start() else { return };
    six(&bed);
    moto.upload(&bed.path("runs"), "s3://audits/nightly/");
    let local = bed.plumbline(&["history", "runs"]).expect(0).out;
    assert_eq!(moto.plumbline(&bed, &["history", "s3://audits/nightly"]).expect(0).out, local);
    // What is deeper in the bucket does not count. A new archive does.
    archive(&bed, "more", 16, "...");
    moto.upload(&bed.path("more"), "s3://audits/nightly/old/");
    assert_eq!(moto.plumbline(&bed, &["history", "s3://audits/nightly"]).expect(0).out, local);
    moto.upload(&bed.path("more"), "s3://audits/nightly/");
    let longer = moto.plumbline(&bed, &["history", "s3://audits/nightly", "-o", "json"]).expect(0).out;
    let longer: Value = serde_json::from_str(&longer).unwrap();
    assert_eq!(longer["runs"].as_array().unwrap().len(), 7);

    let last = archive(&bed, "later", 20, ".FF");
    let lists = ["--baseline", "s3://audits/nightly", "--baseline-runs", "1", "--flaky", "s3://audits/nightly"];
    let judged = moto.plumbline(&bed, &[&["results", &last], &lists[..]].concat());
    assert!(judged.out.contains("flaky"), "{}{}", judged.out, judged.err);
    let missing = moto.plumbline(&bed, &["history", "s3://no-such-bucket"]);
    assert_ne!(missing.code, 0);
    assert!(missing.err.contains("failed to read the archives in `s3://no-such-bucket`"), "{}", missing.err);
    assert!(missing.err.contains("AWS_"), "{}", missing.err);
}

#[test]
fn archives_in_a_registry_are_a_history_and_are_downloaded_once() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "registry") else { return };
    six(&bed);
    let name = format!("oci://{}/team/results", registry.host);
    for day in 10..16 {
        let path = format!("runs/202611{day}0300_plumbline_{day}.tar.gz");
        registry.plumbline(&bed, &["results", "push", &format!("{name}:run-{day}"), &path]).expect(0);
    }
    // Other artifacts are no runs, and one archive with two tags is one run.
    registry
        .plumbline(&bed, &["results", "push", &format!("{name}:newest"), "runs/202611150300_plumbline_15.tar.gz"])
        .expect(0);
    let tar = crate::signing::packed(&bed, "tap", "hello");
    registry.plumbline(&bed, &["plugin", "push", &tar, &format!("{name}:tap")]).expect(0);
    let local = bed.plumbline(&["history", "runs"]).expect(0).out;
    assert_eq!(registry.plumbline(&bed, &["history", &name]).expect(0).out, local);

    // Only the manifests are read again: the blobs are gone.
    for blob in fs::read_dir(bed.path("registry/docker/registry/v2/blobs/sha256")).unwrap().flatten() {
        for digest in fs::read_dir(blob.path()).unwrap().flatten() {
            let data = digest.path().join("data");
            if fs::read(&data).is_ok_and(|bytes| bytes.starts_with(&[0x1f, 0x8b])) {
                fs::remove_file(data).unwrap();
            }
        }
    }
    assert_eq!(registry.plumbline(&bed, &["history", &name]).expect(0).out, local);
    let one = registry.plumbline(&bed, &["history", &format!("{name}:run-12")]);
    assert!(one.code != 0 && one.err.contains("failed to pull blob"), "{}", one.err);

    let last = archive(&bed, "later", 20, ".FF");
    let judged = registry.plumbline(&bed, &["results", &last, "--baseline", &name, "--flaky", &name]).expect(0);
    assert!(judged.out.contains("known") || judged.out.contains("baseline"), "{}", judged.out);
    let none = registry.plumbline(&bed, &["history", &format!("oci://{}/team/none", registry.host)]);
    assert!(none.code != 0 && none.err.contains("list the tags of"), "{}", none.err);
    let other = bed.plumbline(&["history", "ftp://host/x"]).expect(2);
    assert!(other.err.contains("`ftp://host/x` is not a source of archives"), "{}", other.err);
}

#[test]
fn a_run_is_not_evidence_for_itself_and_every_archive_must_be_readable() {
    let bed = Bed::new();
    let first = archive(&bed, "runs", 10, "F");
    let alone = bed.plumbline(&["results", &first, "--baseline", "runs"]).expect(2);
    assert!(alone.err.contains("another run of the plugin is needed"), "{}", alone.err);
    let second = archive(&bed, "runs", 11, "F");
    bed.plumbline(&["results", &second, "--baseline", "runs"]).expect(0);
    // The archive that cannot be read could be that of a run in which the test passed.
    let good = fs::read(&first).or_else(|_| fs::read(bed.path(&first))).unwrap();
    fs::write(bed.path("runs/cut.tar.gz"), &good[..good.len() / 2]).unwrap();
    let unreadable = bed.plumbline(&["results", &second, "--baseline", "runs"]).expect(2);
    assert!(unreadable.err.contains("failed to judge by the history in `runs`"), "{}", unreadable.err);
    assert!(unreadable.err.contains("runs/cut.tar.gz"), "{}", unreadable.err);
}

#[test]
fn runs_that_share_an_id_or_have_none_are_told_apart() {
    let bed = Bed::new();
    for (kind, id) in [("shared", json!("00000000-0000-4000-8000-000000000001")), ("none", Value::Null)] {
        let config = json!({"UUID": id, "Version": "v0.57.0", "PlumblineVersion": "0.1.0"});
        let [judged, earlier, copy] = ["judged", "earlier", "own"].map(|dir| format!("{kind}-{dir}/a.tar.gz"));
        archive_of(&bed, &judged, &config, "F");
        archive_of(&bed, &earlier, &config, "F.");
        bed.plumbline(&["results", &judged, "--baseline", &format!("{kind}-earlier")]).expect(0);
        // A copy of the judged archive does not count, whatever its name, and whether packed or not.
        let own = format!("{kind}-own");
        fs::create_dir(bed.path(&own)).unwrap();
        fs::copy(bed.path(&judged), bed.path(&copy)).unwrap();
        for judged in [judged.clone(), format!("trees/{judged}")] {
            let alone = bed.plumbline(&["results", &judged, "--baseline", &own]).expect(2);
            assert!(alone.err.contains("another run of the plugin is needed"), "{kind}: {}", alone.err);
        }
        // A copy in the history does not count again.
        fs::copy(bed.path(&earlier), bed.path(&format!("{own}/b.tar.gz"))).unwrap();
        fs::copy(bed.path(&earlier), bed.path(&format!("{own}/c.tar.gz"))).unwrap();
        let done = bed.plumbline(&["history", &own, "-o", "json"]).expect(0);
        let json: Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!(json["runs"].as_array().unwrap().len(), 2, "{kind}");
    }
}

#[test]
fn a_run_adds_its_archive_and_removes_the_oldest_that_are_not_pinned() {
    let bed = Bed::new();
    bed.plugin(
        "good",
        "result-format: raw",
        "echo > \"$SONOBUOY_RESULTS_DIR/x\"; printf %s \"$SONOBUOY_RESULTS_DIR\" > \"$SONOBUOY_RESULTS_DIR/done\"",
    );
    six(&bed);
    bed.write("runs/202611100300_plumbline_10.tar.gz.keep", "");
    for day in [10, 11, 15] {
        bed.write(&format!("runs/202611{day}0300_plumbline_{day}.tar.gz.sigstore.json"), "{}");
    }
    bed.write("other/plugins/a.txt", "a");
    pack(&bed.path("other"), &bed.path("runs/backup.tar.gz"));
    let run = |more: &[&str]| {
        let args = [&["run", "--local", "-p", "good.yaml", "--history", "runs"], more].concat();
        bed.plumbline(&args).expect(0)
    };
    let names = || {
        let mut names: Vec<String> = fs::read_dir(bed.path("runs"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name.ends_with(".tar.gz"));
        names.sort();
        names
    };
    run(&[]);
    assert_eq!(names().len(), 8, "without limits, nothing is removed: {:?}", names());
    let done = run(&["--keep-runs", "3"]);
    assert!(done.err.contains("removed runs/202611110300_plumbline_11.tar.gz ("), "{}", done.err);
    let left = names();
    // The pinned archive, that of another program, the newest of before, and those of both runs.
    assert_eq!(left.len(), 5, "{left:?}");
    assert_eq!(
        (left[0].as_str(), left[1].as_str()),
        ("202611100300_plumbline_10.tar.gz", "202611150300_plumbline_15.tar.gz")
    );
    assert_eq!(left[4], "backup.tar.gz");
    // The attestations of an archive go with it.
    let attested = |day: u32| bed.path(&format!("runs/202611{day}0300_plumbline_{day}.tar.gz.sigstore.json")).exists();
    assert_eq!((attested(10), attested(11), attested(15)), (true, false, true));
    bed.plumbline(&["run", "-p", "good.yaml", "--history", "runs"]).expect(2);
    // A history can be in a bucket, but archives are not collected there.
    let away = bed.plumbline(&["run", "--local", "-p", "good.yaml", "--history", "s3://audits", "--keep-runs", "3"]);
    assert!(away.code == 2 && away.err.contains("it is a URL"), "{} {}", away.code, away.err);
    assert!(!bed.path("s3:").exists());
}
