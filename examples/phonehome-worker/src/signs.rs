//! Hello, heartbeats and progress (docs/protocol.md, "Hello and heartbeat" and "Progress").
//!
//! They are information for the people who watch the run. If one of them fails, the worker prints
//! the error and continues.

use std::path::Path;
use std::time::Duration;

use plumbline_phonehome::{Answer, Client, ClientError, Heartbeat, Hello, Phase, ResultKey, StatusCode, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Interval between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The first and the longest pause before a failed hello is sent again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How long the last heartbeat may take after the result is delivered.
const GOODBYE: Duration = Duration::from_secs(5);

/// Reports the state of this worker to the aggregator, in the background until the value is
/// dropped.
pub(crate) struct Signs {
    client: Client,
    key: ResultKey,
    doing: watch::Sender<Heartbeat>,
    task: JoinSet<()>,
}

impl Signs {
    /// Starts to send the hello, followed by heartbeats.
    pub(crate) fn begin(client: Client, key: ResultKey, path: &Path) -> Self {
        let hello = Hello {
            version: concat!("phonehome-worker ", env!("CARGO_PKG_VERSION")).to_owned(),
            pid: Some(std::process::id()),
            started: Timestamp::now(),
            results_dir: path.to_string_lossy().into_owned(),
        };
        let (doing, seen) = watch::channel(since_now(Phase::Waiting));
        let mut task = JoinSet::new();
        task.spawn(send(client.clone(), key.clone(), hello, seen));
        Self { client, key, doing, task }
    }

    /// Reports a new phase of the worker from now on.
    pub(crate) fn now(&self, phase: Phase) {
        self.doing.send_replace(since_now(phase));
    }

    /// Sends the last heartbeat, after the result is delivered.
    pub(crate) async fn end(self) {
        let Self { doing, mut task, .. } = self;
        doing.send_replace(since_now(Phase::Done));
        drop(doing);
        // Ignore errors: the result has already been delivered.
        let _ = timeout(GOODBYE, task.join_next()).await;
    }

    /// Reports progress. A plugin that counts its work also sends `total` and `completed`.
    pub(crate) async fn progress(&self, message: &'static str) {
        let body = format!(r#"{{"msg":"{message}"}}"#);
        match self.client.post_progress(&self.key, body.into()).await {
            Ok(answer) if answer.status.is_success() => {}
            Ok(answer) => eprintln!("progress was answered with {}", answer.status),
            Err(error) => eprintln!("failed to {error}"),
        }
    }
}

fn since_now(phase: Phase) -> Heartbeat {
    Heartbeat { phase, since: Timestamp::now() }
}

async fn send(client: Client, key: ResultKey, hello: Hello, mut doing: watch::Receiver<Heartbeat>) {
    let (mut pause, longest) = PAUSES;
    while !heard(client.hello(&key, &hello).await) {
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
    // Send a heartbeat at every change and at every interval.
    while !matches!(timeout(HEARTBEAT, doing.changed()).await, Ok(Err(_))) {
        let heartbeat = doing.borrow_and_update().clone();
        heard(client.heartbeat(&key, &heartbeat).await);
    }
}

/// Returns whether to stop retrying: the request succeeded or was rejected. Other aggregators may
/// not know it.
fn heard(answer: Result<Answer, ClientError>) -> bool {
    match answer {
        Ok(answer) => !answer.status.is_server_error() && answer.status != StatusCode::TOO_MANY_REQUESTS,
        Err(error) => {
            eprintln!("failed to {error}");
            false
        }
    }
}
