//! Shows a run while it goes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use plumbline_aggregator::{Run, State};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunStatus};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cluster_plugins::period;
use super::lines::{Teller, local_log, name, progress};
use super::stalled::stalled;
use super::withdrawn::Withdrawals;
use super::{bars, redraws, say};
use crate::args::WaitOutput;

/// Between two looks: often enough for a person, seldom enough for 10,000 results.
const LOOK: Duration = Duration::from_millis(200);
/// Between two looks at most: what stands still is told though nothing changes.
const TICK: Duration = Duration::from_secs(30);
/// Bars at once; of the rest it is said how many there are.
const MAX_BARS: usize = 24;

/// The task that shows a run. It ends with [`Watch::stop`].
pub(crate) struct Watch {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to show `run`, whose working directory is `work`.
    pub(crate) fn start(run: &Run, output: WaitOutput, continued: bool, work: &Path) -> Self {
        let stop = CancellationToken::new();
        let plugins = run.plugins().len();
        let what = if plugins == 1 { "1 plugin".to_owned() } else { format!("{plugins} plugins") };
        let again = if continued { " · going on" } else { "" };
        let head = format!("run {} · {what} · this machine{again}", run.id().short());
        let shown: Option<Box<dyn Show>> = match (output, redraws()) {
            (WaitOutput::Silent, _) | (WaitOutput::Spinner, false) => None,
            (WaitOutput::Spinner, true) => {
                say(&head);
                Some(Box::new(Spinner(spinner())))
            }
            (WaitOutput::Progress, true) => {
                say(&head);
                Some(Box::new(Bars { work: work.to_owned(), ..Bars::default() }))
            }
            (WaitOutput::Progress, false) => {
                say(&head);
                Some(Box::new(Teller::new(work.to_owned())))
            }
        };
        let task = shown.map(|shown| tokio::spawn(watch(run.state(), shown, stop.clone())));
        Self { stop, task }
    }

    /// Shows the last state and ends.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Some(task) = self.task
            && let Err(error) = task.await
        {
            tracing::debug!("the view of the run ended: {error}");
        }
    }
}

trait Show: Send {
    fn show(&mut self, status: &RunStatus);
    fn end(&mut self) {}
}

async fn watch(state: State, mut shown: Box<dyn Show>, stop: CancellationToken) {
    let mut changes = state.changes();
    loop {
        changes.mark_unchanged();
        shown.show(&state.status());
        tokio::select! {
            () = stop.cancelled() => break,
            () = async {
                tokio::time::sleep(LOOK).await;
                // Time alone is news, too; and when the run has ended, the token follows.
                let _ = tokio::time::timeout(TICK, changes.changed()).await;
            } => {}
        }
    }
    shown.show(&state.status());
    shown.end();
}

impl Show for Teller {
    fn show(&mut self, status: &RunStatus) {
        for line in self.lines(status, Timestamp::now()) {
            say(&line);
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = bars().add(ProgressBar::new_spinner());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

struct Spinner(ProgressBar);

impl Show for Spinner {
    fn show(&mut self, status: &RunStatus) {
        let entries = status.plugins.as_deref().unwrap_or_default();
        let done = entries.iter().filter(|entry| entry.status != EntryStatus::Running).count();
        self.0.set_message(format!("{done} of {} results", entries.len()));
    }

    fn end(&mut self) {
        self.0.finish_and_clear();
    }
}

#[derive(Default)]
struct Bars {
    bars: BTreeMap<(String, String), ProgressBar>,
    more: Option<ProgressBar>,
    withdrawn: Withdrawals,
    work: PathBuf,
}

impl Show for Bars {
    fn show(&mut self, status: &RunStatus) {
        self.withdrawn.lines(status).iter().for_each(|line| say(line));
        let now = Timestamp::now();
        let entries = status.plugins.as_deref().unwrap_or_default();
        // What still runs comes first: that is what one waits for.
        let running = entries.iter().filter(|entry| is_open(entry));
        let shown: Vec<_> = running.chain(entries.iter().filter(|entry| !is_open(entry))).take(MAX_BARS).collect();
        self.bars.retain(|key, bar| {
            let keep = shown.iter().any(|entry| (&entry.plugin, &entry.node) == (&key.0, &key.1));
            if !keep {
                bar.finish_and_clear();
            }
            keep
        });
        for entry in &shown {
            let bar = self.bars.entry((entry.plugin.clone(), entry.node.clone())).or_insert_with(|| {
                let bar = spinner();
                bar.set_style(style("{spinner} {prefix:24} {msg}"));
                bar.set_prefix(name(entry));
                bar
            });
            draw(bar, entry);
            if let Some(still) = stalled(status, entry, now) {
                let log = local_log(&self.work, &entry.plugin, &entry.node);
                bar.set_message(format!("{}   no progress for {}: {}", bar.message(), period(still), log.display()));
            }
        }
        let hidden = entries.len() - shown.len();
        if hidden > 0 {
            self.more.get_or_insert_with(spinner).set_message(format!("and {hidden} more"));
        }
    }

    fn end(&mut self) {
        for bar in self.bars.values().chain(&self.more) {
            bar.finish_and_clear();
        }
    }
}

fn is_open(entry: &PluginStatus) -> bool {
    entry.status == EntryStatus::Running
}

fn draw(bar: &ProgressBar, entry: &PluginStatus) {
    if let Some(status) = &entry.result_status {
        bar.set_style(style("  {prefix:24} {msg}"));
        return bar.set_message(status.to_string());
    }
    match entry.status {
        EntryStatus::Complete => bar.set_message("reading the results"),
        EntryStatus::Failed => bar.set_message("no result"),
        _ => match &entry.progress {
            Some(told) if told.total > 0 => {
                bar.set_style(style("{spinner} {prefix:24} {bar:25} {msg}"));
                bar.set_length(u64::try_from(told.total).unwrap_or_default());
                let done = told.completed.saturating_add(i64::try_from(told.failed()).unwrap_or_default());
                bar.set_position(u64::try_from(done).unwrap_or_default());
                bar.set_message(progress(entry).unwrap_or_default());
            }
            Some(_) => bar.set_message(progress(entry).unwrap_or_default()),
            None if entry.last_heartbeat.is_some() => bar.set_message("running"),
            None => bar.set_message("starting"),
        },
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
