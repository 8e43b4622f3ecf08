//! Opens inputs with results: archives, directories, result files, and standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plumbline_archive::gzip::is_archive;
use plumbline_core::definition::AUTO_FORMAT;
use serde_json::json;
use tempfile::TempDir;

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files::read_start;
use crate::report::text::one_line;
use crate::trees::{Reprocess, Trees};

/// The error if a temporary file could not be written.
const NO_ROOM: &str = "failed to create temporary files";

/// The extensions of archives.
const EXTENSIONS: [&str; 3] = [".tar.gz", ".tgz", ".tar"];
/// Entries in the root of an archive, of any version.
const ROOT: [&str; 3] = ["meta", "plugins", "config.json"];
/// The most files of a directory that is searched for archives.
const MAX_FILES: usize = 100_000;
/// The most bytes of standard input: as many as an unpacked upload may have.
const MAX_STDIN: u64 = 16 << 30;
/// The definition of the plugin that a result file is read as.
const DEFINITION: &str = "plugin.yaml";
/// The bytes that suffice to recognize an archive: a block of a tar.
const HEAD_BYTES: u64 = 512;

/// Opens an archive, the newest archive in a directory, a result file in the format `format` or a
/// detected one, or any of them on standard input (`-`).
pub(crate) fn open_input(
    context: &Context,
    path: &Path,
    reprocess: Reprocess,
    format: Option<&str>,
) -> Result<Trees, AppError> {
    if path == Path::new("-") {
        let kept = tempfile::tempdir().system_error(NO_ROOM)?;
        let copy = kept.path().join("stdin");
        spool(&copy)?;
        let mut trees = open_file(context, &copy, "standard input", "stdin", reprocess, format)?;
        trees.keep(kept);
        return Ok(trees);
    }
    let name = path.display().to_string();
    if path.is_dir() {
        if is_unpacked(path) {
            return Trees::open(context, path, reprocess);
        }
        if let Some(newest) = newest_archive(path)? {
            context.reporter.progress(&format!("the newest archive in `{name}`: {}", newest.display()));
            return Trees::open(context, &newest, reprocess);
        }
        return Err(AppError::usage(format!("directory `{name}` is not a results archive, and contains none"))
            .hint("an archive is a file `*.tar.gz` or `*.tar`, or a directory with `meta` and `plugins`"));
    }
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    open_file(context, path, &name, &file, reprocess, format)
}

/// Opens the file at `path`: as an archive by its name or content, or else as the result file
/// `file`.
fn open_file(
    context: &Context,
    path: &Path,
    name: &str,
    file: &str,
    reprocess: Reprocess,
    format: Option<&str>,
) -> Result<Trees, AppError> {
    // The reader of archives reports missing files and directories.
    if format.is_none() && (!path.is_file() || EXTENSIONS.iter().any(|extension| file.ends_with(extension))) {
        return Trees::open_as(context, path, name, reprocess);
    }
    let head = read_start(path, HEAD_BYTES).usage_error(format_args!("failed to read `{name}`"))?;
    if format.is_none() && is_archive(&head) {
        return Trees::open_as(context, path, name, reprocess);
    }
    let kept = lay_out(path, file, format.unwrap_or(AUTO_FORMAT)).system_error(NO_ROOM)?;
    // The format comes from the user, so an unknown one is an error.
    let definition = reprocess.definition.or_else(|| Some(kept.path().join(DEFINITION)));
    let reprocess = Reprocess { always: true, definition, ..reprocess };
    let mut trees = Trees::open_as(context, kept.path(), name, reprocess)?;
    if format.is_none()
        && let Some(detections) = trees.detections(file)?
    {
        let Some(detected) = detections.files.first() else {
            return Err(AppError::usage(format!("`{name}` is neither an archive nor a result file of a known format"))
                .hint("set its format with `--result-format`; list the formats with `plumbline plugin list`"));
        };
        let format = one_line(&detected.format);
        context
            .reporter
            .progress(&format!("`{name}` is read as {format}; to read it as another format, use `--result-format`"));
    }
    trees.keep(kept);
    Ok(trees)
}

/// Makes a directory like an archive, with a definition of one plugin whose result is the file at
/// `path`.
fn lay_out(path: &Path, file: &str, format: &str) -> io::Result<TempDir> {
    let kept = tempfile::tempdir()?;
    let results = kept.path().join("plugins").join(file).join("results/global");
    fs::create_dir_all(&results)?;
    let definition = json!({
        "sonobuoy-config": {"plugin-name": "results", "driver": "Job", "result-format": format, "result-files": [file]},
        "spec": {"name": "plugin"},
    });
    fs::write(kept.path().join(DEFINITION), definition.to_string())?;
    let (from, to) = (path.canonicalize()?, results.join(file));
    // Links fail across file systems, and for files of other users.
    if fs::hard_link(&from, &to).is_err() {
        fs::copy(&from, &to)?;
    }
    Ok(kept)
}

fn newest_archive(dir: &Path) -> Result<Option<PathBuf>, AppError> {
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for path in archive_files(dir)? {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let candidate = (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path);
        if metadata.is_file() && newest.as_ref().is_none_or(|newest| *newest < candidate) {
            newest = Some(candidate);
        }
    }
    Ok(newest.map(|(_, path)| path))
}

/// The entries of a directory whose names are those of complete archives.
pub(crate) fn archive_files(dir: &Path) -> Result<Vec<PathBuf>, AppError> {
    let unreadable = format!("failed to read directory `{}`", dir.display());
    let mut files = Vec::new();
    for (at, entry) in fs::read_dir(dir).usage_error(&unreadable)?.enumerate() {
        if at >= MAX_FILES {
            return Err(AppError::usage(format!("directory `{}` has more than {MAX_FILES} files", dir.display()))
                .hint("pass the archive itself"));
        }
        let entry = entry.usage_error(&unreadable)?;
        if is_archive_file(&entry.file_name().to_string_lossy()) {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// Whether a file name is that of a complete archive. Incomplete ones have hidden names.
pub(crate) fn is_archive_file(name: &str) -> bool {
    !name.starts_with('.') && EXTENSIONS.iter().any(|extension| name.ends_with(extension))
}

/// Whether a directory is an unpacked archive.
pub(crate) fn is_unpacked(dir: &Path) -> bool {
    ROOT.iter().any(|entry| dir.join(entry).exists())
}

/// Copies standard input to a file, because archives are read more than once.
fn spool(to: &Path) -> Result<(), AppError> {
    let mut file = File::create_new(to).system_error(NO_ROOM)?;
    let copied = io::copy(&mut io::stdin().lock().take(MAX_STDIN + 1), &mut file)
        .system_error("failed to copy standard input to a temporary file")?;
    if copied > MAX_STDIN {
        return Err(AppError::usage(format!("standard input has more than {} GiB", MAX_STDIN >> 30))
            .hint("pass a file instead"));
    }
    Ok(())
}
