//! Reports a plugin's progress from its log.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use http::StatusCode;
use plumbline_core::definition::LogProgress;
use plumbline_core::progress::{MAX_REASON_NAME, MAX_REASONS};
use plumbline_core::{ProgressUpdate, ResultKey};
use plumbline_phonehome::{Client, Heartbeat, Phase};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use super::log::{LogFile, counter_for};
use super::patterns::{Counter, Counts, PatternError};
use super::posts::PostedUpdates;
use crate::error::chain;

/// Timeout of an update. The last one may delay the result that long.
const POST_TIMEOUT: Duration = Duration::from_secs(10);

/// Delay of a read after an update: Ginkgo reports a test before it prints it.
const SETTLE: Duration = Duration::from_millis(500);

/// Maximum number of reads in a row from a log that keeps growing. Each reads up to 16 MiB.
const MAX_LOOKS: usize = 64;

/// Follows the log of a plugin.
///
/// Once it counts tests, it reports instead of the plugin's own updates.
pub(crate) struct LogWatch {
    client: Client,
    key: ResultKey,
    file: String,
    log: LogFile,
    counter: Box<dyn Counter>,
    interval: Duration,
    posts: PostedUpdates,
    /// The last update that the aggregator accepted.
    reported: Option<Value>,
    /// Whether a failure to read the log was already reported.
    complained: bool,
}

impl LogWatch {
    /// Prepares to follow the log of `progress` in `results_dir`, at intervals of `interval`.
    pub(crate) fn new(
        client: Client,
        key: ResultKey,
        progress: &LogProgress,
        results_dir: &Path,
        interval: Duration,
        posts: PostedUpdates,
    ) -> Result<Self, PatternError> {
        posts.watch();
        Ok(Self {
            client,
            key,
            file: progress.file.clone(),
            log: LogFile::new(results_dir, &progress.file),
            counter: counter_for(progress)?,
            interval,
            posts,
            reported: None,
            complained: false,
        })
    }

    /// Reports until the plugin is done, and then once more from the complete log.
    ///
    /// `finished` is dropped after that, or if the aggregator does not support progress.
    pub(crate) async fn watch(mut self, mut doing: watch::Receiver<Heartbeat>, finished: oneshot::Sender<()>) {
        while self.look().await {
            tokio::select! {
                () = tokio::time::sleep(self.interval) => {}
                () = self.posts.changed() => tokio::time::sleep(SETTLE.min(self.interval)).await,
                done = async { doing.wait_for(|doing| doing.phase != Phase::Waiting).await.is_ok() } => {
                    // Otherwise the worker has ended without a result.
                    if done {
                        self.look().await;
                    }
                    break;
                }
            }
        }
        drop(finished);
    }

    /// Reads the new part of the log and reports changes. Returns false if the aggregator does not
    /// support progress.
    async fn look(&mut self) -> bool {
        for _ in 0..MAX_LOOKS {
            match self.log.look(self.counter.as_mut()).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    if !std::mem::replace(&mut self.complained, true) {
                        // A plugin may still change owner or mode of the file.
                        tracing::warn!(key = %self.key, file = self.file, %error, "failed to read progress from the log");
                    }
                    break;
                }
            }
        }
        let counts = self.counter.counts();
        if counts == Counts::default() {
            return true;
        }
        self.posts.set_counting(true);
        let turn = self.posts.turn().await;
        let (names, reasons) = (self.counter.failures(), self.counter.reasons());
        let update = update(&self.file, counts, names, reasons, self.posts.said().as_ref());
        if self.reported.as_ref() == Some(&update) {
            return true;
        }
        let post = self.client.post_progress(&self.key, update.to_string().into());
        match tokio::time::timeout(POST_TIMEOUT, post).await {
            Ok(Ok(answer)) if answer.status.is_success() => self.reported = Some(update),
            Ok(Ok(answer)) if answer.status == StatusCode::NOT_FOUND => {
                self.posts.set_counting(false);
                return false;
            }
            // The next read retries.
            Ok(Ok(answer)) => tracing::debug!(status = answer.status.as_u16(), "the aggregator rejected progress"),
            Ok(Err(error)) => tracing::debug!(error = chain(&error), "failed to send progress"),
            Err(_) => tracing::debug!("failed to send progress: no answer within {POST_TIMEOUT:?}"),
        }
        drop(turn);
        true
    }
}

/// Returns the update for `counts`. Names of failed tests are those of the log or of `said`,
/// whichever are more. Reasons are of both.
///
/// The plugin may be one test ahead of its log.
fn update(
    file: &str,
    mut counts: Counts,
    names: &[String],
    reasons: &BTreeMap<String, String>,
    said: Option<&ProgressUpdate>,
) -> Value {
    let said_names = said.map(|said| said.failures.as_slice()).unwrap_or_default();
    let mut failures = if said_names.len() < names.len() { names } else { said_names };
    if let Some(said) = said.filter(|_| !counts.finished) {
        let unsigned = |number: i64| u64::try_from(number).unwrap_or_default();
        counts.total = counts.total.max(unsigned(said.total));
        counts.failed = counts.failed.max(failures.len() as u64);
        counts.ended = counts.ended.max(unsigned(said.completed).saturating_add(counts.failed));
    }
    let names = usize::try_from(counts.failed).unwrap_or(usize::MAX).min(failures.len());
    failures = failures.get(..names).unwrap_or_default();
    let message = said.map(|said| said.msg.clone()).filter(|message| !message.is_empty());
    json!({
        "msg": message.unwrap_or_else(|| format!("counted in {file}")),
        "total": i64::try_from(counts.total).unwrap_or(i64::MAX),
        "completed": i64::try_from(counts.ended.saturating_sub(counts.failed)).unwrap_or(i64::MAX),
        "failures": failures,
        "errors": said.map(|said| said.errors.as_slice()).unwrap_or_default(),
        "reasons": latest(failures, |name| reasons.get(name).or_else(|| said?.reasons.get(name))),
        "omitted": counts.failed - names as u64,
    })
}

/// Returns the reasons of the latest failures, as far as the aggregator keeps them.
fn latest<'a>(failures: &'a [String], reason: impl Fn(&'a str) -> Option<&'a String>) -> BTreeMap<&'a str, &'a String> {
    let names = failures.iter().rev().map(String::as_str).filter(|name| name.len() <= MAX_REASON_NAME);
    names.filter_map(|name| Some((name, reason(name)?))).take(MAX_REASONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(body: &str) -> ProgressUpdate {
        ProgressUpdate::from_body(body.as_bytes()).unwrap()
    }

    /// Returns the update for a log without names.
    fn of(counts: Counts, body: &str) -> Value {
        update("e2e.log", counts, &[], &BTreeMap::new(), Some(&said(body)))
    }

    fn numbers(update: &Value) -> (i64, i64, u64, usize) {
        let names = update["failures"].as_array().unwrap().len();
        (
            update["total"].as_i64().unwrap(),
            update["completed"].as_i64().unwrap(),
            update["omitted"].as_u64().unwrap(),
            names,
        )
    }

    #[test]
    fn a_process_of_a_parallel_suite_knows_less_than_the_log() {
        let counts = Counts { total: 9, ended: 6, failed: 2, finished: false };
        let update = of(counts, r#"{"msg": "FAILED a", "completed": 1, "failures": ["a"]}"#);
        assert_eq!(numbers(&update), (9, 4, 1, 1));
        assert_eq!(update["msg"], "FAILED a");
    }

    #[test]
    fn the_suite_posts_a_test_before_it_prints_it() {
        let counts = Counts { total: 9, ended: 6, failed: 1, finished: false };
        let update = of(counts, r#"{"total": 9, "completed": 5, "failures": ["a", "b"]}"#);
        assert_eq!(numbers(&update), (9, 5, 0, 2));
    }

    #[test]
    fn the_latest_failures_have_reasons_from_the_log_or_the_plugin() {
        let counts = Counts { total: 90, ended: 60, failed: 30, finished: false };
        let names: Vec<String> = (0..30).map(|n| format!("t{n}")).collect();
        let reasons: BTreeMap<String, String> = names.iter().map(|name| (name.clone(), "no".to_owned())).collect();
        let said = said(r#"{"failures": ["t29", "of another process"], "reasons": {"t29": "also no"}}"#);
        let update = update("e2e.log", counts, &names, &reasons, Some(&said));
        assert_eq!(update["reasons"].as_object().unwrap().len(), MAX_REASONS);
        assert_eq!((&update["reasons"]["t29"], &update["reasons"]["t9"]), (&json!("no"), &Value::Null));
        let posted = of(
            Counts { total: 9, ended: 2, failed: 1, finished: false },
            r#"{"failures": ["a"], "reasons": {"a": "posted"}}"#,
        );
        assert_eq!(posted["reasons"], json!({"a": "posted"}));
    }

    #[test]
    fn final_counts_have_the_last_word() {
        let counts = Counts { total: 8, ended: 8, failed: 1, finished: true };
        let update = of(counts, r#"{"total": 9, "completed": 8, "failures": ["a", "b"]}"#);
        assert_eq!(numbers(&update), (8, 7, 0, 1));
    }
}
