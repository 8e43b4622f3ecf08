//! Writes the logs to a file, with lines about what is missing or unexpected.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;

use crate::node_logs::collect::{CollectError, Collected, collect};
use crate::node_logs::mark;
use crate::node_logs::newest::Newest;
use crate::node_logs::options::Options;

/// Summary of the written logs.
#[derive(Debug)]
pub struct Summary {
    /// Number of lines of the journal, including those that did not fit.
    pub lines: u64,
    /// Number of lines that did not fit.
    pub missing_lines: u64,
    /// Notes about unexpected events, as sentences.
    pub notes: Vec<String>,
    /// Why some or all logs are missing. The file contains the same text.
    pub failure: Option<CollectError>,
}

/// Error while writing the logs.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The temporary file could not be created.
    #[error("no file can be made in `{}`", directory.display())]
    Create {
        /// The directory.
        directory: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The logs could not be written, for example because the disk is full.
    #[error("failed to write the logs into `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// Printing to standard output failed.
    #[error("failed to print the logs")]
    Print(#[source] io::Error),
}

/// Writes the logs to `output`, or to standard output, with lines that say what is missing.
///
/// While it runs, it uses up to twice [`Options::max_bytes`] on disk, next to `output` or in the
/// directory for temporary files. `output` appears only when it is complete.
///
/// # Errors
/// Returns [`WriteError`] if writing fails. An unreadable journal is not an error: the file then
/// contains the reason.
pub fn write_logs(options: &Options, output: Option<&Path>) -> Result<Summary, WriteError> {
    match output {
        Some(path) => into_file(options, path),
        None => print(options),
    }
}

fn into_file(options: &Options, path: &Path) -> Result<Summary, WriteError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let create = |source| WriteError::Create { directory: directory.to_owned(), source };
    let write = |source| WriteError::Write { path: path.to_owned(), source };
    let ring = AtomicFile::create(path).map_err(create)?;
    let mut newest = Newest::new(ring.as_file(), options.max_bytes);
    let (summary, head, tail) = gather(options, &mut newest).map_err(write)?;
    let done = if newest.is_whole() {
        append(ring.as_file(), &tail).map_err(write)?;
        ring
    } else {
        let whole = AtomicFile::create(path).map_err(create)?;
        compose(&newest, &head, &tail, &mut BufWriter::new(whole.as_file())).map_err(write)?;
        whole
    };
    done.readable_by_all().and_then(AtomicFile::commit).map_err(write)?;
    Ok(summary)
}

fn print(options: &Options) -> Result<Summary, WriteError> {
    let directory = std::env::temp_dir();
    let ring = tempfile::tempfile_in(&directory).map_err(|source| WriteError::Create { directory, source })?;
    let mut newest = Newest::new(&ring, options.max_bytes);
    let (summary, head, tail) = gather(options, &mut newest).map_err(WriteError::Print)?;
    compose(&newest, &head, &tail, &mut io::stdout().lock()).map_err(WriteError::Print)?;
    Ok(summary)
}

/// Collects the logs, and returns the lines that come before and after them.
fn gather(options: &Options, newest: &mut Newest<'_>) -> io::Result<(Summary, Vec<u8>, Vec<u8>)> {
    let Collected { notes, failure } = collect(options, newest)?;
    newest.end_line()?;
    let missing = newest.missing()?;
    let head = if newest.is_whole() { Vec::new() } else { mark::truncated(missing, options.max_bytes) };
    let mut tail: Vec<u8> = notes.iter().flat_map(|note| mark::note(note)).collect();
    match &failure {
        None => {}
        Some(error @ CollectError::NoJournal { .. }) => tail.extend(mark::no_journal(&error.to_string())),
        Some(error) => tail.extend(mark::failed(&chain(error))),
    }
    let summary = Summary { lines: newest.came().0, missing_lines: missing.lines, notes, failure };
    Ok((summary, head, tail))
}

fn compose(newest: &Newest<'_>, head: &[u8], tail: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(head)?;
    newest.copy_to(out)?;
    out.write_all(tail)?;
    out.flush()
}

fn append(mut file: &File, tail: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    file.write_all(tail)
}

/// Returns an error and its causes as one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}
