//! The paths in a results archive. All of them are relative to the archive's root, with `/` between
//! components.
//!
//! ```text
//! meta/config.json                      the effective configuration of the run
//! meta/info.json                        {"plugins": [names], "cluster": {"uid", "server-version"}}
//! meta/modules.json                     the modules that processed the results, by digest
//! meta/query-time.json                  the duration of each query of the cluster
//! meta/run.log                          log of the run, one JSON object per line
//! meta/clusterhealth.json               the health of the cluster, if there is one
//! meta/timeline.jsonl                   what the cluster went through during the run, one JSON object per line
//! plugins/PLUGIN/definition.json        the definition of the plugin
//! plugins/PLUGIN/sonobuoy_results.yaml  the result tree
//! plugins/PLUGIN/plumbline_verdict.json the verdict of the judges, if there are any
//! plugins/PLUGIN/results/NODE/...       the result; NODE is `global` for the whole cluster
//! plugins/PLUGIN/errors/NODE/error.json why a result is missing
//! plugins/PLUGIN/partial/NODE/...       the partial result of a plugin that failed or timed out
//! ```

use jiff::Timestamp;
use jiff::civil::DateTime;
use plumbline_core::{NodeName, PluginName, RunId};

/// The effective configuration of the run.
pub const META_CONFIG: &str = "meta/config.json";

/// The names of the plugins that ran, and in which cluster, as JSON.
pub const META_INFO: &str = "meta/info.json";

/// The sources of the plugins and the digests of their modules, as JSON.
pub const META_MODULES: &str = "meta/modules.json";

/// The duration of each query of the cluster, as JSON.
pub const META_QUERY_TIME: &str = "meta/query-time.json";

/// The health of the cluster, as JSON.
pub const META_CLUSTER_HEALTH: &str = "meta/clusterhealth.json";

/// The cluster timeline: one JSON object per line (docs/timeline.md).
pub const META_TIMELINE: &str = "meta/timeline.jsonl";

/// The version of the API server, as JSON.
pub const SERVER_VERSION: &str = "serverversion.json";

/// The directory with one directory per plugin.
pub const PLUGINS_DIR: &str = "plugins";

/// The directory of results, in a plugin's directory.
pub const RESULTS_DIR: &str = "results";

/// The directory of errors, in a plugin's directory.
pub const ERRORS_DIR: &str = "errors";

/// The directory of partial results, in a plugin's directory.
pub const PARTIAL_DIR: &str = "partial";

/// The file with the result tree, in a plugin's directory.
pub const TREE_FILE: &str = "sonobuoy_results.yaml";

/// The file with the verdict of the judges, in a plugin's directory.
pub const VERDICT_FILE: &str = "plumbline_verdict.json";

/// The file with the definition of the plugin, in its directory.
pub const DEFINITION_FILE: &str = "definition.json";

/// The file with the error, in an error directory.
pub const ERROR_FILE: &str = "error.json";

/// The file in a result in which a worker lists, in one line, what it could not pack. Examples are
/// pipes, and links that point outside of the result.
pub const LEFT_OUT_FILE: &str = "plumbline-left-out.txt";

/// The tool name in the file name of an archive.
const TOOL: &str = "plumbline";

/// The tool names that are recognized in file names of archives.
const TOOLS: [&str; 2] = [TOOL, "sonobuoy"];

/// The file extension of a results archive.
pub const ARCHIVE_EXTENSION: &str = ".tar.gz";

/// The format of the time in an archive's name: UTC, to the minute.
const TIME: &str = "%Y%m%d%H%M";

const TIME_DIGITS: usize = 12;

/// Returns the directory of a plugin.
pub fn plugin_dir(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}")
}

/// Returns the directory of `plugin`'s result from `node`.
pub fn result_dir(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{RESULTS_DIR}/{node}")
}

/// Returns the directory of `plugin`'s partial result from `node`. It is kept unchanged and never
/// post-processed.
pub fn partial_dir(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{PARTIAL_DIR}/{node}")
}

/// Returns the directory of the error that replaces `plugin`'s result from `node`.
pub fn errors_dir(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{ERRORS_DIR}/{node}")
}

/// Returns the file with the error that replaces `plugin`'s result from `node`.
pub fn error_file(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{ERRORS_DIR}/{node}/{ERROR_FILE}")
}

/// Returns the file with the verdict on a plugin.
pub fn verdict_file(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{VERDICT_FILE}")
}

/// Returns the file with the definition of a plugin.
pub fn definition_file(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{DEFINITION_FILE}")
}

/// Returns the file name of the archive of a run: `202611201300_plumbline_<run>.tar.gz`. It starts
/// with the time in UTC at which the run started, so that listings are in chronological order.
pub fn archive_name(started: Timestamp, run: &RunId) -> String {
    format!("{}_{TOOL}_{run}{ARCHIVE_EXTENSION}", started.strftime(TIME))
}

/// The parts of an archive's file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveName {
    /// The minute in which the run started, as written. It is in UTC for Plumbline's archives, and
    /// in the time zone of the aggregator otherwise.
    pub started: DateTime,
    /// The ID of the run as written, a UUID unless someone chose another.
    pub run: String,
}

/// Parses the file name of an archive, from Plumbline or Sonobuoy (`..._sonobuoy_...`). Returns
/// `None` for any other name.
pub fn parse_archive_name(name: &str) -> Option<ArchiveName> {
    let (time, rest) = name.strip_suffix(ARCHIVE_EXTENSION)?.split_once('_')?;
    let run = TOOLS.iter().find_map(|tool| rest.strip_prefix(tool)?.strip_prefix('_'))?;
    if time.len() != TIME_DIGITS || !time.bytes().all(|b| b.is_ascii_digit()) || run.is_empty() {
        return None;
    }
    Some(ArchiveName { started: DateTime::strptime(TIME, time).ok()?, run: run.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_that_readers_know() {
        let (plugin, node): (PluginName, NodeName) = ("e2e".parse().unwrap(), "kind-worker.local".parse().unwrap());
        assert_eq!(plugin_dir(&plugin), "plugins/e2e");
        assert_eq!(result_dir(&plugin, &NodeName::global()), "plugins/e2e/results/global");
        assert_eq!(result_dir(&plugin, &node), "plugins/e2e/results/kind-worker.local");
        assert_eq!(errors_dir(&plugin, &node), "plugins/e2e/errors/kind-worker.local");
        assert_eq!(error_file(&plugin, &node), "plugins/e2e/errors/kind-worker.local/error.json");
        assert_eq!(definition_file(&plugin), "plugins/e2e/definition.json");
    }

    #[test]
    fn names_of_archives_are_in_order_of_time() {
        let run: RunId = "0b9d2b5e-0c40-4b6b-9d5a-0a1f4f2a7c11".parse().unwrap();
        let name = archive_name("2026-11-20T23:00:59+10:00".parse().unwrap(), &run);
        assert_eq!(name, "202611201300_plumbline_0b9d2b5e-0c40-4b6b-9d5a-0a1f4f2a7c11.tar.gz");
        let parsed = parse_archive_name(&name).unwrap();
        assert_eq!(parsed.started.to_string(), "2026-11-20T13:00:00");
        assert_eq!(parsed.run, run.to_string());
    }

    #[test]
    fn other_names_are_not_taken_for_archives() {
        let theirs = parse_archive_name("202107211446_sonobuoy_b7e0c1f4-5a5c-4d3b-8e57-6b0a9f6f1a55.tar.gz").unwrap();
        assert_eq!(theirs.run, "b7e0c1f4-5a5c-4d3b-8e57-6b0a9f6f1a55");
        for other in [
            "",
            "results.tar.gz",
            "202611201300_plumbline_.tar.gz",
            "202611201300_plumbline_x.tar",
            "202613201300_plumbline_x.tar.gz",
            "20261120130_plumbline_x.tar.gz",
            "2026112013000_plumbline_x.tar.gz",
            "+02611201300_plumbline_x.tar.gz",
            "202611201300_other_x.tar.gz",
            "202611201300_plumblinex.tar.gz",
        ] {
            assert_eq!(parse_archive_name(other), None, "{other}");
        }
    }
}
