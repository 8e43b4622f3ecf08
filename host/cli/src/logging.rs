//! Where the log goes: to stderr for whoever watches, and into the archive for whoever asks later.

use std::path::Path;

use plumbline_aggregator::RunLogLayer;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{Global, Level};
use crate::error::CliError;

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
    // A second initialisation can only come from a test harness; the first one stays.
    let _ = tracing_subscriber::registry().with(stderr(global)).try_init();
}

/// Logs to stderr and into the file at `run_log`.
pub(crate) fn init_run(global: &Global, run_log: &Path) -> Result<(), CliError> {
    let layer = RunLogLayer::create(run_log).map_err(|error| {
        CliError::system(format!("the log of the run cannot be written to `{}`", run_log.display())).because(&error)
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
        .with_filter(targets(filter(global.level)))
}

/// The client of the API server warns of every watch that breaks off, which watches do, and which is mended by itself: that is for
/// whoever looks for a fault.
fn targets(level: LevelFilter) -> Targets {
    let client = if level >= LevelFilter::DEBUG { level } else { level.min(LevelFilter::ERROR) };
    Targets::new().with_default(level).with_target("kube_client", client).with_target("kube_runtime", client)
}
