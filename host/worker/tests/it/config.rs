//! Valid configurations of a worker, and the errors of invalid ones.

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_core::definition::{LogFormat, LogPatterns};
use plumbline_phonehome::{CLOCK_SKEW, RetryPolicy, RunCa, RunId, Timestamp, VALIDITY_MARGIN};
use plumbline_worker::{ConfigError, Mode, WorkerConfig};

const CERT: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----\n";
const NODE: Mode = Mode::SingleNode { sleep: -1 };

type Env = BTreeMap<&'static str, String>;

fn complete() -> Env {
    [
        ("AGGREGATOR_URL", "https://10.0.0.1:8080"),
        ("RESULT_TYPE", "systemd-logs"),
        ("NODE_NAME", "worker-1.example"),
        ("CA_CERT", CERT),
        ("CLIENT_CERT", CERT),
        ("CLIENT_KEY", KEY),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}

fn load(mode: Mode, file: Option<&Path>, env: &Env) -> Result<WorkerConfig, ConfigError> {
    WorkerConfig::from_sources(mode, file, &|name| env.get(name).cloned().ok_or(VarError::NotPresent))
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("worker.json");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn without(mut env: Env, names: &[&str]) -> Env {
    env.retain(|name, _| !names.contains(name));
    env
}

fn with(mut env: Env, name: &'static str, value: &str) -> Env {
    env.insert(name, value.to_owned());
    env
}

#[test]
fn a_log_to_count_in_is_taken_and_never_fatal() {
    let of = |text: &str| load(NODE, None, &with(complete(), "PLUMBLINE_PROGRESS", text)).unwrap().log_progress;
    let progress = of(r#"{"file": "e2e.log", "completed": "^ok"}"#).unwrap();
    let patterns = LogPatterns { total: None, completed: "^ok".to_owned(), failed: None };
    assert_eq!((progress.file.as_str(), progress.format), ("e2e.log", LogFormat::Patterns(patterns)));
    assert_eq!(of(r#"{"file": "e2e.log", "format": "ginkgo"}"#).unwrap().format, LogFormat::Ginkgo);
    for useless in [
        "",
        "{",
        "[]",
        r#"{"file": "e2e.log"}"#,
        r#"{"file": "e2e.log", "format": "other"}"#,
        r#"{"file": "../secret", "completed": "x"}"#,
    ] {
        assert_eq!(of(useless), None, "{useless}");
    }
}

#[test]
fn the_environment_is_enough() {
    let config = load(NODE, None, &complete()).unwrap();
    assert_eq!(config.client.aggregator_url, "https://10.0.0.1:8080");
    assert_eq!(config.key().to_string(), "systemd-logs/worker-1.example");
    assert_eq!(config.results_dir, Path::new("/tmp/sonobuoy/results"));
    assert_eq!(config.progress_port, 8099);
    assert_eq!(config.done_file_delay, Duration::from_secs(5));
    assert!(config.progress_bind.iter().all(|address| address.is_loopback()));
}

#[test]
fn a_global_worker_needs_no_node() {
    let config = load(Mode::Global { sleep: 0 }, None, &without(complete(), &["NODE_NAME"])).unwrap();
    assert_eq!(config.key().to_string(), "systemd-logs/global");
    // It also ignores a node name, because both kinds of workers get the same variables.
    let config = load(Mode::Global { sleep: 0 }, None, &with(complete(), "NODE_NAME", "Not A Node")).unwrap();
    assert_eq!(config.key().to_string(), "systemd-logs/global");
}

#[test]
fn both_names_of_the_results_directory_are_read() {
    let short = with(complete(), "RESULTS_DIR", "/tmp/results");
    assert_eq!(load(NODE, None, &short).unwrap().results_dir, Path::new("/tmp/results"));
    let both = with(short, "SONOBUOY_RESULTS_DIR", "/a");
    assert_eq!(load(NODE, None, &both).unwrap().results_dir, Path::new("/a"));
    let empty = with(both, "SONOBUOY_RESULTS_DIR", "");
    assert_eq!(load(NODE, None, &empty).unwrap().results_dir, Path::new("/tmp/results"));
}

#[test]
fn a_file_fills_in_what_the_environment_does_not_say() {
    let (_dir, path) = file(
        &serde_json::json!({
            "aggregatorurl": "https://from-file:1", "NodeName": "node-of-file", "resultsdir": "/from/file",
            "RESULTTYPE": "e2e", "progressport": "9000", "cacert": CERT, "clientcert": CERT, "clientkey": KEY,
            "unknown": [1, 2], "cacertfile": null
        })
        .to_string(),
    );
    let config = load(NODE, Some(&path), &Env::new()).unwrap();
    assert_eq!(config.client.aggregator_url, "https://from-file:1");
    assert_eq!(config.key().to_string(), "e2e/node-of-file");
    assert_eq!(config.results_dir, Path::new("/from/file"));
    assert_eq!(config.progress_port, 9000);

    let env = BTreeMap::from([("NODE_NAME", "mine".to_owned()), ("SONOBUOY_PROGRESS_PORT", "0".to_owned())]);
    let config = load(NODE, Some(&path), &env).unwrap();
    assert_eq!((config.key().to_string().as_str(), config.progress_port), ("e2e/mine", 0));
}

#[test]
fn a_port_in_a_file_may_be_a_number() {
    let (_dir, path) = file(r#"{"progressport": 9001}"#);
    assert_eq!(load(NODE, Some(&path), &complete()).unwrap().progress_port, 9001);
}

#[test]
fn all_missing_settings_are_reported_at_once() {
    let error = load(NODE, None, &Env::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid configuration of the worker: \
         `AGGREGATOR_URL` (in the file: `aggregatorurl`) is not set; \
         `RESULT_TYPE` (in the file: `resulttype`) is not set; \
         `NODE_NAME` (in the file: `nodename`) is not set; \
         `CA_CERT` (in the file: `cacert`) is not set; \
         `CLIENT_CERT` (in the file: `clientcert`) is not set; \
         `CLIENT_KEY` (in the file: `clientkey`) is not set"
    );
    assert!(error.hint().unwrap().contains("--config"));
}

#[test]
fn the_old_name_of_the_address_is_not_read_but_hinted_at() {
    let env = with(without(complete(), &["AGGREGATOR_URL"]), "MASTER_URL", "https://10.0.0.1:8080");
    let error = load(NODE, None, &env).unwrap_err();
    assert_eq!(error.hint(), Some("set `AGGREGATOR_URL`: `MASTER_URL` is no longer read"));
    // There is no hint if the new name is set as well.
    assert!(load(NODE, None, &with(complete(), "MASTER_URL", "x")).is_ok());
}

#[test]
fn invalid_values_are_reported_with_their_source() {
    let env = with(complete(), "AGGREGATOR_URL", "http://10.0.0.1:8080");
    let env = with(env, "RESULT_TYPE", "Not/AName");
    let env = with(env, "NODE_NAME", "../..");
    let env = with(env, "CA_CERT", "/etc/ca.crt");
    let env = with(env, "CLIENT_KEY", CERT);
    let env = with(env, "SONOBUOY_PROGRESS_PORT", "99999");
    let env = with(env, "SONOBUOY_DONE_FILE_DELAY", "5 minutes");
    let error = load(NODE, None, &env).unwrap_err().to_string();
    for part in [
        "`AGGREGATOR_URL`: `http://10.0.0.1:8080` has the scheme `http`, but aggregators accept only https: write it as `https://HOST:PORT`",
        "`RESULT_TYPE`: plugin name `Not/AName` is not valid",
        "`NODE_NAME`: node name `../..` is not valid",
        "`CA_CERT`: is not a PEM text with a block `CERTIFICATE`",
        "`CLIENT_KEY`: is not a PEM text with a block `EC PRIVATE KEY` or `PRIVATE KEY`",
        "`SONOBUOY_PROGRESS_PORT`: `99999` is not a port",
        "`SONOBUOY_DONE_FILE_DELAY`: invalid duration `5 minutes`",
    ] {
        assert!(error.contains(part), "{part}\n{error}");
    }
    for address in ["10.0.0.1:8080", "/path", "", "https://", "ftp://x"] {
        assert!(load(NODE, None, &with(complete(), "AGGREGATOR_URL", address)).is_err(), "{address}");
    }
    assert!(load(NODE, None, &with(complete(), "SONOBUOY_DONE_FILE_DELAY", "25h")).is_err());
}

#[test]
fn a_delay_below_zero_is_none() {
    let config = load(NODE, None, &with(complete(), "SONOBUOY_DONE_FILE_DELAY", "-5s")).unwrap();
    assert_eq!(config.done_file_delay, Duration::ZERO);
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let error = load(NODE, Some(Path::new("/no/such/file")), &complete()).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
    for text in ["", "{", "[]", "\"x\""] {
        let (_dir, path) = file(text);
        let error = load(NODE, Some(&path), &complete()).unwrap_err();
        assert!(matches!(error, ConfigError::NotAnObject { .. }), "{error}");
    }
    let (_dir, path) = file(&" ".repeat((1 << 20) + 1));
    assert!(matches!(load(NODE, Some(&path), &complete()), Err(ConfigError::TooLarge { .. })));

    let (_dir, path) = file(r#"{"nodename": "a", "NODENAME": "b", "resulttype": 5}"#);
    let Err(ConfigError::Invalid { problems, .. }) = load(NODE, Some(&path), &Env::new()) else { panic!("was taken") };
    let wrong: Vec<_> = problems.iter().filter(|problem| !problem.ends_with(" is not set")).collect();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(
        wrong.iter().any(|problem| problem.starts_with("`nodename` in ") && problem.contains("twice")),
        "{wrong:?}"
    );
}

#[test]
fn the_key_is_never_printed() {
    let secret = KEY.replace("MIIB", "SECRETSECRET");
    let config = load(NODE, None, &with(complete(), "CLIENT_KEY", &secret)).unwrap();
    assert!(!format!("{config:?}").contains("SECRET"));
    let error = load(NODE, None, &with(complete(), "CLIENT_KEY", "SECRETSECRET")).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("SECRET"));
}

#[test]
fn uploads_are_retried_until_the_certificate_expires() {
    let (now, hour) = (Timestamp::now(), Duration::from_secs(3600));
    let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(Some(6 * hour)), now).unwrap();
    let certificate = ca.issue_client(&"systemd-logs".parse().unwrap()).unwrap().certificate_pem;
    let env = with(complete(), "CLIENT_CERT", &certificate);
    let policy = load(NODE, None, &env).unwrap().retry_policy(now);
    // The certificate outlives the timeout of the plugin.
    assert!(policy.deadline > 6 * hour && policy.deadline <= 6 * hour + VALIDITY_MARGIN + CLOCK_SKEW, "{policy:?}");
    assert!(policy.max <= Duration::from_secs(60), "{policy:?}");
    // The policy counts from the first attempt, after hours of the plugin.
    let upload = now.checked_add(5 * hour).unwrap();
    assert_eq!(load(NODE, None, &env).unwrap().retry_policy(upload).deadline, policy.deadline - 5 * hour);
    let later = now.checked_add(Duration::from_secs(365 * 24 * 3600)).unwrap();
    assert_eq!(load(NODE, None, &env).unwrap().retry_policy(later).deadline, RetryPolicy::default().deadline);
    // The certificate of the other tests cannot be read.
    assert_eq!(load(NODE, None, &complete()).unwrap().retry_policy(now).deadline, RetryPolicy::default().deadline);
    let short = with(env, "PLUMBLINE_UPLOAD_RETRY", "90s");
    assert_eq!(load(NODE, None, &short).unwrap().retry_policy(now).deadline, Duration::from_secs(90));
    assert!(load(NODE, None, &with(short, "PLUMBLINE_UPLOAD_RETRY", "soon")).is_err());
}
