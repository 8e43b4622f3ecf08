//! Displays the download of an archive.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use plumbline_app::report::text::size;
use plumbline_kubernetes::retrieve::Progress;

use crate::ui::line::{Line, Tone, cut_middle};
use crate::ui::live::{bar, clock};
use crate::ui::redraws;
use crate::ui::screen::{Size, say, show};

/// Time between two lines about the same archive, without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Time between two frames on a terminal.
const FRAME_EVERY: Duration = Duration::from_millis(100);
/// Minimum time for which a rate is shown.
const MIN_SPAN: Duration = Duration::from_secs(2);
/// Maximum columns of the name and of the bar. Narrow terminals show neither.
const NAME: usize = 48;
const BAR: usize = 20;

/// Displays what [`Progress`] reports: a bar on a terminal, lines elsewhere.
#[derive(Default)]
pub(crate) struct Transfer {
    name: String,
    size: Option<u64>,
    /// When this attempt started, and how many bytes already existed.
    started: Option<(Instant, u64)>,
    last: Option<Instant>,
    drawn: bool,
}

impl Transfer {
    pub(crate) fn show_progress(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Waiting(why) => say(&format!("waiting: {why}")),
            Progress::Begins { name, size, have } => self.start(name, size, have),
            Progress::Bytes(have) => self.bytes(have),
            Progress::Again { cause, attempt } => say(&format!("{cause}; trying again ({attempt})")),
            Progress::Verifying => self.end(),
            Progress::OneStream => say(
                "the aggregator's image cannot resume downloads: after a lost connection, the download starts from the beginning",
            ),
            Progress::Present(path) => say(&format!("{} already exists", path.display())),
            _ => {}
        }
    }

    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.drawn) {
            show(Vec::new());
        }
    }

    fn start(&mut self, name: &str, bytes: Option<u64>, have: u64) {
        let now = Instant::now();
        (self.name, self.size) = (name.to_owned(), bytes);
        (self.started, self.last) = (Some((now, have)), Some(now));
        if redraws() {
            return self.draw(have);
        }
        let of = bytes.map(|bytes| format!(" ({})", size(bytes))).unwrap_or_default();
        let rest = if have > 0 { format!(", continuing after {}", size(have)) } else { String::new() };
        say(&format!("retrieving {name}{of}{rest}"));
    }

    fn bytes(&mut self, have: u64) {
        let redraws = redraws();
        let pause = if redraws { FRAME_EVERY } else { LINE_EVERY };
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        if redraws {
            return self.draw(have);
        }
        let of = self.size.map(|bytes| format!(" of {}", size(bytes))).unwrap_or_default();
        say(&format!("{}: {}{of}", self.name, size(have)));
    }

    fn draw(&mut self, have: u64) {
        let elapsed = self.started.map(|(at, had)| (at.elapsed(), had)).unwrap_or_default();
        show(vec![line(&self.name, have, self.size, elapsed, Size::of_terminal().columns)]);
        self.drawn = true;
    }
}

/// Returns the download as one line. The attempt started `elapsed` ago, with `had` bytes.
fn line(name: &str, have: u64, bytes: Option<u64>, (elapsed, had): (Duration, u64), columns: usize) -> Line {
    let mut line = Line::default();
    let of = bytes.map(|bytes| format!("/{}", size(bytes))).unwrap_or_default();
    if columns >= 72 {
        line.push(Tone::Plain, &cut_middle(name, NAME.min(columns / 3))).push(Tone::Plain, "   ");
        if let Some(bytes) = bytes {
            line.push(Tone::Plain, &bar(have, bytes, BAR.min(columns / 8))).push(Tone::Plain, " ");
        }
    }
    line.push(Tone::Plain, &format!("{}{of}", size(have)));
    let new = have.saturating_sub(had);
    if elapsed >= MIN_SPAN && new > 0 {
        let per_second = new as f64 / elapsed.as_secs_f64();
        line.push(Tone::Dim, &format!("   {}/s", size(per_second as u64)));
        let left = bytes.map(|bytes| bytes.saturating_sub(have) as f64 / per_second);
        if let Some(left) = left.and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok()) {
            line.push(Tone::Plain, &format!("   ETA {}", clock(left)));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_fits_the_terminal() {
        let name = "202611221300_plumbline_7f3a9c1d-0000-4000-8000-000000000000.tar.gz";
        let shown = |columns, bytes, seconds| {
            line(name, 48 << 20, bytes, (Duration::from_secs(seconds), 16 << 20), columns).render(false)
        };
        let all = [
            shown(120, Some(96 << 20), 8),
            shown(80, Some(96 << 20), 8),
            shown(60, Some(96 << 20), 8),
            shown(80, Some(96 << 20), 1),
            shown(80, None, 8),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        202611221300_plumbli…000000000000.tar.gz   ███████░░░░░░░░ 48 MiB/96 MiB   4.0 MiB/s   ETA 12 s
        202611221300_…00000.tar.gz   █████░░░░░ 48 MiB/96 MiB   4.0 MiB/s   ETA 12 s
        48 MiB/96 MiB   4.0 MiB/s   ETA 12 s
        202611221300_…00000.tar.gz   █████░░░░░ 48 MiB/96 MiB
        202611221300_…00000.tar.gz   48 MiB   4.0 MiB/s
        ");
    }
}
