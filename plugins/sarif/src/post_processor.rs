//! The role, which processes one file after the other.

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};
use serde::Deserialize;

use crate::log::{Log, Run};
use crate::run::{self, LEVELS};

/// Maximum size of a log in bytes: 64 MiB.
pub const MAX_FILE: u64 = 64 << 20;

/// The post-processor for SARIF.
#[derive(Debug, Clone, Copy)]
pub struct Sarif;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
struct Options {
    fail_on: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { fail_on: vec!["error".to_owned()] }
    }
}

impl PostProcessor for Sarif {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let Options { fail_on } = plugin.options()?;
        if fail_on.is_empty() {
            return Err(format!(
                "the option `fail-on` names no level, so nothing could fail; levels are {}",
                LEVELS.join(", ")
            ));
        }
        if let Some(level) = fail_on.iter().find(|level| !LEVELS.contains(&level.as_str())) {
            return Err(format!("the option `fail-on` names `{level}`; levels are {}", LEVELS.join(", ")));
        }
        for file in files {
            let item = Item::of_file(&file);
            match read(file) {
                Ok(runs) => {
                    out.emit(item);
                    runs.iter().for_each(|run| run::emit(run, &fail_on, out));
                }
                Err(error) => out.emit(item.status(Status::Unknown).meta("error", error)),
            }
        }
        Ok(())
    }
}

fn read(mut file: InputFile) -> Result<Vec<Run>, String> {
    let text = file.read_within(MAX_FILE).map_err(|error| error.to_string())?;
    let text = text.ok_or_else(|| format!("the log has more than {} MiB", MAX_FILE >> 20))?;
    let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let log: Log = serde_json::from_slice(json).map_err(|error| format!("not a SARIF log: {error}"))?;
    match log.version {
        Some(version) if version.starts_with("2.1.") => {}
        Some(version) => {
            let shown: String = version.chars().take(40).collect();
            return Err(format!("SARIF version `{shown}`: this module reads 2.1.0"));
        }
        None => return Err("not a SARIF log: it has no version".to_owned()),
    }
    match log.runs {
        Some(runs) if !runs.is_empty() => Ok(runs),
        Some(_) => Err("the log has no runs: nothing was analysed".to_owned()),
        None => Err("not a SARIF log: it has no list of runs".to_owned()),
    }
}
