//! What all plugins do: log, catch signals, write the done file, and post progress.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use plumbline_archive::pack::{PackOptions, pack_directory};
use plumbline_dev::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// The exit code after SIGTERM: 128 and the number of the signal, as shells report it.
const TERMINATED: u8 = 143;

/// Prints a line on stderr, which may have no reader.
pub(crate) fn say(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Does the work and returns its exit code. If the work returns none, stays until SIGTERM and
/// returns `stay_code`. SIGTERM ends the work.
pub(super) fn until_terminated(work: impl Future<Output = Result<Option<u8>>>, stay_code: u8) -> Result<u8> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        // The first process of a container only gets signals that it handles.
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(TERMINATED),
            done = work => if let Some(code) = done? { return Ok(code) },
        }
        terminate.recv().await;
        say("test-plugin: asked to stop");
        Ok(stay_code)
    });
    // Does not wait for files that are still being written.
    runtime.shutdown_background();
    code
}

const DONE: &str = "done";
/// Its name until it is complete.
const DONE_PARTIAL: &str = ".done.partial";

/// Writes the done file, which names `sent`. It is renamed when it is complete, so that the worker
/// never reads a part of it.
pub(super) fn done(results_dir: &Path, sent: &Path) -> Result<()> {
    let partial = results_dir.join(DONE_PARTIAL);
    fs::write(&partial, sent.as_os_str().as_encoded_bytes()).map_err(cannot("write", &partial))?;
    let done = results_dir.join(DONE);
    Ok(fs::rename(&partial, &done).map_err(cannot("write", &done))?)
}

/// Creates the file, and writes it with `write`.
pub(super) fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    Ok(written.map_err(cannot("write", path))?)
}

/// Packs the directory. The archive is written in place, so that workers of other users can read
/// it. The done file names it once it is complete.
pub(super) fn pack(dir: &Path, archive: &Path) -> Result<()> {
    let file = File::create(archive).map_err(cannot("write", archive))?;
    let options = PackOptions { exclude: vec![archive.to_owned()], ..PackOptions::single_threaded() };
    pack_directory(dir, file, &options, &mut || false)
        .map_err(|error| format!("failed to pack `{}`: {error}", dir.display()))?;
    Ok(())
}

/// Returns the error of a file in the directory that plugin and worker share.
pub(super) fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> String {
    let path = path.display().to_string();
    move |error| {
        format!(
            "failed to {action} `{path}`: {error}\nhint:  the directory that plugin and worker share must be writable \
             for the plugin's user"
        )
    }
}

/// Time limit for posting an update within the pod.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of bytes of a response that are read, for its status line.
const ANSWER: u64 = 1024;

/// Posts `body` to `host`, a name and a port. Returns an error unless the status is 200. Needs no
/// HTTP client, like a plugin in a shell script.
pub(super) async fn post(host: &str, path: &str, body: &str) -> Result<()> {
    let exchange = async {
        let mut stream = TcpStream::connect(host).await?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(ANSWER).read_to_end(&mut answer).await?;
        io::Result::Ok(answer)
    };
    let answer = timeout(POST_TIMEOUT, exchange).await.map_err(|_| "no response in time")??;
    match String::from_utf8_lossy(&answer).split_ascii_whitespace().nth(1) {
        Some("200") => Ok(()),
        Some(status) => Err(format!("the response has status {status}").into()),
        None => Err("the response is not HTTP".into()),
    }
}
