//! Says how far the plugin is when the plugin says nothing.

use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use plumbline_core::ResultKey;
use plumbline_core::definition::LogProgress;
use plumbline_phonehome::{Client, Phase};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::count::{Counter, Counts};
use super::log::LogFile;
use super::posted::LastPosted;
use crate::error::chain;
use crate::heartbeat::Doing;

/// How long an update may take to the aggregator and back: 30 s, as one of the plugin's own may.
const POST_TIMEOUT: Duration = Duration::from_secs(30);

/// When a worker looks into the log of a plugin that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long a plugin must have said nothing. Default 60 s: suites that report their progress do so after each test, and begin within
    /// seconds.
    pub after: Duration,
    /// Between two looks, and so between two updates at least. Default 10 s.
    pub look: Duration,
}

impl Default for Silence {
    fn default() -> Self {
        Self { after: Duration::from_secs(60), look: Duration::from_secs(10) }
    }
}

/// Follows the log of a silent plugin. Until it has to, it holds nothing but the names of things.
pub(crate) struct LogWatch {
    pub(crate) client: Client,
    pub(crate) key: ResultKey,
    pub(crate) progress: LogProgress,
    pub(crate) results_dir: PathBuf,
    pub(crate) silence: Silence,
    pub(crate) posted: LastPosted,
    pub(crate) doing: watch::Receiver<Doing>,
}

impl LogWatch {
    /// Goes on until the plugin is done.
    pub(crate) async fn watch(self) {
        let mut doing = self.doing.clone();
        tokio::select! {
            () = self.follow() => {}
            // Also when nobody tells any more: then the worker has ended.
            _ = doing.wait_for(|doing| doing.phase != Phase::Waiting) => {}
        }
    }

    async fn follow(&self) {
        let begun = Instant::now();
        let mut reading: Option<(LogFile, Counter)> = None;
        let (mut told, mut complained) = (Counts::default(), false);
        loop {
            self.silent(begun).await;
            let (log, counter) = match &mut reading {
                Some(reading) => reading,
                None => match Counter::new(&self.progress) {
                    Ok(counter) => {
                        tracing::info!(key = %self.key, file = self.progress.file, "the plugin does not say how far it is: counting in its log");
                        reading.insert((LogFile::new(&self.results_dir, &self.progress.file), counter))
                    }
                    Err(error) => {
                        tracing::warn!(key = %self.key, error = chain(&error), "progress cannot be read from the log");
                        return;
                    }
                },
            };
            if let Err(error) = log.look(counter).await
                && !complained
            {
                // May heal: a plugin may still change owner or mode of it.
                tracing::warn!(key = %self.key, file = self.progress.file, %error, "progress cannot be read from the log");
                complained = true;
            }
            let counts = counter.counts();
            if counts != told {
                match self.tell(counts).await {
                    Told::Yes => told = counts,
                    Told::Again => {}
                    Told::Never => return,
                }
            }
            tokio::time::sleep(self.silence.look).await;
        }
    }

    /// Over when the plugin has said nothing for long enough.
    async fn silent(&self, begun: Instant) {
        loop {
            let last = self.posted.at().unwrap_or(begun);
            let until = last + self.silence.after;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    async fn tell(&self, counts: Counts) -> Told {
        let passed = counts.ended.saturating_sub(counts.failed);
        // Which tests failed, a log does not tell: their names are left out, all of them.
        let update = json!({
            "msg": format!("counted in {}", self.progress.file),
            "total": counts.total,
            "completed": passed,
            "omitted": counts.failed,
        });
        let post = self.client.post_progress(&self.key, update.to_string().into());
        match tokio::time::timeout(POST_TIMEOUT, post).await {
            Ok(Ok(answer)) if answer.status.is_success() => Told::Yes,
            Ok(Ok(answer)) if answer.status == StatusCode::NOT_FOUND => Told::Never,
            Ok(Ok(answer)) => {
                tracing::debug!(status = answer.status.as_u16(), "progress was not taken");
                Told::Again
            }
            Ok(Err(error)) => {
                tracing::debug!(error = chain(&error), "progress could not be sent");
                Told::Again
            }
            Err(_) => Told::Again,
        }
    }
}

/// What became of an update.
enum Told {
    Yes,
    /// The next look tries again.
    Again,
    /// The aggregator does not know progress of this kind.
    Never,
}
