//! Results of adapters in formats of modules: a post-processor reads the file, and the reporter
//! gets a sentence about its tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use plumbline_aggregator::{Failure, Outcome, PlannedPlugin, Source, Subject, TREE_FILE, post_process, prepare};
use plumbline_core::definition::Definition;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Verdict};
use plumbline_worker::reporter::{AdapterResult, Processor};
use serde_json::json;

use crate::error::AppError;
use crate::limits::Limits;
use crate::modules;

/// The name of the plugin for the module.
const NAME: &str = "adapter";
/// The failed items that a message names.
const NAMED: usize = 5;

/// Makes a processor for files of `format`: the name of a built-in format, or the absolute path of
/// a module. `limits` is the file with limits.
///
/// # Errors
/// There is no such format, or the module cannot be used.
pub fn processor(format: &str, limits: Option<&Path>) -> Result<Arc<Processor>, AppError> {
    let limits = Limits::load(limits)?;
    let modules = modules::modules(&limits)?;
    let wrong = |error: &dyn std::error::Error| AppError::usage("RESULT_FORMAT cannot be used").because(error);
    let path = Path::new(format);
    let is_path = path.is_absolute();
    let definition = json!({
        "sonobuoy-config": {"plugin-name": NAME, "driver": "Job", "result-format": if is_path { "raw" } else { format }},
        "spec": {},
    });
    let parsed = Definition::from_json(definition).map_err(|error| wrong(&error))?;
    let source = Source { definition: Arc::new(parsed.definition), bundle: None };
    let mut plugin = prepare(&modules, &limits.modules, source).map_err(|error| {
        wrong(&error).hint(error.hint().unwrap_or_else(|| "the absolute path of a module works, too".to_owned()))
    })?;
    if is_path {
        plugin.post_processor = modules.post_processor_in(path).map_err(|error| wrong(&error))?;
    }
    plugin.ready().map_err(|error| wrong(&error))?;
    let format = format.to_owned();
    Ok(Arc::new(move |name: &Path, bytes: &[u8]| process(&plugin, &format, name, bytes)))
}

fn process(plugin: &PlannedPlugin, format: &str, name: &Path, bytes: &[u8]) -> Result<AdapterResult, String> {
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
    summary(&outcome, format)
}

/// The verdict as the result of an adapter.
fn summary(outcome: &Outcome, format: &str) -> Result<AdapterResult, String> {
    let entry = PluginStatus {
        plugin: NAME.to_owned(),
        node: GLOBAL.to_owned(),
        status: EntryStatus::Complete,
        result_status: Some(outcome.total.status.clone()),
        result_counts: Some(outcome.total.counts.clone()),
        ..PluginStatus::default()
    };
    let status = RunStatus { plugins: Some(vec![entry]), status: RunPhase::Complete, ..RunStatus::default() };
    let (success, reason) = match Verdict::from_run(&status) {
        Verdict::Passed => (true, "ChecksPassed"),
        Verdict::Failed => (false, "ChecksFailed"),
        Verdict::Incomplete => (false, "ChecksIncomplete"),
        _ => return Err(format!("nothing in it can be judged as format `{format}`{}", why(&outcome.failures))),
    };
    let message = format!("{}{}", counted(&outcome.total.counts), why(&outcome.failures));
    let failures: Vec<_> = outcome.failures.iter().map(|one| json!({"name": one.name, "reason": one.reason})).collect();
    let details = json!({"format": format, "counts": outcome.total.counts, "failures": failures}).to_string();
    Ok(AdapterResult::new(success, reason, &message, Some(details.into())))
}

/// `3 passed, 1 failed`. Failures are last, so that their names can follow.
fn counted(counts: &BTreeMap<String, u64>) -> String {
    let failed = |status: &str| status == "failed";
    let (last, first): (Vec<_>, Vec<_>) = counts.iter().filter(|(_, count)| **count > 0).partition(|(s, _)| failed(s));
    let words: Vec<String> = first.into_iter().chain(last).map(|(status, count)| format!("{count} {status}")).collect();
    words.join(", ")
}

/// `: first, second and 3 more`
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
    let more = failures.len().saturating_sub(NAMED);
    let more = if more > 0 { " and more".to_owned() } else { String::new() };
    format!(": {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, name: &str, bytes: &str) -> Result<AdapterResult, String> {
        let processor = processor(format, None).unwrap();
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
    fn a_format_that_nobody_knows_is_no_fallback() {
        for format in ["jnuit", "/no/such/module.wasm", "../x"] {
            assert!(processor(format, None).is_err(), "{format}");
        }
    }
}
