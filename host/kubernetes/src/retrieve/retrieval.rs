//! Retrieves the archives of a run into a directory.

use std::fs;

use plumbline_core::run_status::TarInfo;
use tokio::time::Instant;

use super::aggregator::{Aggregator, find};
use super::download::download;
use super::error::RetrieveError;
use super::fallback::{place, retrieve_stream};
use super::options::{Progress, RetrieveOptions, Retrieved, Tell, Wait};
use super::readiness::{NotReady, readiness};
use super::remote::{Listed, Remote};
use crate::cluster::Cluster;
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
    let (pod, named) = ready(cluster, options, tell).await?;
    fs::create_dir_all(&options.dir).map_err(RetrieveError::local("make directory", &options.dir))?;
    let remote = Remote::new(cluster, &pod.target, options);
    let retrieved = match remote.list(tell).await? {
        Listed::Unknown => {
            let retrieved = retrieve_stream(cluster, &pod.target, &named, options, tell).await?;
            let named_came = retrieved.iter().any(|archive| archive.as_status_says);
            if !retrieved.is_empty() && !named_came && is_expected(&named, options) {
                return Err(absent(&named));
            }
            retrieved
        }
        Listed::Archives(archives) => {
            let there = archives.iter().any(|archive| archive.name == named.name);
            if !archives.is_empty() && !there && is_expected(&named, options) {
                return Err(absent(&named));
            }
            let mut retrieved = Vec::new();
            for (at, archive) in archives.iter().enumerate() {
                let target = options.dir.join(place(options.file_name.as_deref(), &archive.name, at));
                retrieved.push(download(&remote, archive, &named, &target, options.retries, tell).await?);
            }
            retrieved
        }
    };
    if retrieved.is_empty() {
        return Err(NotReady::NoArchive(options.remote_dir.clone()).into());
    }
    Ok(retrieved)
}

/// Returns true if the directory must contain the archive that the status names. This does not hold
/// for a directory other than the default.
fn is_expected(named: &TarInfo, options: &RetrieveOptions) -> bool {
    !named.name.is_empty() && !named.sha256.is_empty() && options.remote_dir == AGGREGATOR_DIR
}

fn absent(named: &TarInfo) -> RetrieveError {
    RetrieveError::Wrong {
        name: named.name.clone(),
        why: "the run's status names it, and the aggregator's directory holds only others".to_owned(),
        aside: None,
    }
}

/// Returns the pod of a complete run, and the archive that its status names. Waits for it if
/// requested.
async fn ready(
    cluster: &Cluster,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<(Aggregator, TarInfo), RetrieveError> {
    let deadline = match options.wait {
        Wait::No => Some(Instant::now()),
        Wait::AtMost(limit) => limit.and_then(|limit| Instant::now().checked_add(limit)),
    };
    let (mut told, mut failed) = (String::new(), 0);
    loop {
        let looked = find(cluster, &options.namespace).await;
        let result = looked.and_then(|pod| match readiness(pod.annotation.as_deref()) {
            Ok(named) => Ok((pod, named)),
            Err(not) => Err(not.into()),
        });
        let error = match result {
            Ok(ready) => return Ok(ready),
            Err(error) => error,
        };
        match &error {
            RetrieveError::NotReady(not) if not.may_change() => failed = 0,
            RetrieveError::Cluster(cluster)
                if cluster.is_transient() && failed < MAX_FAILED_LOOKS && told_once(&told) =>
            {
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
        if now != told {
            tell(Progress::Waiting(&now));
            told = now;
        }
        tokio::time::sleep(options.look).await;
    }
}

/// Returns true if the run was seen before. Only then is it worth waiting for an unreachable
/// cluster.
fn told_once(told: &str) -> bool {
    !told.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_archives_are_numbered() {
        for (given, at, want) in [
            (None, 3, "own.tar.gz"),
            (Some("x.tgz"), 0, "x.tgz"),
            (Some("x.tgz"), 1, "x-01.tgz"),
            (Some("x.tar.gz"), 2, "x-02.tar.gz"),
            (Some("x"), 1, "x-01"),
            (Some(".x"), 1, ".x-01"),
            (Some("x.y.z"), 12, "x.y-12.z"),
        ] {
            assert_eq!(place(given, "own.tar.gz", at), want);
        }
    }
}
