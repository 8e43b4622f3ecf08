//! `plumbline-dev plugin`: what it delivers to a worker, and that runs give it the verdict that its
//! options ask for.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use crate::bed::{Bed, Done, dev_program, wait_for};

/// Writes the definition of a plugin that runs it.
fn plugin(bed: &Bed, name: &str, format: &str, args: &str) {
    let program = dev_program().display().to_string();
    let yaml = format!(
        "sonobuoy-config: {{driver: Process, plugin-name: {name}, result-format: {format}}}\n\
         spec: {{name: plugin, command: ['{program}', plugin], args: [{args}]}}\n"
    );
    bed.write(&format!("{name}.yaml"), &yaml);
}

#[test]
fn a_run_has_the_outcome_that_the_plugin_is_configured_for() {
    let bed = Bed::new();
    for format in ["junit", "gojson", "manual"] {
        plugin(&bed, &format!("good-{format}"), format, &format!("--format={format}, --items=2"));
        plugin(
            &bed,
            &format!("bad-{format}"),
            format,
            &format!("--format={format}, --items=2, --outcome=fail, --archive"),
        );
    }
    bed.run(&["good-junit", "good-gojson", "good-manual"], &[]).expect(0);
    for format in ["junit", "gojson", "manual"] {
        let bed = &bed;
        let _ = fs::remove_dir_all(bed.path("out"));
        let name = format!("bad-{format}");
        bed.run(&[&name], &[]).expect(1);
        let tree = bed.tree(&name).to_string();
        assert!(tree.contains("item-0000001") && tree.contains("item-0000002"), "{tree}");
        assert_eq!(tree.matches(r#""name":"item-"#).count(), 2, "{tree}");
    }
}

#[test]
fn a_large_file_goes_along_in_a_directory_and_in_an_archive() {
    let bed = Bed::new();
    plugin(&bed, "directory", "raw", "--format=raw, --bytes=1MiB");
    plugin(&bed, "archive", "raw", "--format=raw, --bytes=1MiB, --archive");
    bed.run(&["directory", "archive"], &[]).expect(0);
    let listing = Command::new("tar").args(["-tvzf", &bed.archive()]).output().unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    for name in ["directory", "archive"] {
        let member = |line: &&str| line.contains(&format!("/{name}/")) && line.ends_with("/extra.bin");
        let line = listing.lines().find(member).unwrap_or_else(|| panic!("{name}: {listing}"));
        assert!(line.contains(" 1048576 "), "{line}");
    }
}

#[test]
fn without_results_there_is_no_done_file() {
    let bed = Bed::new();
    let dir = bed.path("results");
    let dir = dir.to_str().unwrap();
    let run = |args: &[&str], code: i32| {
        let all: Vec<&str> = ["plugin", "--results-dir", dir].into_iter().chain(args.iter().copied()).collect();
        Done::of(bed.dev(&all)).expect(code);
    };
    run(&["--outcome", "none"], 0);
    run(&["--outcome", "none", "--exit", "9"], 9);
    run(&["--outcome", "crash"], 1);
    run(&["--outcome", "crash", "--exit", "7"], 7);
    run(&["--no-done"], 0);
    assert!(!bed.path("results/done").exists());
    assert!(bed.path("results/test-plugin/report.xml").exists());
    run(&["--exit", "3"], 3);
    let sent = fs::read_to_string(bed.path("results/done")).unwrap();
    assert_eq!(sent, format!("{dir}/test-plugin/report.xml"));
}

#[test]
fn it_runs_until_it_is_terminated() {
    let bed = Bed::new();
    let dir = bed.path("results");
    let dir = dir.to_str().unwrap();
    let stays = bed.start_command("stays", bed.dev(&["plugin", "--stay", "--results-dir", dir]));
    wait_for("the done file", || bed.path("results/done").exists());
    stays.signal("TERM");
    stays.wait().expect(0);
    let hangs = bed.start_command("hangs", bed.dev(&["plugin", "--outcome", "hang", "--results-dir", dir]));
    wait_for("its word", || hangs.err().contains("hangs"));
    hangs.signal("TERM");
    hangs.wait().expect(143);
}

#[test]
fn progress_is_posted_and_a_missing_worker_is_ignored() {
    let bed = Bed::new();
    let dir = bed.path("results");
    let dir = dir.to_str().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let worker = thread::spawn(move || {
        let mut bodies = Vec::new();
        for _ in 0..2 {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut length = 0;
            let mut line = String::new();
            while stream.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            bodies.push(String::from_utf8(body).unwrap());
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
        bodies
    });
    let args = ["plugin", "--progress", "2", "--items", "4", "--outcome", "fail", "--results-dir", dir];
    Done::of(bed.dev(&[&args[..], &["--progress-port", &port]].concat())).expect(0);
    let bodies: Vec<serde_json::Value> =
        worker.join().unwrap().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert_eq!((&bodies[0]["total"], &bodies[0]["completed"]), (&4.into(), &2.into()));
    assert_eq!((&bodies[1]["completed"], &bodies[1]["failures"][0]), (&3.into(), &"item-0000004".into()));
    // The listener was closed when its thread ended.
    let done = Done::of(bed.dev(&[&args[..], &["--progress-port", &port]].concat())).expect(0);
    assert!(done.err.contains("failed to post progress"), "{}", done.err);
}
