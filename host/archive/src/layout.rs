//! What is where in a results archive. All paths are relative to the archive's root, with `/` between components.
//!
//! ```text
//! meta/config.json                      what the run was asked for
//! meta/info.json                        {"plugins": [names]}
//! meta/modules.json                     which modules gave the results their meaning, by digest
//! meta/query-time.json                  how long each query of the cluster took
//! meta/run.log                          log of the run, one JSON object per line
//! meta/clusterhealth.json               the cluster's health, where there is a cluster
//! plugins/PLUGIN/definition.json        what was executed
//! plugins/PLUGIN/sonobuoy_results.yaml  the result tree
//! plugins/PLUGIN/plumbline_verdict.json what judges made of the result tree, where there are any
//! plugins/PLUGIN/results/NODE/...       what the plugin sent; NODE is `global` for the cluster as a whole
//! plugins/PLUGIN/errors/NODE/error.json why there is no result
//! plugins/PLUGIN/partial/NODE/...       what was there when the time was up
//! ```

use jiff::Timestamp;
use jiff::civil::DateTime;
use plumbline_core::{NodeName, PluginName, RunId};

/// What the run was asked for: the effective configuration, as JSON.
pub const META_CONFIG: &str = "meta/config.json";

/// Which plugins ran: `{"plugins": [names]}`.
pub const META_INFO: &str = "meta/info.json";

/// Where the plugins came from and which modules they used, by digest, as JSON.
pub const META_MODULES: &str = "meta/modules.json";

/// How long each query of the cluster took, as JSON.
pub const META_QUERY_TIME: &str = "meta/query-time.json";

/// The log of the run, one JSON object per line.
pub const META_RUN_LOG: &str = "meta/run.log";

/// The cluster's health, as JSON.
pub const META_CLUSTER_HEALTH: &str = "meta/clusterhealth.json";

/// The version of the cluster's API server, as JSON.
pub const SERVER_VERSION: &str = "serverversion.json";

/// The directory that holds one directory per plugin.
pub const PLUGINS_DIR: &str = "plugins";

/// In a plugin's directory: the directory of what it sent.
pub const RESULTS_DIR: &str = "results";

/// In a plugin's directory: the directory of why there is no result.
pub const ERRORS_DIR: &str = "errors";

/// In a plugin's directory: what it had when its time was up.
pub const PARTIAL_DIR: &str = "partial";

/// In a plugin's directory: the result tree.
pub const TREE_FILE: &str = "sonobuoy_results.yaml";

/// In a plugin's directory: what judges made of the result tree.
pub const VERDICT_FILE: &str = "plumbline_verdict.json";

/// In a plugin's directory: what was executed.
pub const DEFINITION_FILE: &str = "definition.json";

/// In the directory of an error: the error.
pub const ERROR_FILE: &str = "error.json";

/// The file in a result that says in one line what a worker could not pack, such as pipes and links that lead out of the result.
pub const LEFT_OUT_FILE: &str = "plumbline-left-out.txt";

/// The tool's part of an archive's name.
const TOOL: &str = "plumbline";

/// The tools' parts of names that are recognised.
const TOOLS: [&str; 2] = [TOOL, "sonobuoy"];

/// How an archive's name ends.
const EXTENSION: &str = ".tar.gz";

/// The time in an archive's name, to the minute, in UTC.
const TIME: &str = "%Y%m%d%H%M";

/// Digits of that time.
const TIME_DIGITS: usize = 12;

/// The directory of a plugin.
#[must_use]
pub fn plugin_dir(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}")
}

/// The directory of what `plugin` sent from `node`.
#[must_use]
pub fn result_dir(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{RESULTS_DIR}/{node}")
}

/// The directory of what `plugin` had on `node` when its time was up. Kept as it is; nothing is computed from it.
#[must_use]
pub fn partial_dir(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{PARTIAL_DIR}/{node}")
}

/// The directory of why there is no result of `plugin` from `node`.
#[must_use]
pub fn errors_dir(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{ERRORS_DIR}/{node}")
}

/// The file that says why there is no result of `plugin` from `node`.
#[must_use]
pub fn error_file(plugin: &PluginName, node: &NodeName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{ERRORS_DIR}/{node}/{ERROR_FILE}")
}

/// The result tree of a plugin.
#[must_use]
pub fn tree_file(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{TREE_FILE}")
}

/// What judges made of the result tree of a plugin.
#[must_use]
pub fn verdict_file(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{VERDICT_FILE}")
}

/// What was executed for a plugin.
#[must_use]
pub fn definition_file(plugin: &PluginName) -> String {
    format!("{PLUGINS_DIR}/{plugin}/{DEFINITION_FILE}")
}

/// The name of the archive of a run: `202611201300_plumbline_<run>.tar.gz`, with the minute in which it began, in UTC, so that a
/// listing is in order of time.
#[must_use]
pub fn archive_name(started: Timestamp, run: &RunId) -> String {
    format!("{}_{TOOL}_{run}{EXTENSION}", started.strftime(TIME))
}

/// What the name of an archive says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveName {
    /// The minute in which the run began, as written: in UTC if it is ours, in the time zone of the aggregator otherwise.
    pub started: DateTime,
    /// The run, as written; a UUID unless someone chose another.
    pub run: String,
}

/// Reads the name of an archive, ours or `..._sonobuoy_...`. `None` for any other name.
#[must_use]
pub fn parse_archive_name(name: &str) -> Option<ArchiveName> {
    let (time, rest) = name.strip_suffix(EXTENSION)?.split_once('_')?;
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
        assert_eq!(tree_file(&plugin), "plugins/e2e/sonobuoy_results.yaml");
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
