//! One run of one tool, and its results.

use plumbline_sdk::text::cut;
use plumbline_sdk::{Item, Output, Status};
use serde::de::IgnoredAny;

use crate::invocation::{self, unknown};
use crate::log::{ExternalFiles, Finding, Location, Message, Rule, Run, Suppression, at};
use crate::rules::Rules;

/// The levels of results (3.27.10).
pub(crate) const LEVELS: [&str; 4] = ["error", "warning", "note", "none"];
/// Maximum size in bytes of a name, below the host's 64 KiB.
const MAX_NAME: usize = 32 << 10;
/// Maximum size in bytes of a text.
pub(crate) const MAX_TEXT: usize = 64 << 10;

/// Emits `run` below its file, and its results below it. `fail_on` holds the levels that fail.
pub(crate) fn emit(run: &Run, fail_on: &[String], out: &mut Output) {
    let mut trouble = invocation::problems(run);
    trouble.extend(run.external_property_file_references.iter().flat_map(|files| elsewhere(files, run)));
    if run.results.is_none() && trouble.is_empty() {
        trouble.push(unknown("no results", "the tool did not start its analysis: the run has no list of results"));
    }
    let results = run.results.as_deref().unwrap_or_default();
    // A run without findings has passed, and has no item below it to roll up.
    let clean = trouble.is_empty() && results.is_empty();
    out.emit(heading(run).status(clean.then_some(Status::Passed)));
    trouble.into_iter().for_each(|item| out.emit(item));
    let rules = Rules::new(run);
    for finding in results {
        out.emit(item(finding, run, &rules, fail_on));
    }
}

/// Returns an item for each part of the run in other files that decides whether it passed.
fn elsewhere(files: &ExternalFiles, run: &Run) -> Vec<Item> {
    let has = |list: Option<&Vec<IgnoredAny>>| list.is_some_and(|list| !list.is_empty());
    let is_of_rule =
        |finding: &Finding| finding.level.is_none() && matches!(finding.kind.as_deref(), None | Some("fail"));
    let mut items = Vec::new();
    if has(files.results.as_ref()) {
        items.push(unknown("results elsewhere", "the run's results are in other files, which are not read"));
    }
    if has(files.invocations.as_ref()) || files.conversion.is_some() {
        let error = "the run's invocations are in other files, which are not read: the tool may have failed";
        items.push(unknown("invocations elsewhere", error));
    }
    if (files.driver.is_some() || has(files.extensions.as_ref())) && run.results.iter().flatten().any(is_of_rule) {
        let error = "the levels of the run's rules are in other files, which are not read: results may be errors";
        items.push(unknown("rules elsewhere", error));
    }
    items
}

fn heading(run: &Run) -> Item {
    let driver = &run.tool.driver;
    let name = driver.name.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or("(no name)");
    let version = driver.version.as_deref().or(driver.semantic_version.as_deref()).unwrap_or_default();
    let title = format!("{name} {version}");
    Item::new(1, cut(title.trim(), MAX_NAME)).meta("type", "run").meta("tool", cut(name, MAX_NAME))
}

fn item(finding: &Finding, run: &Run, rules: &Rules<'_>, fail_on: &[String]) -> Item {
    let (id, rule) = rules.of(finding);
    let (status, skipped) = verdict(finding, rules.level(finding, id, rule), fail_on);
    let id = id.unwrap_or("(no rule)");
    let place = finding.locations.iter().flatten().find_map(|location| place(location, run));
    let name = place.as_ref().map_or_else(|| id.to_owned(), |place| format!("{id} {}", place.text));
    let mut item = Item::new(2, cut(&name, MAX_NAME)).meta("rule", cut(id, MAX_NAME));
    if let Some(place) = &place {
        let key = if place.is_in_file { "location" } else { "symbol" };
        item = item.meta(key, cut(&place.text, MAX_NAME));
    }
    if let Some(uri) = rule.and_then(|rule| rule.help_uri.as_deref()) {
        item = item.meta("help", cut(uri, MAX_NAME));
    }
    // Without a problem, the text is not a failure.
    let key = if matches!(status, Status::Passed | Status::Skipped) { "message" } else { "failure" };
    let text = message(&finding.message, rule).unwrap_or_else(|| "(no text)".to_owned());
    item = item.text(key, cut(&text, MAX_TEXT));
    if let Some(skipped) = skipped {
        item = item.text("skipped", cut(&skipped, MAX_TEXT));
    }
    item.status(status)
}

/// Returns the status of `finding`, which has this level, and the reason if it is skipped.
fn verdict(finding: &Finding, level: &str, fail_on: &[String]) -> (Status, Option<String>) {
    match finding.kind.as_deref().unwrap_or("fail") {
        "fail" => {}
        "pass" => return (Status::Passed, None),
        "notApplicable" => return (Status::Skipped, Some("the rule does not apply here".to_owned())),
        kind @ ("informational" | "review" | "open") => return (Status::from(kind), None),
        _ => return (Status::Unknown, None),
    }
    // Every suppression must be accepted, as it is without a status: if one is rejected or under review
    // (3.35.3), the result is not settled. The SDK of Microsoft and GitLab decide the same.
    let suppressions = finding.suppressions.as_deref().unwrap_or_default();
    let is_accepted = |one: &Suppression| one.status.as_deref().is_none_or(|status| status == "accepted");
    if !suppressions.is_empty() && suppressions.iter().all(is_accepted) {
        let why = suppressions.iter().find_map(|one| one.justification.as_ref());
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        return (Status::Skipped, Some(format!("suppressed{why}")));
    }
    if finding.baseline_state.as_deref() == Some("absent") {
        return (Status::Skipped, Some("no longer there: it was in the baseline only".to_owned()));
    }
    if fail_on.iter().any(|failing| failing == level) {
        (Status::Failed, None)
    } else if LEVELS.contains(&level) {
        (Status::from(level), None)
    } else {
        (Status::Unknown, None)
    }
}

/// Returns the text of the message, or the rule's text with its ID and arguments.
pub(crate) fn message(message: &Message, rule: Option<&Rule>) -> Option<String> {
    let text = |message: &Message| message.text.clone().or_else(|| message.markdown.clone());
    let found = text(message).or_else(|| text(rule?.message_strings.as_ref()?.get(message.id.as_deref()?)?))?;
    let arguments = message.arguments.iter().flatten().take(16).enumerate();
    Some(arguments.fold(found, |text, (at, argument)| text.replace(&format!("{{{at}}}"), cut(argument, 1000))))
}

/// A place that a result points at.
struct Place {
    /// `file:line:column`, which editors and terminals turn into links, or the name of a function or
    /// class.
    text: String,
    is_in_file: bool,
}

/// Returns the place in a file, or else the name of a function or class.
fn place(location: &Location, run: &Run) -> Option<Place> {
    if let Some(physical) = &location.physical_location
        && let Some(artifact) = &physical.artifact_location
    {
        let shared = || at(run.artifacts.as_ref(), artifact.index)?.location.as_ref()?.uri.clone();
        if let Some(uri) = artifact.uri.clone().filter(|uri| !uri.is_empty()).or_else(shared) {
            let region = physical.region.as_ref();
            let line = region.and_then(|region| region.start_line).map(|line| format!(":{line}"));
            let column = region.and_then(|region| region.start_column).map(|column| format!(":{column}"));
            let column = column.filter(|_| line.is_some());
            let text = format!("{uri}{}{}", line.unwrap_or_default(), column.unwrap_or_default());
            return Some(Place { text, is_in_file: true });
        }
    }
    let names = location.logical_locations.iter().flatten();
    let text =
        names.filter_map(|logical| logical.fully_qualified_name.clone().or_else(|| logical.name.clone())).next()?;
    Some(Place { text, is_in_file: false })
}
