//! Reads what submissions are made of: the folder of one, and the archive of a run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use plumbline_archive::layout::SERVER_VERSION;
use plumbline_archive::results::ResultsArchive;
use plumbline_conformance::submission::{
    Cases, FILES, FoundFile, JUNIT, LOG, LogVersions, PRODUCT, SuiteSettings, log_has_attempts,
};
use serde_json::Value;

use crate::error::{AppError, CHECK_FILE, Explain as _};
use crate::files::read_start;

/// The files of a folder. A submission has four.
const MAX_FILES: usize = 10_000;

/// The depth of folders.
const MAX_DEPTH: usize = 8;

/// The largest `PRODUCT.yaml`, in bytes. One more is read, so that the parser rejects a larger
/// file.
const MAX_PRODUCT: u64 = 1 << 20;

/// The bytes at the start of a log that are searched for versions.
const MAX_HEAD: u64 = 1 << 20;

/// A submission on disk.
pub(super) struct Folder {
    /// The folder of the product: the one with `PRODUCT.yaml`, or else the one that was read.
    pub(super) root: PathBuf,
    /// All its files, with paths that start with the folder of the version.
    pub(super) files: Vec<FoundFile>,
    /// The content of its `PRODUCT.yaml`.
    pub(super) product: Option<Vec<u8>>,
    /// The versions in its log.
    pub(super) log: LogVersions,
    /// Its results.
    pub(super) cases: Option<Cases>,
}

impl Folder {
    /// Reads `dir`: the folder of the product, that of the version above it, or the one above that.
    pub(super) fn read(dir: &Path) -> Result<Self, AppError> {
        let wrong = |error: &io::Error| {
            AppError::usage(format!("failed to read the submission in `{}`", dir.display()))
                .because(error)
                .hint("pass the directory of a submission, such as `v1.36/my-engine`")
        };
        // The canonical path has the names; `.` has none.
        let real = dir.canonicalize().map_err(|error| wrong(&error))?;
        let mut found = Vec::new();
        walk(&real, &prefix(&real), 0, &mut found).map_err(|error| wrong(&error))?;
        found.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let (files, paths): (Vec<FoundFile>, Vec<PathBuf>) = found.into_iter().unzip();
        let product = paths.iter().find(|path| path.file_name().is_some_and(|name| name == PRODUCT));
        let root = product.and_then(|path| path.parent()).unwrap_or(&real).to_owned();
        let read = |name: &str, limit: u64| {
            let file = FoundFile::find(&files, name);
            let path =
                file.and_then(|file| files.iter().zip(&paths).find(|(other, _)| *other == file)).map(|(_, path)| path);
            path.map(|path| content(path, limit)).transpose().map_err(|error| wrong(&error))
        };
        let product = read(PRODUCT, MAX_PRODUCT + 1)?;
        let log = read(LOG, MAX_HEAD)?.unwrap_or_default();
        let results = read(JUNIT, MAX_RESULTS + 1)?;
        if results.as_ref().is_some_and(|results| results.len() as u64 > MAX_RESULTS) {
            let error = io::Error::other(format!("`{JUNIT}` has more than {MAX_RESULTS} bytes"));
            return Err(wrong(&error));
        }
        let mut cases = results.map(|results| Cases::read(&results));
        if let Some(cases) = &mut cases
            && let Some((_, path)) = files.iter().zip(&paths).find(|(file, _)| file.name().eq_ignore_ascii_case(LOG))
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
        {
            cases.retries |= File::open(path).and_then(log_has_attempts).map_err(|error| wrong(&error))?;
        }
        Ok(Self { root, files, product, log: LogVersions::read(&String::from_utf8_lossy(&log)), cases })
    }
}

/// The first `limit` bytes of what Git would store for the file: for a symbolic link, its target.
fn content(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if path.symlink_metadata()?.is_symlink() {
        return Ok(path.read_link()?.into_os_string().into_encoded_bytes());
    }
    read_start(path, limit)
}

/// The prefix that makes paths start with the folder of the version.
fn prefix(dir: &Path) -> String {
    let name = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_version = |name: &str| name.starts_with("v1.");
    if FILES.iter().any(|file| dir.join(file).exists()) {
        let above = dir.parent().map(&name).unwrap_or_default();
        return format!("{above}/{}/", name(dir)).trim_start_matches('/').to_owned();
    }
    if is_version(&name(dir)) { format!("{}/", name(dir)) } else { String::new() }
}

fn walk(dir: &Path, prefix: &str, depth: usize, found: &mut Vec<(FoundFile, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if kind.is_dir() {
            // Clones of the repository of submissions have a `.git`.
            if entry.file_name() == ".git" {
                continue;
            }
            if depth >= MAX_DEPTH {
                return Err(io::Error::other(format!("folders are nested more than {MAX_DEPTH} levels deep")));
            }
            walk(&entry.path(), &format!("{path}/"), depth + 1, found)?;
            continue;
        }
        // Git stores the targets of links, and neither pipes nor sockets.
        if !kind.is_file() && !kind.is_symlink() {
            continue;
        }
        let bytes = entry.metadata()?.len();
        if found.len() >= MAX_FILES {
            return Err(io::Error::other(format!("there are more than {MAX_FILES} files")));
        }
        found.push((FoundFile { path, bytes }, entry.path()));
    }
    Ok(())
}

/// The start of a log as text, with replacements for invalid UTF-8.
pub(super) fn head(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&content(path, MAX_HEAD)?).into_owned())
}

/// The largest file of results, in bytes. A full run of the suite has 2.5 MiB.
pub(super) const MAX_RESULTS: u64 = 256 << 20;

/// Reads the cases of the file at `path` as the verifier does, and from the log whether failed tests ran
/// again.
pub(super) fn read_cases(path: &Path, log: &Path) -> Result<Cases, AppError> {
    let wrong = |error: &io::Error| {
        AppError::usage(format!("failed to read the results in `{}`", path.display())).because(error).hint(CHECK_FILE)
    };
    let document = read_start(path, MAX_RESULTS + 1).map_err(|error| wrong(&error))?;
    if document.len() as u64 > MAX_RESULTS {
        return Err(wrong(&io::Error::other(format!("it has more than {MAX_RESULTS} bytes"))));
    }
    let mut cases = Cases::read(&document);
    cases.retries |= File::open(log).and_then(log_has_attempts).map_err(|error| wrong(&error))?;
    Ok(cases)
}

/// The largest document in the archive, in bytes.
const MAX_DOCUMENT: u64 = 16 << 20;

/// The largest submitted file, in bytes. The log of a full run has about 2 MiB.
const MAX_FILE: u64 = 1 << 30;

/// The facts of a run.
pub(super) struct RunFacts {
    /// The settings of the suite.
    pub(super) settings: SuiteSettings,
    /// The full version of the cluster.
    pub(super) kubernetes: Option<String>,
    /// The full version of the suite.
    pub(super) suite: Option<String>,
    /// The tool that made the archive, with its version.
    pub(super) tool: String,
    /// The ID of the run.
    pub(super) run: Option<String>,
    /// The copy of the log.
    pub(super) log: PathBuf,
    /// The copy of the results.
    pub(super) junit: PathBuf,
}

impl RunFacts {
    /// Reads the archive at `path`; copies go to `scratch`.
    pub(super) fn read(path: &Path, plugin: &str, scratch: &Path) -> Result<Self, AppError> {
        let wrong = |error: &dyn std::error::Error| {
            AppError::usage(format!("failed to read archive `{}`", path.display()))
                .because(error)
                .hint("pass the results archive of a run of the suite")
        };
        let mut archive = ResultsArchive::open(path).map_err(|error| wrong(&error))?;
        let info = archive.info().clone();
        if !info.plugins.iter().any(|known| known == plugin) {
            let known = if info.plugins.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has `{}`; choose the plugin that ran the suite with `--plugin`", info.plugins.join("`, `"))
            };
            return Err(AppError::usage(format!("archive `{}` has no plugin `{plugin}`", path.display())).hint(known));
        }
        let document = |archive: &mut ResultsArchive, member: &str| -> Result<Value, AppError> {
            let bytes = archive.read(member, MAX_DOCUMENT).map_err(|error| wrong(&error))?;
            // An invalid document has no facts.
            Ok(serde_json::from_slice(&bytes).unwrap_or_default())
        };
        let settings = match archive.definition(plugin) {
            Some(member) => SuiteSettings::from_definition(&document(&mut archive, &member)?),
            None => SuiteSettings::default(),
        };
        let server = match archive.size(SERVER_VERSION) {
            Some(_) => document(&mut archive, SERVER_VERSION)?,
            None => Value::Null,
        };
        let log = scratch.join(LOG);
        let junit = scratch.join(JUNIT);
        copy(&mut archive, path, plugin, &[LOG], &log)?;
        copy(&mut archive, path, plugin, &[JUNIT, "junit*.xml"], &junit)?;
        let versions = LogVersions::read(&head(&log).map_err(|error| wrong(&error))?);
        let kubernetes = server.get("gitVersion").and_then(Value::as_str).map(str::to_owned);
        let suite = versions.suite.or_else(|| settings.image_version().map(str::to_owned));
        let tool = match (&info.plumbline_version, &info.version) {
            (Some(version), _) => format!("Plumbline {version}"),
            (None, Some(version)) => format!("Sonobuoy {version}"),
            (None, None) => "an unknown version of Sonobuoy".to_owned(),
        };
        Ok(Self { kubernetes: kubernetes.or(versions.cluster), suite, settings, tool, run: info.run, log, junit })
    }
}

/// Copies the only result file of `plugin` with the first of `names` that fits.
fn copy(archive: &mut ResultsArchive, path: &Path, plugin: &str, names: &[&str], to: &Path) -> Result<(), AppError> {
    let files: Vec<(String, u64)> = archive
        .files_below(&format!("plugins/{plugin}/results"))
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect();
    let found = names.iter().find_map(|wanted| {
        let mut fitting = files.iter().filter(|(name, _)| fits(wanted, name.rsplit('/').next().unwrap_or(name)));
        // Several files are ambiguous.
        fitting.next().filter(|_| fitting.next().is_none())
    });
    let Some((name, bytes)) = found else {
        let what = names.first().copied().unwrap_or_default();
        return Err(AppError::usage(format!("archive `{}` has no file `{what}` of plugin `{plugin}`", path.display()))
            .cause(match files.len() {
                0 => "the plugin sent nothing".to_owned(),
                n => {
                    format!("it sent {n} {}, expected exactly one of that name", if n == 1 { "file" } else { "files" })
                }
            })
            .hint("submit only results that the conformance image wrote"));
    };
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("failed to extract `{name}` from archive `{}`", path.display()))
            .because(error)
            .hint("download the archive again with `plumbline retrieve`")
    };
    if *bytes > MAX_FILE {
        return Err(wrong(&io::Error::other(format!("it has {bytes} bytes: the limit is {MAX_FILE}"))));
    }
    let mut out = File::create(to).system_error(format_args!("failed to write `{}`", to.display()))?;
    let mut reader = archive.file(name).map_err(|error| wrong(&error))?;
    io::copy(&mut reader, &mut out).map(drop).map_err(|error| wrong(&error))
}

/// Whether `name` matches `wanted`, which may have one `*`.
fn fits(wanted: &str, name: &str) -> bool {
    match wanted.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => name == wanted,
    }
}
