//! Signs of life: a hello, heartbeats after it, and progress (docs/protocol.md, "Hello and heartbeat" and "Progress").
//!
//! They are for the people who watch the run. That one of them is not heard is told, and changes nothing.

use std::path::Path;
use std::time::Duration;

use plumbline_phonehome::{Answer, Client, ClientError, Heartbeat, Hello, Phase, ResultKey, StatusCode, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Before a hello that was not heard is said again, at first and at last.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How long the last sign may take once the result is home.
const GOODBYE: Duration = Duration::from_secs(5);

/// Tells the aggregator what this worker does, in the background until the value is dropped.
pub(crate) struct Signs {
    client: Client,
    key: ResultKey,
    doing: watch::Sender<Heartbeat>,
    task: JoinSet<()>,
}

impl Signs {
    /// Says hello, and then that the worker is still there.
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

    /// The worker does something else from now on.
    pub(crate) fn now(&self, phase: Phase) {
        self.doing.send_replace(since_now(phase));
    }

    /// Says that the result is home, if the aggregator listens.
    pub(crate) async fn end(self) {
        let Self { doing, mut task, .. } = self;
        doing.send_replace(since_now(Phase::Done));
        drop(doing);
        // Whether it was heard: the result counts.
        let _ = timeout(GOODBYE, task.join_next()).await;
    }

    /// Reports progress. A plugin that counts something sends `total` and `completed` as well.
    pub(crate) async fn progress(&self, message: &'static str) {
        let body = format!(r#"{{"msg":"{message}"}}"#);
        match self.client.post_progress(&self.key, body.into()).await {
            Ok(answer) if answer.is_success() => {}
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
    // At every change, and in between.
    while !matches!(timeout(HEARTBEAT, doing.changed()).await, Ok(Err(_))) {
        let heartbeat = doing.borrow_and_update().clone();
        heard(client.heartbeat(&key, &heartbeat).await);
    }
}

/// Whether there is no use in saying it again: it was heard, or it is not wanted. An aggregator of another make does not know it.
fn heard(answer: Result<Answer, ClientError>) -> bool {
    match answer {
        Ok(answer) => !answer.status.is_server_error() && answer.status != StatusCode::TOO_MANY_REQUESTS,
        Err(error) => {
            eprintln!("failed to {error}");
            false
        }
    }
}
