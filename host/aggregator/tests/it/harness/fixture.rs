//! A directory for one run, and a run in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use plumbline_aggregator::{
    Finished, Launch, Modules, Run, RunError, Settings, Source, StartKind, State, Subject, WorkDir,
};
use plumbline_archive::disk::Disk;
use plumbline_core::{Definition, ModuleLimits};
use plumbline_phonehome::Upload;
use plumbline_sandbox::{PluginInfo, Sandbox, SandboxConfig};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::TestDispatcher;
use super::dispatcher::Launched;

/// Returns the built-in modules, in one sandbox for all tests.
pub(crate) fn modules() -> Modules {
    static MODULES: OnceLock<Modules> = OnceLock::new();
    MODULES
        .get_or_init(|| {
            let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
            let built_in = plumbline_bundle::built_in::load(&sandbox).unwrap();
            Modules::new(sandbox, built_in)
        })
        .clone()
}

/// Returns a plugin. `rest` is additional YAML: keys of `sonobuoy-config` indented by two spaces,
/// or sections.
pub(crate) fn source(name: &str, driver: &str, rest: &str) -> Source {
    let yaml = format!(
        "sonobuoy-config:\n  driver: {driver}\n  plugin-name: {name}\n{rest}\nspec:\n  name: plugin\n  image: none\n"
    );
    let parsed = Definition::parse(&yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    Source { definition: Arc::new(parsed.definition), bundle: None }
}

pub(crate) fn with_bundle(source: Source, bundle: &Path) -> Source {
    Source { bundle: Some(bundle.to_owned()), ..source }
}

/// Returns the results of a plugin without settings, which a module for `format` reads.
pub(crate) fn subject<'a>(plugin: &str, format: &str, result_files: &'a [String]) -> Subject<'a> {
    Subject {
        plugin: PluginInfo {
            name: plugin.into(),
            driver: "Job".into(),
            format: format.into(),
            expected_results: 1,
            options: serde_json::json!({}),
        },
        per_node: false,
        result_files,
        limits: ModuleLimits::default(),
        summarizer: None,
        keep_items: None,
        allow_empty: false,
        detectors: Vec::new(),
        stdout: None,
        warnings: Vec::new(),
        nothing_expected: None,
    }
}

/// A private directory for a run and its archive.
pub(crate) struct RunFixture {
    pub(crate) dir: TempDir,
    pub(crate) settings: Settings,
    /// The disk that the run writes to.
    pub(crate) disk: Disk,
}

impl RunFixture {
    pub(crate) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    pub(crate) fn within(dir: TempDir) -> Self {
        let output = dir.path().join("output");
        std::fs::create_dir(&output).unwrap();
        Self { dir, settings: Settings { output, ..Settings::default() }, disk: Disk::default() }
    }

    /// Returns the working directory of the run.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// Returns a copy of the run's current state on disk, as if the machine had lost power now.
    pub(crate) fn crashed(&self) -> Self {
        let copy = Self::new();
        copy_all(&self.root(), &copy.root());
        copy
    }

    pub(crate) async fn begin(
        &self,
        sources: Vec<Source>,
        dispatcher: TestDispatcher,
    ) -> Result<(Run, StartKind), RunError> {
        let work = WorkDir::open_on(self.disk.clone(), self.root())?;
        Run::begin(work, sources, self.settings.clone(), &modules(), Arc::new(dispatcher)).await
    }

    /// Starts or resumes a run, and executes it in a task.
    pub(crate) async fn live(&self, sources: Vec<Source>, nodes: &[&str]) -> LiveRun {
        let (dispatcher, launched) = TestDispatcher::new(nodes);
        self.live_with(sources, dispatcher, launched).await
    }

    pub(crate) async fn live_with(
        &self,
        sources: Vec<Source>,
        dispatcher: TestDispatcher,
        launched: Launched,
    ) -> LiveRun {
        let (run, begun) = self.begin(sources, dispatcher).await.unwrap_or_else(|error| panic!("{error}"));
        let (state, cancel, url) = (run.state(), CancellationToken::new(), run.url().to_owned());
        let task = tokio::spawn(Box::pin(run.execute(cancel.clone())));
        LiveRun { state, url, cancel, begun, launched, task }
    }
}

/// A run that is being executed.
pub(crate) struct LiveRun {
    pub(crate) state: State,
    pub(crate) url: String,
    pub(crate) cancel: CancellationToken,
    pub(crate) begun: StartKind,
    pub(crate) launched: Launched,
    task: JoinHandle<Result<Finished, RunError>>,
}

impl LiveRun {
    /// Waits for the next launch of a plugin.
    pub(crate) async fn launch(&mut self) -> Launch {
        self.launched.next().await.0
    }

    /// Waits for the next `n` launches, and returns them sorted by plugin name.
    pub(crate) async fn launches(&mut self, n: usize) -> Vec<Launch> {
        let mut all = Vec::new();
        for _ in 0..n {
            all.push(self.launch().await);
        }
        all.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
        all
    }

    /// Waits for the end of the run.
    pub(crate) async fn finished(self) -> Finished {
        let ended = tokio::time::timeout(super::PATIENCE, self.task).await.expect("the run does not end");
        ended.unwrap().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends `upload` as the result `to` of the next plugin, and waits for the end of the run.
    pub(crate) async fn finished_with(mut self, to: &str, upload: &Upload) -> Finished {
        let access = self.launch().await.access;
        super::send(&access, to, upload).await.unwrap();
        self.finished().await
    }

    /// Interrupts the run, and waits for its end.
    pub(crate) async fn interrupt(self) -> Finished {
        self.cancel.cancel();
        self.finished().await
    }
}

/// Copies a directory that a run may be writing to. Temporary files and directories can disappear
/// at any time.
pub(crate) fn copy_all(from: &Path, to: &Path) {
    let missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    let entries = match std::fs::read_dir(from) {
        Err(error) if missing(&error) => return,
        entries => entries.unwrap(),
    };
    std::fs::create_dir_all(to).unwrap();
    for entry in entries {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy_all(&path, &target);
            continue;
        }
        match std::fs::copy(&path, target) {
            Err(error) if missing(&error) => {}
            copied => drop(copied.unwrap()),
        }
    }
}
