//! Copies the log of a container to a file, with limits on its size and on silence.

use std::io::{self, Write};
use std::pin::pin;
use std::time::Duration;

use futures_util::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Why a log was not copied to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("{0}")]
    Read(io::Error),
    #[error("no data for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("{0}")]
    Write(io::Error),
}

/// Copies at most `max` bytes of a log, and adds `note` if the log continues. Returns whether the log is
/// complete.
pub(crate) async fn copy_log(
    log: impl AsyncBufRead,
    to: &mut impl Write,
    max: u64,
    silence: Duration,
    note: &str,
) -> Result<bool, CopyError> {
    let mut log = pin!(log);
    let mut left = max;
    loop {
        let piece = tokio::time::timeout(silence, log.fill_buf()).await.map_err(|_| CopyError::Silent(silence))?;
        let piece = piece.map_err(CopyError::Read)?;
        if piece.is_empty() {
            return Ok(true);
        }
        let taken = piece.len();
        let kept = piece.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(piece);
        // Writing a few KiB to the page cache is faster than handing them to another thread.
        to.write_all(kept).map_err(CopyError::Write)?;
        if kept.len() < taken {
            return to.write_all(note.as_bytes()).map(|()| false).map_err(CopyError::Write);
        }
        left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        log.as_mut().consume(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_log_without_end_is_cut_and_says_so() {
        let mut kept = Vec::new();
        let silence = Duration::from_secs(60);
        let log = futures_util::io::Cursor::new(vec![b'x'; 3 << 20]);
        assert!(!copy_log(log, &mut kept, 1 << 20, silence, "cut").await.unwrap());
        let (log, note) = kept.split_at(1 << 20);
        assert!(log.iter().all(|&b| b == b'x'));
        assert_eq!(note, b"cut");
        let mut whole = Vec::new();
        let log = futures_util::io::Cursor::new(b"abc".to_vec());
        assert!(copy_log(log, &mut whole, 3, silence, "cut").await.unwrap());
        assert_eq!(whole, b"abc");
    }
}
