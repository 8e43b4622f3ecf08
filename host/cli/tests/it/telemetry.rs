//! Metrics, traces and the dashboard, with the programs that read them where they are there.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::bed::{Bed, run_args, wait_for};

/// Metrics that only an aggregator in a cluster serves.
const IN_CLUSTER: [&str; 1] = ["plumbline_kubernetes_requests_total"];

fn file(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a plugin that waits until its metrics were read, with `more` arguments. Returns the metrics.
fn scraped(more: &[&str]) -> String {
    let bed = Bed::new();
    bed.plugin(
        "slow",
        "result-format: raw",
        "read _ < gate; echo x > $RESULTS_DIR/x; echo $RESULTS_DIR/x > $RESULTS_DIR/done",
    );
    let mut gate = bed.gate("gate");
    let args = run_args(&["slow"], &[&["--metrics=0"], more].concat());
    let running = bed.start("run", &args.iter().map(String::as_str).collect::<Vec<_>>());
    let url = || running.err().lines().find_map(|line| line.strip_prefix("metrics: http://")).map(str::to_owned);
    wait_for("the URL of the metrics", || url().is_some());
    let url = url().unwrap();
    let (address, path) = url.split_once('/').unwrap();
    let mut answer = String::new();
    wait_for("the launch of the plugin", || {
        answer = scrape(address, path).unwrap();
        answer.contains("plumbline_plugins{state=\"running\"} 1\n")
    });
    gate.open();
    running.wait();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    body.to_owned()
}

/// Reads `http://ADDRESS/PATH`. Returns the head and the body of the answer, or `None` if nothing
/// listens there.
pub(crate) fn scrape(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    Some(answer)
}

fn served(text: &str) -> BTreeSet<String> {
    let own = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned));
    own.chain(IN_CLUSTER.map(str::to_owned)).collect()
}

/// The names of metrics in `text`, without the suffixes of histograms.
fn mentioned(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let own = words.filter(|word| word.starts_with("plumbline_"));
    own.map(|word| {
        let plain = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| word.strip_suffix(suffix));
        plain.unwrap_or(word).to_owned()
    })
    .collect()
}

#[test]
fn metrics_are_served_documented_and_on_the_dashboard() {
    let text = scraped(&[]);
    let served = served(&text);
    let docs = mentioned(&file("docs/observability.md"));
    assert_eq!(docs, served, "docs/observability.md describes every metric, and no other");
    let dashboard: Value = serde_json::from_str(&file("deploy/grafana/plumbline.json")).unwrap();
    let mut expressions = String::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            expressions += target["expr"].as_str().unwrap();
            expressions.push('\n');
        }
    }
    let queried = mentioned(&expressions);
    assert!(queried.len() > 10, "{queried:?}");
    let unknown: Vec<&String> = queried.difference(&served).collect();
    assert!(unknown.is_empty(), "the dashboard queries metrics that are not served: {unknown:?}");
    // Nothing secret, and no names of nodes: the endpoint has no authentication.
    assert!(!text.contains("BEGIN") && !text.contains("127.0.0.1"), "{text}");
    check_with_promtool(&text);
}

/// Checks the metrics with Prometheus's own linter.
pub(crate) fn check_with_promtool(text: &str) {
    let Some(program) = std::env::var_os("PLUMBLINE_PROMTOOL").filter(|named| !named.is_empty()) else {
        eprintln!("SKIPPED: PLUMBLINE_PROMTOOL names no program; `cargo xtask test` gets it from Debian");
        return;
    };
    let mut command = Command::new(program);
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let messages = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && messages.is_empty(), "{}\n{text}", String::from_utf8_lossy(&messages));
}

#[test]
fn a_taken_port_fails_before_anything_runs_and_leaves_nothing_behind() {
    let bed = Bed::new();
    bed.plugin("never", "result-format: raw", "touch ran");
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let option = format!("--metrics={}", taken.local_addr().unwrap().port());
    let done = bed.run(&["never"], &[&option]).expect(4);
    assert!(done.err.contains("failed to serve metrics"), "{}", done.err);
    assert!(done.err.contains("choose another port with `--metrics=PORT`"), "{}", done.err);
    assert!(!bed.path("ran").exists());
    assert_eq!(crate::bed::entries(&bed.path("out")), Vec::<PathBuf>::new());
}

#[test]
fn invalid_settings_of_the_export_are_errors_as_options_and_warnings_as_variables() {
    let bed = Bed::new();
    bed.plugin("good", "result-format: raw", "echo x > $RESULTS_DIR/x; echo $RESULTS_DIR/x > $RESULTS_DIR/done");
    let done = bed.run(&["good"], &["--otlp-endpoint", "collector:4318"]).expect(2);
    assert!(done.err.contains("invalid OTLP endpoint `collector:4318` (--otlp-endpoint)"), "{}", done.err);
    let args = run_args(&["good"], &[]);
    let mut command = bed.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9").env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let done = bed.start_command("warned", command).wait();
    assert!(
        done.err.contains("failed to set up telemetry, so none is exported: unknown OTLP protocol `grpc`"),
        "{}",
        done.err
    );
    assert_eq!(done.code, bed.run(&["good"], &[]).code, "{}", done.err);
}

#[test]
fn a_plugin_gets_the_trace_context_of_the_pipeline() {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (given, passed) in [(parent, parent), ("nonsense", "nonsense")] {
        let bed = Bed::new();
        bed.plugin(
            "traced",
            "result-format: raw",
            "echo $TRACEPARENT > $RESULTS_DIR/x; echo $RESULTS_DIR/x > $RESULTS_DIR/done",
        );
        let args = run_args(&["traced"], &[]);
        let mut command = bed.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        command.env("TRACEPARENT", given);
        let done = bed.start_command("run", command).wait();
        assert_eq!(done.err.contains("invalid trace context `nonsense`"), given != parent, "{}", done.err);
        // Without an export, the variable is inherited as it is.
        assert_eq!(bed.member("plugins/traced/results/global/x").trim(), passed);
    }
}
