//! The facts of a run in its archive, and the files that are submitted.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_archive::layout::SERVER_VERSION;
use plumbline_archive::results::ResultsArchive;
use plumbline_conformance::submission::{JUNIT, LOG, LogVersions, SuiteSettings};
use serde_json::Value;

use super::folder::head;
use crate::error::AppError;

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
            AppError::usage(format!("failed to read archive `{}`", path.display())).because(error)
        };
        let mut archive = ResultsArchive::open(path).map_err(|error| wrong(&error))?;
        let info = archive.info().clone();
        if !info.plugins.iter().any(|known| known == plugin) {
            let known = if info.plugins.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has `{}`; `--plugin` names the one that ran the suite", info.plugins.join("`, `"))
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
            (None, None) => "a version of Sonobuoy that does not name itself".to_owned(),
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
            .because(&io::Error::other(match files.len() {
                0 => "the plugin sent nothing".to_owned(),
                n => format!("it sent {n} {}, and not exactly one of that name", if n == 1 { "file" } else { "files" }),
            }))
            .hint("only what the conformance image writes can be submitted"));
    };
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("`{name}` cannot be taken out of archive `{}`", path.display())).because(error)
    };
    if *bytes > MAX_FILE {
        return Err(wrong(&io::Error::other(format!("it has {bytes} bytes: at most {MAX_FILE} are submitted"))));
    }
    let mut out = File::create(to)
        .map_err(|error| AppError::system(format!("failed to write `{}`", to.display())).because(&error))?;
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
