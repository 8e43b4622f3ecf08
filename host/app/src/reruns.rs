//! Reruns of failed tests of any suite: those of an archive, as a selection, and those of the same run,
//! as plugins that are added to it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use plumbline_bundle::profile::{MAX_REQUIRED, Profile};
use plumbline_conformance::suite::{self, RerunError, any_test_ran, failed_tests, rerun_focus};
use plumbline_core::config::{BundleSource, Selection};
use plumbline_core::definition::{Definition, Reruns};
use plumbline_core::{Config, shell_path};
use plumbline_kubernetes::manifest::{ManifestOptions, ManifestPlugin};

use crate::context::Context;
use crate::error::{AppError, Explain as _, quoted};
use crate::trees::{Reprocess, Trees};

/// Reruns of failed tests, which are added to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retries {
    /// The maximum number of reruns.
    pub count: u32,
    /// The plugin, and how its tests are selected.
    pub how: Reruns,
}

impl Retries {
    /// Returns the definitions of the reruns of `suite`. They are copies of it, so this is the last
    /// change to it.
    pub(crate) fn of(&self, suite: &mut Arc<Definition>) -> Result<Vec<Arc<Definition>>, AppError> {
        let added = suite::add_retries(Arc::make_mut(suite), self.count, &self.how)
            .usage_error(format_args!("invalid `--retry-failed {}`", self.count))
            .hint("use another number of retries")?;
        Ok(added.into_iter().map(Arc::new).collect())
    }
}

/// Adds the plugins that retry failed tests.
pub(crate) fn add_retries(retries: &Retries, manifest: &mut ManifestOptions) -> Result<(), AppError> {
    let suite = &retries.how.plugin;
    let Some(plugin) = manifest.plugins.iter_mut().find(|plugin| plugin.definition.name == *suite) else {
        return Ok(());
    };
    let modules = plugin.modules.clone();
    for definition in retries.of(&mut plugin.definition)? {
        copy_settings(&mut manifest.config, suite.as_str(), definition.name.as_str());
        manifest.plugins.push(ManifestPlugin { definition, modules: modules.clone() });
    }
    Ok(())
}

fn copy_settings(config: &mut Config, suite: &str, name: &str) {
    let own = &mut config.plumbline;
    for entries in [&mut own.plugin_sources, &mut own.plugin_bundles] {
        if let Some(value) = entries.get(suite).cloned() {
            entries.insert(name.to_owned(), value);
        }
    }
    if let Some(bundle) = own.bundles.iter().find(|bundle| bundle.plugin == suite).cloned() {
        own.bundles.push(BundleSource { plugin: name.to_owned(), ..bundle });
    }
    if let Some(selected) = &mut config.plugins {
        selected.push(Selection { name: name.to_owned() });
    }
}

/// The failed tests of an archive.
pub(crate) struct FailedTests {
    /// An expression that selects them.
    pub(crate) focus: String,
    /// Their names. Each of them must run again.
    pub(crate) names: Vec<String>,
}

/// Finds the tests of `plugin`, which runs the suite of `profile`, that failed in an archive.
pub(crate) fn failed_tests_of(
    context: &Context,
    path: &Path,
    plugin: &str,
    profile: &Profile,
) -> Result<FailedTests, AppError> {
    let shown = path.display();
    let wrong = || AppError::usage(format!("failed to rerun the failed tests of `{shown}`"));
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    let plugins = trees.plugins();
    if !plugins.iter().any(|name| name == plugin) {
        let there = if plugins.is_empty() { "none".to_owned() } else { quoted(&plugins) };
        return Err(AppError::usage(format!("archive `{shown}` has no plugin `{plugin}`"))
            .hint(format!("plugins in it: {there}")));
    }
    let tree = trees.item(plugin)?;
    if !any_test_ran(&tree) {
        return Err(AppError::usage(format!("archive `{shown}` has no results of `{plugin}`: no test in it ran"))
            .hint(format!("see its results with `plumbline results {shown} --plugin {plugin}`")));
    }
    let strip = profile.selection.as_ref().map_or("", |selection| selection.strip.as_str());
    let tests = stripped(failed_tests(&tree), strip);
    let all_again = "too many tests failed: run all tests again";
    let focus = rerun_focus(&tests).map_err(|error| {
        let hint = match error {
            RerunError::NothingFailed => format!("see its results with `plumbline results {}`", shell_path(path)),
            RerunError::TooLong { .. } => all_again.to_owned(),
        };
        wrong().because(&error).hint(hint)
    })?;
    if tests.len() > MAX_REQUIRED {
        let why = format!("{} failed, more than the {MAX_REQUIRED} that can run again", counted(tests.len()));
        return Err(wrong().cause(why).hint(all_again));
    }
    context.reporter.progress(&format!("{} failed in `{shown}` and run again", counted(tests.len())));
    Ok(FailedTests { focus, names: tests.into_iter().map(str::to_owned).collect() })
}

/// Returns the names of tests, each once, without the prefix that they have in results.
fn stripped<'a>(tests: Vec<&'a str>, prefix: &str) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let names = tests.into_iter().map(|name| name.strip_prefix(prefix).unwrap_or(name).trim());
    names.filter(|name| !name.is_empty() && seen.insert(*name)).collect()
}

/// `1 test`, `12 tests`.
fn counted(tests: usize) -> String {
    format!("{tests} test{}", if tests == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
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
    fn the_suite_gets_names_without_the_prefix_of_results() {
        assert_eq!(stripped(vec!["suite/a", "b", "suite/", "a"], "suite/"), ["a", "b"]);
        assert_eq!(stripped(vec!["[sig] a"], ""), ["[sig] a"]);
    }

    #[test]
    fn reruns_have_what_the_suite_has() {
        let mut options = options();
        let (plugin, clear) = ("e2e".parse().unwrap(), vec!["E2E_SKIP".to_owned()]);
        let how = Reruns { plugin, focus: "E2E_FOCUS".to_owned(), clear, strip: String::new() };
        add_retries(&Retries { count: 2, how }, &mut options).unwrap();
        let names: Vec<_> = options.plugins.iter().map(|plugin| plugin.definition.name.to_string()).collect();
        assert_eq!(names, ["systemd-logs", "e2e", "e2e-retry-1", "e2e-retry-2"]);
        assert!(options.plugins.iter().all(|plugin| plugin.modules.len() == 1));
        assert_eq!(options.config.plugins.unwrap().len(), 3, "who names the plugins of a run must name these too");
        assert_eq!(options.config.plumbline.plugin_sources["e2e-retry-2"], "oci://r/e2e");
    }
}
