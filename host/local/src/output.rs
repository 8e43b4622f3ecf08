//! What a process says: kept in a file up to a limit, and its last lines for error reports.

use std::collections::VecDeque;
use std::path::PathBuf;

use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// Bytes of output that are kept of one process. What is over is read and dropped, so that the process does not block, and said once.
const MAX_KEPT: u64 = 16 << 20;
/// Bytes of the tail that goes into an error report.
const MAX_TAIL: usize = 4 << 10;

/// Copies everything from `from` into the file at `path`; the last bytes as text. A file that cannot be written costs the log, not the run.
pub(crate) async fn keep(mut from: impl AsyncRead + Unpin, path: PathBuf) -> String {
    let mut file = match File::create(&path).await {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!("failed to keep the output in `{}`: {error}", path.display());
            None
        }
    };
    let mut tail = VecDeque::with_capacity(MAX_TAIL);
    let mut kept = 0_u64;
    let mut buffer = vec![0; 8 << 10];
    // A read error of a pipe means its end.
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..read).unwrap_or_default();
        tail.extend(bytes);
        tail.drain(..tail.len().saturating_sub(MAX_TAIL));
        let before = kept;
        kept += read as u64;
        let Some(open) = &mut file else { continue };
        let written = if kept <= MAX_KEPT {
            open.write_all(bytes).await
        } else if before <= MAX_KEPT {
            open.write_all(format!("\n[the rest is left out: more than {MAX_KEPT} bytes]\n").as_bytes()).await
        } else {
            Ok(())
        };
        if let Err(error) = written {
            tracing::warn!("failed to keep the output in `{}`: {error}", path.display());
            file = None;
        }
    }
    if let Some(mut open) = file
        && let Err(error) = open.flush().await
    {
        tracing::warn!("failed to keep the output in `{}`: {error}", path.display());
    }
    String::from_utf8_lossy(tail.make_contiguous()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_all_and_tells_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let text = (0..3000).map(|n| format!("line {n}\n")).collect::<String>();
        let tail = keep(text.as_bytes(), path.clone()).await;
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        assert!(tail.ends_with("line 2999") && tail.len() <= MAX_TAIL);
    }

    #[tokio::test]
    async fn a_flood_is_cut_and_said_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let flood = tokio::io::repeat(b'x').take(MAX_KEPT + (1 << 20));
        keep(flood, path.clone()).await;
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.len() as u64 <= MAX_KEPT + 100);
        assert_eq!(text.matches("left out").count(), 1);
    }
}
