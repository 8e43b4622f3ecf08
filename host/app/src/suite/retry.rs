//! Plugins that retry failed tests of the suite, and the focus that reruns those of an archive.

use std::path::Path;
use std::sync::Arc;

use plumbline_conformance::suite::{self, RerunError, any_test_ran, failed_tests, rerun_focus};
use plumbline_core::config::{BundleSource, Selection};
use plumbline_core::{Config, shell_path};
use plumbline_kubernetes::manifest::{ManifestOptions, ManifestPlugin};

use super::SuiteOptions;
use crate::context::Context;
use crate::error::AppError;
use crate::trees::{Reprocess, Trees};

/// Adds the plugins that retry failed tests. They are copies of the suite's definition, so this is
/// the last change to it.
///
/// # Errors
/// The definition cannot be retried.
pub fn add_retries(options: &SuiteOptions, manifest: &mut ManifestOptions) -> Result<(), AppError> {
    let named = |plugin: &ManifestPlugin| plugin.definition.name.as_str() == suite::PLUGIN;
    let Some(at) = manifest.plugins.iter().position(named).filter(|_| options.retry_failed > 0) else { return Ok(()) };
    let Some(plugin) = manifest.plugins.get_mut(at) else { return Ok(()) };
    let modules = plugin.modules.clone();
    let added = suite::add_retries(Arc::make_mut(&mut plugin.definition), options.retry_failed).map_err(|error| {
        AppError::usage(format!("`--retry-failed {}` cannot be used", options.retry_failed)).because(&error)
    })?;
    for definition in added {
        copy_settings(&mut manifest.config, definition.name.as_str());
        manifest.plugins.push(ManifestPlugin { definition: Arc::new(definition), modules: modules.clone() });
    }
    Ok(())
}

/// Copies the settings of the suite in the configuration to the plugin `name`.
fn copy_settings(config: &mut Config, name: &str) {
    let own = &mut config.plumbline;
    for told in [&mut own.plugin_sources, &mut own.plugin_bundles] {
        if let Some(value) = told.get(suite::PLUGIN).cloned() {
            told.insert(name.to_owned(), value);
        }
    }
    if let Some(bundle) = own.bundles.iter().find(|bundle| bundle.plugin == suite::PLUGIN).cloned() {
        own.bundles.push(BundleSource { plugin: name.to_owned(), ..bundle });
    }
    if let Some(selected) = &mut config.plugins {
        selected.push(Selection { name: name.to_owned() });
    }
}

/// The focus that reruns the failed tests of the archive at `path`.
pub(super) fn rerun_focus_of(context: &Context, path: &Path) -> Result<String, AppError> {
    let shown = path.display();
    let wrong = || AppError::usage(format!("failed tests of `{shown}` cannot be run again"));
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    let plugins = trees.plugins();
    if !plugins.iter().any(|plugin| plugin == suite::PLUGIN) {
        let names: Vec<_> = plugins.iter().map(|plugin| format!("`{plugin}`")).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(AppError::usage(format!("archive `{shown}` has no plugin `{}`", suite::PLUGIN))
            .hint(format!("plugins in it: {there}")));
    }
    let tree = trees.item(suite::PLUGIN)?;
    if !any_test_ran(&tree) {
        return Err(AppError::usage(format!("archive `{shown}` has no {} results: no test in it ran", suite::PLUGIN))
            .hint(format!("`plumbline results {shown} --plugin {}` shows what it has", suite::PLUGIN)));
    }
    let tests = failed_tests(&tree);
    let focus = rerun_focus(&tests).map_err(|error| {
        let hint = match error {
            RerunError::NothingFailed => format!("`plumbline results {}` shows what is in it", shell_path(path)),
            RerunError::TooLong { .. } => "so much has failed: run all tests again, with `--mode`".to_owned(),
        };
        wrong().because(&error).hint(hint)
    })?;
    context.reporter.progress(&format!("{} failed in `{shown}` and run again", counted(tests.len())));
    Ok(focus)
}

/// `1 test`, `12 tests`.
pub(super) fn counted(tests: usize) -> String {
    format!("{tests} test{}", if tests == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use plumbline_core::Definition;
    use serde_json::json;

    use super::*;

    fn options() -> ManifestOptions {
        let plugin = |name: &str| {
            let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": name}, "spec": {"image": "i"}});
            let definition = Arc::new(Definition::from_json(document).unwrap().definition);
            ManifestPlugin { definition, modules: vec![("junit.wasm".to_owned(), vec![1])] }
        };
        let selected = Some(vec![Selection { name: "e2e".to_owned() }]);
        let mut config = Config { plugins: selected, ..Config::default() };
        config.plumbline.plugin_sources.insert("e2e".to_owned(), "oci://r/e2e".to_owned());
        ManifestOptions::new(config, vec![plugin("systemd-logs"), plugin("e2e")])
    }

    #[test]
    fn reruns_have_what_the_suite_has() {
        let mut options = options();
        add_retries(&SuiteOptions { retry_failed: 2, ..SuiteOptions::default() }, &mut options).unwrap();
        let names: Vec<_> = options.plugins.iter().map(|plugin| plugin.definition.name.to_string()).collect();
        assert_eq!(names, ["systemd-logs", "e2e", "e2e-retry-1", "e2e-retry-2"]);
        assert!(options.plugins.iter().all(|plugin| plugin.modules.len() == 1));
        assert_eq!(options.config.plugins.unwrap().len(), 3, "who names the plugins of a run must name these too");
        assert_eq!(options.config.plumbline.plugin_sources["e2e-retry-2"], "oci://r/e2e");
    }

    #[test]
    fn without_the_option_nothing_is_added() {
        let mut options = options();
        add_retries(&SuiteOptions::default(), &mut options).unwrap();
        assert_eq!(options.plugins.len(), 2);
    }
}
