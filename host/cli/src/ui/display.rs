//! Shows a run on stderr: redrawn on a terminal, one line per event elsewhere.

use jiff::Timestamp;

use super::events::EventLog;
use super::line::{Line, Tone, width};
use super::live::{LiveView, clock};
use super::plugins::{RunView, results};
use super::screen::{Size, say, say_line, show};
use super::skipped::SkippedPlugins;
use crate::args::WaitOutput;

/// The frames of the spinner.
const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];
/// Milliseconds between two spinner frames.
const SPINNER_STEP: i64 = 250;

/// Shows one run.
#[derive(Debug)]
pub(super) enum Display {
    Silent,
    Spinner,
    Live(LiveView, SkippedPlugins),
    Events(EventLog),
}

impl Display {
    pub(super) fn new(output: WaitOutput) -> Self {
        match (output, super::redraws()) {
            (WaitOutput::Silent, _) | (WaitOutput::Spinner, false) => Self::Silent,
            (WaitOutput::Spinner, true) => Self::Spinner,
            (WaitOutput::Progress, true) => Self::Live(LiveView::default(), SkippedPlugins::default()),
            (WaitOutput::Progress, false) => Self::Events(EventLog::default()),
        }
    }

    /// Shows the run as it is at `now`.
    pub(super) fn update(&mut self, run: RunView<'_>, now: Timestamp) {
        match self {
            Self::Silent => {}
            Self::Spinner => show(vec![spinner(run, now)]),
            Self::Live(view, skipped) => {
                skipped.lines(run.status).iter().for_each(|line| say(line));
                show(view.frame(run, now, Size::of_terminal()));
            }
            Self::Events(log) => log.lines(run, now).iter().for_each(say_line),
        }
    }

    /// Removes the frame that is redrawn.
    pub(super) fn end(&mut self) {
        if matches!(self, Self::Spinner | Self::Live(..)) {
            show(Vec::new());
        }
    }
}

/// Prints the line that identifies a run. On a terminal, it breaks between its parts, not within a
/// word.
pub(super) fn announce(head: &str) {
    if super::redraws() {
        broken(head, Size::of_terminal().columns).iter().for_each(|line| say(line));
    } else {
        say(head);
    }
}

/// Splits `head` between its parts into lines of fewer than `columns` columns, where possible.
pub(super) fn broken(head: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in head.split(" · ") {
        match lines.last_mut() {
            Some(line) if width(line) + width(part) + 3 < columns => *line = format!("{line} · {part}"),
            Some(_) => lines.push(format!("  {part}")),
            None => lines.push(part.to_owned()),
        }
    }
    lines
}

fn spinner(run: RunView<'_>, now: Timestamp) -> Line {
    let (settled, expected) = results(&run.plugins(now));
    let turn = now.as_millisecond().div_euclid(SPINNER_STEP).rem_euclid(SPINNER.len() as i64);
    let picture = usize::try_from(turn).ok().and_then(|at| SPINNER.get(at)).copied().unwrap_or_default();
    let elapsed = run.started.map(|at| format!("   {}", clock(now.duration_since(at)))).unwrap_or_default();
    let mut line = Line::default();
    line.push(Tone::Plain, &format!("{picture} {settled} of {expected} results{elapsed}"));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_run_is_broken_between_its_parts() {
        let head = "run 51c0de · cluster kind-prod · namespace sonobuoy · 3 plugins, 14 expected results · 0 s";
        assert_eq!(broken(head, 91), [head]);
        let lines = ["run 51c0de · cluster kind-prod · namespace sonobuoy", "  3 plugins, 14 expected results · 0 s"];
        assert_eq!(broken(head, 60), lines);
        assert_eq!(broken(head, 1).len(), 5);
    }
}
