//! Posts the progress of a check to the relay of the worker in the same pod.

use std::convert::Infallible;
use std::time::Duration;

use plumbline_core::ProgressUpdate;
use plumbline_sandbox::CheckProgress;
use reqwest::Client;
use tokio::sync::watch;
use tokio::time::timeout;

const INTERVAL: Duration = Duration::from_secs(1);

const TIMEOUT: Duration = Duration::from_secs(2);

/// The latest progress of a check, if it reported any.
pub(super) type Reported = watch::Receiver<Option<CheckProgress>>;

/// The relay of the worker.
pub(super) struct Relay {
    url: Option<String>,
}

impl Relay {
    /// The relay at the port that the environment names. Without one, progress is not reported.
    pub(super) fn from_environment() -> Self {
        let port = std::env::var("SONOBUOY_PROGRESS_PORT").ok().and_then(|port| port.parse::<u16>().ok());
        Self { url: port.map(|port| format!("http://127.0.0.1:{port}/progress")) }
    }

    /// Posts the latest progress whenever it changes, at most once per interval.
    pub(super) async fn forward(&self, mut reported: Reported) -> Infallible {
        // Without a sender, the check has ended, and its end is handled elsewhere.
        while reported.changed().await.is_ok() {
            self.last(&mut reported).await;
            tokio::time::sleep(INTERVAL).await;
        }
        std::future::pending().await
    }

    /// Posts the latest progress, unless it was posted before.
    pub(super) async fn last(&self, reported: &mut Reported) {
        let Some(url) = &self.url else { return };
        let Some(progress) = reported.borrow_and_update().clone() else { return };
        let posted = timeout(TIMEOUT, post(url, &progress)).await;
        // A worker that is not ready yet misses an update. That is harmless.
        match posted {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!("failed to post progress: {error}"),
            Err(_) => tracing::debug!("the worker did not take the progress in time"),
        }
    }
}

async fn post(url: &str, progress: &CheckProgress) -> Result<(), reqwest::Error> {
    // Fails if this process has installed a provider of cryptography already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().tls_certs_only([]).no_proxy().build()?;
    let answer = client.post(url).body(body(progress)).send().await?;
    answer.error_for_status().map(drop)
}

fn body(progress: &CheckProgress) -> Vec<u8> {
    let update = ProgressUpdate {
        msg: progress.message.clone(),
        total: i64::try_from(progress.total).unwrap_or(i64::MAX),
        completed: i64::try_from(progress.completed).unwrap_or(i64::MAX),
        ..ProgressUpdate::default()
    };
    serde_json::json!(update).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_what_plugins_post() {
        let progress = CheckProgress { completed: 3, total: 9, message: "pods".to_owned() };
        let read = ProgressUpdate::from_body(&body(&progress)).unwrap();
        assert_eq!((read.completed, read.total, read.msg.as_str()), (3, 9, "pods"));
    }
}
