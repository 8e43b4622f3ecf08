//! What happened, and when in relation to failures, in a sentence.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::timeline::TimelineKind;

use super::spans::Span;
use crate::report::text::{name, short_seconds};

/// Returns the sentence on a span and the `count` failures at its place. `failed` is when the first and the last of
/// them happened, if that is known.
pub(super) fn sentence(span: &Span, failed: Option<(Timestamp, Timestamp)>, count: usize, plugin: &str) -> String {
    let when = match failed {
        Some(times) => when(span, times, count),
        None => while_plugin_ran(span, plugin),
    };
    let times = if span.count > 1 { format!(" ({} times)", span.count) } else { String::new() };
    let sentence = match state(span) {
        Some(state) if span.text.is_empty() => format!("{state} {when}"),
        Some(state) => format!("{state} {when}: {}", span.text),
        None => format!("{}{times}, {when}", span.label()),
    };
    name(&sentence)
}

/// What a state was, without its text. `None` for something that happened at one time.
fn state(span: &Span) -> Option<String> {
    let node = span.node.as_deref().filter(|_| span.is_state)?;
    match span.kind {
        TimelineKind::NodeCondition if span.name == "Ready" => Some(format!("node {node} was not ready")),
        TimelineKind::NodeCondition => Some(format!("node {node} had the condition {}", span.name)),
        TimelineKind::NodeTaint => Some(format!("node {node} had the taint {}", span.name)),
        _ => None,
    }
}

/// When a span was in relation to the first and the last of `count` failures.
fn when(span: &Span, (first, last): (Timestamp, Timestamp), count: usize) -> String {
    let failures = if count == 1 { "this failure".to_owned() } else { format!("these {count} failures") };
    let the_first = if first == last { failures.clone() } else { format!("the first of {failures}") };
    let ago = |from: Timestamp, to: Timestamp| whole_seconds(to.duration_since(from));
    if span.is_state {
        return match span.to {
            Some(to) if to < first => {
                format!("from {} until {} before {failures}", ago(span.from, first), ago(to, first))
            }
            _ if span.from <= first => format!("from {} before {failures}", ago(span.from, first)),
            _ => format!("from {} after {the_first}", ago(first, span.from)),
        };
    }
    match span.to.unwrap_or(span.from) {
        to if to <= first => format!("{} before {failures}", ago(to, first)),
        _ if span.from >= last => format!("{} after {failures}", ago(last, span.from)),
        _ => format!("at the time of {failures}"),
    }
}

fn while_plugin_ran(span: &Span, plugin: &str) -> String {
    match span.to {
        None => format!("while plugin {plugin} ran, from {}", span.from),
        Some(to) if to > span.from => format!("while plugin {plugin} ran, from {} to {to}", span.from),
        Some(_) => format!("while plugin {plugin} ran, at {}", span.from),
    }
}

/// `40 s`, `3 min 20 s`, or `less than 1 s`.
fn whole_seconds(duration: SignedDuration) -> String {
    match duration.as_secs_f64().round() {
        seconds if seconds < 1.0 => "less than 1 s".to_owned(),
        seconds if seconds < 60.0 => format!("{seconds} s"),
        seconds => short_seconds(seconds),
    }
}

#[cfg(test)]
mod tests {
    use plumbline_core::timeline::TimelineEntry;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn times_are_relative_to_the_first_and_the_last_failure() {
        let span = |from: i64, to: Option<i64>, is_state| {
            let entry = TimelineEntry::new(at(from), TimelineKind::NodeTaint, "a:NoSchedule", "").on_node(Some("n"));
            Span { to: to.map(at), is_state, ..Span::of(entry) }
        };
        let of = |from, to, is_state| when(&span(from, to, is_state), (at(100), at(200)), 2);
        for (from, to, is_state, want) in [
            (60, None, true, "from 40 s before these 2 failures"),
            (60, Some(150), true, "from 40 s before these 2 failures"),
            (60, Some(90), true, "from 40 s until 10 s before these 2 failures"),
            (130, None, true, "from 30 s after the first of these 2 failures"),
            (60, Some(70), false, "30 s before these 2 failures"),
            (60, Some(170), false, "at the time of these 2 failures"),
            (210, Some(210), false, "10 s after these 2 failures"),
        ] {
            assert_eq!(of(from, to, is_state), want);
        }
    }

    #[test]
    fn texts_of_archives_cannot_steer_the_terminal() {
        let entry = TimelineEntry::new(at(1), TimelineKind::Warning, "W", "x").of_pod("ns", "p");
        let (namespace, text) = (Some("a\u{1b}[2J".into()), "t\u{202e}".into());
        let span = Span { namespace, text, count: 2, ..Span::of(entry) };
        assert_eq!(
            sentence(&span, Some((at(1), at(1))), 1, "p"),
            "pod a\u{fffd}[2J/p: t\u{fffd} (2 times), less than 1 s before this failure"
        );
    }
}
