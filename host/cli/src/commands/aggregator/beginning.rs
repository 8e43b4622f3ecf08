//! What a run begins with in this container: its directory, its id, the modules that came with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumbline_aggregator::{WorkDir, WorkDirError};
use plumbline_app::AppError;
use plumbline_core::RunId;
use plumbline_core::config::Config;
use plumbline_kubernetes::manifest::unpack_modules;
use plumbline_kubernetes::names;

use crate::args::{AggregatorArgs, Global};
use crate::logging;

/// The working directory of the run, below the aggregator's directory.
const WORK: &str = ".plumbline-run-aggregator";
/// Modules of bundles that came in ConfigMaps, below the aggregator's directory.
const MODULES: &str = ".plumbline-modules";

/// Why a run cannot begin in this container.
pub(super) struct NotBegun {
    pub(super) error: AppError,
    /// Another container is at work on it, and tells how it goes.
    pub(super) elsewhere: bool,
}

impl From<AppError> for NotBegun {
    fn from(error: AppError) -> Self {
        Self { error, elsewhere: false }
    }
}

/// The directory of the run, with its log; and the run's id.
pub(super) fn work(args: &AggregatorArgs, config: &Config, global: &Global) -> Result<(WorkDir, RunId), NotBegun> {
    std::fs::create_dir_all(&args.dir).map_err(|error| {
        AppError::system(format!("failed to create the directory `{}`", args.dir.display())).because(&error)
    })?;
    let work = WorkDir::open(args.dir.join(WORK)).map_err(|cause| NotBegun {
        error: AppError::system("the run's working directory cannot be used").because(&cause),
        elsewhere: matches!(cause, WorkDirError::Locked(_)),
    })?;
    logging::init_run(global, &work.tree().join("meta/run.log"))?;
    let id = run_id(config, &work)?;
    Ok((work, id))
}

/// The id of a run that goes on is its own; that of a new one is the configured one.
fn run_id(config: &Config, work: &WorkDir) -> Result<RunId, AppError> {
    let record = work
        .record()
        .map_err(|error| AppError::system("the run's working directory cannot be used").because(&error))?;
    if let Some(record) = record {
        return Ok(record.run);
    }
    if config.uuid.is_empty() {
        return Ok(RunId::random());
    }
    config.uuid.parse().map_err(|error: plumbline_core::NameError| {
        AppError::usage(format!("`UUID` in the configuration is not a run id: `{}`", config.uuid)).because(&error)
    })
}

/// The modules that came with the run in ConfigMaps, unpacked: a directory for each plugin that has some.
pub(super) fn carried(dir: &Path) -> Result<BTreeMap<String, PathBuf>, AppError> {
    let mounted = Path::new(names::MODULES_DIR);
    if !mounted.is_dir() {
        return Ok(BTreeMap::new());
    }
    let failed = |error: &dyn std::error::Error| {
        AppError::system("the modules that came with the run cannot be unpacked").because(error)
    };
    let mut unpacked = BTreeMap::new();
    for (plugin, files) in unpack_modules(mounted).map_err(|error| failed(&error))? {
        let target = dir.join(MODULES).join(&plugin);
        std::fs::create_dir_all(&target).map_err(|error| failed(&error))?;
        for (name, bytes) in files {
            std::fs::write(target.join(name), bytes).map_err(|error| failed(&error))?;
        }
        unpacked.insert(plugin, target);
    }
    Ok(unpacked)
}
