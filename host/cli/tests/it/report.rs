//! `report`: from the environment to the status of the Job.

use std::path::PathBuf;
use std::process::Command;

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};

struct Job {
    bed: Bed,
    double: ApiDouble,
}

impl Job {
    async fn new() -> Self {
        let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
        bed.write("kubeconfig", &double.kubeconfig());
        double.put("jobs", json!({"metadata": {"name": "j"}}));
        double.put(
            "pods",
            json!({"metadata": {"name": "p"}, "spec": {"restartPolicy": "Never", "containers": [{"name": "a"}],
                "terminationGracePeriodSeconds": 1}, "status": {"phase": "Running"}}),
        );
        Self { bed, double }
    }

    fn results_path(&self) -> PathBuf {
        self.bed.path("results/adapter-result.json")
    }

    fn command(&self, variables: &[(&str, &str)]) -> Command {
        let kubeconfig = self.bed.path("kubeconfig");
        let mut command = self.bed.command(&["report", "--kubeconfig", kubeconfig.to_str().unwrap()]);
        command.env("JOB_NAME", "j").env("JOB_NAMESPACE", "default").env("POD_NAME", "p");
        command.env("RESULTS_PATH", self.results_path()).envs(variables.iter().copied());
        command
    }

    /// Runs the binary. The call blocks this thread, and the double answers on others.
    fn report(&self, variables: &[(&str, &str)]) -> Done {
        let command = self.command(variables);
        let output = tokio::task::block_in_place(|| {
            assert_cmd::Command::from_std(command).timeout(crate::bed::DEADLINE).output().unwrap()
        });
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    fn condition(&self, kind: &str) -> Value {
        let job = self.double.get("jobs", "default", "j").unwrap();
        let all = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_the_test_plugin_are_reported_and_a_failure_exits_with_0() {
    let job = Job::new().await;
    std::fs::create_dir(job.bed.path("results")).unwrap();
    for (what, status, reason) in [
        ("success", "True", "ConfiguredToSucceed"),
        ("failure", "False", "ConfiguredToFail"),
        ("invalid", "False", "InvalidResultFormat"),
    ] {
        let path = job.results_path();
        Done::of(job.bed.dev(&["plugin", "--adapter-result", what, "--results-path", path.to_str().unwrap()]))
            .expect(0);
        let done = job.report(&[("CONDITION_TYPE", what), ("RESULT_SETTLE_SECONDS", "1")]).expect(0);
        assert_eq!(done.out, "");
        assert!(done.err.contains(reason), "the log tells it: {}", done.err);
        let condition = job.condition(what);
        assert_eq!((&condition["status"], &condition["reason"]), (&json!(status), &json!(reason)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_format_is_read_by_its_module() {
    let job = Job::new().await;
    job.bed.write(
        "results/adapter-result.json",
        "<testsuites><testsuite name='s'><testcase name='a'/><testcase name='b'><failure message='f'/></testcase></testsuite></testsuites>",
    );
    job.report(&[("RESULT_FORMAT", "junit"), ("RESULT_SETTLE_SECONDS", "1")]).expect(0);
    let condition = job.condition("Available");
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("ChecksFailed")));
    assert!(condition["message"].as_str().unwrap().starts_with("1 passed, 1 failed"), "{condition}");
    assert!(job.report(&[("RESULT_FORMAT", "jnuit")]).expect(2).err.contains("RESULT_FORMAT"));
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_what_is_wrong() {
    let job = Job::new().await;
    let missing = job.report(&[("JOB_NAME", " ")]).expect(2);
    assert!(missing.err.contains("JOB_NAME: required"), "{}", missing.err);
    job.bed.write("results/adapter-result.json", r#"{"status":"success"}"#);
    let gone = job.report(&[("JOB_NAME", "other"), ("LOG_LEVEL", "error")]).expect(4);
    assert!(gone.err.contains("read job `other` in namespace `default`"), "{}", gone.err);
    let quiet = job.report(&[("LOG_LEVEL", "error")]).expect(0);
    assert_eq!(quiet.err, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_reporter_writes_before_it_exits() {
    let job = Job::new().await;
    let mut child = job.command(&[]).stderr(std::process::Stdio::null()).spawn().unwrap();
    job.double.requested(|all| all.iter().any(|one| one.query.contains("watch="))).await;
    crate::bed::signal("TERM", &child.id().to_string());
    let status = tokio::task::block_in_place(|| child.wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(job.condition("Available")["reason"], "ReporterTerminated");
}
