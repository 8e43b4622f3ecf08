//! Shows a run on stderr: redrawn on a terminal, one line per event elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_aggregator::{Run, State};
use plumbline_app::earlier::EarlierRun;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::args::shared::WaitOutput;
use crate::ui::events::{EventLog, SkippedPlugins};
use crate::ui::line::{Line, Tone, width};
use crate::ui::live::{LiveView, clock};
use crate::ui::plugins::{Logs, RunView, counted, results};
use crate::ui::screen::{Size, say, say_line, show};

const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];
/// Milliseconds between two spinner frames.
const SPINNER_STEP: i64 = 250;

#[derive(Debug)]
pub(super) enum Display {
    Silent,
    Spinner,
    Live(LiveView, SkippedPlugins),
    Events(EventLog),
}

impl Display {
    /// Creates the display of a run. `earlier` is for estimates of the remaining time.
    pub(super) fn new(output: WaitOutput, earlier: EarlierRun) -> Self {
        match (output, super::redraws()) {
            (WaitOutput::Silent, _) | (WaitOutput::Spinner, false) => Self::Silent,
            (WaitOutput::Spinner, true) => Self::Spinner,
            (WaitOutput::Progress, true) => Self::Live(LiveView::new(earlier), SkippedPlugins::default()),
            (WaitOutput::Progress, false) => Self::Events(EventLog::default()),
        }
    }

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
}

/// Removes the frame that is redrawn.
impl Drop for Display {
    fn drop(&mut self) {
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
    Line::of(Tone::Plain, &format!("{picture} {settled} of {expected} results{elapsed}"))
}

/// Minimum time between two looks, to limit the cost of runs with 10,000 results.
const LOOK: Duration = Duration::from_millis(200);
/// Maximum time between two looks if each look prints lines, because a stalled plugin changes
/// nothing.
const TICK: Duration = Duration::from_secs(30);

/// The task that displays a run. It ends with [`Watch::stop`].
pub(crate) struct Watch {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to display `run`, whose working directory is `work`.
    pub(crate) fn start(run: &Run, output: WaitOutput, continued: bool, work: &Path) -> Self {
        let stop = CancellationToken::new();
        // Archives of local runs do not say how long plugins took.
        let display = Display::new(output, EarlierRun::new());
        let task = (!matches!(display, Display::Silent)).then(|| {
            let plugins = counted(run.plugins().len() as u64, "plugin");
            let again = if continued { " · continued" } else { "" };
            announce(&format!("run {} · {plugins} · this machine{again}", run.id().short()));
            let shown = Shown { state: run.state(), started: run.started(), work: work.to_owned(), display };
            tokio::spawn(shown.watch(stop.clone()))
        });
        Self { stop, task }
    }

    /// Displays the final state, and ends the task.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Some(task) = self.task
            && let Err(error) = task.await
        {
            tracing::debug!("the view of the run ended: {error}");
        }
    }
}

struct Shown {
    state: State,
    started: Timestamp,
    work: PathBuf,
    display: Display,
}

impl Shown {
    async fn watch(mut self, stop: CancellationToken) {
        let mut changes = self.state.changes();
        let tick = if matches!(self.display, Display::Events(_)) { TICK } else { LOOK };
        loop {
            changes.mark_unchanged();
            self.show();
            tokio::select! {
                () = stop.cancelled() => break,
                () = async {
                    tokio::time::sleep(LOOK).await;
                    // A timeout has the same effect as a change. The token signals the end of the
                    // run.
                    let _ = tokio::time::timeout(tick, changes.changed()).await;
                } => {}
            }
        }
        self.show();
    }

    fn show(&mut self) {
        let status = self.state.status();
        let logs = Logs::Local(&self.work);
        let run = RunView { status: &status, waiting: &[], started: Some(self.started), logs };
        self.display.update(run, Timestamp::now());
    }
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
