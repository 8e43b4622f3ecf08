//! Finds the reasons why a run may be incomplete.

use plumbline_sdk::text::cut;
use plumbline_sdk::{Item, Status};

use crate::log::{Invocation, Notification, Rule, Run, Tool, at};
use crate::rules::component;
use crate::run::{MAX_TEXT, message};

/// Maximum number of notifications of a run that become items. One more has the number of the
/// others.
const MAX_NOTIFICATIONS: usize = 100;
/// Maximum size in bytes of the ID of a notification in a name.
const MAX_ID: usize = 1 << 10;

/// Returns an item for each reason why `run` may lack results: a tool that failed has not examined
/// everything. A converter counts too.
pub(crate) fn problems(run: &Run) -> Vec<Item> {
    let converter = run.conversion.as_ref().and_then(|conversion| conversion.invocation.as_ref());
    let invocations = || run.invocations.iter().flatten().chain(converter);
    let mut errors = invocations().flat_map(notifications).filter(|one| is_error(one, &run.tool)).peekable();
    let is_explained = errors.peek().is_some();
    let mut items: Vec<Item> = invocations().filter_map(|invocation| failed(invocation, is_explained)).collect();
    items.extend(errors.by_ref().take(MAX_NOTIFICATIONS).map(|one| item(one, &run.tool)));
    let more = errors.count();
    if more > 0 {
        items.push(unknown("more notifications", &format!("the tool reported {more} more errors")));
    }
    items
}

/// Returns an `unknown` item below its run.
pub(crate) fn unknown(name: &str, error: &str) -> Item {
    Item::new(2, name).status(Status::Unknown).meta("error", error)
}

/// Returns an item for an invocation that failed. One without a reason needs none if notifications
/// explain it.
fn failed(invocation: &Invocation, is_explained: bool) -> Option<Item> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let code = invocation.exit_code.filter(|code| *code != 0);
    let number = invocation.exit_signal_number.filter(|number| *number != 0);
    let signal = given(&invocation.exit_signal_name).or_else(|| Some(number?.to_string()));
    let start = given(&invocation.process_start_failure_message);
    // Scanners exit with a code if they found something, so `executionSuccessful` takes precedence.
    let by_code = code.is_some() && invocation.execution_successful.is_none();
    let has_failed = invocation.execution_successful == Some(false) || by_code || signal.is_some() || start.is_some();
    if !has_failed {
        return None;
    }
    let reason = start
        .map(|text| format!("it did not start: {text}"))
        .or_else(|| Some(format!("signal {}", signal?)))
        .or_else(|| given(&invocation.exit_code_description))
        .or_else(|| Some(format!("exit code {}", invocation.exit_code?)));
    if reason.is_none() && is_explained {
        return None;
    }
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", cut(&reason, MAX_TEXT)));
    Some(unknown("execution", &format!("the tool failed{reason}")))
}

fn notifications(invocation: &Invocation) -> impl Iterator<Item = &Notification> {
    let configuration = invocation.tool_configuration_notifications.iter().flatten();
    invocation.tool_execution_notifications.iter().flatten().chain(configuration)
}

/// Returns whether the notification says that the run failed (3.20.20, 3.20.21). Unknown levels
/// count as errors.
fn is_error(notification: &Notification, tool: &Tool) -> bool {
    let configured = || descriptor(notification, tool)?.default_configuration.as_ref()?.level.as_deref();
    let level = notification.level.as_deref().or_else(configured).unwrap_or("warning");
    !matches!(level, "warning" | "note" | "none")
}

fn item(notification: &Notification, tool: &Tool) -> Item {
    let found = descriptor(notification, tool);
    let reference = notification.descriptor.as_ref();
    let id = reference.and_then(|reference| reference.id.as_deref()).or_else(|| found?.id.as_deref());
    let name = format!("notification {}", cut(id.unwrap_or_default(), MAX_ID));
    let text = message(&notification.message, found).unwrap_or_else(|| "the tool reported an error".to_owned());
    unknown(name.trim(), cut(&text, MAX_TEXT))
}

/// Returns the description of the notification, if the log has one (3.58.2).
fn descriptor<'a>(notification: &Notification, tool: &'a Tool) -> Option<&'a Rule> {
    let reference = notification.descriptor.as_ref()?;
    let known = component(tool, reference.tool_component.as_ref())?.notifications.as_ref();
    at(known, reference.index).or_else(|| {
        let id = reference.id.as_ref()?;
        known?.iter().find(|rule| rule.id.as_ref() == Some(id))
    })
}
