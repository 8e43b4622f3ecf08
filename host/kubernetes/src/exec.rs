//! Executes one command in a container through the API server.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use plumbline_core::text::indented;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf, ReadHalf, SimplexStream};
use tokio::time::{Instant, Sleep};

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// Timeout until the command starts. The API server forwards the request to the node, which may be
/// slow.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Buffer size for standard output in bytes. While the buffer is full, nothing more is read from
/// the connection.
const STDOUT_BYTES: usize = 256 << 10;

/// Maximum size of standard error to keep in bytes: enough for a message with its usage text.
const STDERR_BYTES: usize = 64 << 10;

/// The container in which to run a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecTarget {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
}

/// Error while running a command: it did not start, or its exit was not observed.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct ExecError {
    /// Whether the connection was lost, or no data arrived for too long. A retry may help.
    pub(crate) dropped: bool,
    pub(crate) error: Box<ClusterError>,
}

impl ExecError {
    fn new(error: ClusterError) -> Self {
        Self { dropped: false, error: Box::new(error) }
    }

    fn dropped(error: ClusterError) -> Self {
        Self { dropped: true, error: Box::new(error) }
    }
}

/// How a command exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    /// The standard error, at most 64 KiB, without control characters other than line breaks.
    pub(crate) stderr: String,
}

type StatusFuture = Pin<Box<dyn Future<Output = Option<Status>> + Send>>;

/// A running command.
///
/// Reading returns its standard output, with back-pressure: data that is not read is not requested.
/// Standard error is collected meanwhile. If the connection is lost, or no data arrives for the
/// configured time, reading fails after all received data was read. Dropping this closes the
/// connection.
pub(crate) struct ExecStream {
    // This keeps the background task alive. Dropping it closes the connection.
    _process: AttachedProcess,
    what: String,
    stdout: ReadHalf<SimplexStream>,
    stderr: Option<ReadHalf<SimplexStream>>,
    captured_stderr: Vec<u8>,
    status: StatusFuture,
    /// `Some(None)` means that the connection ended without reporting the command's exit.
    ended: Option<Option<Status>>,
    patience: Duration,
    stall: Pin<Box<Sleep>>,
}

impl ExecStream {
    /// Starts `command`. `patience` is how long no data may arrive before the connection counts as
    /// lost.
    pub(crate) async fn start(
        cluster: &Cluster,
        target: &ExecTarget,
        command: &[String],
        patience: Duration,
    ) -> Result<Self, ExecError> {
        let ExecTarget { namespace, pod, container } = target;
        let words: Vec<_> = command.iter().take(2).map(String::as_str).collect();
        let what = format!("execute `{}` in pod `{pod}` in namespace `{namespace}`", words.join(" "));
        let pods: Api<Pod> = Api::namespaced(cluster.client(), namespace);
        let params = AttachParams::default()
            .container(container)
            .stdin(false)
            .stdout(true)
            .stderr(true)
            .max_stdout_buf_size(STDOUT_BYTES);
        let started = tokio::time::timeout(START_TIMEOUT, pods.exec(pod, command.iter().cloned(), &params)).await;
        let mut process = match started {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => return Err(refused(&what, target, &error)),
            Err(_) => {
                let cause = format!("the API server did not start it within {} s", START_TIMEOUT.as_secs());
                return Err(ExecError::dropped(ClusterError::new(what, cause)));
            }
        };
        let (Some(stdout), Some(status)) = (process.stdout(), process.take_status()) else {
            let error = ClusterError::new(what, "the client returned no standard output");
            return Err(ExecError::new(error));
        };
        Ok(Self {
            stderr: process.stderr(),
            _process: process,
            what,
            stdout,
            captured_stderr: Vec::new(),
            status: Box::pin(status),
            ended: None,
            patience,
            stall: Box::pin(tokio::time::sleep(patience)),
        })
    }

    /// Reads the rest of standard output, at most `limit` bytes, and waits for the command to exit.
    pub(crate) async fn collect(mut self, limit: usize) -> Result<(Exit, Vec<u8>), ExecError> {
        let mut out = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = (&mut self).take(most).read_to_end(&mut out).await;
        read.map_err(|error| self.lost(&error))?;
        if out.len() > limit {
            let error = ClusterError::new(&self.what, format!("it printed more than {limit} bytes"));
            return Err(ExecError::new(error));
        }
        Ok((self.finish().await?, out))
    }

    /// Waits for the command to exit, and discards the rest of standard output.
    pub(crate) async fn finish(mut self) -> Result<Exit, ExecError> {
        let rest = tokio::io::copy(&mut self, &mut tokio::io::sink()).await;
        rest.map_err(|error| self.lost(&error))?;
        if self.ended.is_none() {
            let status = tokio::time::timeout(self.patience, &mut self.status).await;
            self.ended = Some(status.unwrap_or_default());
        }
        let Some(Some(status)) = self.ended.take() else {
            return Err(self.lost(&io::Error::from(io::ErrorKind::ConnectionReset)));
        };
        // All data has arrived by now.
        futures_util::future::poll_fn(|cx| {
            self.drain_stderr(cx);
            Poll::Ready(())
        })
        .await;
        match exit_code(&status) {
            Ok(code) => Ok(Exit { code, stderr: indented(&String::from_utf8_lossy(&self.captured_stderr), "") }),
            Err(cause) => {
                let error = ClusterError::new(&self.what, cause).hint(
                    "check that the pod runs the aggregator's image, and that `--retrieve-path` is its directory",
                );
                Err(ExecError::new(error))
            }
        }
    }

    /// Converts an I/O error of a read.
    pub(crate) fn lost(&self, error: &io::Error) -> ExecError {
        let cause = match error.kind() {
            io::ErrorKind::TimedOut => format!("no data for {} s", self.patience.as_secs()),
            _ => "the connection was lost".to_owned(),
        };
        ExecError::dropped(ClusterError::new(&self.what, cause))
    }

    /// Reads the available standard error. Unread, it would also block standard output, which uses
    /// the same connection.
    fn drain_stderr(&mut self, cx: &mut Context<'_>) {
        let Some(stderr) = &mut self.stderr else { return };
        let mut chunk = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut chunk);
            match Pin::new(&mut *stderr).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let room = STDERR_BYTES.saturating_sub(self.captured_stderr.len()).min(buffer.filled().len());
                    self.captured_stderr.extend_from_slice(buffer.filled().get(..room).unwrap_or_default());
                }
                Poll::Ready(_) => {
                    self.stderr = None;
                    return;
                }
                Poll::Pending => return,
            }
        }
    }
}

impl AsyncRead for ExecStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.drain_stderr(cx);
        // The end of the connection is checked before standard output, so that all data received
        // until then is read first.
        if this.ended.is_none()
            && let Poll::Ready(status) = this.status.as_mut().poll(cx)
        {
            this.ended = Some(status);
        }
        if let Poll::Ready(result) = Pin::new(&mut this.stdout).poll_read(cx, out) {
            this.stall.as_mut().reset(Instant::now() + this.patience);
            return Poll::Ready(result);
        }
        // The client closes its side of the pipe only after a regular end. After a lost connection
        // the pipe stays open forever.
        if matches!(this.ended, Some(None)) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        this.stall.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Returns the exit code from the final status, or the reason why the command never ran.
fn exit_code(status: &Status) -> Result<i32, String> {
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    let causes = status.details.as_ref().and_then(|details| details.causes.as_deref()).unwrap_or_default();
    let code = causes.iter().find(|cause| cause.reason.as_deref() == Some("ExitCode"));
    match code.and_then(|cause| cause.message.as_deref()).and_then(|text| text.parse().ok()) {
        Some(code) => Ok(code),
        None => Err(status
            .message
            .clone()
            .unwrap_or_else(|| "the node returned neither an exit code nor a reason".to_owned())),
    }
}

/// Messages of nodes about containers in which nothing can be executed.
const NOT_RUNNING: [&str; 5] =
    ["container not found", "completed pod", "not running", "does not have a host assigned", "is not valid for pod"];

fn refused(what: &str, target: &ExecTarget, error: &kube::Error) -> ExecError {
    let failure = ClusterError::api(what, error);
    let ExecTarget { namespace, pod, container } = target;
    let not_running = NOT_RUNNING.iter().any(|known| failure.cause.contains(known));
    let hint = match failure.code {
        Some(404) if !not_running => {
            format!("pod `{pod}` in namespace `{namespace}` is gone, and its files with it")
        }
        Some(403) => format!(
            "this account needs the permission `create` (and on older clusters `get`) on `pods/exec` in namespace `{namespace}`"
        ),
        Some(code) if not_running && code != 401 => {
            format!("container `{container}` of pod `{pod}` does not run: commands can only be executed while it does")
        }
        None | Some(429 | 500..) => return ExecError::dropped(failure),
        Some(_) => return ExecError::new(failure),
    };
    ExecError::new(failure.hint(hint))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(json: serde_json::Value) -> Status {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn exit_codes_are_read_from_the_status() {
        assert_eq!(exit_code(&status(json!({"status": "Success"}))), Ok(0));
        let failed = status(json!({"status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated",
            "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}}));
        assert_eq!(exit_code(&failed), Ok(3));
        let absent = status(json!({"status": "Failure", "reason": "InternalError", "message": "no such file"}));
        assert_eq!(exit_code(&absent), Err("no such file".into()));
        assert!(exit_code(&status(json!({}))).is_err());
    }

    #[test]
    fn faults_are_distinguished() {
        let target = ExecTarget { namespace: "ns".into(), pod: "p".into(), container: "c".into() };
        for (code, message, dropped, hint) in [
            (404, "pods \"p\" not found", false, "is gone"),
            (403, "cannot create resource \"pods/exec\"", false, "permission `create`"),
            (500, "unable to upgrade connection: container not found (\"c\")", false, "does not run"),
            (400, "cannot exec into a container in a completed pod; current phase is Failed", false, "does not run"),
            (500, "error dialing backend: EOF", true, ""),
            (429, "too many requests", true, ""),
            (400, "bad", false, ""),
        ] {
            let status = kube::core::Status { code, message: message.into(), ..kube::core::Status::default() };
            let error = refused("execute it", &target, &kube::Error::Api(Box::new(status)));
            assert_eq!(error.dropped, dropped, "{message}");
            let found = error.error.hint.unwrap_or_default();
            assert!(found.contains(hint) && found.is_empty() == hint.is_empty(), "{found}");
        }
    }
}
