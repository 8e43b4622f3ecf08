//! SARIF 2.1.0 (OASIS), for checks that point at files. Numbers in comments are its sections.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_core::{Item, Status};
use serde_json::{Value, json};

use crate::report::renderers::leaf::Location;
use crate::report::renderers::{Leaf, Outcome, Plugin, Renderer, TOOL, VERSION, write_json};
use crate::report::text::name;

/// The most rules of a run that are described. Results of others have only the ID of the rule.
const MAX_RULES: usize = 10_000;

/// The most notifications of a run. Of more, the last one has the number.
const MAX_NOTIFICATIONS: usize = 1_000;

/// Writes a run for each run of a tool, and one for the results of a plugin that have no tool. The
/// leaves come in the order of the tree, so at most one run is open.
pub(super) struct Sarif<'a> {
    out: &'a mut dyn Write,
    plugin: String,
    /// The number of runs of this plugin.
    number: u64,
    open: Option<Run>,
    has_runs: bool,
}

/// An open run (3.14), whose results are written.
struct Run {
    /// The names of the items down to that of the tool's run.
    path: Vec<String>,
    /// The name and the version of the tool.
    tool: (String, String),
    /// Rules (3.49) by ID, with the URL of their help.
    rules: BTreeMap<String, Option<String>>,
    results: u64,
    notifications: Vec<Value>,
    /// The number of notifications that are left out.
    more: u64,
    has_failed: bool,
}

impl<'a> Sarif<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, plugin: String::new(), number: 0, open: None, has_runs: false }
    }

    /// Returns the run that the leaf belongs to, and opens it if another one is open.
    fn run(&mut self, leaf: &Leaf<'_>) -> io::Result<&mut Run> {
        let chain: Vec<&Item> = leaf.above.iter().chain([&leaf.item]).collect();
        let at = chain.iter().position(|item| item.meta.get("type").is_some_and(|kind| kind == "run"));
        let path = at.and_then(|at| chain.get(..=at)).unwrap_or_default();
        let names: Vec<String> = path.iter().map(|item| item.name.clone()).collect();
        if self.open.as_ref().is_none_or(|run| run.path != names) {
            self.close()?;
            self.number += 1;
            let before = if self.has_runs { ",\n" } else { head() };
            self.has_runs = true;
            write!(self.out, "{before}{{\"results\":[")?;
        }
        let tool = path.last().map_or_else(|| (TOOL.to_owned(), VERSION.to_owned()), |item| tool_of(item));
        Ok(self.open.get_or_insert_with(|| Run {
            path: names,
            tool,
            rules: BTreeMap::new(),
            results: 0,
            notifications: Vec::new(),
            more: 0,
            has_failed: false,
        }))
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(mut run) = self.open.take() else { return Ok(()) };
        if run.more > 0 {
            let text = format!("{} more results without a file are left out", run.more);
            run.notifications.push(json!({"level": "error", "message": {"text": text}}));
        }
        let rules: Vec<Value> = run.rules.into_iter().map(|(id, help)| json!({"id": id, "helpUri": help})).collect();
        let (tool, version) = run.tool;
        let version = Some(version).filter(|version| !version.is_empty());
        write!(self.out, "\n],\"tool\":")?;
        write_json(self.out, json!({"driver": {"name": tool, "version": version, "rules": rules}}))?;
        write!(self.out, ",\"automationDetails\":")?;
        // The ID ends with a slash, so all of it is the category (3.17.3).
        write_json(self.out, json!({"id": format!("plumbline/{}/{}/", self.plugin, self.number)}))?;
        write!(self.out, ",\"invocations\":[")?;
        let invocation =
            json!({"executionSuccessful": !run.has_failed, "toolExecutionNotifications": run.notifications});
        write_json(self.out, invocation)?;
        write!(self.out, "]}}")
    }
}

impl Renderer for Sarif<'_> {
    fn plugin(&mut self, plugin: &Plugin<'_>) -> io::Result<()> {
        self.close()?;
        self.plugin = name(plugin.title);
        self.number = 0;
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let (outcome, symbol) = (leaf.outcome(), leaf.meta("symbol"));
        let place = leaf.location();
        if place.is_some() || symbol.is_some() {
            let result = result(leaf, place.as_ref(), symbol);
            let run = self.run(leaf)?;
            let before = if run.results == 0 { "\n" } else { ",\n" };
            run.results += 1;
            if run.rules.len() < MAX_RULES {
                run.rules.entry(rule(leaf)).or_insert_with(|| leaf.meta("help").map(str::to_owned));
            }
            self.out.write_all(before.as_bytes())?;
            return write_json(self.out, result);
        }
        let is_run = leaf.meta("type") == Some("run");
        if matches!(outcome, Outcome::Passed | Outcome::Skipped | Outcome::Excused) && !is_run {
            return Ok(());
        }
        let run = self.run(leaf)?;
        if outcome == Outcome::Passed {
            return Ok(());
        }
        run.has_failed |= outcome.is_bad();
        if run.notifications.len() >= MAX_NOTIFICATIONS {
            run.more += 1;
            return Ok(());
        }
        let level = if outcome.is_bad() { "error" } else { "note" };
        let on = leaf.id.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
        let why = leaf.message().map(|message| format!(": {message}")).unwrap_or_default();
        let text = name(&format!("{}{on}: {}{why}", leaf.id.name, leaf.item.status));
        run.notifications.push(json!({"level": level, "message": {"text": text}}));
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.close()?;
        if !self.has_runs {
            self.out.write_all(head().as_bytes())?;
        }
        writeln!(self.out, "]}}")
    }
}

fn head() -> &'static str {
    "{\"version\":\"2.1.0\",\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"runs\":[\n"
}

/// The name of the tool, and its version, which follows it in the name of the item.
fn tool_of(run: &Item) -> (String, String) {
    let tool = run.meta.get("tool").unwrap_or(&run.name);
    let version = run.name.strip_prefix(tool.as_str()).unwrap_or_default();
    (tool.clone(), version.trim().to_owned())
}

/// The ID of the rule: that of the tool, or else the name of the check.
fn rule(leaf: &Leaf<'_>) -> String {
    name(leaf.meta("rule").unwrap_or(&leaf.id.name))
}

/// A result (3.27). Only a check that passed has the kind `pass`.
fn result(leaf: &Leaf<'_>, place: Option<&Location<'_>>, symbol: Option<&str>) -> Value {
    let (kind, level) = kind_and_level(leaf);
    let message = leaf.trace().map(std::borrow::Cow::into_owned).or_else(|| leaf.message());
    let physical = place.map(|place| {
        json!({
            "artifactLocation": {"uri": uri(place.path)},
            "region": {"startLine": place.line, "startColumn": place.column},
        })
    });
    let logical: Vec<Value> = symbol.map(|symbol| json!({"fullyQualifiedName": symbol})).into_iter().collect();
    json!({
        "ruleId": rule(leaf),
        "kind": kind,
        "level": level,
        "message": {"text": message.unwrap_or_else(|| name(&leaf.id.name))},
        "locations": [{"physicalLocation": physical, "logicalLocations": logical}],
        "suppressions": suppression(leaf).into_iter().collect::<Vec<_>>(),
        "partialFingerprints": {"plumbline/v1": leaf.test_id(false)},
        "properties": {"status": leaf.status.as_str(), "plugin": leaf.plugin, "node": leaf.id.node, "cause": leaf.cause},
    })
}

/// The kind and the level (3.27.9, 3.27.10). Only the kind `fail` has a level other than `none`.
fn kind_and_level(leaf: &Leaf<'_>) -> (&'static str, &'static str) {
    match leaf.outcome() {
        Outcome::Passed => ("pass", "none"),
        Outcome::Failed | Outcome::Broken | Outcome::Excused => ("fail", "error"),
        Outcome::Skipped if suppression(leaf).is_some() => ("fail", "warning"),
        Outcome::Skipped => ("notApplicable", "none"),
        Outcome::NotRead => ("open", "none"),
        Outcome::Custom => match leaf.item.status.as_str() {
            "note" => ("fail", "note"),
            "none" => ("fail", "none"),
            "open" => ("open", "none"),
            "review" => ("review", "none"),
            "informational" => ("informational", "none"),
            _ => ("fail", "warning"),
        },
    }
}

/// Why a failure does not count (3.35): a judge excuses it, or the tool suppressed it.
fn suppression(leaf: &Leaf<'_>) -> Option<Value> {
    let excused = || leaf.ruled.map(|ruled| ruled.ruling.reason.clone()).unwrap_or_default();
    let justification = match leaf.outcome() {
        Outcome::Excused => excused(),
        Outcome::Skipped if leaf.status.meaning() == Status::Skipped => {
            let text = leaf.message()?;
            text.strip_prefix("suppressed")?.trim_start_matches(": ").to_owned()
        }
        _ => return None,
    };
    let justification = Some(justification).filter(|text| !text.is_empty());
    Some(json!({"kind": "external", "status": "accepted", "justification": justification}))
}

/// The path as the reference of a URI: characters that none may have are escaped.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => uri.push_str(&format!("%{byte:02X}")),
            0x21..=0x7e => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
