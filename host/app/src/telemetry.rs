//! Metrics and traces of runs: their options, and where they go (docs/observability.md).
//!
//! Nothing here decides whether a run passes or fails. What a user asks for and cannot work is an
//! error before the run starts. Everything later is a warning.

use std::net::SocketAddr;
use std::sync::Arc;

use plumbline_aggregator::{Run, TelemetrySettings};
use plumbline_core::config::{self, Config};
use plumbline_telemetry::otlp::{Settings, SettingsError, push_metrics};
use plumbline_telemetry::{BoundAddress, Endpoint, Family, Source, TraceContext};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::{AppError, Explain as _};

/// Options for metrics and traces.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Telemetry options")]
pub struct TelemetryOptions {
    /// Serve metrics for Prometheus on this port, under `/metrics`; without a value, 9464. A local
    /// run listens on 127.0.0.1 only, and 0 is any free port there
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "9464")]
    pub metrics: Option<u16>,
    /// Send metrics and traces to this collector (OTLP over HTTP). A local run also uses
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// Secret in the run's namespace with variables for the export, such as
    /// `OTEL_EXPORTER_OTLP_HEADERS`
    #[arg(long, value_name = "NAME")]
    pub otlp_secret: Option<String>,
}

impl TelemetryOptions {
    /// Changes the configuration of a run in a cluster.
    pub fn apply(&self, config: &mut Config) -> Result<(), AppError> {
        let own = &mut config.plumbline.telemetry;
        own.metrics_port = self.metrics.unwrap_or(own.metrics_port);
        self.otlp_endpoint.iter().for_each(|endpoint| own.otlp_endpoint.clone_from(endpoint));
        self.otlp_secret.iter().for_each(|secret| own.otlp_secret.clone_from(secret));
        settings(&own.otlp_endpoint, |_| None).map_err(|error| invalid(&error))?;
        if own.metrics_port != 0 && own.metrics_port == config.server.bind_port {
            return Err(AppError::usage(format!(
                "port {} is already used by the server for results",
                own.metrics_port
            ))
            .hint("choose another port with `--metrics=PORT`"));
        }
        Ok(())
    }

    /// The first option that only changes the manifest, by its name on the command line.
    pub(crate) fn changes_manifest(&self) -> Option<&'static str> {
        let all = [
            (self.metrics.is_some(), "--metrics"),
            (self.otlp_endpoint.is_some(), "--otlp-endpoint"),
            (self.otlp_secret.is_some(), "--otlp-secret"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// What a local run reports, from these options and the variables of this process.
    pub(crate) fn local(&self, context: &Context) -> Result<TelemetrySettings, AppError> {
        let given = self.otlp_endpoint.as_deref();
        let export = match Settings::from_variables(given, variable) {
            Ok(settings) => settings,
            Err(error) if given.is_some() => return Err(invalid(&error)),
            Err(error) => {
                context.reporter.warning(&format!("failed to set up telemetry, so none is exported: {error}"));
                None
            }
        };
        Ok(TelemetrySettings { parent: parent(|what| context.reporter.warning(what), variable), export })
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn invalid(error: &SettingsError) -> AppError {
    AppError::usage("failed to set up telemetry").because(error).hint_if(error.hint())
}

fn settings(endpoint: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Settings>, SettingsError> {
    Settings::from_variables(Some(endpoint).filter(|endpoint| !endpoint.is_empty()), lookup)
}

/// The trace context of the variables. An invalid one is ignored with a warning, because nothing
/// depends on it.
fn parent(warn: impl Fn(&str), lookup: impl Fn(&str) -> Option<String>) -> Option<TraceContext> {
    TraceContext::from_variables(lookup).unwrap_or_else(|error| {
        warn(&format!("the run starts a new trace: {error}"));
        None
    })
}

/// Adds the trace context of this process's variables to the configuration.
pub(crate) fn take_context(context: &Context, config: &mut Config) {
    if let Some(parent) = parent(|what| context.reporter.warning(what), variable) {
        let own = &mut config.plumbline.telemetry;
        own.trace_parent = parent.to_string();
        own.trace_state = parent.state;
    }
}

/// What a run in a cluster reports. Problems are logged.
pub(crate) fn in_cluster(config: &config::Telemetry) -> TelemetrySettings {
    let parent = parent(
        |what| tracing::warn!("{what}"),
        |name| match name {
            "TRACEPARENT" => Some(config.trace_parent.clone()),
            "TRACESTATE" => Some(config.trace_state.clone()),
            _ => None,
        },
    );
    let export = settings(&config.otlp_endpoint, variable).unwrap_or_else(|error| {
        tracing::warn!("failed to set up telemetry, so none is exported: {error}");
        None
    });
    TelemetrySettings { parent, export }
}

/// Binds an address for metrics.
pub(crate) async fn bind(address: SocketAddr) -> Result<BoundAddress, AppError> {
    BoundAddress::bind(address)
        .await
        .system_error("failed to serve metrics")
        .hint("choose another port with `--metrics=PORT`")
}

/// The metrics of a run while it is executed, and what serves and exports them.
pub(crate) struct Reporting {
    endpoint: Option<Endpoint>,
    push: Option<JoinHandle<()>>,
    stop: CancellationToken,
}

impl Reporting {
    /// Starts to serve the metrics of `run` on `bound` and to export them. `more` returns metrics
    /// that the run does not know.
    pub(crate) fn start(
        run: &Run,
        bound: Option<BoundAddress>,
        more: impl Fn() -> Vec<Family> + Send + Sync + 'static,
    ) -> Self {
        let metrics = run.metrics();
        let source: Source = Arc::new(move || {
            let mut families = metrics();
            families.extend(more());
            families
        });
        let endpoint = bound.map(|bound| Endpoint::start(bound, Arc::clone(&source)));
        let stop = CancellationToken::new();
        let push = run.exporter().map(|exporter| tokio::spawn(push_metrics(exporter, source, stop.clone())));
        Self { endpoint, push, stop }
    }

    /// The URL of the metrics, if they are served.
    pub(crate) fn url(&self) -> Option<String> {
        self.endpoint.as_ref().map(|endpoint| format!("http://{}/metrics", endpoint.address()))
    }

    /// Exports the metrics once more. Returns the endpoint, which still serves them.
    pub(crate) async fn finish(self) -> Option<Endpoint> {
        self.stop.cancel();
        if let Some(push) = self.push
            && let Err(error) = push.await
        {
            tracing::warn!("the task that exports metrics ended: {error}");
        }
        self.endpoint
    }
}
