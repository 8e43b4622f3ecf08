//! Configures the log, which goes to stderr and into the archive.

use std::path::Path;

use plumbline_aggregator::RunLogLayer;
use plumbline_app::AppError;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
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

/// Logs to stderr.
pub(crate) fn init(global: &Global) {
    // A second initialisation can only come from a test harness. The first one stays.
    let _ = tracing_subscriber::registry().with(stderr(global)).try_init();
}

/// Logs to stderr and into the file at `run_log`.
pub(crate) fn init_run(global: &Global, run_log: &Path) -> Result<(), AppError> {
    let layer = RunLogLayer::create(run_log).map_err(|error| {
        AppError::system(format!("failed to write the log of the run to `{}`", run_log.display())).because(&error)
    })?;
    let _ = tracing_subscriber::registry().with(stderr(global)).with(layer).try_init();
    Ok(())
}

fn stderr<S>(global: &Global) -> impl Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    tracing_subscriber::fmt::layer()
        .with_writer(crate::ui::log_writer)
        .with_ansi(false)
        .with_target(false)
        .with_filter(targets(filter(global.level), std::env::var("RUST_LOG").ok().as_deref()))
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
    use tracing::Level;

    use super::*;

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
