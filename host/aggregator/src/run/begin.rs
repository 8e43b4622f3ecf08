//! Start of a run: a new one in an empty directory, or one that resumes where it was interrupted.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_archive::layout;
use plumbline_core::definition::{Definition, check_set};
use plumbline_core::ledger::{Effect, Event, KeyState, Ledger};
use plumbline_core::run_status::RunPhase;
use plumbline_core::{Node, PluginName, ResultKey, RunId};
use plumbline_phonehome::{RunCa, server_config};
use plumbline_telemetry::Family;
use plumbline_telemetry::otlp::{self, Exporter};
use serde_json::Value;
use tokio::sync::mpsc;

use super::blocking::blocking;
use super::patience::Wait;
use super::settings::{PluginOutcome, RunError, Settings, StartKind};
use crate::dispatcher::{Dispatcher, Vault, WorkerAccess};
use crate::journal::Journal;
use crate::modules::Modules;
use crate::plan::{PlannedPlugin, Provenance, modules_document, prepare};
use crate::server::{Server, Store, count_files};
use crate::source::{LimitPolicy, PlanError, Source};
use crate::state::State;
use crate::workdir::{PluginRecord, RunRecord, WorkDir};

/// A run that was started.
pub struct Run {
    pub(super) record: RunRecord,
    pub(super) settings: Settings,
    pub(super) store: Store,
    pub(super) work: WorkDir,
    pub(super) plugins: Vec<PlannedPlugin>,
    pub(super) state: State,
    pub(super) effects: mpsc::UnboundedReceiver<Effect>,
    pub(super) server: Server,
    pub(super) ca: RunCa,
    pub(super) url: String,
    pub(super) dispatcher: Arc<dyn Dispatcher>,
    pub(super) outcomes: BTreeMap<PluginName, PluginOutcome>,
    /// `meta/modules.json`.
    pub(super) modules: Value,
    pub(super) exporter: Option<Arc<Exporter>>,
}

impl Run {
    /// Starts a run of `sources` in `work`, or resumes the one that was started there. When it
    /// returns, the server accepts results, and no plugin has been launched. It waits for an
    /// environment that does not answer ([`Settings::patience`]).
    ///
    /// # Errors
    /// [`RunError`], such as [`RunError::Finished`]. A new run has then not started, and the state
    /// of a resumed one is unchanged.
    pub async fn begin(
        work: WorkDir,
        sources: Vec<Source>,
        settings: Settings,
        modules: &Modules,
        dispatcher: Arc<dyn Dispatcher>,
    ) -> Result<(Self, StartKind), RunError> {
        let (mut record, sources, start) = match work.record()? {
            Some(record) => {
                let sources = recorded_sources(&record)?;
                (record, sources, StartKind::Continued)
            }
            None => (new_record(&sources, &settings), sources, StartKind::New),
        };
        if sources.is_empty() && !settings.survey_only {
            return Err(RunError::NoPlugins);
        }
        check_set(sources.iter().map(|source| source.definition.as_ref())).map_err(RunError::Together)?;
        let mut plugins = read_modules(sources, modules.clone(), settings.limits.clone()).await?;
        let (nodes, ca) = environment(dispatcher.as_ref(), &settings, &work, &record, &plugins, start).await?;
        if start == StartKind::New {
            record.started = Timestamp::now(); // The wait does not count toward the deadline.
        }
        let (journal, records) = Journal::open_on(work.disk(), &work.root().join("journal"))?;
        let ledger = Ledger::replay(records.into_iter().map(|record| (record.at, record.event)))?;
        check_state(start, &work, &ledger, &plugins, &settings.output)?;
        let (state, effects) = State::new(ledger, journal);
        plan(&state, &mut plugins, modules.clone(), nodes).await?;
        let modules = modules_document(&plugins, modules, &provenance(&plugins, &record));
        let disk = state.journal().reserve().upload_disk();
        let store = Store::create(&disk, work.root().join("incoming"), work.tree(), &settings.receive)
            .map_err(RunError::io("prepare the directories for results"))?;
        if start == StartKind::New {
            // Everything that a restart needs is now durable: from here on, it resumes the run.
            work.begin(&record)?;
        } else {
            state.apply(Event::Restarted)?;
            keep_partial(&state, &work.tree());
        }
        let (server, url) = start_server(&settings, &ca, state.clone(), store.clone()).await?;
        let run = Self {
            exporter: settings.telemetry.export.clone().and_then(|export| exporter(export, &record.run)),
            record,
            settings,
            store,
            work,
            plugins,
            state,
            effects,
            server,
            ca,
            url,
            dispatcher,
            outcomes: BTreeMap::new(),
            modules,
        };
        Ok((run, start))
    }

    /// Returns the ID of the run.
    pub fn id(&self) -> &RunId {
        &self.record.run
    }

    /// Returns the time at which the run started.
    pub fn started(&self) -> Timestamp {
        self.record.started
    }

    /// Returns the state of the run.
    pub fn state(&self) -> State {
        self.state.clone()
    }

    /// Returns what exports telemetry, if that was requested.
    pub fn exporter(&self) -> Option<Arc<Exporter>> {
        self.exporter.clone()
    }

    /// Returns a function for the metrics of the run, which can be called after its end too.
    pub fn metrics(&self) -> impl Fn() -> Vec<Family> + Send + Sync + 'static + use<> {
        let (state, run, started) = (self.state.clone(), self.record.run, self.record.started);
        move || state.families(&run, started)
    }

    /// Returns the URL for results.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the plugins, in the order of the command line.
    pub fn plugins(&self) -> &[PlannedPlugin] {
        &self.plugins
    }

    pub(super) fn access(&self, plugin: &PlannedPlugin) -> Result<WorkerAccess, RunError> {
        let client = self.ca.issue_client(plugin.name())?;
        Ok(WorkerAccess {
            aggregator_url: self.url.clone(),
            ca_cert: self.ca.certificate_pem().to_owned(),
            client_cert: client.certificate_pem,
            client_key: client.key_pem,
        })
    }
}

/// Reads and inspects the modules of all plugins. They are compiled in the background.
async fn read_modules(
    sources: Vec<Source>,
    modules: Modules,
    limits: LimitPolicy,
) -> Result<Vec<PlannedPlugin>, RunError> {
    let prepare = move |source| prepare(&modules, &limits, source)?.with_check(&modules, &limits);
    blocking::<_, PlanError>("read the modules", move || sources.into_iter().map(prepare).collect()).await
}

/// Creates what exports telemetry. A failure is logged, because the run does not depend on it.
fn exporter(settings: otlp::Settings, run: &RunId) -> Option<Arc<Exporter>> {
    let attribute = |key: &str, value: String| (key.to_owned(), value);
    let resource = vec![
        attribute("service.name", "plumbline".to_owned()),
        attribute("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        attribute("service.instance.id", run.to_string()),
    ];
    let exporter = Exporter::new(settings, resource);
    exporter.inspect_err(|error| tracing::warn!("{error}")).ok().map(Arc::new)
}

fn provenance(plugins: &[PlannedPlugin], record: &RunRecord) -> BTreeMap<PluginName, Provenance> {
    let recorded = plugins.iter().zip(&record.plugins);
    recorded.filter_map(|(plugin, recorded)| Some((plugin.name().clone(), recorded.provenance.clone()?))).collect()
}

/// Starts the server with a certificate for its addresses, and returns the URL for results.
async fn start_server(
    settings: &Settings,
    ca: &RunCa,
    state: State,
    store: Store,
) -> Result<(Server, String), RunError> {
    let (host, port) = match &settings.advertise {
        Some(advertised) => split_port(advertised),
        None => (settings.listen.ip().to_string(), None),
    };
    let names: Vec<String> = std::iter::once(&host).chain(&settings.aliases).cloned().collect();
    let certificate = ca.issue_server(&names)?;
    let tls = Arc::new(server_config(ca, &certificate)?);
    let server = Server::start(settings.listen, tls, state, store, settings.receive.clone()).await?;
    let port = port.unwrap_or(server.address().port());
    let url = match host.parse() {
        Ok(IpAddr::V6(address)) => format!("https://[{address}]:{port}"),
        _ => format!("https://{host}:{port}"),
    };
    Ok((server, url))
}

/// Splits `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`, or a bare IPv6 address.
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
        timeout_seconds: settings.timeout.map_or(0, whole_seconds),
        deadline_seconds: settings.deadline.map_or(0, |deadline| whole_seconds(deadline).max(1)),
    }
}

/// Returns the duration in seconds, rounded up: 0 means "no limit".
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// Returns the maximum duration of the run, if there is a limit. Groups of plugins run one after
/// another, and the plugins of a group in parallel.
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

/// Returns the nodes of a new run, and the CA. Waits for an environment that does not answer.
async fn environment(
    dispatcher: &dyn Dispatcher,
    settings: &Settings,
    work: &WorkDir,
    record: &RunRecord,
    plugins: &[PlannedPlugin],
    start: StartKind,
) -> Result<(Vec<Node>, RunCa), RunError> {
    let wait = settings.patience.start();
    let nodes = match start {
        StartKind::New => wait.outlast(|| dispatcher.nodes()).await.map_err(RunError::Nodes)?,
        StartKind::Continued => Vec::new(), // Its expected results are in the journal.
    };
    let vault = settings.vault.as_deref().unwrap_or(work);
    Ok((nodes, run_ca(vault, &wait, record, longest(record, plugins)).await?))
}

/// Returns the CA of the run. A new one is stored before anything is signed with it.
async fn run_ca(
    vault: &dyn Vault,
    wait: &Wait<'_>,
    record: &RunRecord,
    longest: Option<Duration>,
) -> Result<RunCa, RunError> {
    if let Some(pem) = wait.outlast(|| vault.load()).await.map_err(RunError::Vault)? {
        return Ok(RunCa::from_pem(&pem)?);
    }
    let ca = RunCa::generate(&record.run, RunCa::validity_for(longest), Timestamp::now())?;
    let pem = ca.to_pem();
    wait.outlast(|| vault.keep(&pem)).await.map_err(RunError::Vault)?;
    Ok(ca)
}

/// Checks that no plugin was launched in the directory of a new run.
fn check_unused(work: &WorkDir, ledger: &Ledger) -> Result<(), RunError> {
    let launched = ledger.plugins().any(|plugin| ledger.launched(plugin).is_some());
    if launched || work.tree().join(layout::PLUGINS_DIR).is_dir() {
        let missing = "it has results, but no `run.json`".to_owned();
        return Err(RunError::NotWhole { dir: work.root().to_owned(), missing });
    }
    Ok(())
}

/// Checks the state on disk. Of a continued run, removes what was not acknowledged.
fn check_state(
    start: StartKind,
    work: &WorkDir,
    ledger: &Ledger,
    plugins: &[PlannedPlugin],
    output: &Path,
) -> Result<(), RunError> {
    match start {
        StartKind::New => check_unused(work, ledger),
        StartKind::Continued => {
            check_whole(work, ledger, plugins, output)?;
            // Before the ledger forgets the last uploads: a result that fails then can have files in the tree.
            discard_unrecorded(ledger, work)
        }
    }
}

/// Checks that a run can be resumed: its state is complete, and it is not finished.
fn check_whole(work: &WorkDir, ledger: &Ledger, plugins: &[PlannedPlugin], output: &Path) -> Result<(), RunError> {
    let status = ledger.status(Timestamp::now());
    if status.status == RunPhase::Complete {
        let archive = output.join(&status.tar_info.name);
        return Err(RunError::Finished { archive, status: Box::new(status) });
    }
    let not_whole = |missing| Err(RunError::NotWhole { dir: work.root().to_owned(), missing });
    let known: Vec<&PluginName> = ledger.plugins().collect();
    if let Some(plugin) = plugins.iter().find(|plugin| !known.contains(&plugin.name())) {
        return not_whole(format!("its journal has no plugin `{}`", plugin.name()));
    }
    for key in ledger.keys() {
        let Some(KeyState::Received { stored, .. }) = ledger.state(key) else { continue };
        let dir = work.tree().join(layout::result_dir(&key.plugin, &key.node));
        let there = count_files(&dir).ok();
        if !dir.is_dir() {
            return not_whole(format!("received result `{key}` is missing"));
        }
        if there != Some(stored.files) {
            let there = there.unwrap_or_default();
            return not_whole(format!("received result `{key}` has {there} of its {} files", stored.files));
        }
    }
    Ok(())
}

/// Removes results and errors that are not in the journal. None of them was acknowledged.
fn discard_unrecorded(ledger: &Ledger, work: &WorkDir) -> Result<(), RunError> {
    let tree = work.tree();
    for key in ledger.plugins().flat_map(|plugin| ledger.missing(plugin)) {
        let what = format!("remove the result `{key}`, which was not acknowledged");
        Store::discard(work.disk(), &tree, key).map_err(RunError::io(what))?;
    }
    Ok(())
}

/// Keeps the partial results that an earlier process stored. It may have acknowledged them.
fn keep_partial(state: &State, tree: &Path) {
    let has_partial = |plugin: &&PluginName| tree.join(layout::plugin_dir(plugin)).join(layout::PARTIAL_DIR).is_dir();
    let is_stored = |key: &&ResultKey| tree.join(layout::partial_dir(&key.plugin, &key.node)).is_dir();
    let stored: Vec<ResultKey> = state.read(|ledger| {
        let missing = ledger.plugins().filter(has_partial).flat_map(|plugin| ledger.missing(plugin));
        missing.filter(is_stored).cloned().collect()
    });
    stored.into_iter().for_each(|key| state.keep_partial(key));
}

/// Determines the expected results of every plugin. Those in the ledger do not change.
async fn plan(
    state: &State,
    plugins: &mut Vec<PlannedPlugin>,
    modules: Modules,
    nodes: Vec<Node>,
) -> Result<(), RunError> {
    let known: Vec<_> = state.read(|ledger| ledger.plugins().cloned().collect());
    let mut all = std::mem::take(plugins);
    let ask = move || {
        for plugin in all.iter_mut().filter(|plugin| !known.contains(plugin.name())) {
            plugin.expect(&modules, &nodes)?;
        }
        Ok::<_, PlanError>((all, known))
    };
    let (all, known) = blocking("compute the expected results", ask).await?;
    *plugins = all;
    for plugin in plugins.iter_mut() {
        let name = plugin.name().clone();
        if known.contains(&name) {
            (plugin.expected, plugin.nothing_expected) = state.read(|ledger| {
                (ledger.keys_of(&name).cloned().collect(), ledger.nothing_expected(&name).map(str::to_owned))
            });
            continue;
        }
        state.apply_durable(Event::Planned { plugin: name.clone(), keys: plugin.expected.clone() }).await?;
        if let Some(reason) = plugin.nothing_expected.clone() {
            state.apply_durable(Event::NothingExpected { plugin: name, reason }).await?;
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
