//! The live view: a run as lines that fit the terminal.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use plumbline_app::earlier::EarlierRun;
use plumbline_app::report::status::period;
use plumbline_app::report::text::one_line;
use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_kubernetes::status::Waiting;

use crate::ui::line::{Line, Tone, cut_end, cut_middle, width};
use crate::ui::plugins::{Phase, Plugin, RunView, counted, failed_tests, results, tone_of};
use crate::ui::rate::Rate;
use crate::ui::screen::Size;

/// Spaces between the parts of a line.
const GAP: &str = "   ";
/// Maximum number of failed tests listed.
const MAX_FAILED: usize = 3;
/// Minimum rows for which failed tests have their reasons.
const MIN_ROWS_FOR_REASONS: usize = 12;
/// Column at which the reason of a failed test starts.
const REASON_COLUMN: usize = 9;
/// Minimum columns of a message; with fewer it is left out.
const MIN_MESSAGE: usize = 16;
/// Maximum columns of the word for a plugin's state.
const MAX_WORD: usize = 12;
/// Maximum number of statuses counted in one line.
const MAX_COUNTS: usize = 6;
/// Order in which statuses are counted; other statuses follow.
const STATUSES: [&str; 5] = ["passed", "failed", "timeout", "skipped", "unknown"];

/// Builds the frames of one run. It keeps the progress rates of plugins.
#[derive(Debug, Default)]
pub(super) struct LiveView {
    rates: BTreeMap<String, Rate>,
    /// How long each plugin has been running, or ran.
    elapsed: BTreeMap<String, SignedDuration>,
    /// How long plugins took before.
    earlier: EarlierRun,
}

struct Layout {
    total: usize,
    name: usize,
    bar: usize,
    position: usize,
    word: usize,
}

struct Part {
    tone: Tone,
    text: String,
    /// Parts with a higher number are left out first.
    priority: u8,
    /// Minimum columns, if its end may be cut off.
    least: usize,
}

impl Part {
    fn new(priority: u8, tone: Tone, text: String) -> Self {
        Self { least: width(&text), tone, text, priority }
    }

    fn message(priority: u8, tone: Tone, text: String) -> Self {
        Self { least: width(&text).min(MIN_MESSAGE), tone, text, priority }
    }
}

impl LiveView {
    /// Creates a view that estimates the remaining time from an earlier run, where it can.
    pub(super) fn new(earlier: EarlierRun) -> Self {
        Self { earlier, ..Self::default() }
    }

    /// Returns the run at `now` as lines for a terminal of this size. With many plugins, running
    /// and failed ones get rows, and the others are summed up.
    pub(super) fn frame(&mut self, run: RunView<'_>, now: Timestamp, size: Size) -> Vec<Line> {
        let plugins = run.plugins(now);
        for plugin in &plugins {
            // The time before it starts would lower its rate.
            if plugin.phase == Phase::Running {
                self.rates.entry(plugin.name.clone()).or_default().add(plugin.position().0, now);
            }
            if let (false, Some(launched)) = (plugin.has_ended(), plugin.launched) {
                self.elapsed.insert(plugin.name.clone(), now.duration_since(launched));
            }
        }
        let columns = size.columns.saturating_sub(1);
        // One row is for the cursor, and one for the summary.
        let rows = size.rows.saturating_sub(2);
        let failed = failed_lines(run.status, columns, rows);
        let room = rows.saturating_sub(failed.len());
        let spaced = plugins.len() + 2 <= room;
        let (shown, hidden) = selected(&plugins, room);
        let layout = Layout::new(&shown, columns);
        let mut lines = vec![summary(run, &plugins, columns, now)];
        let blank = || spaced.then(Line::default);
        lines.extend(blank());
        lines.extend(shown.iter().map(|plugin| self.row(plugin, run, &layout, now)));
        lines.extend(totals(&hidden, columns));
        if !failed.is_empty() {
            lines.extend(blank());
        }
        lines.extend(failed);
        lines
    }

    fn row(&self, plugin: &Plugin<'_>, run: RunView<'_>, layout: &Layout, now: Timestamp) -> Line {
        let mut line = Line::of(Tone::Plain, &format!("  {}", cut_middle(&plugin.name, layout.name)));
        line.pad_to(layout.name + 2 + GAP.len());
        let (position, length) = plugin.position();
        if has_position(plugin) {
            if layout.bar > 0 {
                line.push(Tone::Plain, &bar(position, length, layout.bar)).push(Tone::Plain, " ");
            }
            line.push(Tone::Plain, &format!("{:>1$}", format!("{position}/{length}"), layout.position));
        } else {
            let tone = if plugin.phase == Phase::Waiting { Tone::Dim } else { plugin.tone };
            line.push(tone, &cut_end(word(plugin), MAX_WORD)).pad_to(layout.name + 2 + GAP.len() + layout.word);
        }
        let parts = if plugin.has_ended() { self.end_parts(plugin) } else { self.parts(plugin, run, now) };
        fit(line, parts, layout.total)
    }

    fn parts(&self, plugin: &Plugin<'_>, run: RunView<'_>, now: Timestamp) -> Vec<Part> {
        let mut parts = Vec::new();
        if let Some(tests) = plugin.tests {
            if tests.total == 0 && tests.done() > 0 {
                parts.push(Part::new(1, Tone::Plain, format!("{} done", tests.done())));
            }
            if tests.failed > 0 {
                parts.push(Part::new(0, Tone::Bad, format!("{} failed", tests.failed)));
            }
        }
        if plugin.missing > 0 {
            parts.push(Part::new(1, Tone::Bad, format!("{} without result", plugin.missing)));
        }
        let (position, length) = plugin.position();
        let rate = self.rates.get(&plugin.name).filter(|_| has_position(plugin) && position < length);
        match rate {
            Some(rate) => parts.extend(rate.per_minute().map(|speed| {
                let digits = if speed < 10.0 { 1 } else { 0 };
                Part::new(5, Tone::Dim, format!("{speed:.digits$}/min"))
            })),
            None if plugin.phase != Phase::Waiting => parts.extend(self.elapsed_part(plugin)),
            None => {}
        }
        if let Some(left) = self.remaining(plugin, rate, now) {
            parts.push(Part::new(3, Tone::Plain, format!("ETA {}", period(left))));
        }
        if let Some(text) = waiting(&plugin.waiting, now) {
            let text = match plugin.phase {
                Phase::Waiting => text,
                _ => format!("waiting {text}"),
            };
            parts.push(Part::message(1, Tone::Warning, text));
        }
        // A waiting pod already shows its reason.
        if let Some(trouble) = plugin.trouble.filter(|_| plugin.waiting.is_empty()) {
            let others = if plugin.troubled > 1 { format!("{} results: ", plugin.troubled) } else { String::new() };
            let reason = one_line(trouble.reason.as_deref().unwrap_or_default());
            parts.push(Part::message(1, Tone::Warning, format!("{others}{reason}")));
        }
        if let Some((still, node)) = plugin.stalled {
            let text = format!("no progress for {}: {}", period(still), run.logs.hint(&plugin.name, node));
            parts.push(Part::message(1, Tone::Warning, text));
        } else if !plugin.message.is_empty() {
            parts.push(Part::message(6, Tone::Dim, plugin.message.clone()));
        }
        parts
    }

    /// Estimates the remaining time of a plugin: from an earlier run, or otherwise from its rate. An
    /// estimate from before a stall would be wrong.
    fn remaining(&self, plugin: &Plugin<'_>, rate: Option<&Rate>, now: Timestamp) -> Option<SignedDuration> {
        let (position, length) = plugin.position();
        let left = length.checked_sub(position).filter(|left| *left > 0 && plugin.stalled.is_none())?;
        let earlier = self.earlier.get(&plugin.name).filter(|_| plugin.phase == Phase::Running);
        let total = plugin.tests.map_or(0, |tests| tests.total);
        let as_before = earlier.zip(plugin.launched);
        as_before
            .and_then(|(earlier, launched)| earlier.remaining(total, now.duration_since(launched)))
            .or_else(|| rate?.left(left))
    }

    fn end_parts(&self, plugin: &Plugin<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        if plugin.missing > 0 {
            parts.push(Part::new(0, Tone::Bad, format!("{} without result", plugin.missing)));
        }
        parts.extend(counts(plugin).into_iter().take(MAX_COUNTS).map(|(tone, text)| {
            let priority = if tone == Tone::Bad { 0 } else { 2 };
            // If the verdict excuses the failures, they are not red.
            let tone = if plugin.tone == Tone::Good { Tone::Plain } else { tone };
            Part::new(priority, tone, text)
        }));
        if let Some(verdict) = &plugin.verdict {
            let why = verdict.split_once(": ").map_or(verdict.as_str(), |(_, why)| why);
            parts.push(Part::message(1, Tone::Plain, why.to_owned()));
        }
        parts.extend(self.elapsed_part(plugin));
        parts
    }

    fn elapsed_part(&self, plugin: &Plugin<'_>) -> Option<Part> {
        let elapsed = self.elapsed.get(&plugin.name).filter(|elapsed| elapsed.as_secs() > 0)?;
        Some(Part::new(4, Tone::Dim, clock(*elapsed)))
    }
}

impl Layout {
    fn new(shown: &[&Plugin<'_>], total: usize) -> Self {
        let widest =
            |of: &dyn Fn(&Plugin<'_>) -> usize| shown.iter().map(|plugin| of(plugin)).max().unwrap_or_default();
        let position = |plugin: &Plugin<'_>| match plugin.position() {
            (position, length) if has_position(plugin) => format!("{position}/{length}").len(),
            _ => 0,
        };
        Self {
            total,
            name: widest(&|plugin| width(&plugin.name)).min((total / 4).clamp(8, 40)),
            bar: if total < 72 { 0 } else { (total / 8).min(25) },
            position: widest(&position),
            word: widest(&|plugin| if has_position(plugin) { 0 } else { width(word(plugin)).min(MAX_WORD) }),
        }
    }
}

fn word<'a>(plugin: &'a Plugin<'_>) -> &'a str {
    match &plugin.phase {
        Phase::Waiting => "waiting",
        Phase::Starting => "starting",
        Phase::Running => "running",
        Phase::Reading => "reading",
        // The counts of such a status are in the parts that follow.
        Phase::Ended(word) if word.contains(": ") && plugin.tone == Tone::Bad => "failed",
        Phase::Ended(word) if word.contains(": ") => "ended",
        Phase::Ended(word) => word,
    }
}

/// Whether the plugin's position is more informative than its state.
fn has_position(plugin: &Plugin<'_>) -> bool {
    plugin.phase == Phase::Running && plugin.position().1 > 1
}

/// Returns counts with their colours: of its results, or otherwise of its last progress.
pub(super) fn counts(plugin: &Plugin<'_>) -> Vec<(Tone, String)> {
    if let (true, Some(tests)) = (plugin.counts.is_empty(), plugin.tests) {
        let (done, total) = (tests.done(), tests.total.max(tests.done()));
        let failed = (tests.failed > 0).then(|| (Tone::Bad, format!("{} failed", tests.failed)));
        return [(Tone::Plain, format!("{done}/{total}"))].into_iter().chain(failed).collect();
    }
    let known = STATUSES.iter().filter_map(|&status| plugin.counts.get_key_value(status));
    let others = plugin.counts.iter().filter(|(status, _)| !STATUSES.contains(&status.as_str()));
    let parts = known.map(|(status, n)| (status, *n)).chain(others.map(|(status, n)| (status, *n)));
    parts
        .filter(|&(_, n)| n > 0)
        .map(|(status, n)| {
            let tone = if tone_of(status) == Tone::Bad { Tone::Bad } else { Tone::Plain };
            (tone, format!("{n} {status}"))
        })
        .collect()
}

/// Describes what the first of the pods waits for, and how many more wait.
fn waiting(pods: &[&Waiting], now: Timestamp) -> Option<String> {
    let first = pods.first()?;
    let node = first.node.as_deref().map_or_else(|| "for a node".to_owned(), |node| format!("for node {node}"));
    let more = if pods.len() > 1 { format!(" and {} more", pods.len() - 1) } else { String::new() };
    let since = first.since.map(|at| format!(" ({})", period(now.duration_since(at)))).unwrap_or_default();
    Some(format!("{node}{more}{since}: {}", first.words()))
}

/// Summarizes the run in one line: elapsed time, and number of plugins by state.
fn summary(run: RunView<'_>, plugins: &[Plugin<'_>], columns: usize, now: Timestamp) -> Line {
    let elapsed = run.started.map(|at| clock(now.duration_since(at))).unwrap_or_else(|| "running".to_owned());
    let mut parts = Vec::new();
    if plugins.len() > 1 {
        parts.push(Part::new(5, Tone::Plain, counted(plugins.len() as u64, "plugin")));
        parts.extend(grouped(plugins.iter()).map(|(word, tone, n)| Part::new(1, tone, format!("{n} {word}"))));
    }
    let (settled, expected) = results(plugins);
    parts.push(Part::new(4, Tone::Plain, format!("{settled}/{expected} results")));
    if run.status.status == RunPhase::PostProcessing {
        parts.push(Part::new(0, Tone::Plain, "reading results".to_owned()));
    }
    fit(Line::of(Tone::Plain, &elapsed), parts, columns)
}

/// Summarizes the plugins without a row by state. If the line is too long, passed plugins are left
/// out first.
fn totals(hidden: &[&Plugin<'_>], columns: usize) -> Option<Line> {
    if hidden.is_empty() {
        return None;
    }
    let mut text = format!("  {} more", hidden.len());
    for (at, (word, _, n)) in grouped(hidden.iter().copied()).enumerate() {
        let next = format!("{text}{} {n} {word}", if at == 0 { ":" } else { "," });
        if width(&next) > columns {
            break;
        }
        text = next;
    }
    Some(Line::of(Tone::Dim, &text).cut(columns))
}

/// Groups of plugins in totals, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Failed,
    Running,
    Waiting,
    Other,
    Passed,
}

impl Group {
    fn of(plugin: &Plugin<'_>) -> Self {
        match (&plugin.phase, plugin.tone) {
            (Phase::Waiting, _) => Self::Waiting,
            (Phase::Ended(_), Tone::Bad) => Self::Failed,
            (Phase::Ended(_), Tone::Good) => Self::Passed,
            (Phase::Ended(_), _) => Self::Other,
            _ => Self::Running,
        }
    }

    fn shown(self) -> (&'static str, Tone) {
        match self {
            Self::Failed => ("failed", Tone::Bad),
            Self::Running => ("running", Tone::Plain),
            Self::Waiting => ("waiting", Tone::Plain),
            Self::Other => ("other", Tone::Warning),
            Self::Passed => ("passed", Tone::Good),
        }
    }
}

fn grouped<'a>(plugins: impl Iterator<Item = &'a Plugin<'a>>) -> impl Iterator<Item = (&'static str, Tone, usize)> {
    let mut groups = BTreeMap::<Group, usize>::new();
    for plugin in plugins {
        *groups.entry(Group::of(plugin)).or_default() += 1;
    }
    groups.into_iter().map(|(group, n)| {
        let (word, tone) = group.shown();
        (word, tone, n)
    })
}

/// Returns the plugins that get a row, and the others. If all fit, they keep the order of the plan.
/// Otherwise failed and running plugins come first.
fn selected<'a>(plugins: &'a [Plugin<'a>], rows: usize) -> (Vec<&'a Plugin<'a>>, Vec<&'a Plugin<'a>>) {
    if plugins.len() <= rows {
        return (plugins.iter().collect(), Vec::new());
    }
    // One row is for the totals.
    let rows = rows.saturating_sub(1);
    let of = |group: Group| plugins.iter().filter(move |plugin| Group::of(plugin) == group);
    // Failed plugins leave half of the rows to running ones, if there are as many.
    let failed = rows.saturating_sub(of(Group::Running).count()).max(rows.div_ceil(2));
    let (first, rest): (Vec<_>, Vec<_>) = of(Group::Failed).enumerate().partition(|(at, _)| *at < failed);
    let mut all: Vec<&Plugin<'_>> = first.into_iter().map(|(_, plugin)| plugin).collect();
    all.extend(of(Group::Running));
    all.extend(rest.into_iter().map(|(_, plugin)| plugin));
    all.extend([Group::Waiting, Group::Other, Group::Passed].into_iter().flat_map(of));
    let hidden = all.split_off(rows.min(all.len()));
    (all, hidden)
}

/// Lists the tests that failed last, each with the first line of its reason below it.
fn failed_lines(status: &RunStatus, columns: usize, rows: usize) -> Vec<Line> {
    let (tests, more) = failed_tests(status, MAX_FAILED.min(rows / 6));
    let more = (more > 0 && !tests.is_empty()).then(|| Line::of(Tone::Plain, &format!("  and {more} more")));
    let lines = tests.into_iter().flat_map(|test| {
        let mut line = Line::of(Tone::Bad, "  FAIL");
        line.push(Tone::Plain, &format!(" {}: {}", test.source, test.name));
        let reason = test.reason.filter(|_| rows >= MIN_ROWS_FOR_REASONS).map(|reason| {
            let mut line = Line::default();
            line.pad_to(REASON_COLUMN).push(Tone::Dim, &reason);
            line
        });
        [Some(line), reason].into_iter().flatten()
    });
    lines.chain(more).map(|line| line.cut(columns)).collect()
}

/// Appends the parts that fit. Messages are shortened at the end; numbers are never cut.
fn fit(mut line: Line, parts: Vec<Part>, columns: usize) -> Line {
    let mut left = columns.saturating_sub(line.width());
    let mut order: Vec<(usize, &Part)> = parts.iter().enumerate().collect();
    order.sort_by_key(|(_, part)| part.priority);
    let mut widths = BTreeMap::<usize, usize>::new();
    for (at, part) in &order {
        if let Some(rest) = left.checked_sub(part.least + GAP.len()) {
            left = rest;
            widths.insert(*at, part.least);
        }
    }
    for (at, part) in order {
        if let Some(columns) = widths.get_mut(&at) {
            let more = left.min(width(&part.text).saturating_sub(part.least));
            (*columns, left) = (*columns + more, left - more);
        }
    }
    for (at, part) in parts.iter().enumerate() {
        if let Some(&columns) = widths.get(&at) {
            line.push(Tone::Plain, GAP).push(part.tone, &cut_end(&part.text, columns));
        }
    }
    line.cut(columns)
}

pub(super) fn bar(position: u64, length: u64, columns: usize) -> String {
    let full = u128::from(position.min(length)) * columns as u128 / u128::from(length.max(1));
    let full = usize::try_from(full).unwrap_or(columns);
    format!("{}{}", "█".repeat(full), "░".repeat(columns.saturating_sub(full)))
}

/// Formats a duration that is updated while it passes.
pub(super) fn clock(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => period(span),
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
