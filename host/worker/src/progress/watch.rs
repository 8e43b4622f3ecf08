//! Says how far the plugin is when the plugin says nothing.

use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use plumbline_core::definition::LogProgress;
use plumbline_core::{ProgressUpdate, ResultKey};
use plumbline_phonehome::{Client, Phase};
use serde_json::{Value, json};
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
        // What the plugin said last, and whether the log was read as far as it was written by then.
        let (mut heard, mut behind) = (None, false);
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
            let looked = log.look(counter).await;
            if let Err(error) = &looked
                && !complained
            {
                // May heal: a plugin may still change owner or mode of it.
                tracing::warn!(key = %self.key, file = self.progress.file, %error, "progress cannot be read from the log");
                complained = true;
            }
            let counts = counter.counts();
            let posted = self.posted.at();
            if posted != heard {
                (heard, behind) = (posted, true);
            }
            if behind {
                // One that speaks, and has a test that takes long, has said more than its log: only what comes after is news.
                (told, behind) = (counts, !looked.unwrap_or(true));
            } else if counts != told {
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
        let update = update(&self.progress.file, counts, self.posted.said().as_ref());
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

/// What is told of `counts`. Which tests failed, a log does not tell: the names that the plugin `said` itself stay, and others are left out.
fn update(file: &str, counts: Counts, said: Option<&ProgressUpdate>) -> Value {
    let failures = said.map(|said| said.failures.as_slice()).unwrap_or_default();
    let errors = said.map(|said| said.errors.as_slice()).unwrap_or_default();
    let failed = counts.failed.max(failures.len() as u64);
    let total = match counts.total {
        0 => said.map_or(0, |said| said.total),
        total => i64::try_from(total).unwrap_or(i64::MAX),
    };
    json!({
        "msg": format!("counted in {file}"),
        "total": total,
        "completed": counts.ended.saturating_sub(failed),
        "failures": failures,
        "errors": errors,
        "omitted": failed - failures.len() as u64,
    })
}

/// What became of an update.
enum Told {
    Yes,
    /// The next look tries again.
    Again,
    /// The aggregator does not know progress of this kind.
    Never,
}
