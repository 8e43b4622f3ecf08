//! Requests to the aggregator's pod: for the list of archives, and for pieces of them.

use std::collections::BTreeSet;
use std::time::Duration;

use plumbline_archive::finished::{ArchiveList, FinishedArchive, MAX_ARCHIVES, is_archive_name};
use tokio::io::AsyncReadExt;

use super::download::{End, Piece, Source, pauses};
use super::error::RetrieveError;
use super::options::{Progress, Retries, RetrieveOptions, Tell};
use super::part::Part;
use crate::cluster::Cluster;
use crate::exec::{ExecStream, ExecTarget, Exit};
use crate::names::BINARY;

/// Timeout of the list. The first one reads every archive for its digest, which takes ten minutes
/// for 100 GB.
const LIST_PATIENCE: Duration = Duration::from_secs(600);

/// Maximum size of the list in bytes: [`MAX_ARCHIVES`] lines with a name and a digest.
const LIST_BYTES: usize = 1 << 20;

/// Size of the read buffer in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Error messages of programs for an unknown command.
const UNKNOWN: [&str; 3] = ["unknown command", "unrecognized subcommand", "usage:"];

/// The aggregator's pod.
pub(super) struct Remote<'a> {
    cluster: &'a Cluster,
    target: &'a ExecTarget,
    dir: &'a str,
    patience: Duration,
    retries: Retries,
}

/// The outcome of the list request.
pub(super) enum Listed {
    /// The finished archives.
    Archives(Vec<FinishedArchive>),
    /// The image does not support the command.
    Unknown,
}

impl<'a> Remote<'a> {
    pub(super) fn new(cluster: &'a Cluster, target: &'a ExecTarget, options: &'a RetrieveOptions) -> Self {
        let RetrieveOptions { remote_dir: dir, patience, retries, .. } = options;
        Self { cluster, target, dir, patience: *patience, retries: *retries }
    }

    /// Lists the archives.
    pub(super) async fn list(&self, tell: &mut Tell<'_>) -> Result<Listed, RetrieveError> {
        let command = piece_command(self.dir, &["--list"]);
        let mut pauses = pauses(self.retries);
        let mut attempt = 0;
        let (exit, out) = loop {
            let listed = match self.start(&command, LIST_PATIENCE.max(self.patience)).await {
                Ok(stream) => stream.collect(LIST_BYTES).await,
                Err(error) => Err(error),
            };
            match (listed, pauses.next()) {
                (Ok(listed), _) => break listed,
                (Err(error), Some(pause)) if RetrieveError::is_lost(&error) => {
                    attempt += 1;
                    tell(Progress::Again { cause: &error.error.cause, attempt });
                    tokio::time::sleep(pause).await;
                }
                (Err(error), _) => return Err(error.into()),
            }
        };
        if is_unknown(&exit, &out) {
            return Ok(Listed::Unknown);
        }
        check_exit(&command, exit)?;
        parse_list(&out)
            .map(Listed::Archives)
            .map_err(|why| RetrieveError::Stream(format!("the aggregator's list of archives makes no sense: {why}")))
    }

    async fn start(&self, command: &[String], patience: Duration) -> Result<ExecStream, crate::exec::ExecError> {
        ExecStream::start(self.cluster, self.target, command, patience).await
    }
}

impl Source for Remote<'_> {
    async fn fetch(
        &self,
        name: &str,
        piece: Piece,
        part: &mut Part,
        tell: &mut Tell<'_>,
    ) -> Result<End, RetrieveError> {
        let (offset, length) = (piece.offset.to_string(), piece.length.to_string());
        let command = piece_command(self.dir, &["--name", name, "--offset", &offset, "--length", &length]);
        let mut stream = match self.start(&command, self.patience).await {
            Ok(stream) => stream,
            Err(error) if RetrieveError::is_lost(&error) => return Ok(End::Lost(error.error.cause)),
            Err(error) => return Err(error.into()),
        };
        let mut left = piece.length;
        let mut chunk = vec![0; CHUNK_BYTES];
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let read = match stream.read(chunk.get_mut(..most).unwrap_or_default()).await {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => return Ok(End::Lost(stream.lost(&error).error.cause)),
            };
            part.append(chunk.get(..read).unwrap_or_default()).await?;
            left = left.saturating_sub(read as u64);
            tell(Progress::Bytes(part.have()));
        }
        if left == 0 {
            // The exit code does not matter any more, because the digest shows whether these are
            // the right bytes.
            return Ok(End::Whole);
        }
        match stream.finish().await {
            Ok(exit) => check_exit(&command, exit)?,
            Err(error) if RetrieveError::is_lost(&error) => return Ok(End::Lost(error.error.cause)),
            Err(error) => return Err(error.into()),
        }
        // Nodes sometimes lose the end of a command's output.
        Ok(End::Lost("fewer bytes came than were asked for".into()))
    }
}

/// Returns the command line of `archive-piece`.
pub(super) fn piece_command(dir: &str, more: &[&str]) -> Vec<String> {
    let words = [BINARY, "archive-piece", dir];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

/// Returns true if a program does not support the given command.
pub(super) fn is_unknown(exit: &Exit, out: &[u8]) -> bool {
    let told = |text: &str| {
        let text = text.to_lowercase();
        UNKNOWN.iter().any(|known| text.contains(known))
    };
    exit.code != 0 && (told(&exit.stderr) || told(&String::from_utf8_lossy(out)))
}

pub(super) fn check_exit(command: &[String], exit: Exit) -> Result<(), RetrieveError> {
    if exit.code == 0 {
        return Ok(());
    }
    let stderr = if exit.stderr.is_empty() { "it said nothing".to_owned() } else { exit.stderr };
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
