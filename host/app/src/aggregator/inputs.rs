//! What decides a run: its definitions, modules and configuration. Another manifest on the volume of
//! an earlier run has other ones. The results of that run say nothing about them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_aggregator::WorkDir;
use plumbline_archive::atomic::write_atomic;
use plumbline_core::config::{Config, PlumblineConfig, RegistryAccess, Server, Storage, Telemetry};
use plumbline_core::{Digest, RunId};
use plumbline_kubernetes::names;
use serde::{Deserialize, Serialize};

use crate::aggregator::finish;
use crate::aggregator::start::{MODULES, Pod, definitions};
use crate::error::{AppError, Explain as _};
use crate::files::paths_in;

/// The file with the inputs of the run in the aggregator's directory. Earlier versions wrote none.
const FILE: &str = ".plumbline-inputs.json";

/// The inputs of a run. The ID shows whether a record in the same directory is that of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Inputs {
    run: RunId,
    digest: Digest,
}

/// The digest of what decides a run: the files of its definitions and modules, and its
/// configuration.
pub(super) fn digest(config: &Config) -> Result<Digest, AppError> {
    let mut files = Vec::new();
    if !config.skip_plugins {
        for directory in &config.plugin_search_path {
            files.extend(definitions(Path::new(directory))?);
        }
    }
    files.extend(modules(Path::new(names::MODULES_DIR))?);
    let configuration = serde_json::to_vec(&decisive(config)).system_error("failed to write the configuration")?;
    let mut lines = vec![Digest::of(&configuration).to_string()];
    for path in files {
        let digest = File::open(&path).and_then(Digest::of_reader);
        let digest = digest.system_error(format_args!("failed to read `{}`", path.display()))?;
        lines.push(format!("{path:?} {digest}"));
    }
    Ok(Digest::of(lines.join("\n").as_bytes()))
}

/// The files with parts of modules, by name. A missing directory has none.
fn modules(directory: &Path) -> Result<Vec<PathBuf>, AppError> {
    let mut files = match paths_in(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        paths => paths.system_error(format_args!("failed to read the modules in `{}`", directory.display()))?,
    };
    // The files of a mounted ConfigMap are links into a hidden directory.
    files.retain(|path| path.is_file());
    Ok(files)
}

/// The configuration without what does not decide the run: what differs between two manifests of
/// one run, and how the run is reached, stored and observed. A user may correct the latter while
/// the run is under way.
fn decisive(config: &Config) -> Config {
    Config {
        description: String::new(),
        uuid: String::new(),
        version: String::new(),
        server: Server { timeout_seconds: config.server.timeout_seconds, ..Server::default() },
        plumbline: PlumblineConfig {
            storage: Storage::default(),
            upload_url: String::new(),
            upload_secret: String::new(),
            telemetry: Telemetry::default(),
            registry: RegistryAccess::default(),
            ..config.plumbline.clone()
        },
        ..config.clone()
    }
}

/// Whether the run in `home` has finished, and a manifest with these inputs starts another one.
///
/// # Errors
/// The run in `home` has other inputs, and has not finished. Neither its results nor its plugins may
/// be taken for those of this manifest.
pub(super) fn replaces_finished(
    home: &Path,
    work: &WorkDir,
    digest: Digest,
    config: &Config,
) -> Result<bool, AppError> {
    let finished = finish::recorded(home);
    let run = match &finished {
        Some(status) => finish::id_of(status),
        None => unfinished(work)?,
    };
    let known = read(home).filter(|inputs| Some(inputs.run) == run);
    let Some(inputs) = known.filter(|inputs| inputs.digest != digest) else { return Ok(false) };
    if finished.is_some() {
        return Ok(true);
    }
    Err(AppError::usage("the volume has an unfinished run of another manifest")
        .cause(format!("run `{}` started with other definitions or another configuration", inputs.run))
        .hint(format!(
            "to continue that run, apply its manifest again; to discard its results, delete it first with `plumbline delete -n {}`, together with its volume claim",
            Pod::named(config).namespace
        )))
}

/// Removes what a finished run left in `home`, except its archive.
pub(super) fn forget(home: &Path, work: WorkDir) -> Result<(), AppError> {
    let failed = "failed to remove the record of an earlier run";
    // First, because without the record, this would be the directory of an unfinished run.
    work.remove().system_error(failed)?;
    finish::forget(home).system_error(failed)?;
    match std::fs::remove_dir_all(home.join(MODULES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.system_error(failed),
    }
}

/// Records the inputs of a run that is about to start. Those of an earlier run stay.
pub(super) fn record_new(home: &Path, work: &WorkDir, run: RunId, digest: Digest) -> Result<(), AppError> {
    if finish::recorded(home).is_some() || unfinished(work)?.is_some() {
        return Ok(());
    }
    let path = home.join(FILE);
    let bytes = serde_json::to_vec(&Inputs { run, digest }).map_err(io::Error::from);
    bytes
        .and_then(|bytes| write_atomic(&path, &bytes))
        .system_error(format_args!("failed to record the inputs of the run in `{}`", path.display()))
}

fn unfinished(work: &WorkDir) -> Result<Option<RunId>, AppError> {
    let record = work.record().system_error("failed to use the run's working directory")?;
    Ok(record.map(|record| record.run))
}

/// The inputs that were recorded in `home`. A file that is not readable counts as missing.
fn read(home: &Path) -> Option<Inputs> {
    let bytes = std::fs::read(home.join(FILE)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use plumbline_aggregator::RunRecord;
    use plumbline_archive::layout::archive_name;
    use plumbline_core::run_status::{RunPhase, RunStatus, TarInfo};

    use super::*;

    fn config(plugins: &Path) -> Config {
        Config { plugin_search_path: vec![plugins.display().to_string()], ..Config::default() }
    }

    #[test]
    fn definitions_and_settings_decide_a_run_and_other_parts_of_a_manifest_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugin-0.yaml");
        std::fs::write(&file, "a").unwrap();
        let config = config(dir.path());
        let first = digest(&config).unwrap();
        let own = &config.plumbline;
        let telemetry = Telemetry { trace_parent: "00-1-2-01".to_owned(), ..Telemetry::default() };
        let same = [
            Config { uuid: RunId::random().to_string(), version: "v9".to_owned(), ..config.clone() },
            Config { plumbline: PlumblineConfig { telemetry, ..own.clone() }, ..config.clone() },
            Config {
                plumbline: PlumblineConfig { upload_url: "s3://bucket".to_owned(), ..own.clone() },
                ..config.clone()
            },
            Config {
                server: Server { advertise_address: "10.0.0.7".to_owned(), ..config.server.clone() },
                ..config.clone()
            },
        ];
        for config in same {
            assert_eq!(digest(&config).unwrap(), first, "{config:?}");
        }
        let other = [
            Config { worker_image: "r/plumbline:2".to_owned(), ..config.clone() },
            Config { server: Server { timeout_seconds: 7, ..config.server.clone() }, ..config.clone() },
            Config { plumbline: PlumblineConfig { deadline_seconds: 7, ..own.clone() }, ..config.clone() },
            Config { skip_plugins: true, ..config.clone() },
        ];
        for config in other {
            assert_ne!(digest(&config).unwrap(), first, "{config:?}");
        }
        std::fs::write(&file, "b").unwrap();
        assert_ne!(digest(&config).unwrap(), first);
        std::fs::rename(&file, dir.path().join("README.md")).unwrap();
        assert_ne!(digest(&config).unwrap(), first);
    }

    /// A directory of an aggregator, with the inputs of a new run in it.
    struct Home {
        dir: tempfile::TempDir,
        run: RunId,
    }

    impl Home {
        fn new() -> Self {
            let home = Self { dir: tempfile::tempdir().unwrap(), run: RunId::random() };
            record_new(home.dir.path(), &home.work(), home.run, Digest::of(b"first")).unwrap();
            home
        }

        fn work(&self) -> WorkDir {
            WorkDir::open(self.dir.path().join("run")).unwrap()
        }

        fn start(&self) {
            let record = RunRecord {
                run: self.run,
                started: Timestamp::UNIX_EPOCH,
                plugins: Vec::new(),
                timeout_seconds: 0,
                deadline_seconds: 0,
            };
            self.work().begin(&record).unwrap();
        }

        /// Records the end of the run, and returns the path of its archive.
        fn finish(&self) -> PathBuf {
            let name = archive_name(Timestamp::UNIX_EPOCH, &self.run);
            let archive = self.dir.path().join(&name);
            std::fs::write(&archive, "archive").unwrap();
            let tar_info = TarInfo { name, ..TarInfo::default() };
            let status = RunStatus { status: RunPhase::Complete, tar_info, ..RunStatus::default() };
            finish::record(self.dir.path(), &status).unwrap();
            archive
        }

        fn is_replaced_by(&self, inputs: &str) -> Result<bool, AppError> {
            replaces_finished(self.dir.path(), &self.work(), Digest::of(inputs.as_bytes()), &Config::default())
        }
    }

    #[test]
    fn a_finished_run_is_that_of_its_manifest_only() {
        let home = Home::new();
        home.start();
        let archive = home.finish();
        assert!(!home.is_replaced_by("first").unwrap());
        assert!(home.is_replaced_by("second").unwrap());
        // The inputs of a finished run stay with its record.
        record_new(home.dir.path(), &home.work(), RunId::random(), Digest::of(b"second")).unwrap();
        assert!(home.is_replaced_by("second").unwrap());

        forget(home.dir.path(), home.work()).unwrap();
        assert!(archive.is_file(), "the archive stays");
        assert_eq!(finish::recorded(home.dir.path()), None);
        assert!(home.work().record().unwrap().is_none(), "a crash had left the working directory");
        assert!(!home.is_replaced_by("second").unwrap(), "there is nothing left to replace");
    }

    #[test]
    fn an_unfinished_run_is_not_continued_by_another_manifest() {
        let home = Home::new();
        assert!(!home.is_replaced_by("second").unwrap(), "the run has not started");
        home.start();
        assert!(!home.is_replaced_by("first").unwrap());
        let error = home.is_replaced_by("second").unwrap_err();
        assert!(error.is_usage() && !error.is_temporary());
        assert!(error.in_full().contains("apply its manifest again"), "{}", error.in_full());
    }

    #[test]
    fn a_run_of_an_earlier_version_belongs_to_any_manifest() {
        let home = Home::new();
        home.start();
        std::fs::remove_file(home.dir.path().join(FILE)).unwrap();
        assert!(!home.is_replaced_by("second").unwrap());
        home.finish();
        assert!(!home.is_replaced_by("second").unwrap());
        // These inputs are those of another run.
        let inputs = Inputs { run: RunId::random(), digest: Digest::of(b"first") };
        std::fs::write(home.dir.path().join(FILE), serde_json::to_vec(&inputs).unwrap()).unwrap();
        assert!(!home.is_replaced_by("second").unwrap());
    }
}
