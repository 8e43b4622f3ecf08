//! Signs of life: a hello at the start, heartbeats after it (docs/protocol.md, «Hello and heartbeat»).
//!
//! They never decide anything for the worker. They make an aggregator that cannot be reached show in the worker's log within seconds,
//! with the reason, and a worker that is gone show in the aggregator's status within a minute.

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use plumbline_core::ResultKey;
use plumbline_phonehome::{Answer, Client, ClientError, Heartbeat, HeartbeatAnswer, Hello, Phase};
use tokio::sync::watch;

use crate::error::chain;
use crate::jitter::jittered;

/// The times of signs of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// The pause after the first hello that was not heard; it doubles each time. Default 1 s.
    pub first_retry: Duration,
    /// The longest pause between hellos. Default 30 s.
    pub longest_retry: Duration,
    /// Between heartbeats, give or take a fifth. Default 30 s: 5,000 workers then send 170 messages a second.
    pub heartbeat: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            first_retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(30),
            heartbeat: Duration::from_secs(30),
        }
    }
}

/// What is known about the aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// It has not answered yet.
    Unknown,
    /// It took the hello: it speaks this protocol with its extensions.
    Ours,
    /// It answered, and does not know hellos: a Sonobuoy.
    Plain,
}

/// What the worker is doing, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) phase: Phase,
    pub(crate) since: Timestamp,
}

impl Doing {
    pub(crate) fn from_now(phase: Phase) -> Self {
        Self { phase, since: Timestamp::now() }
    }
}

/// Sends signs of life until the result is home, or the aggregator turns out not to know them.
pub(crate) struct SignsOfLife {
    pub(crate) client: Client,
    pub(crate) key: ResultKey,
    pub(crate) hello: Hello,
    pub(crate) rhythm: Rhythm,
    pub(crate) doing: watch::Receiver<Doing>,
    pub(crate) peer: watch::Sender<Peer>,
    /// Set once the aggregator wants what the plugin has so far.
    pub(crate) partial: watch::Sender<bool>,
    /// Set once the aggregator says that the plugin has ended.
    pub(crate) ended: watch::Sender<bool>,
}

/// What an answer means for what is sent next.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// All is well.
    Yes,
    /// The aggregator does not know this kind of message.
    NotKnown,
    /// The aggregator does not want anything of this key.
    Refused(String),
    /// Try again later.
    No { why: String, hint: Option<&'static str> },
}

fn heard(answer: Result<Answer, ClientError>) -> Heard {
    match answer {
        Ok(answer) if answer.status.is_success() => Heard::Yes,
        Ok(answer) => match answer.status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Heard::NotKnown,
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Heard::No { why: told(&answer), hint: None }
            }
            _ => Heard::Refused(told(&answer)),
        },
        Err(error) => Heard::No { why: chain(&error), hint: error.hint() },
    }
}

fn told(answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let reason: String = body.trim().chars().take(500).collect();
    if reason.is_empty() {
        format!("the aggregator answered {}", answer.status)
    } else {
        format!("the aggregator answered {}: {reason}", answer.status)
    }
}

impl SignsOfLife {
    pub(crate) async fn send(mut self) {
        if self.say_hello().await {
            self.beat().await;
        }
    }

    /// Until it is heard. Whether heartbeats make sense.
    async fn say_hello(&self) -> bool {
        let mut pause = self.rhythm.first_retry;
        let mut trouble = Trouble::default();
        loop {
            match heard(self.client.hello(&self.key, &self.hello).await) {
                Heard::Yes => {
                    self.peer.send_replace(Peer::Ours);
                    tracing::info!(key = %self.key, "the aggregator knows that this worker is here");
                    return true;
                }
                Heard::NotKnown => {
                    self.peer.send_replace(Peer::Plain);
                    tracing::info!(key = %self.key, "the aggregator can be reached, and does not know signs of life: none are sent");
                    return false;
                }
                Heard::Refused(why) => {
                    tracing::error!(key = %self.key, %why, "the aggregator does not want this worker");
                    self.peer.send_replace(Peer::Ours);
                    return false;
                }
                Heard::No { why, hint } => trouble.tell(why, hint),
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = pause.saturating_mul(2).min(self.rhythm.longest_retry);
        }
    }

    /// At each change of phase, and in between.
    async fn beat(&mut self) {
        let mut trouble = Trouble::default();
        loop {
            let changed = tokio::time::timeout(jittered(self.rhythm.heartbeat), self.doing.changed()).await;
            if matches!(changed, Ok(Err(_))) {
                return;
            }
            let doing = *self.doing.borrow_and_update();
            let heartbeat = Heartbeat { phase: doing.phase, since: doing.since };
            let answer = self.client.heartbeat(&self.key, &heartbeat).await;
            let wanted = answer.as_ref().map(|answer| HeartbeatAnswer::read(&answer.body)).unwrap_or_default();
            if wanted.send_partial {
                self.partial.send_replace(true);
            }
            if wanted.plugin_ended {
                self.ended.send_replace(true);
            }
            let heard = heard(answer);
            match heard {
                Heard::Yes => trouble.over(),
                Heard::No { why, hint } if doing.phase != Phase::Done => trouble.tell(why, hint),
                Heard::No { .. } => {}
                Heard::NotKnown => return,
                Heard::Refused(why) => {
                    tracing::warn!(key = %self.key, %why, "the aggregator does not want heartbeats");
                    return;
                }
            }
            if doing.phase == Phase::Done {
                return;
            }
        }
    }
}

/// Says each trouble once, not every time.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn tell(&mut self, why: String, hint: Option<&'static str>) {
        if self.0.as_ref() == Some(&why) {
            tracing::debug!(cause = %why, "still cannot reach the aggregator; trying again");
        } else {
            tracing::warn!(cause = %why, hint, "cannot reach the aggregator; trying again");
            self.0 = Some(why);
        }
    }

    fn over(&mut self) {
        if self.0.take().is_some() {
            tracing::info!("the aggregator can be reached again");
        }
    }
}
