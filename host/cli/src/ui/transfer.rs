//! Shows an archive on its way home.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use plumbline_kubernetes::retrieve::Progress;

use super::{bars, redraws, say};

/// Between two lines about the same archive, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows what [`Progress`] tells: a bar on a terminal, lines elsewhere.
#[derive(Default)]
pub(crate) struct Transfer {
    name: String,
    size: Option<u64>,
    bar: Option<ProgressBar>,
    last: Option<Instant>,
}

impl Transfer {
    /// Shows it.
    pub(crate) fn tell(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Waiting(why) => say(&format!("waiting: {why}")),
            Progress::Begins { name, size, have } => self.begin(name, size, have),
            Progress::Bytes(have) => self.bytes(have),
            Progress::Again { cause, attempt } => say(&format!("{cause}; trying again ({attempt})")),
            Progress::Verifying => self.end(),
            Progress::OneStream => {
                say("the aggregator's image sends archives only as a whole: a lost connection begins anew")
            }
            Progress::Present(path) => say(&format!("{} is here already", path.display())),
            _ => {}
        }
    }

    /// Removes the bar.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn begin(&mut self, name: &str, size: Option<u64>, have: u64) {
        self.end();
        (self.name, self.size, self.last) = (name.to_owned(), size, Some(Instant::now()));
        if redraws() {
            let bar = size.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = match size {
                Some(_) => "{msg} {bar:25} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
                None => "{spinner} {msg} {bytes} {bytes_per_sec}",
            };
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(name.to_owned());
            bar.set_position(have);
            bar.reset_eta();
            self.bar = Some(bars().add(bar));
            return;
        }
        let size = size.map(|size| format!(" ({})", HumanBytes(size))).unwrap_or_default();
        let rest = if have > 0 { format!(", from {} on", HumanBytes(have)) } else { String::new() };
        say(&format!("retrieving {name}{size}{rest}"));
    }

    fn bytes(&mut self, have: u64) {
        if let Some(bar) = &self.bar {
            return bar.set_position(have);
        }
        if redraws() || self.last.is_some_and(|last| last.elapsed() < LINE_EVERY) {
            return;
        }
        self.last = Some(Instant::now());
        let of = self.size.map(|size| format!(" of {}", HumanBytes(size))).unwrap_or_default();
        say(&format!("{}: {}{of}", self.name, HumanBytes(have)));
    }
}
