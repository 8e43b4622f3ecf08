//! Measures an aggregator without an API server: its start, and 5,000 nodes with two plugins. Each
//! node's worker sends a hello and two results, over its own connections.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use plumbline_aggregator::{
    BoxFuture, Completed, DispatchError, Dispatcher, Exit, Launch, Modules, Report, Run, Settings, Source, WorkDir,
};
use plumbline_core::{Definition, Node, NodeName, Verdict};
use plumbline_dev::Result;
use plumbline_dev::proc::{cpu_seconds, status_kib};
use plumbline_phonehome::{Client, ClientConfig, Hello, RetryPolicy, Source as Body, Timestamp, Upload};
use plumbline_sandbox::{Sandbox, SandboxConfig};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::bench::tools::{in_child, median_of, mib, print_table, print_values};

const NODES: usize = 5_000;
/// Number of concurrent workers: enough to keep two cores busy.
const AT_ONCE: usize = 200;

/// A cluster whose workers answer at once.
struct Fleet {
    nodes: Vec<Node>,
    slots: Arc<Semaphore>,
}

impl Fleet {
    fn new(nodes: usize) -> Self {
        let node = |n: usize| {
            let name: NodeName = format!("node-{n:05}.example").parse().ok()?;
            Some(Node {
                name,
                labels: Default::default(),
                taints: Vec::new(),
                ready: true,
                unschedulable: false,
                os: "linux".into(),
                arch: "amd64".into(),
            })
        };
        Self { nodes: (0..nodes).filter_map(node).collect(), slots: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Dispatcher for Fleet {
    fn nodes(&self) -> BoxFuture<'_, std::result::Result<Vec<Node>, DispatchError>> {
        Box::pin(async { Ok(self.nodes.clone()) })
    }

    fn launch(&self, launch: Launch, _: mpsc::Sender<Report>) -> BoxFuture<'_, std::result::Result<(), DispatchError>> {
        Box::pin(async move {
            let access = Arc::new(ClientConfig {
                aggregator_url: launch.access.aggregator_url,
                ca_cert: launch.access.ca_cert,
                client_cert: launch.access.client_cert,
                client_key: launch.access.client_key,
            });
            for key in launch.missing {
                let (access, slots) = (Arc::clone(&access), Arc::clone(&self.slots));
                tokio::spawn(async move {
                    let _slot = slots.acquire_owned().await;
                    let sent = async {
                        let client = Client::new(&access)?;
                        client.hello(&key, &hello()).await?;
                        let body = Body::Bytes(Bytes::from_static(b"ok\n"));
                        client
                            .put_result(
                                &key,
                                &Upload::result(body, "text/plain", Some("result.txt".into())),
                                &RetryPolicy::default(),
                            )
                            .await
                    };
                    if let Err(error) = sent.await {
                        eprintln!("{key}: {error}");
                    }
                });
            }
            Ok(())
        })
    }

    fn settle<'a>(&'a self, _: &'a Completed) -> BoxFuture<'a, Vec<Exit>> {
        Box::pin(async { Vec::new() })
    }

    fn cleanup(&self) -> BoxFuture<'_, std::result::Result<(), DispatchError>> {
        Box::pin(async { Ok(()) })
    }
}

fn hello() -> Hello {
    Hello { version: "bench".into(), pid: None, started: Timestamp::now(), results_dir: String::new() }
}

pub(crate) fn measure() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let modules = Modules::new(sandbox.clone(), plumbline_bundle::built_in::load(&sandbox)?);
    let sources = ["first", "second"].map(|name| {
        // Files that no module reads do not pass by themselves.
        let yaml = format!(
            "{{sonobuoy-config: {{plugin-name: {name}, driver: DaemonSet}}, spec: {{}}, plumbline: {{allow-empty: true}}}}"
        );
        Definition::parse(&yaml).map(|parsed| Source { definition: Arc::new(parsed.definition), bundle: None })
    });
    let sources = sources.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
    let settings = Settings { output: dir.path().to_owned(), ..Settings::default() };
    let work = WorkDir::open(dir.path().join("run"))?;
    let (start, cpu) = (Instant::now(), cpu_seconds("self")?);
    let finished = Runtime::new()?.block_on(async {
        let (run, _) = Run::begin(work, sources, settings, &modules, Arc::new(Fleet::new(NODES))).await?;
        run.execute(CancellationToken::new()).await
    })?;
    if finished.verdict != Verdict::Passed {
        return Err(format!("the run ended as {}", finished.verdict).into());
    }
    let status = serde_json::to_vec(&finished.status)?.len();
    let values = [
        ("from begin to archive", format!("{:.1} s", start.elapsed().as_secs_f64())),
        ("processor time, workers included", format!("{:.1} s", cpu_seconds("self")? - cpu)),
        ("peak memory, workers included", mib(status_kib("self", "VmHWM")? as f64)),
        ("status as one JSON object", format!("{} KiB", status >> 10)),
    ];
    print_values(&format!("{NODES} nodes × 2 plugins, without an API server"), &values);
    Ok(())
}

/// Returns the time in seconds until a new run accepts results, with the load of the built-in modules.
/// Call it once per process, because a second start would use warm caches.
pub(crate) fn start_once() -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let start = Instant::now();
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let modules = Modules::new(sandbox.clone(), plumbline_bundle::built_in::accept(&sandbox)?);
    let definition = Definition::parse("{sonobuoy-config: {plugin-name: bench, driver: Job}, spec: {}}")?.definition;
    let source = Source { definition: Arc::new(definition), bundle: None };
    let work = WorkDir::open(dir.path().join("run"))?;
    let runtime = Runtime::new()?;
    let begun =
        runtime.block_on(Run::begin(work, vec![source], Settings::default(), &modules, Arc::new(Fleet::new(1))));
    let seconds = start.elapsed().as_secs_f64();
    drop(begun?);
    Ok(seconds)
}

/// Measures the start of the aggregator until it accepts results.
pub(crate) fn start(runs: usize) -> Result<()> {
    let time = median_of(runs, || in_child::<3>("start", &[]).map(|[seconds, _, _]| seconds))?;
    let rows = [["sandbox, ten built-in modules, run CA, journal, server".to_owned(), format!("{:.0} ms", time * 1e3)]];
    print_table(&format!("Start until results are accepted (median of {runs})"), ["what", "time"], &rows);
    Ok(())
}
