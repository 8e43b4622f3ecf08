//! Retrieves what a run has gathered before it has an archive.

use std::fs;
use std::io;

use jiff::Timestamp;
use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::gzip::Sha256Writer;

use super::aggregator::find;
use super::bridge::{bridge, pump};
use super::error::RetrieveError;
use super::options::{Progress, RetrieveOptions, Retrieved, Tell};
use super::part::blocking;
use super::remote::{check_exit, is_unknown, piece_command};
use crate::cluster::Cluster;
use crate::exec::ExecStream;

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
    let pod = find(cluster, &options.namespace).await?;
    fs::create_dir_all(&options.dir).map_err(RetrieveError::local("make directory", &options.dir))?;
    let name = options
        .file_name
        .clone()
        .unwrap_or_else(|| format!("{}_plumbline_partial.tar.gz", Timestamp::now().strftime("%Y%m%d%H%M")));
    let path = options.dir.join(&name);
    let command = piece_command(&options.remote_dir, &["--snapshot"]);
    let mut stream = ExecStream::start(cluster, &pod.target, &command, options.patience).await?;
    tell(Progress::Begins { name: &name, size: None, have: 0 });
    let (sender, mut output) = bridge();
    let target = path.clone();
    let writer = tokio::spawn(blocking(move || {
        let failed = || RetrieveError::local("write", &target);
        let mut out = Sha256Writer::new(AtomicFile::create(&target).map_err(failed())?);
        io::copy(&mut output, &mut out).map_err(failed())?;
        Ok(out.finish())
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
