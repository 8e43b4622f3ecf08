//! What a run starts with: its working directory, its ID, and the plugins in the search path with
//! the modules that came with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumbline_aggregator::{Source, WorkDir, WorkDirError};
use plumbline_core::RunId;
use plumbline_core::config::Config;
use plumbline_kubernetes::manifest::unpack_modules;
use plumbline_kubernetes::names;

use crate::error::AppError;
use crate::sources;

/// The working directory of the run, in the aggregator's directory.
const WORK: &str = ".plumbline-run-aggregator";
/// The unpacked modules from ConfigMaps, in the aggregator's directory.
const MODULES: &str = ".plumbline-modules";

/// How an aggregator runs.
pub struct AggregatorOptions<'a> {
    /// Keep running at the end, so that the archive can be downloaded.
    pub no_exit: bool,
    /// The directory of the run and its archive.
    pub dir: PathBuf,
    /// The kubeconfig of the cluster, outside of a pod.
    pub kubeconfig: Option<PathBuf>,
    /// The directory of the bundles in the image.
    pub baked: PathBuf,
    /// The file with limits.
    pub limits: Option<PathBuf>,
    /// Starts the log of the run, which also goes to the file at the path.
    pub start_log: &'a (dyn Fn(&Path) -> Result<(), AppError> + Sync),
}

/// The reason why a run cannot start in this container.
pub(super) struct StartError {
    pub(super) error: AppError,
    /// Another container works on the run, and publishes its status.
    pub(super) elsewhere: bool,
}

impl From<AppError> for StartError {
    fn from(error: AppError) -> Self {
        Self { error, elsewhere: false }
    }
}

/// Opens the working directory of the run, starts its log, and determines its ID.
pub(super) fn open_work_dir(options: &AggregatorOptions<'_>, config: &Config) -> Result<(WorkDir, RunId), StartError> {
    std::fs::create_dir_all(&options.dir).map_err(|error| {
        AppError::system(format!("failed to create the directory `{}`", options.dir.display())).because(&error)
    })?;
    let work = WorkDir::open(options.dir.join(WORK)).map_err(|cause| StartError {
        error: AppError::system("the run's working directory cannot be used").because(&cause),
        elsewhere: matches!(cause, WorkDirError::Locked(_)),
    })?;
    (options.start_log)(&work.tree().join("meta/run.log"))?;
    let id = run_id(config, &work)?;
    Ok((work, id))
}

/// The ID of a run that continues is that of its record; a new run has the one in the
/// configuration.
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

/// Unpacks the modules from ConfigMaps, into a directory for each plugin that has modules.
pub(super) fn unpack_modules_of_run(dir: &Path) -> Result<BTreeMap<String, PathBuf>, AppError> {
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

/// Reads the definitions in the directories of the search path, or those that the configuration
/// selects.
pub(super) fn find_plugins(config: &Config, modules: &BTreeMap<String, PathBuf>) -> Result<Vec<Source>, AppError> {
    if config.skip_plugins {
        return Ok(Vec::new());
    }
    let mut found = BTreeMap::new();
    for path in config.plugin_search_path.iter().map(PathBuf::from) {
        for file in definitions(&path)? {
            let mut source = sources::from_file(&file)?.source;
            // Modules come in ConfigMaps of their own, not next to definitions.
            source.bundle = modules.get(source.definition.name.as_str()).cloned();
            let name = source.definition.name.clone();
            if found.insert(name.clone(), source).is_some() {
                return Err(AppError::usage(format!("two definitions have the name `{name}`"))
                    .hint(format!("the second is `{}`; names must differ within a run", file.display())));
            }
        }
    }
    let Some(selected) = &config.plugins else { return Ok(found.into_values().collect()) };
    let mut chosen = Vec::new();
    for selection in selected {
        let name = selection.name.parse().ok();
        match name.and_then(|name| found.remove(&name)) {
            Some(source) => chosen.push(source),
            None => {
                let there: Vec<_> = found.keys().map(|name| format!("`{name}`")).collect();
                return Err(AppError::usage(format!("plugin `{}` is selected and not there", selection.name)).hint(
                    format!("there are: {}", if there.is_empty() { "none".to_owned() } else { there.join(", ") }),
                ));
            }
        }
    }
    Ok(chosen)
}

/// The YAML files of a directory, by name. A missing directory has none.
fn definitions(directory: &Path) -> Result<Vec<PathBuf>, AppError> {
    let unreadable = |error: &std::io::Error| {
        AppError::system(format!("failed to read the plugins in `{}`", directory.display())).because(error)
    };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(&error))?.path();
        let is_definition = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        // The files of a mounted ConfigMap are links into a hidden directory.
        if is_definition && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use plumbline_core::config::Selection;

    use super::*;

    fn config(dir: &Path) -> Config {
        Config { plugin_search_path: vec![dir.display().to_string(), "/does/not/exist".into()], ..Config::default() }
    }

    fn write(dir: &Path, file: &str, name: &str) {
        let text =
            format!("sonobuoy-config:\n  driver: Job\n  plugin-name: {name}\nspec:\n  name: plugin\n  image: i\n");
        std::fs::write(dir.join(file), text).unwrap();
    }

    #[test]
    fn all_or_those_that_are_selected() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "plugin-0.yaml", "a");
        write(dir.path(), "plugin-1.yml", "b");
        std::fs::write(dir.path().join("README.md"), "no definition").unwrap();
        let names = |config: &Config| -> Vec<String> {
            find_plugins(config, &BTreeMap::new()).unwrap().iter().map(|s| s.definition.name.to_string()).collect()
        };
        let mut config = config(dir.path());
        config.plugins = None;
        assert_eq!(names(&config), ["a", "b"]);
        config.plugins = Some(vec![Selection { name: "b".into() }]);
        assert_eq!(names(&config), ["b"]);
        config.plugins = Some(vec![]);
        assert!(names(&config).is_empty());
        config.plugins = Some(vec![Selection { name: "c".into() }]);
        let error = find_plugins(&config, &BTreeMap::new()).unwrap_err().in_full();
        assert!(error.contains("`c`") && error.contains("`a`, `b`"), "{error}");
    }

    #[test]
    fn two_of_one_name_and_what_cannot_be_read_are_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "plugin-0.yaml", "a");
        write(dir.path(), "plugin-1.yaml", "a");
        assert!(find_plugins(&config(dir.path()), &BTreeMap::new()).unwrap_err().in_full().contains("plugin-1.yaml"));
        std::fs::write(dir.path().join("plugin-1.yaml"), "- no\n- definition").unwrap();
        assert!(find_plugins(&config(dir.path()), &BTreeMap::new()).unwrap_err().in_full().contains("plugin-1.yaml"));
    }
}
