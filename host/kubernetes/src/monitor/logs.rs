//! Reads logs of containers, or parts of them.

use std::io;
use std::time::Duration;

use futures_util::AsyncBufRead;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// Number of log lines to keep with an error.
const TAIL_LINES: i64 = 50;

/// Maximum size of these lines in bytes.
const TAIL_BYTES: usize = 16 << 10;

/// Number of bytes to request in order to get the last ones. The server truncates the end, which is
/// the important part.
const TAIL_READ: i64 = 256 << 10;

/// Timeout for reading the end of a log.
const ANSWER: Duration = Duration::from_secs(5);

/// The log of one container.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log<'a> {
    pub(super) namespace: &'a str,
    pub(super) pod: &'a str,
    pub(super) container: &'a str,
    /// Whether this is the log of the instance before the last restart.
    pub(super) previous: bool,
}

impl Log<'_> {
    pub(super) fn what(&self) -> String {
        let previous = if self.previous { "previous " } else { "" };
        format!(
            "read the {previous}log of container `{}` of pod `{}` in namespace `{}`",
            self.container, self.pod, self.namespace
        )
    }

    fn api(&self, cluster: &Cluster) -> Api<Pod> {
        Api::namespaced(cluster.client(), self.namespace)
    }

    fn params(&self) -> LogParams {
        LogParams { container: Some(self.container.to_owned()), previous: self.previous, ..LogParams::default() }
    }

    /// Returns the last lines.
    pub(super) async fn tail(&self, cluster: &Cluster) -> Result<String, ClusterError> {
        let params = LogParams { tail_lines: Some(TAIL_LINES), limit_bytes: Some(TAIL_READ), ..self.params() };
        let api = self.api(cluster);
        let mut reader = Box::pin(match tokio::time::timeout(ANSWER, api.log_stream(self.pod, &params)).await {
            Ok(reader) => reader.map_err(|error| ClusterError::api(self.what(), &error))?,
            Err(_) => return Err(self.late()),
        });
        // The log is read as bytes, because it may not be text.
        let mut bytes = Vec::new();
        let read = futures_util::io::AsyncReadExt::take(&mut reader, u64::try_from(TAIL_READ).unwrap_or_default());
        let mut read = Box::pin(read);
        let all = futures_util::io::AsyncReadExt::read_to_end(&mut read, &mut bytes);
        match tokio::time::timeout(ANSWER, all).await {
            Ok(read) => read.map_err(|error| ClusterError::new(self.what(), error.to_string()))?,
            Err(_) => return Err(self.late()),
        };
        Ok(last_lines(&String::from_utf8_lossy(&bytes)))
    }

    fn late(&self) -> ClusterError {
        ClusterError::new(self.what(), format!("no answer within {} s", ANSWER.as_secs()))
    }

    /// Returns the whole log, up to about `limit` bytes.
    pub(super) async fn stream(
        &self,
        cluster: &Cluster,
        limit: u64,
    ) -> Result<impl AsyncBufRead + use<>, ClusterError> {
        let params = LogParams { limit_bytes: i64::try_from(limit).ok(), ..self.params() };
        let api = self.api(cluster);
        api.log_stream(self.pod, &params).await.map_err(|error| ClusterError::api(self.what(), &error))
    }

    pub(super) fn broken(&self, error: &io::Error) -> ClusterError {
        ClusterError::new(self.what(), error.to_string())
    }
}

fn last_lines(text: &str) -> String {
    let lines = usize::try_from(TAIL_LINES).unwrap_or_default();
    let start = text.trim_end().rmatch_indices('\n').nth(lines - 1).map_or(0, |(at, _)| at + 1);
    let mut cut = start.max(text.len().saturating_sub(TAIL_BYTES));
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.get(cut..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_kept_not_its_beginning() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let tail = last_lines(&text);
        assert_eq!((tail.lines().next(), tail.lines().last()), (Some("line 50"), Some("line 99")));
        assert_eq!(last_lines("a\nb"), "a\nb");
        assert_eq!(last_lines(""), "");
        let wide = "ä".repeat(TAIL_BYTES) + "z";
        let tail = last_lines(&wide);
        assert!(tail.len() <= TAIL_BYTES && tail.ends_with("äz"));
    }
}
