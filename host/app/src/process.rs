//! Post-processes results outside of a run: those of a plugin in a directory, and the file of an
//! adapter, for the reporter.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::{
    Failure, LimitPolicy, Modules, Outcome, PlannedPlugin, Source, Subject, TREE_FILE, post_process, prepare,
};
use plumbline_core::definition::Definition;
use plumbline_core::rollup::is_failure;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{Driver, GLOBAL, PluginName, Verdict};
use plumbline_worker::reporter::{self, Processor};
use serde_json::json;
use tempfile::TempDir;

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files;
use crate::modules::{self, LimitsFile};
use crate::sources::{self, ResolvedPlugin};

/// Which results are processed, and as those of which plugin. Options override the definition.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ProcessOptions {
    /// Directory with `results/` and `errors/`, as in an archive
    pub dir: PathBuf,
    /// The definition, or a directory with `plugin.yaml`; modules in the same directory
    /// (`NAME.wasm`) take precedence over built-in ones
    #[arg(long, value_name = "FILE|DIR")]
    pub definition: Option<PathBuf>,
    /// Name of the plugin, overriding the definition
    #[arg(long, required_unless_present = "definition")]
    pub name: Option<String>,
    /// Driver, overriding the definition: `Job`, `DaemonSet` or `Process`
    #[arg(long)]
    pub driver: Option<Driver>,
    /// Result format, overriding the definition
    #[arg(long)]
    pub result_format: Option<String>,
    /// Base names of the files to read, overriding the definition
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub result_files: Vec<String>,
    /// Read the results with this module, whatever the format
    #[arg(long, value_name = "FILE.wasm")]
    pub module: Option<PathBuf>,
    /// The file with limits.
    #[command(flatten)]
    pub limits: LimitsFile,
}

/// The processed results of a plugin.
pub struct Processed {
    /// The name of the plugin.
    pub plugin: PluginName,
    /// The total, and the failures.
    pub outcome: Outcome,
    /// The file with the result tree.
    pub tree: PathBuf,
    /// The directory of this file, which is removed with this.
    pub scratch: TempDir,
}

/// Post-processes a directory, which does not change.
pub fn process(context: &Context, options: &ProcessOptions) -> Result<Processed, AppError> {
    let found = definition(options)?;
    found.warnings.iter().for_each(|warning| context.reporter.warning(&format!("`{}`: {warning}", found.origin)));
    if !options.dir.join("results").is_dir() && !options.dir.join("errors").is_dir() {
        return Err(AppError::usage(format!(
            "directory `{}` has neither `results` nor `errors` below it",
            options.dir.display()
        ))
        .hint("results are laid out as in an archive: `results/global/FILE`, or `results/NODE/FILE` per node"));
    }
    let limits = options.limits.load()?;
    let modules = modules::modules(&limits)?;
    let plugin = plan(&modules, &limits.modules, found.source, options)?;
    plugin.warnings().into_iter().for_each(|warning| context.reporter.warning(&warning.to_string()));
    let scratch = files::scratch()?;
    let tree = scratch.path().join(TREE_FILE);
    let outcome = post_process(&plugin.subject(), &options.dir, &plugin.post_processor, scratch.path(), &tree)
        .system_error(format_args!("failed to post-process `{}`", options.dir.display()))?;
    Ok(Processed { plugin: plugin.name().clone(), outcome, tree, scratch })
}

/// The verdict over the only result of `plugin`.
pub fn verdict_of(plugin: &str, outcome: &Outcome) -> Verdict {
    let entry = PluginStatus {
        plugin: plugin.to_owned(),
        node: GLOBAL.to_owned(),
        status: EntryStatus::Complete,
        result_status: Some(outcome.total.status.clone()),
        result_counts: Some(outcome.total.counts.clone()),
        ..PluginStatus::default()
    };
    Verdict::from_run(&RunStatus { plugins: Some(vec![entry]), status: RunPhase::Complete, ..RunStatus::default() })
}

/// The definition of the options, or a minimal one, with the other options applied.
fn definition(options: &ProcessOptions) -> Result<ResolvedPlugin, AppError> {
    let mut found = match &options.definition {
        Some(path) => sources::from_file(path)?,
        None => {
            let name = options.name.as_deref().unwrap_or_default();
            let least = json!({
                "sonobuoy-config": {"plugin-name": name, "driver": options.driver.unwrap_or(Driver::Job)},
                "spec": {},
            });
            let parsed = Definition::from_json(least)
                .usage_error("invalid options for a plugin")
                .hint("correct them, or pass a definition with `--definition`")?;
            let found = ResolvedPlugin::of_definition(parsed.definition, name.to_owned());
            ResolvedPlugin { warnings: parsed.warnings, ..found }
        }
    };
    let mut definition = (*found.source.definition).clone();
    if let Some(name) = &options.name {
        definition.name =
            name.parse().usage_error("invalid `--name`").hint("use lower-case letters, digits and `-`")?;
    }
    if let Some(driver) = options.driver {
        definition.driver = driver;
    }
    if let Some(format) = &options.result_format {
        definition.result_format = Some(format.clone());
    }
    if !options.result_files.is_empty() {
        definition.result_files.clone_from(&options.result_files);
    }
    found.source.definition = Arc::new(definition);
    Ok(found)
}

fn plan(
    modules: &Modules,
    limits: &LimitPolicy,
    source: Source,
    options: &ProcessOptions,
) -> Result<PlannedPlugin, AppError> {
    let mut plugin = prepare(modules, limits, source)
        .map_err(|error| AppError::usage("failed to prepare the plugin").because(&error).hint_if(error.hint()))?;
    if let Some(path) = &options.module {
        plugin.post_processor = modules
            .post_processor_in(path)
            .usage_error("failed to load the module of `--module`")
            .hint("pass a module file, such as `NAME.wasm`")?;
    }
    plugin
        .ready()
        .usage_error("failed to prepare the plugin")
        .hint("find problems with `plumbline plugin lint DIR`")?;
    Ok(plugin)
}

const NAME: &str = "adapter";
const NAMED: usize = 5;

/// Makes a processor for files of `format`: the name of a built-in format, or the absolute path of
/// a module. `limits` is the file with limits.
pub fn processor(format: &str, limits: &LimitsFile) -> Result<Arc<Processor>, AppError> {
    let limits = limits.load()?;
    let modules = modules::modules(&limits)?;
    let wrong = |error: &dyn std::error::Error| AppError::usage("invalid RESULT_FORMAT").because(error);
    let path = Path::new(format);
    let is_path = path.is_absolute();
    let definition = json!({
        "sonobuoy-config": {"plugin-name": NAME, "driver": "Job", "result-format": if is_path { "raw" } else { format }},
        "spec": {},
    });
    let parsed = Definition::from_json(definition).map_err(|error| wrong(&error))?;
    let source = Source { definition: Arc::new(parsed.definition), bundle: None };
    let mut plugin = prepare(&modules, &limits.modules, source).map_err(|error| {
        wrong(&error).hint(error.hint().unwrap_or_else(|| "or use the absolute path of a module".to_owned()))
    })?;
    if is_path {
        plugin.post_processor = modules.post_processor_in(path).map_err(|error| wrong(&error))?;
    }
    plugin.ready().map_err(|error| wrong(&error))?;
    let format = format.to_owned();
    Ok(Arc::new(move |name: &Path, bytes: &[u8]| process_file(&plugin, &format, name, bytes)))
}

fn process_file(plugin: &PlannedPlugin, format: &str, name: &Path, bytes: &[u8]) -> Result<reporter::Outcome, String> {
    let scratch = tempfile::tempdir().map_err(|error| {
        format!("failed to create a directory for temporary files (a pod without one needs a volume at /tmp): {error}")
    })?;
    let failed = |error: &dyn std::error::Error| error.to_string();
    let results = scratch.path().join("plugin/results/global");
    fs::create_dir_all(&results).map_err(|error| failed(&error))?;
    fs::write(results.join(name), bytes).map_err(|error| failed(&error))?;
    let tree = scratch.path().join(TREE_FILE);
    let (dir, module) = (scratch.path().join("plugin"), &plugin.post_processor);
    // The module gets the only file, whatever its name is.
    let names = [name.to_string_lossy().into_owned()];
    let subject = Subject { result_files: &names, ..plugin.subject() };
    let outcome = post_process(&subject, &dir, module, scratch.path(), &tree).map_err(|error| failed(&error))?;
    adapter_result(&outcome, format)
}

fn adapter_result(outcome: &Outcome, format: &str) -> Result<reporter::Outcome, String> {
    let (success, reason) = match verdict_of(NAME, outcome) {
        Verdict::Passed => (true, "ChecksPassed"),
        Verdict::Failed => (false, "ChecksFailed"),
        Verdict::Incomplete => (false, "ChecksIncomplete"),
        _ => return Err(format!("format `{format}` gives no verdict for it{}", why(&outcome.failures))),
    };
    let message = format!("{}{}", counted(&outcome.total.counts), why(&outcome.failures));
    let failures: Vec<_> = outcome.failures.iter().map(|one| json!({"name": one.name, "reason": one.reason})).collect();
    let details = json!({"format": format, "counts": outcome.total.counts, "failures": failures}).to_string();
    Ok(reporter::Outcome::new(success, reason, &message, Some(details.into())))
}

/// `3 passed, 1 failed`. Failures are last, so that their names can follow.
fn counted(counts: &BTreeMap<String, u64>) -> String {
    let failed = |status: &str| is_failure(&status.into());
    let (last, first): (Vec<_>, Vec<_>) = counts.iter().filter(|(_, count)| **count > 0).partition(|(s, _)| failed(s));
    let words: Vec<String> = first.into_iter().chain(last).map(|(status, count)| format!("{count} {status}")).collect();
    words.join(", ")
}

/// `: first, second and more`
fn why(failures: &[Failure]) -> String {
    if failures.is_empty() {
        return String::new();
    }
    let names: Vec<String> = failures
        .iter()
        .take(NAMED)
        .map(|one| match &one.reason {
            Some(reason) => format!("{} ({reason})", one.name),
            None => one.name.clone(),
        })
        .collect();
    let more = if failures.len() > NAMED { " and more" } else { "" };
    format!(": {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, name: &str, bytes: &str) -> Result<reporter::Outcome, String> {
        let processor = processor(format, &LimitsFile::default()).unwrap();
        processor(Path::new(name), bytes.as_bytes())
    }

    #[test]
    fn a_junit_report_becomes_success_or_failure_with_its_counts() {
        let report = |second: &str| {
            format!(
                "<testsuites><testsuite name='s'><testcase name='a'/><testcase name='b'>{second}</testcase></testsuite></testsuites>"
            )
        };
        let good = read("junit", "adapter-result.json", &report("")).unwrap();
        assert_eq!((good.success, good.reason.as_str(), good.message.as_str()), (true, "ChecksPassed", "2 passed"));
        let bad = read("junit", "report.xml", &report("<failure message='broken'/>")).unwrap();
        assert!(!bad.success);
        assert_eq!(bad.reason, "ChecksFailed");
        assert!(bad.message.starts_with("1 passed, 1 failed: b"), "{}", bad.message);
        assert!(bad.details.unwrap().contains(r#""failed":1"#));
    }

    #[test]
    fn rubbish_is_never_a_success() {
        for text in ["", "<testsuites/>", "not xml at all", "<testsuites><testsuite>"] {
            assert!(!read("junit", "r.xml", text).is_ok_and(|result| result.success), "{text}");
        }
    }

    #[test]
    fn an_unknown_format_is_an_error() {
        for format in ["jnuit", "/no/such/module.wasm", "../x"] {
            assert!(processor(format, &LimitsFile::default()).is_err(), "{format}");
        }
    }
}
