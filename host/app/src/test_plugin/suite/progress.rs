//! Posts progress as the suite does: one message at the start, one after each test, and one at the
//! end.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use super::super::progress::post;
use super::plan::{Case, Counts, Fate};
use crate::context::Context;

/// How long posting a message may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The number of consecutive failures after which no progress is posted.
const MAX_FAILED: u32 = 3;
/// The most names of failed tests in a message.
const MAX_NAMES: usize = 1_000;

/// Posts the progress of the suite.
pub(super) struct ProgressReporter<'a> {
    context: &'a Context,
    /// Host and port, and the path.
    target: Option<(String, String)>,
    total: usize,
    failures: Vec<String>,
    failed: u32,
}

impl<'a> ProgressReporter<'a> {
    /// Posts to `url`, if there is one.
    pub(super) fn new(context: &'a Context, url: Option<&str>, total: usize) -> Self {
        let target = url.and_then(|url| {
            let parts = target(url);
            if parts.is_none() {
                context.reporter.progress(&format!(
                    "test-plugin: progress cannot be posted to `{url}`: only `http://HOST:PORT/PATH` is understood"
                ));
            }
            parts
        });
        Self { context, target, total, failures: Vec::new(), failed: 0 }
    }

    pub(super) async fn begin(&mut self) {
        self.send("Test Suite starting", Counts::default()).await;
    }

    /// Posts the outcome of a test, with the counts so far.
    pub(super) async fn case(&mut self, case: &Case, so_far: Counts) {
        let word = match case.fate {
            Fate::Failed => {
                if self.failures.len() < MAX_NAMES {
                    self.failures.push(case.name.clone());
                }
                "FAILED"
            }
            _ => "PASSED",
        };
        self.send(&format!("{word} {}", case.name), so_far).await;
    }

    pub(super) async fn end(&mut self, counts: Counts) {
        self.send("Test Suite completed", counts).await;
    }

    async fn send(&mut self, message: &str, counts: Counts) {
        let Some((host, path)) = &self.target else { return };
        let mut body = json!({
            "msg": message,
            "total": self.total,
            "completed": counts.passed,
            "skipped": counts.skipped,
            "failed": counts.failed,
        });
        if !self.failures.is_empty()
            && let Some(body) = body.as_object_mut()
        {
            body.insert("failures".to_owned(), json!(self.failures));
        }
        let why = match timeout(TIMEOUT, post(host, path, &body.to_string())).await {
            Ok(Ok(status)) if status == "200" => {
                self.failed = 0;
                return;
            }
            Ok(Ok(status)) => format!("it was answered with status {status}"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it was not answered in time".to_owned(),
        };
        self.failed += 1;
        self.context
            .reporter
            .progress(&format!("test-plugin: progress could not be posted to `http://{host}{path}`: {why}"));
        if self.failed >= MAX_FAILED {
            self.context.reporter.progress("test-plugin: no more progress is posted");
            self.target = None;
        }
    }
}

/// Splits `http://HOST[:PORT]/PATH` into `HOST:PORT` and the path.
fn target(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    let host = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
    (plain(&host) && plain(path) && !host.starts_with(':')).then(|| (host, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let parts = |url| target(url).map(|(host, path)| format!("{host} {path}"));
        assert_eq!(parts("http://localhost:8099/progress").as_deref(), Some("localhost:8099 /progress"));
        assert_eq!(parts("http://h").as_deref(), Some("h:80 /"));
        for bad in ["https://h/p", "localhost:8099", "http://", "http://:80/", "http://a b/", "http://h/a\r\nX: y"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }
}
