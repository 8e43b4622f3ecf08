//! The beginning: a new run in an empty directory, or one that goes on where it was broken off.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_archive::layout;
use plumbline_core::definition::{Definition, check_set};
use plumbline_core::ledger::{Effect, Event, KeyState, Ledger};
use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_core::{Node, PluginName, ReceiveLimits, ResultKey, RunId};
use plumbline_phonehome::{RunCa, server_config};
use serde_json::Value;
use tokio::sync::mpsc;

use super::error::RunError;
use super::finished::PluginOutcome;
use crate::dispatcher::{Dispatcher, WorkerAccess};
use crate::journal::Journal;
use crate::modules::Modules;
use crate::plan::{PlannedPlugin, prepare};
use crate::provenance::{self, Provenance};
use crate::server::{Server, Store};
use crate::source::{LimitPolicy, PlanError, Source};
use crate::state::State;
use crate::vault::Vault;
use crate::workdir::{PluginRecord, RunRecord, WorkDir};

/// What a run is to do.
#[derive(Clone)]
pub struct Settings {
    /// Where the server listens; port 0 for any free one.
    pub listen: SocketAddr,
    /// The host that workers dial, and its port if that is not the one that the server listens on; `None` for the address that the
    /// server listens on.
    pub advertise: Option<String>,
    /// Further names and addresses that the server's certificate is good for.
    pub aliases: Vec<String>,
    /// Where the run's authority is kept; `None` for its working directory.
    pub vault: Option<Arc<dyn Vault>>,
    /// The run's id if it is new; `None` for a random one.
    pub id: Option<RunId>,
    /// Further keys of `meta/config.json`: how the run was configured.
    pub config: serde_json::Map<String, Value>,
    /// What each plugin has from its launch to its last result, unless its definition says otherwise. `None`: no limit.
    pub timeout: Option<Duration>,
    /// What the whole run has, from its beginning to its last result. `None`: no limit.
    pub deadline: Option<Duration>,
    /// How long workers may take to send what their plugin has so far once its time is up; zero: nobody is asked. Workers hear of it
    /// with their next heartbeat, so less than a minute is of little use.
    pub collect: Duration,
    /// A run without plugins is wanted: it only asks what its dispatcher knows of the place.
    pub survey_only: bool,
    /// What uploads may use.
    pub receive: ReceiveLimits,
    /// What modules may use.
    pub limits: LimitPolicy,
    /// Where plugins came from, as far as it is known: told in the archive. A continued run has that of its beginning.
    pub provenance: BTreeMap<PluginName, Provenance>,
    /// Directory for the archive.
    pub output: PathBuf,
    /// Called with the last status once the archive is on disk and before the working directory is removed. Whatever must tell a
    /// restarted process that the run is finished is written here; if that fails, the working directory stays.
    pub on_archived: Option<OnArchived>,
}

/// See [`Settings::on_archived`].
pub type OnArchived = Arc<dyn Fn(&RunStatus) -> std::io::Result<()> + Send + Sync>;

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            advertise: None,
            aliases: Vec::new(),
            vault: None,
            id: None,
            config: serde_json::Map::new(),
            timeout: Some(Duration::from_secs(21_600)),
            deadline: None,
            collect: Duration::ZERO,
            survey_only: false,
            receive: ReceiveLimits::default(),
            limits: LimitPolicy::default(),
            provenance: BTreeMap::new(),
            output: PathBuf::from("."),
            on_archived: None,
        }
    }
}

/// What a run has once it has begun.
pub struct Run {
    pub(super) record: RunRecord,
    pub(super) settings: Settings,
    pub(super) work: WorkDir,
    pub(super) plugins: Vec<PlannedPlugin>,
    pub(super) state: State,
    pub(super) effects: mpsc::UnboundedReceiver<Effect>,
    pub(super) server: Server,
    pub(super) authority: RunCa,
    pub(super) url: String,
    pub(super) dispatcher: Arc<dyn Dispatcher>,
    pub(super) outcomes: BTreeMap<PluginName, PluginOutcome>,
    /// `meta/modules.json`.
    pub(super) modules: Value,
}

/// Whether a run is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It is.
    New,
    /// It was begun before, and goes on.
    Continued,
}

impl Run {
    /// Begins a run of `sources` in `work`, or goes on with the one that was begun there: then `sources` is not looked at. When
    /// this returns, the server accepts results and nothing has been launched.
    ///
    /// # Errors
    /// [`RunError`]: nothing of the run has happened then, and what a continued one had stays as it is. [`RunError::Finished`] for a run
    /// that has its archive already.
    pub async fn begin(
        work: WorkDir,
        sources: Vec<Source>,
        settings: Settings,
        modules: &Modules,
        dispatcher: Arc<dyn Dispatcher>,
    ) -> Result<(Self, Begun), RunError> {
        let (record, begun) = match work.record()? {
            Some(record) => (record, Begun::Continued),
            None => (new_record(&sources, &settings), Begun::New),
        };
        let sources = if begun == Begun::Continued { recorded_sources(&record)? } else { sources };
        if sources.is_empty() && !settings.survey_only {
            return Err(RunError::NoPlugins);
        }
        check_set(sources.iter().map(|source| source.definition.as_ref())).map_err(RunError::Together)?;
        let mut plugins = prepared(sources, modules.clone(), settings.limits.clone()).await?;
        let nodes = dispatcher.nodes().await.map_err(RunError::Nodes)?;

        let longest = longest(&record, &plugins);
        let authority = match &settings.vault {
            Some(vault) => authority(vault.as_ref(), &record, longest).await?,
            None => authority(&work, &record, longest).await?,
        };
        let (journal, records) = Journal::open_on(work.disk(), &work.journal())?;
        let ledger = Ledger::replay(records.into_iter().map(|record| (record.at, record.event)))?;
        match begun {
            Begun::New => check_unused(&work, &ledger)?,
            Begun::Continued => check_whole(&work, &ledger, &plugins, &settings.output)?,
        }
        let (state, effects) = State::new(ledger, journal);
        plan(&state, &mut plugins, modules.clone(), nodes).await?;
        let modules = provenance::document(&plugins, modules, &recorded_provenance(&record));
        let store = Store::create(work.disk(), work.incoming(), work.tree(), &settings.receive)
            .map_err(|source| RunError::Io { what: "prepare the directories for results".into(), source })?;
        if begun == Begun::New {
            // From here on, a restart continues the run: everything that it needs is durable.
            work.begin(&record)?;
        } else {
            // Before the ledger forgets the uploads of the last process: a result that fails now may have files in the tree.
            discard_unrecorded(&state, &store)?;
            state.apply(Event::Restarted)?;
        }
        let (host, port) = match &settings.advertise {
            Some(advertised) => split_port(advertised),
            None => (settings.listen.ip().to_string(), None),
        };
        let names: Vec<String> = std::iter::once(&host).chain(&settings.aliases).cloned().collect();
        let certificate = authority.issue_server(&names)?;
        let tls = Arc::new(server_config(&authority, &certificate)?);
        let server = Server::start(settings.listen, tls, state.clone(), store, settings.receive.clone()).await?;
        let url = url(&host, port.unwrap_or(server.address().port()));
        Ok((
            Self {
                record,
                settings,
                work,
                plugins,
                state,
                effects,
                server,
                authority,
                url,
                dispatcher,
                outcomes: BTreeMap::new(),
                modules,
            },
            begun,
        ))
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.record.run
    }

    /// When it began.
    #[must_use]
    pub fn started(&self) -> Timestamp {
        self.record.started
    }

    /// The ledger, to look at.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.clone()
    }

    /// What results arrive at.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The plugins, in the order of the command line.
    #[must_use]
    pub fn plugins(&self) -> &[PlannedPlugin] {
        &self.plugins
    }

    pub(super) fn access(&self, plugin: &PlannedPlugin) -> Result<WorkerAccess, RunError> {
        let client = self.authority.issue_client(plugin.name())?;
        Ok(WorkerAccess {
            aggregator_url: self.url.clone(),
            ca_cert: self.authority.certificate_pem().to_owned(),
            client_cert: client.certificate_pem,
            client_key: client.key_pem,
        })
    }
}

fn url(host: &str, port: u16) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("https://[{address}]:{port}"),
        _ => format!("https://{host}:{port}"),
    }
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`, or a bare IPv6 address.
fn split_port(advertised: &str) -> (String, Option<u16>) {
    if let Ok(address) = advertised.parse::<SocketAddr>() {
        return (address.ip().to_string(), Some(address.port()));
    }
    if let Some(address) = advertised.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return (address.to_owned(), None);
    }
    match advertised.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && !host.is_empty() => match port.parse() {
            Ok(port) => (host.to_owned(), Some(port)),
            Err(_) => (advertised.to_owned(), None),
        },
        _ => (advertised.to_owned(), None),
    }
}

fn new_record(sources: &[Source], settings: &Settings) -> RunRecord {
    let plugins = sources
        .iter()
        .map(|source| PluginRecord {
            definition: source.definition.to_json(),
            bundle: source.bundle.clone(),
            provenance: settings.provenance.get(&source.definition.name).cloned(),
        })
        .collect();
    RunRecord {
        run: settings.id.unwrap_or_else(RunId::random),
        started: Timestamp::now(),
        plugins,
        timeout_seconds: settings.timeout.map_or(0, |timeout| timeout.as_secs()),
        deadline_seconds: settings.deadline.map_or(0, |deadline| deadline.as_secs().max(1)),
    }
}

/// How long the run may take at most; `None`: there is no limit. Groups of plugins run one after the other, the plugins of a group side
/// by side, and each has its own timeout or that of the run.
fn longest(record: &RunRecord, plugins: &[PlannedPlugin]) -> Option<Duration> {
    let default = Duration::from_secs(record.timeout_seconds);
    let mut groups: BTreeMap<i64, Duration> = BTreeMap::new();
    let mut endless = false;
    for plugin in plugins {
        let definition = &plugin.source.definition;
        let timeout = definition.plumbline.timeout.unwrap_or(default);
        endless |= timeout.is_zero();
        let group = groups.entry(definition.order.into()).or_default();
        *group = timeout.max(*group);
    }
    let plugins = (!endless).then(|| groups.into_values().fold(Duration::ZERO, Duration::saturating_add));
    let whole = (record.deadline_seconds > 0).then(|| Duration::from_secs(record.deadline_seconds));
    plugins.into_iter().chain(whole).min()
}

fn recorded_sources(record: &RunRecord) -> Result<Vec<Source>, RunError> {
    record
        .plugins
        .iter()
        .map(|plugin| {
            let parsed = Definition::from_json(plugin.definition.clone())
                .map_err(|error| RunError::Definition(error.to_string()))?;
            Ok(Source { definition: Arc::new(parsed.definition), bundle: plugin.bundle.clone() })
        })
        .collect()
}

fn recorded_provenance(record: &RunRecord) -> BTreeMap<PluginName, Provenance> {
    let name = |plugin: &PluginRecord| {
        let parsed = Definition::from_json(plugin.definition.clone()).ok()?;
        Some((parsed.definition.name, plugin.provenance.clone()?))
    };
    record.plugins.iter().filter_map(name).collect()
}

/// The authority of a continued run is the one that its workers know. A new one is kept before anything is signed with it.
async fn authority(vault: &dyn Vault, record: &RunRecord, longest: Option<Duration>) -> Result<RunCa, RunError> {
    if let Some(pem) = vault.load().await.map_err(RunError::Vault)? {
        return Ok(RunCa::from_pem(&pem)?);
    }
    let authority = RunCa::generate(&record.run, RunCa::validity_for(longest), Timestamp::now())?;
    vault.keep(&authority.to_pem()).await.map_err(RunError::Vault)?;
    Ok(authority)
}

/// Reads and inspects the modules of all plugins; compiling goes on beside what follows.
async fn prepared(sources: Vec<Source>, modules: Modules, limits: LimitPolicy) -> Result<Vec<PlannedPlugin>, RunError> {
    let prepare = move || sources.into_iter().map(|source| prepare(&modules, &limits, source)).collect();
    let prepared: Result<Vec<_>, PlanError> = tokio::task::spawn_blocking(prepare)
        .await
        .map_err(|error| RunError::Io { what: "read the modules".into(), source: error.into() })?;
    Ok(prepared?)
}

/// A new run takes a directory in which no plugin was launched yet: one that lost the description of its run is not taken for new.
fn check_unused(work: &WorkDir, ledger: &Ledger) -> Result<(), RunError> {
    let launched = ledger.plugins().any(|plugin| ledger.launched(plugin).is_some());
    if launched || work.tree().join(layout::PLUGINS_DIR).is_dir() {
        let missing = "it holds results, but no `run.json` that describes the run".to_owned();
        return Err(RunError::NotWhole { dir: work.root().to_owned(), missing });
    }
    Ok(())
}

/// A run is continued from everything that it had, and not once it is finished.
fn check_whole(
    work: &WorkDir,
    ledger: &Ledger,
    plugins: &[PlannedPlugin],
    output: &std::path::Path,
) -> Result<(), RunError> {
    let status = ledger.status(Timestamp::now());
    if status.status == RunPhase::Complete {
        let archive = output.join(&status.tar_info.name);
        return Err(RunError::Finished { archive, status: Box::new(status) });
    }
    let not_whole = |missing| Err(RunError::NotWhole { dir: work.root().to_owned(), missing });
    let known: Vec<&PluginName> = ledger.plugins().collect();
    if let Some(plugin) = plugins.iter().find(|plugin| !known.contains(&plugin.name())) {
        return not_whole(format!("its journal does not know plugin `{}`", plugin.name()));
    }
    let received = |key: &&ResultKey| matches!(ledger.state(key), Some(KeyState::Received { .. }));
    let is_there = |key: &ResultKey| work.tree().join(layout::result_dir(&key.plugin, &key.node)).is_dir();
    match ledger.keys().filter(received).find(|key| !is_there(key)) {
        Some(key) => not_whole(format!("result `{key}` was received and is not there")),
        None => Ok(()),
    }
}

/// Removes results and errors that the journal does not have. None of them was acknowledged.
fn discard_unrecorded(state: &State, store: &Store) -> Result<(), RunError> {
    let plugins: Vec<PluginName> = state.read(|ledger| ledger.plugins().cloned().collect());
    let missing = |plugin| state.read(|ledger| ledger.missing(plugin).into_iter().cloned().collect::<Vec<_>>());
    let keys: Vec<ResultKey> = plugins.iter().flat_map(missing).collect();
    for key in keys {
        store.discard(&key).map_err(|source| RunError::Io {
            what: format!("remove the result `{key}`, which was not acknowledged"),
            source,
        })?;
    }
    Ok(())
}

/// Asks the expectations of every plugin that the ledger does not know yet; those of a continued run stay what they were.
async fn plan(
    state: &State,
    plugins: &mut Vec<PlannedPlugin>,
    modules: Modules,
    nodes: Vec<Node>,
) -> Result<(), RunError> {
    let known: Vec<_> = state.read(|ledger| ledger.plugins().cloned().collect());
    let mut all = std::mem::take(plugins);
    let asked = tokio::task::spawn_blocking(move || {
        for plugin in all.iter_mut().filter(|plugin| !known.contains(plugin.name())) {
            plugin.expect(&modules, &nodes)?;
        }
        Ok::<_, PlanError>((all, known))
    });
    let (all, known) =
        asked.await.map_err(|error| RunError::Io { what: "ask the expectations".into(), source: error.into() })??;
    *plugins = all;
    for plugin in plugins.iter_mut() {
        if known.contains(plugin.name()) {
            plugin.expected = state.read(|ledger| ledger.keys_of(plugin.name()).cloned().collect());
        } else {
            state
                .apply_durable(Event::Planned { plugin: plugin.name().clone(), keys: plugin.expected.clone() })
                .await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advertised_host_may_carry_a_port() {
        for (given, host, port) in [
            ("10.0.0.7", "10.0.0.7", None),
            ("10.0.0.7:8080", "10.0.0.7", Some(8080)),
            ("[fd00::7]:8080", "fd00::7", Some(8080)),
            ("[fd00::7]", "fd00::7", None),
            ("fd00::7", "fd00::7", None),
            ("aggregator.ns.svc", "aggregator.ns.svc", None),
            ("aggregator.ns.svc:443", "aggregator.ns.svc", Some(443)),
        ] {
            assert_eq!(split_port(given), (host.to_owned(), port), "{given}");
        }
    }
}
