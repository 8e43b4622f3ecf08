//! Settings of a run, its result, and the errors that end it: this machine failed, or the run's
//! configuration is invalid.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_archive::pack::PackError;
use plumbline_core::definition::DefinitionError;
use plumbline_core::ledger::ReplayError;
use plumbline_core::run_status::RunStatus;
use plumbline_core::{PluginName, ReceiveLimits, RunId, Verdict};
use plumbline_phonehome::{CaError, TlsConfigError};
use plumbline_telemetry::{TraceContext, otlp};
use serde_json::{Map, Value};

use super::patience::StartPatience;
use crate::dispatcher::{DispatchError, Vault};
use crate::journal::JournalError;
use crate::judging::JudgeError;
use crate::plan::Provenance;
use crate::postprocess::{Outcome, PostProcessError};
use crate::server::ServerError;
use crate::source::{LimitPolicy, PlanError};
use crate::state::ApplyError;
use crate::workdir::WorkDirError;

/// Settings of a run.
#[derive(Clone)]
pub struct Settings {
    /// Address that the server listens on. Port 0 means any free port.
    pub listen: SocketAddr,
    /// Host for workers, with a port that differs from the server's. `None`: the address it listens
    /// on.
    pub advertise: Option<String>,
    /// Additional names and addresses in the server's certificate.
    pub aliases: Vec<String>,
    /// How long the start waits for an environment that does not answer.
    pub patience: StartPatience,
    /// How long each launch of a plugin waits for such an environment. The pause between two attempts is
    /// that of the start.
    pub launch_patience: Duration,
    /// Storage of the run's CA. `None` means its working directory.
    pub vault: Option<Arc<dyn Vault>>,
    /// ID of a new run. `None` means a random one.
    pub id: Option<RunId>,
    /// Additional keys of `meta/config.json`, which say how the run was configured.
    pub config: Map<String, Value>,
    /// Additional keys of `meta/info.json`, which say where the run took place.
    pub info: Map<String, Value>,
    /// Timeout of each plugin whose definition sets none, from its launch to its last result.
    pub timeout: Option<Duration>,
    /// Timeout of the whole run, from its start to its last result. `None` means no limit.
    pub deadline: Option<Duration>,
    /// How long workers may take to send partial results after the timeout of their plugin. Zero
    /// means that workers are not asked. Heartbeats carry the request, so less than a minute is of
    /// little use.
    pub collect: Duration,
    /// Whether a run without plugins is allowed, which only surveys the environment.
    pub survey_only: bool,
    /// Limits of uploads.
    pub receive: ReceiveLimits,
    /// Limits of modules.
    pub limits: LimitPolicy,
    /// Known origins of the plugins of a new run, for the archive.
    pub provenance: BTreeMap<PluginName, Provenance>,
    /// Traces and metrics to export.
    pub telemetry: TelemetrySettings,
    /// Directory for the archive.
    pub output: PathBuf,
    /// Function to call when the archive is on disk. It must record whatever tells a restarted
    /// process that the run is finished. If it fails, the working directory is kept.
    pub on_archived: Option<OnArchived>,
}

/// Type of [`Settings::on_archived`].
pub type OnArchived = Arc<dyn Fn(&ArchivedRun<'_>) -> io::Result<()> + Send + Sync>;

/// A run whose archive is on disk.
#[derive(Debug, Clone, Copy)]
pub struct ArchivedRun<'a> {
    /// ID of the run.
    pub run: &'a RunId,
    /// Time of its start.
    pub started: Timestamp,
    /// Path of the archive.
    pub archive: &'a Path,
    /// The last status.
    pub status: &'a RunStatus,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            advertise: None,
            aliases: Vec::new(),
            patience: StartPatience::default(),
            launch_patience: Duration::ZERO,
            vault: None,
            id: None,
            config: Map::new(),
            info: Map::new(),
            timeout: Some(Duration::from_secs(21_600)),
            deadline: None,
            collect: Duration::ZERO,
            survey_only: false,
            receive: ReceiveLimits::default(),
            limits: LimitPolicy::default(),
            provenance: BTreeMap::new(),
            telemetry: TelemetrySettings::default(),
            output: PathBuf::from("."),
            on_archived: None,
        }
    }
}

/// What a run exports for observers. By default, nothing.
#[derive(Debug, Clone, Default)]
pub struct TelemetrySettings {
    /// The span that the run is a part of.
    pub parent: Option<TraceContext>,
    /// Where metrics and spans go.
    pub export: Option<otlp::Settings>,
}

/// Whether a run is new or resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartKind {
    /// The run is new.
    New,
    /// The run was started before, and was resumed.
    Continued,
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct Finished {
    /// ID of the run.
    pub run: RunId,
    /// Time of its start.
    pub started: Timestamp,
    /// Outcome of each plugin, in the order of the command line.
    pub plugins: Vec<PluginOutcome>,
    /// Last status of the run.
    pub status: RunStatus,
    /// Verdict of the run.
    pub verdict: Verdict,
    /// Path of the archive.
    pub archive: PathBuf,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// SHA-256 of the archive as 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// Outcome of a plugin.
#[derive(Debug, Clone)]
pub struct PluginOutcome {
    /// Name of the plugin.
    pub plugin: PluginName,
    /// Outcome of post-processing.
    pub outcome: Outcome,
    /// Time from the plugin's launch to its tree. `None` if the plugin was not launched.
    pub elapsed: Option<Duration>,
}

/// Error while starting, running or finishing a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Error of the working directory.
    #[error(transparent)]
    WorkDir(#[from] WorkDirError),
    /// Error of the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal's events are inconsistent.
    #[error("failed to continue the run: {0}")]
    Replay(#[from] ReplayError),
    /// The run in the directory is finished. A crash left a part of the directory behind.
    #[error("the run is finished: its archive is `{}`", archive.display())]
    Finished {
        /// Path of the archive.
        archive: PathBuf,
        /// Last status of the run.
        status: Box<RunStatus>,
    },
    /// A part of the run's state is missing, because the directory was partly removed or copied.
    #[error("failed to continue the run: `{}` is incomplete: {missing}", dir.display())]
    NotWhole {
        /// Path of the working directory.
        dir: PathBuf,
        /// The missing part.
        missing: String,
    },
    /// Error of planning.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The recorded definition of a plugin is invalid.
    #[error("failed to continue the run: invalid definition of a plugin: {0}")]
    Definition(String),
    /// The plugins conflict with each other.
    #[error("invalid set of plugins: {0}")]
    Together(#[source] DefinitionError),
    /// There are no plugins.
    #[error("no plugins to run")]
    NoPlugins,
    /// The dispatcher could not list the nodes.
    #[error("failed to list the nodes: {0}")]
    Nodes(#[source] DispatchError),
    /// Error of the server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The CA could not be loaded or stored.
    #[error("failed to store the run's certificates: {0}")]
    Vault(#[source] DispatchError),
    /// Error of the CA.
    #[error("failed to set up the run's certificates: {0}")]
    Ca(#[from] CaError),
    /// Error of the TLS configuration.
    #[error("failed to set up TLS: {0}")]
    Tls(#[from] TlsConfigError),
    /// Error of the ledger.
    #[error(transparent)]
    Ledger(#[from] ApplyError),
    /// A file operation failed.
    #[error("failed to {what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// Error of post-processing.
    #[error(transparent)]
    PostProcess(#[from] PostProcessError),
    /// Error of judging.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Error while writing the archive.
    #[error("failed to write the archive: {0}")]
    Archive(#[source] PackError),
}

impl RunError {
    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(error) => error.hint(),
            _ => None,
        }
    }

    /// Returns whether the cause may pass by itself, so that another attempt to start the run may
    /// help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Nodes(error) | Self::Vault(error) => error.is_temporary,
            _ => false,
        }
    }

    /// Returns a function that adds the operation that failed to an I/O error.
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source }
    }
}
