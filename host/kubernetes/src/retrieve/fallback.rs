//! Retrieval from images that do not support pieces. All archives arrive as one stream, which
//! cannot be resumed.

use std::fs;

use plumbline_archive::gzip::Digest;
use plumbline_archive::splat::{Arrived, UnsplatError, receive_archives};
use plumbline_core::run_status::TarInfo;

use super::bridge::{bridge, pump};
use super::download::{differs_from_status, pauses};
use super::error::RetrieveError;
use super::options::{Progress, RetrieveOptions, Retrieved, Tell};
use super::part::{blocking, damaged};
use super::remote::check_exit;
use crate::cluster::Cluster;
use crate::exec::{ExecStream, ExecTarget};
use crate::names::BINARY;

/// Retrieves all archives. Returns an empty list if there are none.
pub(super) async fn retrieve_stream(
    cluster: &Cluster,
    target: &ExecTarget,
    named: &TarInfo,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<Vec<Retrieved>, RetrieveError> {
    tell(Progress::OneStream);
    let mut pauses = pauses(options.retries);
    let mut attempt = 0;
    let arrived = loop {
        tell(Progress::Begins { name: "archives", size: (named.size > 0).then_some(named.size), have: 0 });
        match stream(cluster, target, options, tell).await {
            Ok(arrived) => break arrived,
            Err(Failed::Lost(cause)) => {
                let Some(pause) = pauses.next() else {
                    return Err(RetrieveError::Stream(format!("{cause}, {} times", attempt + 1)));
                };
                attempt += 1;
                tell(Progress::Again { cause: &cause, attempt });
                tokio::time::sleep(pause).await;
            }
            Err(Failed::For(error)) => return Err(*error),
        }
    };
    tell(Progress::Verifying);
    let named = named.clone();
    blocking(move || arrived.into_iter().map(|archive| take(archive, &named)).collect()).await
}

enum Failed {
    Lost(String),
    For(Box<RetrieveError>),
}

impl<E: Into<RetrieveError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::For(Box::new(error.into()))
    }
}

async fn stream(
    cluster: &Cluster,
    target: &ExecTarget,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<Vec<Arrived>, Failed> {
    let command = vec![BINARY.to_owned(), "splat".to_owned(), options.remote_dir.clone()];
    let mut stream = match ExecStream::start(cluster, target, &command, options.patience).await {
        Ok(stream) => stream,
        Err(error) if RetrieveError::is_lost(&error) => return Err(Failed::Lost(error.error.cause)),
        Err(error) => return Err(error.into()),
    };
    let (sender, output) = bridge();
    let (dir, name) = (options.dir.clone(), options.file_name.clone());
    let reader = tokio::task::spawn_blocking(move || {
        receive_archives(output, &mut |member, at| dir.join(place(name.as_deref(), member, at)))
    });
    let pumped = pump(&mut stream, sender, tell).await;
    let read = reader.await.map_err(|error| RetrieveError::Stream(error.to_string()))?;
    if let Err(lost) = pumped {
        return Err(Failed::Lost(lost.error.cause));
    }
    match read {
        // The exit code takes precedence: an unterminated stream is only its consequence.
        Ok(arrived) => match stream.finish().await {
            Ok(exit) => check_exit(&command, exit).map(|()| arrived).map_err(Failed::from),
            Err(error) if RetrieveError::is_lost(&error) => Err(Failed::Lost(error.error.cause)),
            Err(error) => Err(error.into()),
        },
        Err(UnsplatError::Write { path, source }) => Err(RetrieveError::Local { what: "write", path, source }.into()),
        Err(error @ UnsplatError::Refused(_)) => Err(RetrieveError::Stream(error.to_string()).into()),
        Err(error) => {
            // The stream was interrupted. If the command succeeded, the connection is to blame.
            match stream.finish().await {
                Ok(exit) => check_exit(&command, exit)?,
                Err(error) if !RetrieveError::is_lost(&error) => return Err(error.into()),
                Err(_) => {}
            }
            Err(Failed::Lost(error.to_string()))
        }
    }
}

/// Moves an archive to its final name, if it matches the status.
fn take(arrived: Arrived, named: &TarInfo) -> Result<Retrieved, RetrieveError> {
    let Arrived { archive, file, target } = arrived;
    let digest = Digest { bytes: archive.size, sha256: archive.sha256.clone() };
    if let Some(why) = differs_from_status(&digest, &archive.name, named) {
        let aside = damaged(&target);
        let kept = fs::rename(file.temporary_path(), &aside);
        return Err(RetrieveError::Wrong { name: archive.name, why, aside: kept.is_ok().then_some(aside) });
    }
    file.commit().map_err(RetrieveError::local("write", &target))?;
    let as_status_says = named.name == archive.name && !named.sha256.is_empty();
    Ok(Retrieved { path: target, size: archive.size, sha256: archive.sha256, as_status_says })
}

/// Returns the name of file number `at` (from 0) for the archive `own`. It is its own name, or
/// `given`, with a number from the second file on.
pub(super) fn place(given: Option<&str>, own: &str, at: usize) -> String {
    let Some(given) = given else { return own.to_owned() };
    if at == 0 {
        return given.to_owned();
    }
    // The extension of `x.tar.gz` is `.tar.gz`.
    let stem = given.strip_suffix(".tar.gz").filter(|stem| !stem.is_empty());
    let (stem, extension) = match stem {
        Some(stem) => (stem, ".tar.gz"),
        None => match given.rfind('.') {
            Some(dot) if dot > 0 => given.split_at(dot),
            _ => (given, ""),
        },
    };
    format!("{stem}-{at:02}{extension}")
}
