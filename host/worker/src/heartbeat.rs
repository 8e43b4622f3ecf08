//! A hello at the start, and heartbeats after it (docs/protocol.md, "Hello and heartbeat").
//!
//! The worker's own behavior never depends on them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use plumbline_core::ResultKey;
use plumbline_phonehome::{Answer, Client, ClientError, Heartbeat, HeartbeatAnswer, Hello, Phase};
use tokio::sync::watch;

use crate::error::chain;

/// The intervals of hellos and heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatPolicy {
    /// The delay after the first failed hello or heartbeat, which doubles each time. The default is
    /// 1 s.
    pub first_retry: Duration,
    /// The longest delay after a failed hello or heartbeat. The default is 30 s.
    pub longest_retry: Duration,
    /// Interval between heartbeats, with a jitter of a fifth. The default is 30 s.
    pub heartbeat: Duration,
}

impl Default for HeartbeatPolicy {
    fn default() -> Self {
        Self {
            first_retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(30),
            heartbeat: Duration::from_secs(30),
        }
    }
}

impl HeartbeatPolicy {
    /// Returns the delay that follows `delay` if the next message fails too.
    fn after(&self, delay: Duration) -> Duration {
        delay.saturating_mul(2).min(self.longest_retry)
    }
}

/// What is known about the aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// It has not responded yet.
    Unknown,
    /// It accepted the hello, so it supports Plumbline's extensions of the protocol.
    Ours,
    /// It responded, but does not support hellos. It is Sonobuoy's.
    Plain,
}

/// Returns the heartbeat of a worker whose phase starts now.
pub(crate) fn from_now(phase: Phase) -> Heartbeat {
    Heartbeat { phase, since: Timestamp::now() }
}

/// Sends hellos and heartbeats until the result is stored, if the aggregator supports them.
pub(crate) struct HeartbeatSender {
    pub(crate) client: Client,
    pub(crate) key: ResultKey,
    pub(crate) hello: Hello,
    pub(crate) rhythm: HeartbeatPolicy,
    pub(crate) doing: watch::Receiver<Heartbeat>,
    pub(crate) peer: watch::Sender<Peer>,
    /// Set when the aggregator asks for the partial result.
    pub(crate) partial: watch::Sender<bool>,
    /// Set when the aggregator reports that the plugin has ended.
    pub(crate) ended: watch::Sender<bool>,
}

/// The meaning of a response for further messages.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// The message was accepted.
    Yes,
    /// The aggregator does not support this kind of message.
    NotKnown,
    /// The aggregator does not accept any message for this key.
    Refused(String),
    /// A retry may help.
    No { why: String, hint: Option<&'static str> },
}

fn heard(answer: Result<Answer, ClientError>) -> Reply {
    match answer {
        Ok(answer) if answer.status.is_success() => Reply::Yes,
        Ok(answer) => match answer.status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Reply::NotKnown,
            _ if answer.is_temporary() => Reply::No { why: response_text(&answer), hint: None },
            _ => Reply::Refused(response_text(&answer)),
        },
        Err(error) => Reply::No { why: chain(&error), hint: error.hint() },
    }
}

fn response_text(answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let reason: String = body.trim().chars().take(500).collect();
    if reason.is_empty() {
        format!("the aggregator answered {}", answer.status)
    } else {
        format!("the aggregator answered {}: {reason}", answer.status)
    }
}

impl HeartbeatSender {
    pub(crate) async fn send(mut self) {
        if self.say_hello().await {
            self.beat().await;
        }
    }

    /// Sends hellos until one is accepted. Returns true if heartbeats make sense.
    async fn say_hello(&self) -> bool {
        let mut pause = self.rhythm.first_retry;
        let mut trouble = Trouble::default();
        loop {
            match heard(self.client.hello(&self.key, &self.hello).await) {
                Reply::Yes => {
                    self.peer.send_replace(Peer::Ours);
                    tracing::info!(key = %self.key, "the aggregator registered this worker");
                    return true;
                }
                Reply::NotKnown => {
                    self.peer.send_replace(Peer::Plain);
                    tracing::info!(key = %self.key, "the aggregator does not support heartbeats: none are sent");
                    return false;
                }
                Reply::Refused(why) => {
                    tracing::error!(key = %self.key, %why, "the aggregator rejected this worker");
                    self.peer.send_replace(Peer::Ours);
                    return false;
                }
                Reply::No { why, hint } => trouble.report(why, hint),
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = self.rhythm.after(pause);
        }
    }

    /// Sends heartbeats at each change of phase, at intervals, and soon after a failure.
    async fn beat(&mut self) {
        let mut trouble = Trouble::default();
        let (mut pause, mut retry) = (self.rhythm.heartbeat, self.rhythm.first_retry);
        loop {
            let changed = tokio::time::timeout(jittered(pause), self.doing.changed()).await;
            if matches!(changed, Ok(Err(_))) {
                return;
            }
            let heartbeat = self.doing.borrow_and_update().clone();
            let answer = self.client.heartbeat(&self.key, &heartbeat).await;
            let wanted = answer.as_ref().map(|answer| HeartbeatAnswer::read(&answer.body)).unwrap_or_default();
            if wanted.send_partial {
                self.partial.send_replace(true);
            }
            if wanted.plugin_ended {
                self.ended.send_replace(true);
            }
            let heard = heard(answer);
            (pause, retry) = match heard {
                Reply::No { .. } => (retry.min(self.rhythm.heartbeat), self.rhythm.after(retry)),
                _ => (self.rhythm.heartbeat, self.rhythm.first_retry),
            };
            match heard {
                Reply::Yes => trouble.over(),
                Reply::No { why, hint } if heartbeat.phase != Phase::Done => trouble.report(why, hint),
                Reply::No { .. } => {}
                Reply::NotKnown => return,
                Reply::Refused(why) => {
                    tracing::warn!(key = %self.key, %why, "the aggregator rejected heartbeats");
                    return;
                }
            }
            if heartbeat.phase == Phase::Done {
                return;
            }
        }
    }
}

/// Reports each failure once, and not every time.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn report(&mut self, why: String, hint: Option<&'static str>) {
        if self.0.as_ref() == Some(&why) {
            tracing::debug!(cause = %why, "still failing to reach the aggregator; retrying");
        } else {
            tracing::warn!(cause = %why, hint, "failed to reach the aggregator; retrying");
            self.0 = Some(why);
        }
    }

    fn over(&mut self) {
        if self.0.take().is_some() {
            tracing::info!("reached the aggregator again");
        }
    }
}

/// Returns `period`, changed randomly by up to a fifth, so that workers spread out.
fn jittered(period: Duration) -> Duration {
    // The hash keys of the standard library are random, which is enough here.
    let random = RandomState::new().build_hasher().finish() % 4001;
    let tenthousandths = 8_000 + u32::try_from(random).unwrap_or(2_000);
    period.saturating_mul(tenthousandths) / 10_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_a_fifth_and_varies() {
        let period = Duration::from_secs(30);
        let drawn: Vec<_> = (0..200).map(|_| jittered(period)).collect();
        assert!(drawn.iter().all(|d| (Duration::from_secs(24)..=Duration::from_secs(36)).contains(d)));
        assert!(drawn.iter().any(|d| d != &drawn[0]));
    }
}
