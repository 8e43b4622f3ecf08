//! The definitions that the aggregator finds in its search path, with the modules that came along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumbline_aggregator::Source;
use plumbline_app::{AppError, sources};
use plumbline_core::config::Config;

/// Every definition directly in the directories of the search path, or those of them that the configuration selects.
pub(super) fn find(config: &Config, modules: &BTreeMap<String, PathBuf>) -> Result<Vec<Source>, AppError> {
    if config.skip_plugins {
        return Ok(Vec::new());
    }
    let mut found = BTreeMap::new();
    for path in config.plugin_search_path.iter().map(PathBuf::from) {
        for file in definitions(&path)? {
            let mut source = sources::from_file(&file)?.source;
            // Modules do not lie beside definitions here: they travelled apart.
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

/// The files of a directory that may be definitions, in the order of their names. A directory that is not there has none.
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
        // Mounted ConfigMaps are links into a hidden directory.
        if is_definition && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbline_core::config::Selection;

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
            find(config, &BTreeMap::new()).unwrap().iter().map(|s| s.definition.name.to_string()).collect()
        };
        let mut config = config(dir.path());
        config.plugins = None;
        assert_eq!(names(&config), ["a", "b"]);
        config.plugins = Some(vec![Selection { name: "b".into() }]);
        assert_eq!(names(&config), ["b"]);
        config.plugins = Some(vec![]);
        assert!(names(&config).is_empty());
        config.plugins = Some(vec![Selection { name: "c".into() }]);
        let error = find(&config, &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains("`c`") && error.contains("`a`, `b`"), "{error}");
    }

    #[test]
    fn two_of_one_name_and_what_cannot_be_read_are_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "plugin-0.yaml", "a");
        write(dir.path(), "plugin-1.yaml", "a");
        assert!(find(&config(dir.path()), &BTreeMap::new()).unwrap_err().to_string().contains("plugin-1.yaml"));
        std::fs::write(dir.path().join("plugin-1.yaml"), "- no\n- definition").unwrap();
        assert!(find(&config(dir.path()), &BTreeMap::new()).unwrap_err().to_string().contains("plugin-1.yaml"));
    }
}
