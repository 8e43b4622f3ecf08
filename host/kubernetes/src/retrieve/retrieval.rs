//! Retrieves the archives of a run into a directory.

use std::fs;
use std::io;

use jiff::Timestamp;
use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::gzip::Digest;
use plumbline_core::DigestWriter;
use plumbline_core::run_status::TarInfo;
use tokio::time::Instant;

use super::download::{Remote, check_exit, is_unknown, piece_command};
use super::error::{NotReady, RetrieveError};
use super::options::{Progress, RetrieveOptions, Retrieved, Tell, Wait};
use super::part::blocking;
use super::readiness::{find, readiness};
use super::stream::{bridge, pump, retrieve_stream};
use crate::cluster::Cluster;
use crate::exec::{ExecStream, ExecTarget};
use crate::names::AGGREGATOR_DIR;

/// Maximum number of consecutive failed status reads while waiting. At intervals of five seconds
/// this is two minutes, enough to replace an API server.
const MAX_FAILED_LOOKS: u32 = 24;

/// Retrieves the archives of the run into `options.dir` and verifies them. Returns the files in
/// name order.
///
/// If the future is dropped, the received bytes stay in `NAME.part`. Another call resumes from
/// there.
///
/// # Errors
/// Returns [`RetrieveError`] if there is no archive yet, or if the retrieval fails.
pub async fn retrieve(
    cluster: &Cluster,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<Vec<Retrieved>, RetrieveError> {
    let (target, named) = ready(cluster, options, tell).await?;
    fs::create_dir_all(&options.dir).map_err(RetrieveError::local("make directory", &options.dir))?;
    let remote = Remote { cluster, target: &target, options };
    // The default directory must contain the archive that the status names.
    let expected = !named.name.is_empty() && !named.sha256.is_empty() && options.remote_dir == AGGREGATOR_DIR;
    let absent = || RetrieveError::Wrong {
        name: named.name.clone(),
        why: "the run's status lists it, but the aggregator's directory has only other archives".to_owned(),
        aside: None,
    };
    let mut retrieved = Vec::new();
    if let Some(archives) = remote.list(tell).await? {
        let there = archives.iter().any(|archive| archive.name == named.name);
        if !archives.is_empty() && !there && expected {
            return Err(absent());
        }
        for (at, archive) in archives.iter().enumerate() {
            let target = options.target(&archive.name, at);
            retrieved.push(remote.download(archive, &named, &target, tell).await?);
        }
    } else {
        retrieved = retrieve_stream(&remote, &named, tell).await?;
        let there = retrieved.iter().any(|archive| archive.as_status_says);
        if !retrieved.is_empty() && !there && expected {
            return Err(absent());
        }
    }
    if retrieved.is_empty() {
        return Err(NotReady::NoArchive(options.remote_dir.clone()).into());
    }
    Ok(retrieved)
}

/// Returns the pod of a complete run, and the archive that its status names. Waits for it if
/// requested.
async fn ready(
    cluster: &Cluster,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<(ExecTarget, TarInfo), RetrieveError> {
    let deadline = match options.wait {
        Wait::No => Some(Instant::now()),
        Wait::AtMost(limit) => limit.and_then(|limit| Instant::now().checked_add(limit)),
    };
    let (mut shown, mut failed) = (String::new(), 0);
    loop {
        let error = match find(cluster, &options.namespace).await {
            Ok((target, annotation)) => match readiness(annotation.as_deref()) {
                Ok(named) => return Ok((target, named)),
                Err(not) => not.into(),
            },
            Err(error) => error,
        };
        match &error {
            RetrieveError::NotReady(not) if not.may_change() => failed = 0,
            // Only a run that was seen before is worth waiting for an unreachable cluster.
            RetrieveError::Cluster(error) if error.is_transient() && failed < MAX_FAILED_LOOKS && !shown.is_empty() => {
                failed += 1;
            }
            _ => return Err(error),
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(error);
        }
        let now = match &error {
            RetrieveError::NotReady(not) => not.to_string(),
            other => other.to_string(),
        };
        if now != shown {
            tell(Progress::Waiting(&now));
            shown = now;
        }
        tokio::time::sleep(options.look).await;
    }
}

/// Packs what the run has gathered so far, and retrieves it into `options.dir`.
///
/// The name is `options.file_name`, or `YYYYMMDDHHMM_plumbline_partial.tar.gz` with the current
/// time in UTC.
///
/// # Errors
/// Returns [`RetrieveError`], which is [`RetrieveError::Unknown`] if the aggregator's image does
/// not support this. No file is left behind then.
pub async fn retrieve_snapshot(
    cluster: &Cluster,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<Retrieved, RetrieveError> {
    let (container, _) = find(cluster, &options.namespace).await?;
    fs::create_dir_all(&options.dir).map_err(RetrieveError::local("make directory", &options.dir))?;
    let name = options
        .file_name
        .clone()
        .unwrap_or_else(|| format!("{}_plumbline_partial.tar.gz", Timestamp::now().strftime("%Y%m%d%H%M")));
    let path = options.dir.join(&name);
    let command = piece_command(&options.remote_dir, &["--snapshot"]);
    let mut stream = ExecStream::start(cluster, &container, &command, options.patience).await?;
    tell(Progress::Begins { name: &name, size: None, have: 0 });
    let (sender, mut output) = bridge();
    let target = path.clone();
    let writer = tokio::spawn(blocking(move || {
        let failed = || RetrieveError::local("write", &target);
        let mut out = DigestWriter::new(AtomicFile::create(&target).map_err(failed())?);
        io::copy(&mut output, &mut out).map_err(failed())?;
        let digest = Digest::of(&out);
        Ok((out.into_inner(), digest))
    }));
    let pumped = pump(&mut stream, sender, tell).await;
    let written = writer.await.map_err(|error| RetrieveError::Stream(error.to_string()))?;
    pumped?;
    let (file, digest) = written?;
    let exit = stream.finish().await?;
    if is_unknown(&exit, b"") {
        return Err(RetrieveError::Unknown("archive-piece --snapshot".to_owned()));
    }
    check_exit(&command, exit)?;
    let target = path.clone();
    blocking(move || file.commit().map_err(RetrieveError::local("write", target))).await?;
    Ok(Retrieved { path, size: digest.bytes, sha256: digest.sha256, as_status_says: false })
}
