//! Writes the logs to a file, with lines about what is missing or unexpected.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_core::chain;
use serde_json::{Map, Value};

use super::journalctl::{CollectError, Options, collect};
use super::newest::{Missing, Newest};

// Keys of Plumbline's own lines between those of the journal. Every value is a string, as in the
// journal, and `MESSAGE` is for people.

/// Key of the first line if older lines did not fit.
pub const TRUNCATED: &str = "PLUMBLINE_TRUNCATED";
/// Key next to [`TRUNCATED`]: the number of missing lines.
pub const MISSING_LINES: &str = "PLUMBLINE_MISSING_LINES";
/// Key next to [`TRUNCATED`]: the number of missing bytes.
pub const MISSING_BYTES: &str = "PLUMBLINE_MISSING_BYTES";
/// Key next to [`TRUNCATED`]: the size limit in bytes.
pub const LIMIT_BYTES: &str = "PLUMBLINE_LIMIT_BYTES";
/// Key of a line at the end with a note about something unexpected.
pub const NOTE: &str = "PLUMBLINE_NOTE";
/// Key of a line at the end with the reason why logs are missing.
pub const FAILED: &str = "PLUMBLINE_FAILED";
/// Key of the only line for a machine without a journal.
pub const NO_JOURNAL: &str = "PLUMBLINE_NO_JOURNAL";

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
    #[error("failed to create a file in `{}`", directory.display())]
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
        let mut file = ring.as_file();
        file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(&tail)).map_err(write)?;
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
    let (notes, failure) = match collect(options, newest)? {
        Ok(notes) => (notes, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    newest.end_line()?;
    let missing = newest.missing()?;
    let head = if newest.is_whole() { Vec::new() } else { truncated(missing, options.max_bytes) };
    let tail = match &failure {
        None => notes.iter().flat_map(|note| line(NOTE, "4", note, &[])).collect(),
        Some(error @ CollectError::NoJournal(_)) => line(NO_JOURNAL, "5", &error.to_string(), &[]),
        Some(error) => line(FAILED, "3", &chain(error), &[]),
    };
    let summary = Summary { lines: newest.lines, missing_lines: missing.lines, notes, failure };
    Ok((summary, head, tail))
}

fn compose(newest: &Newest<'_>, head: &[u8], tail: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(head)?;
    newest.copy_to(out)?;
    out.write_all(tail)?;
    out.flush()
}

/// Returns the first line of a file in which older lines are missing.
fn truncated(missing: Missing, limit: u64) -> Vec<u8> {
    let Missing { lines, bytes } = missing;
    let message = format!("the oldest {lines} lines ({bytes} bytes) are omitted: the limit is {limit} bytes");
    line(TRUNCATED, "4", &message, &[(MISSING_LINES, lines), (MISSING_BYTES, bytes), (LIMIT_BYTES, limit)])
}

/// Returns a line of this kind, with a priority of syslog.
fn line(kind: &str, priority: &str, message: &str, numbers: &[(&str, u64)]) -> Vec<u8> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: String| drop(fields.insert(key.to_owned(), Value::String(value)));
    put(kind, "1".to_owned());
    for (key, number) in numbers {
        put(key, number.to_string());
    }
    put("SYSLOG_IDENTIFIER", "plumbline".to_owned());
    put("PRIORITY", priority.to_owned());
    put("MESSAGE", message.to_owned());
    let mut line = Value::Object(fields).to_string().into_bytes();
    line.push(b'\n');
    line
}
