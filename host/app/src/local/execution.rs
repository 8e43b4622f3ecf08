//! One execution: a plugin's process and its worker, monitored until they end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plumbline_aggregator::{DispatchError, Exit, ExitKind, Launch, Report, Unsent};
use plumbline_archive::atomic::is_temporary;
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::{GLOBAL, PluginName, ResultKey};
use tokio::sync::{mpsc, oneshot};

use super::command::{self, ExecutionPaths, LocalOptions, plugin_variables, worker_variables};
use super::ended::{self, Ended};
use super::process::{Process, ProcessExit, Program, record_process};

/// The directory of an execution for results.
const RESULTS: &str = "results";
/// The directory of an execution for the files of its definition.
const CONFIG: &str = "config";
/// How long a process may continue after its results were received, to clean up.
const SETTLE: Duration = Duration::from_secs(2);
/// How long a result may take to be recorded after its worker has ended successfully.
const RECORDED: Duration = Duration::from_secs(10);
/// The name of the done file (docs/protocol.md, "Done file").
const DONE: &str = "done";
/// The directory for the files of a plugin without a done file, which is not part of the result.
const COLLECTED: &str = ".plumbline-collected";
/// The name of that directory until it is complete.
const COLLECTING: &str = ".plumbline-collecting";

/// What all executions share.
pub(crate) struct ExecutionContext {
    pub(crate) options: LocalOptions,
    /// The directory with the records of started processes.
    pub(crate) leftovers: PathBuf,
    pub(crate) last_output: LastOutput,
}

/// The last output of plugins that have ended.
pub(crate) type LastOutput = Arc<Mutex<BTreeMap<ResultKey, String>>>;

/// Returns the directory of an execution in `work`.
fn home(work: &Path, key: &ResultKey) -> PathBuf {
    work.join(key.plugin.as_str()).join(key.node.as_str())
}

/// Records that the process of an execution did not start, so that it has no end.
pub(crate) fn did_not_start(work: &Path, key: &ResultKey) {
    let home = home(work, key);
    if home.is_dir()
        && let Err(error) = ended::write(&home, None)
    {
        tracing::warn!(plugin = %key.plugin, "failed to record that its process did not start: {error}");
    }
}

/// Returns how an execution ended that has no task in this process, and whose result arrived.
pub(crate) fn end(work: &Path, key: &ResultKey) -> Option<Exit> {
    ended::read(&home(work, key), key)
}

/// Returns the files that the plugin wrote and no worker has sent, or `None` if there are none.
pub(crate) fn unsent(work: &Path, key: &ResultKey) -> Option<Unsent> {
    let results = home(work, key).join(RESULTS);
    let collected = [COLLECTED, COLLECTING].map(|name| results.join(name)).into_iter().find(|dir| dir.is_dir());
    let directory = collected.unwrap_or_else(|| results.clone());
    let exclude = vec![results.join(DONE)];
    let entries = fs::read_dir(&directory).ok()?;
    let any = entries.filter_map(Result::ok).any(|entry| !exclude.contains(&entry.path()));
    any.then_some(Unsent { directory, exclude })
}

/// A request to an execution.
pub(crate) enum Control {
    /// The results were received: end, and return how the plugin's process ended.
    Settle(oneshot::Sender<Option<Exit>>),
    /// End at once.
    Kill(oneshot::Sender<()>),
}

/// Returns the directories for results and for the files of the definition, for a plugin that runs
/// once in a local run.
///
/// `work` is the [`LocalOptions::work`] of the run. A command line that contains these paths needs
/// them before the run starts.
pub fn directories(work: &Path, plugin: &PluginName) -> (PathBuf, PathBuf) {
    let home = work.join(plugin.as_str()).join(GLOBAL);
    (home.join(RESULTS), home.join(CONFIG))
}

pub(crate) struct Execution {
    key: ResultKey,
    home: PathBuf,
    results: PathBuf,
    plugin: Process,
    worker: Process,
    last_output: LastOutput,
    /// Exit codes with which the plugin's process reports that it found no test.
    no_tests: Vec<u8>,
    /// Why the captured standard output is not complete.
    fault: Option<String>,
}

impl Execution {
    /// Starts both processes.
    pub(crate) fn start(
        context: &ExecutionContext,
        launch: &Launch,
        key: &ResultKey,
        node: &str,
    ) -> Result<Self, DispatchError> {
        let failed = |what: &str, error: io::Error| {
            DispatchError::new(format!("plugin `{}`: failed to {what}: {error}", key.plugin))
        };
        let LocalOptions { work, logs, binary, start, secrets } = &context.options;
        let home = home(work, key);
        let (results, config) = (home.join(RESULTS), home.join(CONFIG));
        let logs = logs.join(key.plugin.as_str()).join("logs");
        prepare(&home, &results, &config, &logs, launch).map_err(|error| failed("prepare its directories", error))?;
        let base = start.base(&key.plugin, launch.bundle.as_deref());
        let check = command::check_variable(launch, base)?;
        let command = match check {
            Some(_) => command::of_check(binary, base),
            None => command::resolve(&launch.definition, base, &start.current)?,
        };
        let port = free_port().map_err(|error| failed("find a free port for progress updates", error))?;
        let paths = ExecutionPaths { results: &results, config: &config, progress_port: port, binary };

        let role: &[&str] =
            if key.node.is_global() { &["worker", "global"] } else { &["worker", "single-node", "--sleep=0"] };
        let worker = Process::start(Program {
            program: binary,
            args: &role.iter().map(Into::into).collect::<Vec<_>>(),
            directory: &home,
            variables: worker_variables(launch, key, &paths),
            inherit: false,
            unset: &[],
            log: logs.join(format!("{}-worker.txt", key.node)),
            stdout: None,
        })
        .map_err(|error| failed("start its worker", error))?;
        let suite = launch.definition.plumbline.suite.as_ref();
        let plugin = Process::start(Program {
            program: &command.program,
            args: &command.args,
            directory: &command.directory,
            variables: plugin_variables(launch, key, node, &paths, secrets).into_iter().chain(check).collect(),
            inherit: true,
            unset: suite.map(|suite| suite.unset.as_slice()).unwrap_or_default(),
            log: logs.join(format!("{}.txt", key.node)),
            stdout: launch.definition.plumbline.stdout.as_ref().map(|name| results.join(name)),
        })
        .map_err(|error| failed(&format!("start `{}`", command.program.display()), error))?;
        // A process without a record would run next to its relaunch if this program was killed.
        for id in [&plugin, &worker].into_iter().filter_map(|process| process.child.id()) {
            record_process(&context.leftovers, id).map_err(|error| failed("record its processes", error))?;
        }
        let last_output = Arc::clone(&context.last_output);
        let no_tests = launch.definition.plumbline.no_tests_exit_codes.clone();
        Ok(Self { key: key.clone(), home, results, plugin, worker, last_output, no_tests, fault: None })
    }

    /// Monitors both processes until the execution is asked to end.
    pub(crate) async fn watch(mut self, mut control: mpsc::Receiver<Control>, reports: mpsc::Sender<Report>) {
        let mut plugin_ended: Option<ExitStatus> = None;
        let mut worker_ended = false;
        // Whether only the record of the result is missing.
        let mut delivered = false;
        let mut reported = false;
        // Whether the report already says how the plugin's process ended.
        let mut end_reported = false;
        loop {
            let failure = tokio::select! {
                request = control.recv() => return self.obey(request, plugin_ended, end_reported).await,
                status = self.plugin.child.wait(), if plugin_ended.is_none() => match status {
                    Ok(status) => {
                        plugin_ended = Some(status);
                        self.fault = self.plugin.captured().await;
                        self.record(self.ended(Some(status)).as_ref());
                        let failure = match delivered && !self.results.join(DONE).exists() {
                            true => Some("worker ended before the plugin did, and sent no result".to_owned()),
                            false => self.after_plugin(status),
                        };
                        end_reported |= failure.is_some() && !reported;
                        failure
                    }
                    Err(error) => Some(format!("failed to watch process: {error}")),
                },
                status = self.worker.child.wait(), if !worker_ended => {
                    worker_ended = true;
                    match status {
                        // After a signal, a worker ends successfully without a result.
                        Ok(status) if status.success() => {
                            delivered = true;
                            None
                        }
                        Ok(status) => Some(format!("worker {}: see its log for the reason", describe(status))),
                        Err(error) => Some(format!("failed to watch worker: {error}")),
                    }
                }
                () = tokio::time::sleep(RECORDED), if delivered && plugin_ended.is_some() && !reported => {
                    Some("worker ended, and its result did not arrive".to_owned())
                }
            };
            if let Some(text) = failure
                && !reported
            {
                reported = true;
                let error = self.error(&text).await;
                if reports.send(Report::Failed { key: self.key.clone(), error }).await.is_err() {
                    tracing::debug!(plugin = %self.key.plugin, "no receiver for: {text}");
                }
            }
        }
    }

    /// Ends the execution as `request` asks. Without a request, the run was abandoned.
    async fn obey(self, request: Option<Control>, plugin_ended: Option<ExitStatus>, end_reported: bool) {
        // If the run is abandoned meanwhile, the answers have no receiver.
        match request {
            Some(Control::Settle(answer)) => {
                let exit = self.settle(plugin_ended, end_reported).await;
                let _ = answer.send(exit);
            }
            Some(Control::Kill(answer)) => {
                self.end().await;
                let _ = answer.send(());
            }
            None => self.end().await,
        }
    }

    /// Handles the end of the plugin's process. Without a done file, the worker gets one for all
    /// files.
    ///
    /// Returns the failure to report if there is nothing to read.
    fn after_plugin(&self, status: ExitStatus) -> Option<String> {
        if self.results.join(DONE).exists() {
            return None;
        }
        match submit_all(&self.results) {
            Ok(true) => None,
            Ok(false) => Some(format!("process {} and left no results", describe(status))),
            Err(error) => {
                Some(format!("process {}, and its results could not be collected: {error}", describe(status)))
            }
        }
    }

    async fn error(&mut self, text: &str) -> ErrorRecord {
        let mut record = ErrorRecord::new(text);
        let tail = self.plugin.tail().await;
        if !tail.is_empty() {
            record.details.insert("output".to_owned(), tail.into());
        }
        let tail = if text.starts_with("worker") { self.worker.tail().await } else { String::new() };
        if !tail.is_empty() {
            record.details.insert("worker-output".to_owned(), tail.into());
        }
        record
    }

    async fn settle(mut self, mut ended: Option<ExitStatus>, end_reported: bool) -> Option<Exit> {
        // A plugin whose results were sent may still have cleanup to do. The worker may be slow to
        // end, and the done file says that there is a result.
        if ended.is_none() && (self.results.join(DONE).exists() || self.worker.has_succeeded().await) {
            match tokio::time::timeout(SETTLE, self.plugin.child.wait()).await {
                Ok(Ok(status)) => {
                    ended = Some(status);
                    self.fault = self.plugin.captured().await;
                }
                Ok(Err(error)) => self.fault = Some(format!("how the process ended is unknown: {error}")),
                // It continues after its results.
                Err(_) => {}
            }
        }
        let end = self.ended(ended).filter(|_| !end_reported);
        self.record(end.as_ref());
        let key = self.key.clone();
        self.end().await;
        end.map(|Ended { text, kind }| Exit { key, text, kind })
    }

    /// Returns what the end of the process means. A process that had to be terminated has not failed.
    fn ended(&self, status: Option<ExitStatus>) -> Option<Ended> {
        let ended = status.map(|status| {
            let code = status.code();
            let is_no_tests =
                code.and_then(|code| u8::try_from(code).ok()).is_some_and(|code| self.no_tests.contains(&code));
            let kind = match code {
                _ if is_no_tests => ExitKind::NoTests,
                Some(code) => ExitKind::of_code(code.into()),
                None => ExitKind::Crash,
            };
            Ended { text: format!("process {}", describe(status)), kind }
        });
        match &self.fault {
            Some(fault) => Some(with_fault(ended, fault)),
            None => ended,
        }
    }

    /// Writes how the process ended, for a restart of this program.
    fn record(&self, ended: Option<&Ended>) {
        if let Err(error) = ended::write(&self.home, ended) {
            tracing::warn!(plugin = %self.key.plugin, "failed to record how its process ended: {error}");
        }
    }

    async fn end(self) {
        let (plugin, worker) = tokio::join!(self.plugin.finish(), self.worker.abandon());
        if let Ok(end) = &plugin {
            let mut last_output = self.last_output.lock();
            last_output.insert(self.key.clone(), end.tail.clone());
        }
        for (what, end) in [("process", plugin), ("worker", worker)] {
            match end {
                Ok(ProcessExit { status, .. }) => {
                    tracing::debug!(plugin = %self.key.plugin, "{what} {}", describe(status))
                }
                Err(error) => tracing::warn!(plugin = %self.key.plugin, "failed to stop its {what}: {error}"),
            }
        }
    }
}

/// Submits everything in the results directory to the worker. Returns whether there is anything.
fn submit_all(results: &Path) -> io::Result<bool> {
    let mut entries = fs::read_dir(results)?.collect::<io::Result<Vec<_>>>()?;
    entries.retain(|entry| !is_temporary(&entry.file_name()));
    if entries.is_empty() {
        return Ok(false);
    }
    let collected = results.join(COLLECTED);
    let aside = results.join(COLLECTING);
    fs::create_dir(&aside)?;
    for entry in entries {
        fs::rename(entry.path(), aside.join(entry.file_name()))?;
    }
    fs::rename(&aside, &collected)?;
    // The worker may check at any time, so the done file appears atomically.
    let new = results.join(format!(".{DONE}"));
    fs::write(&new, collected.as_os_str().as_encoded_bytes())?;
    fs::rename(new, results.join(DONE))?;
    Ok(true)
}

/// Returns what an end means if the standard output is a result and not complete.
fn with_fault(ended: Option<Ended>, fault: &str) -> Ended {
    match ended {
        None => Ended { text: fault.to_owned(), kind: ExitKind::Unknown },
        Some(Ended { text, kind: ExitKind::Failure | ExitKind::Crash }) => {
            Ended { text: format!("{text}, and {fault}"), kind: ExitKind::Crash }
        }
        Some(Ended { text, .. }) => Ended { text: format!("{text}, and {fault}"), kind: ExitKind::Unknown },
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

fn prepare(home: &Path, results: &Path, config: &Path, logs: &Path, launch: &Launch) -> io::Result<()> {
    match fs::remove_dir_all(home) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for dir in [results, config, logs] {
        fs::create_dir_all(dir)?;
    }
    for (name, text) in &launch.definition.config_map {
        fs::write(config.join(name), text)?;
    }
    Ok(())
}

/// Returns a port that is free at this moment. If another program takes it, only progress is lost.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use plumbline_aggregator::{WorkerAccess, WorkerContact};
    use plumbline_core::RunId;
    use plumbline_core::definition::Definition;

    use super::super::command::StartDirectories;
    use super::*;

    /// Returns whether a process runs that has `argument` on its command line.
    fn runs(argument: &str) -> bool {
        let has = |line: Vec<u8>| String::from_utf8_lossy(&line).split('\0').any(|one| one == argument);
        fs::read_dir("/proc").unwrap().any(|entry| fs::read(entry.unwrap().path().join("cmdline")).is_ok_and(has))
    }

    #[tokio::test]
    async fn a_process_that_cannot_be_recorded_does_not_run() {
        let work = tempfile::tempdir().unwrap();
        let mark = work.path().to_str().unwrap();
        let yaml = format!(
            "sonobuoy-config: {{driver: Process, plugin-name: p}}\nspec: {{command: [sh, -c, 'sleep 600; true', {mark}]}}\n"
        );
        let key: ResultKey = "p/global".parse().unwrap();
        let access = WorkerAccess {
            aggregator_url: String::new(),
            ca_cert: String::new(),
            client_cert: String::new(),
            client_key: String::new(),
        };
        let launch = Launch {
            run: RunId::random(),
            definition: Arc::new(Definition::parse(&yaml).unwrap().definition),
            bundle: None,
            check: None,
            missing: vec![key.clone()],
            access,
            heard: WorkerContact::new(|_| None),
        };
        let options = LocalOptions {
            work: work.path().join("work"),
            logs: work.path().join("logs"),
            binary: PathBuf::from("/bin/sh"),
            start: StartDirectories { current: work.path().to_owned(), definitions: BTreeMap::new() },
            secrets: BTreeMap::new(),
        };
        let leftovers = work.path().join("processes");
        // Where a file is in the way, nothing can be recorded, as on a full disk.
        fs::write(&leftovers, "").unwrap();
        let context = ExecutionContext { options, leftovers, last_output: LastOutput::default() };
        let error = Execution::start(&context, &launch, &key, "here").err().unwrap();
        assert!(error.message.contains("plugin `p`: failed to record its processes: "), "{error}");
        for _ in 0..1000 {
            if !runs(mark) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the process keeps running");
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn all_that_was_left_is_handed_over_and_nothing_else() {
        let results = tempfile::tempdir().unwrap();
        let results = results.path();
        assert!(!submit_all(results).unwrap());
        assert!(names(results).is_empty(), "nothing is not a result");
        for name in ["a", "collected", ".plumbline-Ab12cD"] {
            fs::write(results.join(name), name).unwrap();
        }
        assert!(submit_all(results).unwrap());
        assert_eq!(
            names(results),
            [".plumbline-Ab12cD", COLLECTED, DONE],
            "a temporary file of a worker is not a result"
        );
        let named = fs::read_to_string(results.join(DONE)).unwrap();
        assert_eq!(names(Path::new(&named)), ["a", "collected"]);
    }

    #[test]
    fn output_that_is_not_complete_never_ends_well() {
        let ended = |kind| Some(Ended { text: "process exited".to_owned(), kind });
        for (before, after) in [
            (None, ExitKind::Unknown),
            (ended(ExitKind::Success), ExitKind::Unknown),
            (ended(ExitKind::NoTests), ExitKind::Unknown),
            (ended(ExitKind::Failure), ExitKind::Crash),
            (ended(ExitKind::Crash), ExitKind::Crash),
        ] {
            let found = with_fault(before.clone(), "the disk is full");
            assert_eq!(found.kind, after, "{before:?}");
            assert!(found.text.ends_with("the disk is full"), "{found:?}");
        }
    }

    #[test]
    fn unsent_files_are_found_wherever_the_collection_stopped() {
        let work = tempfile::tempdir().unwrap();
        let key: ResultKey = "smoke/global".parse().unwrap();
        assert_eq!(unsent(work.path(), &key), None, "never launched");
        let results = home(work.path(), &key).join("results");
        fs::create_dir_all(&results).unwrap();
        fs::write(results.join(DONE), "x").unwrap();
        assert_eq!(unsent(work.path(), &key), None, "a done file is not a result");
        fs::remove_file(results.join(DONE)).unwrap();
        fs::write(results.join("a"), "a").unwrap();
        assert_eq!(unsent(work.path(), &key).unwrap().directory, results);
        assert!(submit_all(&results).unwrap());
        assert_eq!(unsent(work.path(), &key).unwrap().directory, results.join(COLLECTED));
    }
}
