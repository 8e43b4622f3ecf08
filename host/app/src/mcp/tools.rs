//! The tools of the server, with their arguments.

use std::sync::Arc;

use plumbline_core::text::closest;
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{AppError, Explain as _};
use crate::mcp::answer::{MAX_PART_BYTES, clean_within};
use crate::mcp::archives::Archives;

/// The cursor of a list.
type Cursor = Option<String>;

/// Arguments of `runs`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsArgs {
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `summary`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SummaryArgs {
    /// The run, as `runs` lists it
    pub(super) run: String,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `failures` and `causes`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FailuresArgs {
    /// The run, as `runs` lists it
    pub(super) run: String,
    /// Only this plugin
    pub(super) plugin: Option<String>,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `item`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemArgs {
    /// The run, as `runs` lists it
    pub(super) run: String,
    /// The plugin of the test
    pub(super) plugin: String,
    /// The name of the test, as `failures` lists it
    pub(super) name: String,
    /// Only on this node
    pub(super) node: Option<String>,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FilesArgs {
    /// The run, as `runs` lists it
    pub(super) run: String,
    /// Only files whose path contains this text
    pub(super) contains: Option<String>,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `log`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LogArgs {
    /// The run, as `runs` lists it
    pub(super) run: String,
    /// The path of a file in the archive, as `files` and `item` list it
    pub(super) file: String,
    /// Only lines that contain this text, with the lines around them
    pub(super) contains: Option<String>,
    /// With `contains`: how many lines before and after each match, at most 20 [default: 5]
    pub(super) around: Option<usize>,
    /// The first line to show or to search, counted from 1
    pub(super) from_line: Option<u64>,
}

/// Arguments of `diff`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffArgs {
    /// The earlier run, as `runs` lists it
    pub(super) before: String,
    /// The later run
    pub(super) after: String,
    /// Only this plugin
    pub(super) plugin: Option<String>,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `history`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryArgs {
    /// Only tests whose names match this regular expression. By default, tests that failed or were
    /// flaky
    pub(super) test: Option<String>,
    /// Only tests of this plugin
    pub(super) plugin: Option<String>,
    /// Only the newest runs, at most this many
    pub(super) last: Option<usize>,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// Arguments of `facts`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FactsArgs {
    /// The run, as `runs` lists it
    pub(super) run: String,
    /// The facts of this node. By default, the nodes that have facts
    pub(super) node: Option<String>,
    /// `cursor` of the answer before
    pub(super) cursor: Cursor,
}

/// A tool: what clients learn about it, and what it does.
pub(super) struct ToolEntry {
    name: &'static str,
    description: &'static str,
    schema: fn() -> Result<Arc<JsonObject>, String>,
    call: fn(&Archives, Value) -> Result<Value, AppError>,
}

macro_rules! tools {
    ($($name:literal, $args:ty, $function:expr, $description:literal;)+) => {
        /// Every tool.
        pub(super) const TOOLS: &[ToolEntry] = &[$(ToolEntry {
            name: $name,
            description: $description,
            schema: schema_for_input::<$args>,
            call: |archives, arguments| $function(archives, &read::<$args>(arguments)?),
        }),+];
    };
}

tools! {
    "runs", RunsArgs, Archives::list, "Lists the runs whose results can be read, by name";
    "summary", SummaryArgs, Archives::summary, "Returns the verdict of a run, what is known about it, and the counts of results for each plugin";
    "failures", FailuresArgs, Archives::failures, "Lists the tests of a run that failed or whose outcome is unknown, with nodes, reason, cause and ruling";
    "causes", FailuresArgs, Archives::causes, "Groups the failures of a run by cause, most frequent first";
    "item", ItemArgs, Archives::item, "Returns everything about one test of a run: details, times, ruling, and the file that has it";
    "files", FilesArgs, Archives::files, "Lists the files in the archive of a run: logs, reports, resources";
    "log", LogArgs, Archives::log, "Returns lines of a file in the archive of a run, or the lines around a text";
    "diff", DiffArgs, Archives::diff, "Compares two runs: new, fixed and remaining failures, tests that ran in one run only, slower tests";
    "history", HistoryArgs, Archives::history, "Returns the outcomes of tests over all runs: pass rate, flake rate, streaks, first bad run";
    "facts", FactsArgs, Archives::facts, "Returns facts of the machines of a run: kernel, packages, settings";
}

/// The tools as clients see them. All of them only read.
pub(super) fn list() -> Result<Vec<Tool>, String> {
    let tool = |entry: &ToolEntry| {
        let reads = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Ok(Tool::new(entry.name, entry.description, (entry.schema)()?).with_annotations(reads))
    };
    TOOLS.iter().map(tool).collect()
}

/// Calls a tool. The answer has what was reported meanwhile.
pub(super) fn call(archives: &Archives, name: &str, arguments: Value) -> Result<Value, AppError> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let near = closest(name, TOOLS.iter().map(|tool| tool.name));
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        return Err(AppError::usage("no tool has this name").hint_if(hint));
    };
    archives.take_notes();
    let mut answer = (tool.call)(archives, arguments)?;
    let notes = archives.take_notes();
    if let Some(members) = answer.as_object_mut().filter(|_| !notes.is_empty()) {
        members.insert("notes".to_owned(), clean_within(json!(notes), MAX_PART_BYTES));
    }
    Ok(answer)
}

fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, AppError> {
    serde_json::from_value(arguments).usage_error("invalid arguments")
}
