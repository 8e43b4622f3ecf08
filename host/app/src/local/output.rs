//! Stores the output of a process in a size-limited file, and keeps its last lines for error
//! reports.

use std::collections::VecDeque;
use std::path::PathBuf;

use plumbline_core::size::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, oneshot};

/// The maximum size of a process's output in bytes. The rest is dropped, so that it does not block.
const MAX_KEPT: u64 = 16 << 20;
/// The maximum size of captured standard output in bytes.
const MAX_CAPTURED: u64 = 1 << 30;
/// The maximum size in bytes of the tail in an error report.
const MAX_TAIL: usize = 4 << 10;

/// The standard output of a process, if it is a result too.
pub(crate) struct Captured<R> {
    /// The pipe.
    pub(crate) from: R,
    /// The path of the file to write.
    pub(crate) path: PathBuf,
    /// Gets a value when the file ends: why it does not have all of the output, if so.
    pub(crate) complete: oneshot::Sender<Option<String>>,
}

/// Copies all data from `from` and `captured` to the file at `path`, and returns the last bytes as
/// text. If the file cannot be written, the log is lost, but the run continues.
pub(crate) async fn keep<R: AsyncRead + Unpin>(from: R, captured: Option<Captured<R>>, path: PathBuf) -> String {
    let log = Mutex::new(Log::create(path).await);
    let capture = async {
        if let Some(captured) = captured {
            capture(captured, &log).await;
        }
    };
    tokio::join!(copy(from, &log), capture);
    log.into_inner().finish().await
}

async fn copy(mut from: impl AsyncRead + Unpin, log: &Mutex<Log>) {
    let mut buffer = vec![0; 8 << 10];
    // A read error of a pipe means its end.
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        log.lock().await.push(buffer.get(..read).unwrap_or_default()).await;
    }
}

/// Copies captured output. The file may end after [`MAX_CAPTURED`] bytes or a failed write.
async fn capture(captured: Captured<impl AsyncRead + Unpin>, log: &Mutex<Log>) {
    let Captured { mut from, path, complete } = captured;
    let mut file = File::create(&path).await;
    let (mut left, mut cut) = (MAX_CAPTURED, false);
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..read).unwrap_or_default();
        log.lock().await.push(bytes).await;
        let fits = usize::try_from(left).map_or(read, |left| left.min(read));
        left -= fits as u64;
        cut |= fits < read;
        if let Ok(open) = &mut file
            && let Err(error) = open.write_all(bytes.get(..fits).unwrap_or_default()).await
        {
            file = Err(error);
        }
    }
    if let Ok(open) = &mut file
        && let Err(error) = open.flush().await
    {
        file = Err(error);
    }
    let fault = match file {
        Err(error) => Some(format!("its standard output could not be kept: {error}")),
        Ok(_) if cut => Some(format!("its standard output has more than {}", Bytes(MAX_CAPTURED))),
        Ok(_) => None,
    };
    if let Some(fault) = &fault {
        tracing::warn!("`{}` is not complete: {fault}", path.display());
    }
    // Nobody waits any more if the run was abandoned.
    let _ = complete.send(fault);
}

/// A log file, and the tail of what was written.
struct Log {
    path: PathBuf,
    file: Option<File>,
    kept: u64,
    tail: VecDeque<u8>,
}

impl Log {
    async fn create(path: PathBuf) -> Self {
        let file = File::create(&path).await;
        let mut log = Self { path, file: None, kept: 0, tail: VecDeque::with_capacity(MAX_TAIL) };
        match file {
            Ok(file) => log.file = Some(file),
            Err(error) => log.failed(&error),
        }
        log
    }

    async fn push(&mut self, bytes: &[u8]) {
        self.tail.extend(bytes);
        self.tail.drain(..self.tail.len().saturating_sub(MAX_TAIL));
        let before = self.kept;
        self.kept += bytes.len() as u64;
        let Some(open) = &mut self.file else { return };
        let written = if self.kept <= MAX_KEPT {
            open.write_all(bytes).await
        } else if before <= MAX_KEPT {
            open.write_all(format!("\n[truncated after {MAX_KEPT} bytes]\n").as_bytes()).await
        } else {
            Ok(())
        };
        if let Err(error) = written {
            self.failed(&error);
        }
    }

    fn failed(&mut self, error: &std::io::Error) {
        tracing::warn!("failed to write the output to `{}`: {error}", self.path.display());
        self.file = None;
    }

    async fn finish(mut self) -> String {
        if let Some(mut open) = self.file.take()
            && let Err(error) = open.flush().await
        {
            self.failed(&error);
        }
        String::from_utf8_lossy(self.tail.make_contiguous()).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_all_and_tells_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let text = (0..3000).map(|n| format!("line {n}\n")).collect::<String>();
        let tail = keep(text.as_bytes(), None, path.clone()).await;
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        assert!(tail.ends_with("line 2999") && tail.len() <= MAX_TAIL);
    }

    #[tokio::test]
    async fn a_flood_is_cut_and_said_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let flood = tokio::io::repeat(b'x').take(MAX_KEPT + (1 << 20));
        keep(flood, None, path.clone()).await;
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.len() as u64 <= MAX_KEPT + 100);
        assert_eq!(text.matches("truncated after").count(), 1);
    }

    /// Captures `text` in the file at `path`. Returns why the file does not have all of it.
    async fn fault_of(text: &str, path: PathBuf) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let (complete, end) = oneshot::channel();
        let captured = Captured { from: text.as_bytes(), path, complete };
        let tail = keep(&b""[..], Some(captured), dir.path().join("log")).await;
        assert_eq!(tail, text.trim(), "the log has all of it");
        end.await.unwrap()
    }

    #[tokio::test]
    async fn captured_output_that_is_not_complete_has_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        assert_eq!(fault_of("a\n", path.clone()).await, None);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "a\n");
        for path in ["missing/out", "/dev/full"] {
            let fault = fault_of("a\n", dir.path().join(path)).await.unwrap();
            assert!(fault.starts_with("its standard output could not be kept: "), "{fault}");
        }
    }
}
