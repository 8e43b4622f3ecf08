//! Configures the log, which goes to stderr and into the archive.

use std::path::Path;

use plumbline_aggregator::RunLogLayer;
use plumbline_app::{AppError, Explain as _};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::global::{Global, Level};

/// Prefix of the targets of Plumbline's own events.
const HOUSE: &str = "plumbline";

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Panic | Level::Fatal | Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

pub(crate) fn init(global: &Global) {
    // A second initialisation can only come from a test harness. The first one stays.
    let _ = tracing_subscriber::registry().with(stderr(global)).try_init();
}

/// Logs to stderr and into the file at `run_log`.
pub(crate) fn init_run(global: &Global, run_log: &Path) -> Result<(), AppError> {
    let layer = RunLogLayer::create(run_log)
        .system_error(format_args!("failed to write the log of the run to `{}`", run_log.display()))?;
    // Without a filter, every event and span of libraries would be made, of all levels.
    let layer = layer.with_filter(LevelFilter::INFO);
    let _ = tracing_subscriber::registry().with(stderr(global)).with(layer).try_init();
    Ok(())
}

fn stderr<S>(global: &Global) -> impl Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let filter = targets(filter(global.level), std::env::var("RUST_LOG").ok().as_deref());
    formatted::<S, _>(crate::ui::log_writer).with_filter(filter)
}

/// Formats events for a terminal.
fn formatted<S, W>(writer: W) -> impl Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    W: for<'w> MakeWriter<'w> + 'static,
{
    tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false).with_target(false)
}

/// Returns the filter: all events of this program up to `level`, and less from libraries. Libraries
/// log internals on every level, so only their warnings are shown, or `info` with `--level debug`.
/// `RUST_LOG` can enable more by target.
///
/// The client of the API server logs each error response without its request, and each watch that ends. The caller reports the
/// error, and the watcher restarts the watch, so these lines are for debugging only.
fn targets(level: LevelFilter, asked: Option<&str>) -> Targets {
    let looks = level >= LevelFilter::DEBUG;
    let libraries = if looks { LevelFilter::INFO } else { level.min(LevelFilter::WARN) };
    let client = if looks { LevelFilter::INFO } else { LevelFilter::OFF };
    // All crates of the workspace share this prefix.
    let targets = Targets::new().with_default(libraries).with_target(HOUSE, level);
    let targets = targets.with_target("kube_client", client).with_target("kube_runtime", client);
    // An invalid value is ignored, because other programs use the variable too.
    targets.with_targets(asked.and_then(|asked| asked.parse::<Targets>().ok()).into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use plumbline_core::text::steers_terminal;
    use tracing::Level;

    use super::*;

    /// Keeps the events as a terminal gets them.
    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<String>>>);

    impl io::Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(crate::ui::log_event(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_from_outside_stays_in_its_event_and_controls_no_terminal() {
        let terminal = Terminal::default();
        let writer = {
            let terminal = terminal.clone();
            move || terminal.clone()
        };
        let foreign = "x\u{1b}[2J\u{202e}y\u{9b}z\r\nerror: forged\u{2028}";
        let error = io::Error::other(foreign);
        let layer = formatted::<tracing_subscriber::Registry, _>(writer);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!("failed to read `{foreign}`: {error}");
            tracing::error!(file = foreign, path = %foreign, %error, "failed");
        });
        let events = terminal.0.lock().unwrap().clone();
        assert_eq!(events.len(), 2, "{events:?}");
        for event in events {
            assert!(event.contains("forged") && !event.contains("\nerror: forged"), "{event}");
            assert!(!event.chars().any(|c| steers_terminal(c) && c != '\n'), "{event:?}");
        }
    }

    #[test]
    fn libraries_do_not_drown_what_the_program_says() {
        let trace = targets(LevelFilter::TRACE, None);
        assert!(trace.would_enable("plumbline_worker::run", &Level::TRACE));
        assert!(trace.would_enable("plumbline::commands", &Level::TRACE));
        assert!(trace.would_enable("hyper_util::client", &Level::INFO));
        for library in ["hyper_util::client", "tungstenite::protocol", "kube_client::client", "rustls::client"] {
            assert!(!trace.would_enable(library, &Level::DEBUG), "{library}");
        }
        let info = targets(LevelFilter::INFO, None);
        assert!(info.would_enable("plumbline_worker", &Level::INFO) && info.would_enable("h2::codec", &Level::WARN));
        assert!(!info.would_enable("h2::codec", &Level::INFO) && !info.would_enable("kube_runtime", &Level::WARN));
        assert!(!info.would_enable("kube_client::client::builder", &Level::ERROR));
    }

    #[test]
    fn a_library_that_is_asked_for_by_name_tells_everything() {
        let asked = targets(LevelFilter::WARN, Some("hyper_util=trace"));
        assert!(asked.would_enable("hyper_util::client", &Level::TRACE));
        assert!(!asked.would_enable("h2", &Level::INFO));
        assert!(targets(LevelFilter::WARN, Some("=,=")).would_enable("plumbline", &Level::WARN));
    }
}
