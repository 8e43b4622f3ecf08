//! Downloads the archives of an aggregator's pod in pieces, over connections that may drop.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use plumbline_archive::finished::{ArchiveList, FinishedArchive, MAX_ARCHIVES, is_archive_name};
use plumbline_archive::gzip::Digest;
use plumbline_core::run_status::TarInfo;
use tokio::io::AsyncReadExt;

use super::error::RetrieveError;
use super::options::{Progress, Retries, RetrieveOptions, Retrieved, Tell};
use super::part::{Part, digest_of};
use crate::cluster::Cluster;
use crate::exec::{ExecError, ExecStream, ExecTarget, Exit};
use crate::names::BINARY;

/// Maximum delay before a reconnect. Five attempts are enough for a restart of the API server.
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// Number of bytes after which a connection counts as successful, and not against the retries.
///
/// Thus a connection that drops every few hundred KiB still downloads any archive. One that
/// transfers almost nothing leads to an error.
const WORTH_BYTES: u64 = 64 << 10;

/// Timeout of the list. The first one reads every archive for its digest, which takes ten minutes
/// for 100 GB.
const LIST_PATIENCE: Duration = Duration::from_secs(600);

/// Maximum size of the list in bytes: [`MAX_ARCHIVES`] lines with a name and a digest.
const LIST_BYTES: usize = 1 << 20;

/// Size of the read buffer in bytes.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// Error messages of programs for an unknown command.
const UNKNOWN: [&str; 3] = ["unknown command", "unrecognized subcommand", "usage:"];

/// The attempts to do something over connections that may drop.
pub(super) struct Attempts {
    pauses: ExponentialBackoff,
    /// The number of consecutive failed attempts.
    pub(super) failed: usize,
}

impl Attempts {
    pub(super) fn new(retries: Retries) -> Self {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(retries.pause)
            .with_max_delay(MAX_PAUSE.max(retries.pause))
            .with_max_times(retries.times);
        Self { pauses: pauses.build(), failed: 0 }
    }

    /// Waits before the next attempt. Returns false if there is none.
    pub(super) async fn again(&mut self, cause: &str, tell: &mut Tell<'_>) -> bool {
        let Some(pause) = self.pauses.next() else { return false };
        self.failed += 1;
        tell(Progress::Again { cause, attempt: self.failed });
        tokio::time::sleep(pause).await;
        true
    }
}

/// Returns why a connection was lost, or any other error, after which a retry would not help.
pub(super) fn lost(error: ExecError) -> Result<String, RetrieveError> {
    if error.dropped { Ok(error.error.cause) } else { Err(error.into()) }
}

/// Returns how `digest` differs from the archive's, or `None` if it matches.
fn difference(digest: &Digest, archive: &FinishedArchive, named: &TarInfo) -> Option<String> {
    let Digest { bytes, sha256 } = digest;
    if (*bytes, sha256) != (archive.size, &archive.sha256) {
        return Some(format!(
            "received {bytes} bytes with digest {sha256}, but the aggregator's list has {} bytes with digest {}",
            archive.size, archive.sha256
        ));
    }
    differs_from_status(digest, &archive.name, named)
}

/// Returns how the archive `name` differs from the one in the status. Returns `None` if it matches,
/// or if the status does not name it.
pub(super) fn differs_from_status(digest: &Digest, name: &str, named: &TarInfo) -> Option<String> {
    let Digest { bytes, sha256 } = digest;
    let same_digest = named.sha256.is_empty() || named.sha256.eq_ignore_ascii_case(sha256);
    let same_size = named.size == 0 || named.size == *bytes;
    if named.name != name || (same_digest && same_size) {
        return None;
    }
    Some(format!(
        "received {bytes} bytes with digest {sha256}, but the run's status has {} bytes with digest {}",
        named.size, named.sha256
    ))
}

/// The aggregator's pod.
pub(super) struct Remote<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) target: &'a ExecTarget,
    pub(super) options: &'a RetrieveOptions,
}

impl Remote<'_> {
    /// Downloads `archive` to `target`, and verifies it against the aggregator's list, and against the
    /// status `named` if that is this archive.
    pub(super) async fn download(
        &self,
        archive: &FinishedArchive,
        named: &TarInfo,
        target: &Path,
        tell: &mut Tell<'_>,
    ) -> Result<Retrieved, RetrieveError> {
        let FinishedArchive { name, size, sha256 } = archive;
        let retrieved = Retrieved {
            path: target.to_owned(),
            size: *size,
            sha256: sha256.clone(),
            as_status_says: named.name == *name && !named.sha256.is_empty(),
        };
        if let Some(there) = digest_of(target, *size).await
            && difference(&there, archive, named).is_none()
        {
            tell(Progress::Present(target));
            return Ok(retrieved);
        }
        let mut part = Part::open(target, archive).await?;
        tell(Progress::Begins { name, size: Some(*size), have: part.have });
        self.pieces(archive, &mut part, tell).await?;
        tell(Progress::Verifying);
        let (archive, named) = (archive.clone(), named.clone());
        match part.finish(move |digest| difference(digest, &archive, &named)).await? {
            None => Ok(retrieved),
            Some((why, aside)) => Err(RetrieveError::Wrong { name: name.clone(), why, aside: Some(aside) }),
        }
    }

    async fn pieces(
        &self,
        archive: &FinishedArchive,
        part: &mut Part,
        tell: &mut Tell<'_>,
    ) -> Result<(), RetrieveError> {
        let mut attempts = Attempts::new(self.options.retries);
        while part.have < archive.size {
            let before = part.have;
            let fetched = self.fetch(archive, part, tell).await;
            if part.have - before >= WORTH_BYTES {
                attempts = Attempts::new(self.options.retries);
            }
            let cause = match fetched {
                Ok(None) => continue,
                Ok(Some(cause)) if attempts.again(&cause, tell).await => continue,
                Ok(Some(cause)) => cause,
                // The pod disappeared during the download. The error still reports the bytes received
                // so far.
                Err(error @ (RetrieveError::Cluster(_) | RetrieveError::Command { .. })) if part.have > 0 => {
                    error.to_string()
                }
                Err(error) => return Err(error),
            };
            let (name, have, size, part) = (archive.name.clone(), part.have, archive.size, part.path.clone());
            return Err(RetrieveError::Interrupted { name, have, size, cause, part });
        }
        Ok(())
    }

    /// Lists the archives. Returns `None` if the image does not support the command.
    pub(super) async fn list(&self, tell: &mut Tell<'_>) -> Result<Option<Vec<FinishedArchive>>, RetrieveError> {
        let command = piece_command(&self.options.remote_dir, &["--list"]);
        let patience = LIST_PATIENCE.max(self.options.patience);
        let mut attempts = Attempts::new(self.options.retries);
        let (exit, out) = loop {
            let listed = match ExecStream::start(self.cluster, self.target, &command, patience).await {
                Ok(stream) => stream.collect(LIST_BYTES).await,
                Err(error) => Err(error),
            };
            match listed {
                Ok(listed) => break listed,
                Err(error) if error.dropped && attempts.again(&error.error.cause, tell).await => {}
                Err(error) => return Err(error.into()),
            }
        };
        if is_unknown(&exit, &out) {
            return Ok(None);
        }
        check_exit(&command, exit)?;
        parse_list(&out)
            .map(Some)
            .map_err(|why| RetrieveError::Stream(format!("the aggregator's list of archives is invalid: {why}")))
    }

    /// Requests the missing bytes of `archive`, and appends those that arrive to `part`. If the
    /// connection is lost before all of them have arrived, returns why.
    async fn fetch(
        &self,
        archive: &FinishedArchive,
        part: &mut Part,
        tell: &mut Tell<'_>,
    ) -> Result<Option<String>, RetrieveError> {
        let mut left = archive.size - part.have;
        let (offset, length) = (part.have.to_string(), left.to_string());
        let more = ["--name", &archive.name, "--offset", &offset, "--length", &length];
        let command = piece_command(&self.options.remote_dir, &more);
        let mut stream = match ExecStream::start(self.cluster, self.target, &command, self.options.patience).await {
            Ok(stream) => stream,
            Err(error) => return lost(error).map(Some),
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let read = match stream.read(chunk.get_mut(..most).unwrap_or_default()).await {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => return lost(stream.lost(&error)).map(Some),
            };
            part.append(chunk.get(..read).unwrap_or_default()).await?;
            left = left.saturating_sub(read as u64);
            tell(Progress::Bytes(part.have));
        }
        if left == 0 {
            // The exit code does not matter any more, because the digest shows whether these are
            // the right bytes.
            return Ok(None);
        }
        match stream.finish().await {
            Ok(exit) => check_exit(&command, exit)?,
            Err(error) => return lost(error).map(Some),
        }
        // Nodes sometimes lose the end of a command's output.
        Ok(Some("received fewer bytes than requested".to_owned()))
    }
}

pub(super) fn piece_command(dir: &str, more: &[&str]) -> Vec<String> {
    let words = [BINARY, "archive-piece", dir];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

/// Returns true if a program does not support the given command.
pub(super) fn is_unknown(exit: &Exit, out: &[u8]) -> bool {
    let says_unknown = |text: &str| {
        let text = text.to_lowercase();
        UNKNOWN.iter().any(|known| text.contains(known))
    };
    exit.code != 0 && (says_unknown(&exit.stderr) || says_unknown(&String::from_utf8_lossy(out)))
}

pub(super) fn check_exit(command: &[String], exit: Exit) -> Result<(), RetrieveError> {
    if exit.code == 0 {
        return Ok(());
    }
    let stderr = if exit.stderr.is_empty() { "it printed nothing".to_owned() } else { exit.stderr };
    Err(RetrieveError::Command { command: command.join(" "), code: exit.code, stderr })
}

fn parse_list(out: &[u8]) -> Result<Vec<FinishedArchive>, String> {
    let list: ArchiveList = serde_json::from_slice(out).map_err(|error| error.to_string())?;
    if list.archives.len() > MAX_ARCHIVES {
        return Err(format!("more than {MAX_ARCHIVES} archives"));
    }
    let mut names = BTreeSet::new();
    for FinishedArchive { name, sha256, .. } in &list.archives {
        if !is_archive_name(name) {
            return Err(format!("{name:?} is not the name of an archive"));
        }
        if !names.insert(name) {
            return Err(format!("`{name}` is in it twice"));
        }
        if sha256.len() != 64 || !sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(format!("invalid digest for `{name}`"));
        }
    }
    Ok(list.archives)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_believed_only_as_far_as_it_makes_sense() {
        let sha = "ab".repeat(32);
        let list = |archives: serde_json::Value| parse_list(json!({ "archives": archives }).to_string().as_bytes());
        let good = json!({"name": "a.tar.gz", "size": 1, "sha256": sha, "new": "key"});
        assert_eq!(list(json!([good])).unwrap()[0].name, "a.tar.gz");
        assert!(list(json!([])).unwrap().is_empty());
        for (bad, why) in [
            (json!([good, good]), "twice"),
            (json!([{"name": "../a.tar.gz", "size": 1, "sha256": sha}]), "not the name"),
            (json!([{"name": "a.tar.gz", "size": 1, "sha256": "AB"}]), "digest"),
            (json!([{"name": "a.tar.gz", "size": -1, "sha256": sha}]), "invalid"),
            (json!("x"), "invalid"),
        ] {
            let error = list(bad).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn images_that_do_not_know_pieces_are_recognised() {
        let exit = |code, stderr: &str| Exit { code, stderr: stderr.into() };
        assert!(is_unknown(&exit(1, "Error: unknown command \"archive-piece\" for \"sonobuoy\""), b""));
        assert!(is_unknown(&exit(2, "error: unrecognized subcommand 'archive-piece'"), b""));
        assert!(is_unknown(&exit(1, ""), b"Usage:\n  sonobuoy [command]"));
        assert!(!is_unknown(&exit(0, "usage:"), b""));
        assert!(!is_unknown(&exit(4, "error: failed to read `/tmp/x`: no such directory"), b""));
    }
}
