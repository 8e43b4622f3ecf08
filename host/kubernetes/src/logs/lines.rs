//! Requests the log of a container, and reads its lines with a length limit.

use std::fmt;
use std::io;
use std::time::Duration;

use futures_util::io::{AsyncBufRead, AsyncBufReadExt};
use kube::Client;
use kube::core::subresource::LogParams;

use crate::error::ClusterError;

/// The container that a line comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSource {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
}

/// Formats the source as Sonobuoy does: `namespace="ns" pod="p" container="c"`.
impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "namespace={:?} pod={:?} container={:?}", self.namespace, self.pod, self.container)
    }
}

/// How long a log may be silent before its end, if it is not followed.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// Requests the log of a container. An answer must start within [`SILENCE`].
pub(super) async fn open(
    client: &Client,
    source: &LogSource,
    params: LogParams,
) -> Result<Lines<impl AsyncBufRead + Unpin + use<>>, ClusterError> {
    let params = LogParams { container: Some(source.container.clone()), ..params };
    let request = kube::core::Request::new(format!("/api/v1/namespaces/{}/pods", source.namespace))
        .logs(&source.pod, &params)
        .map_err(|error| ClusterError::new(what(source), error.to_string()))?;
    let answer = tokio::time::timeout(SILENCE, client.request_stream(request)).await.map_err(|_| silent(source))?;
    let from = answer.map_err(|error| ClusterError::api(what(source), &error))?;
    Ok(Lines { from, within: false, line: Vec::new() })
}

/// Returns the operation for messages, which completes "failed to …".
pub(super) fn what(source: &LogSource) -> String {
    format!("read the log of container `{}` of pod `{}`", source.container, source.pod)
}

pub(super) fn silent(source: &LogSource) -> ClusterError {
    ClusterError::new(what(source), format!("no data for {} s", SILENCE.as_secs()))
}

/// Maximum length of an unsplit line in bytes. Container runtimes split lines at 16 KiB, but
/// rejoined lines may be longer.
const MAX_LINE: usize = 256 << 10;

/// A line, or a piece of a line that is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The text without the line ending.
    pub(super) text: Vec<u8>,
    /// Whether this continues the previous piece.
    pub(super) continued: bool,
}

pub(super) struct Lines<R> {
    from: R,
    /// Whether the previous piece was cut.
    within: bool,
    /// The part of the next line that was already read.
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Returns the next line, or `None` at the end.
    ///
    /// Text before the end of the stream counts as a line even without a line ending. Text before
    /// an error is not returned, because it arrives again with the next request. This is
    /// cancel-safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            let piece = self.from.fill_buf().await?;
            if piece.is_empty() {
                let last = !self.line.is_empty();
                return Ok(last.then(|| self.take(false)));
            }
            let end = piece.iter().position(|&b| b == b'\n');
            let room = MAX_LINE.saturating_sub(self.line.len());
            let text = end.and_then(|end| piece.get(..end)).unwrap_or(piece);
            let fits = text.get(..room);
            let kept = fits.unwrap_or(text);
            self.line.extend_from_slice(kept);
            let whole = end.is_some() && kept.len() == text.len();
            let taken = kept.len() + usize::from(whole);
            self.from.consume_unpin(taken);
            if whole {
                return Ok(Some(self.take(false)));
            }
            if self.line.len() >= MAX_LINE {
                return Ok(Some(self.take(true)));
            }
        }
    }

    fn take(&mut self, cut: bool) -> Piece {
        let continued = std::mem::replace(&mut self.within, cut);
        Piece { text: std::mem::take(&mut self.line), continued }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Piece> {
        let from = futures_util::io::BufReader::with_capacity(5, futures_util::io::Cursor::new(text.to_vec()));
        let mut lines = Lines { from, within: false, line: Vec::new() };
        let mut all = Vec::new();
        while let Some(piece) = lines.next().await.unwrap() {
            all.push(piece);
        }
        all
    }

    #[tokio::test]
    async fn lines_come_whole_and_the_last_without_an_end() {
        let pieces = lines(b"one\n\nthree is longer\nfour").await;
        let texts: Vec<_> = pieces.iter().map(|piece| std::str::from_utf8(&piece.text).unwrap()).collect();
        assert_eq!(texts, ["one", "", "three is longer", "four"]);
        assert!(pieces.iter().all(|piece| !piece.continued));
        assert!(lines(b"").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_without_end_comes_in_pieces() {
        let mut text = vec![b'x'; MAX_LINE * 2 + 10];
        text.extend_from_slice(b"\nnext\n");
        let pieces = lines(&text).await;
        let sizes: Vec<_> = pieces.iter().map(|piece| (piece.text.len(), piece.continued)).collect();
        assert_eq!(sizes, [(MAX_LINE, false), (MAX_LINE, true), (10, true), (4, false)]);
    }
}
