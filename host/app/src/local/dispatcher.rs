//! The dispatcher: one execution per expected result, all on this machine.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use plumbline_aggregator::{BoxFuture, Completed, DispatchError, Dispatcher, Exit, Launch, Report, Unsent};
use plumbline_core::{Node, NodeName, PluginName, ResultKey};
use tokio::sync::{mpsc, oneshot};

use super::command::LocalOptions;
use super::execution::{self, Control, Execution, ExecutionContext, LastOutput};
use super::process::kill_recorded;

/// The node name of a machine whose own name is not valid.
const FALLBACK_NAME: &str = "localhost";

/// The executions of a plugin, with the senders of messages to them.
type Executions = Vec<(ResultKey, mpsc::Sender<Control>)>;

/// Runs plugins as processes on this machine.
pub struct LocalDispatcher {
    context: ExecutionContext,
    node: Node,
    running: Mutex<BTreeMap<PluginName, Executions>>,
}

impl LocalDispatcher {
    /// Creates a dispatcher, and terminates what a killed aggregator of the same run left behind.
    pub fn new(options: LocalOptions) -> std::io::Result<Self> {
        let leftovers = options.work.join("processes");
        std::fs::create_dir_all(&options.work)?;
        kill_recorded(&leftovers)?;
        let context = ExecutionContext { options, leftovers, last_output: LastOutput::default() };
        Ok(Self { context, node: this_machine(), running: Mutex::default() })
    }

    /// Kills all processes without waiting for their end, for a program that is about to exit.
    pub fn kill_all(&self) {
        if let Err(error) = kill_recorded(&self.context.leftovers) {
            tracing::warn!("failed to stop the processes of the run: {error}");
        }
    }

    /// Returns the last output of each plugin that has ended, at most 4 KiB each.
    pub fn last_output(&self) -> BTreeMap<ResultKey, String> {
        self.context.last_output.lock().clone()
    }

    fn take(&self, plugin: &PluginName) -> Executions {
        self.running.lock().remove(plugin).unwrap_or_default()
    }

    async fn start(&self, launch: Launch, reports: mpsc::Sender<Report>) -> Result<(), DispatchError> {
        for key in &launch.missing {
            let started = Execution::start(&self.context, &launch, key, self.node.name.as_str());
            let execution = started.inspect_err(|_| execution::did_not_start(&self.context.options.work, key))?;
            // There is at most one message: to settle or to kill.
            let (control, requests) = mpsc::channel(1);
            tokio::spawn(execution.watch(requests, reports.clone()));
            self.running.lock().entry(key.plugin.clone()).or_default().push((key.clone(), control));
        }
        Ok(())
    }
}

impl Dispatcher for LocalDispatcher {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>> {
        Box::pin(async { Ok(vec![self.node.clone()]) })
    }

    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(self.start(launch, reports))
    }

    fn settle<'a>(&'a self, plugin: &'a Completed) -> BoxFuture<'a, Vec<Exit>> {
        Box::pin(async move {
            let mut exits = Vec::new();
            let mut answered = BTreeSet::new();
            for (key, execution) in self.take(&plugin.definition.name) {
                let (answer, exit) = oneshot::channel();
                if execution.send(Control::Settle(answer)).await.is_ok()
                    && let Ok(exit) = exit.await
                {
                    exits.extend(exit);
                    answered.insert(key);
                }
            }
            // An earlier process of this run launched the others, or their tasks ended early.
            let work = &self.context.options.work;
            exits.extend(plugin.received.difference(&answered).filter_map(|key| execution::end(work, key)));
            exits
        })
    }

    fn unsent(&self, key: &ResultKey) -> Option<Unsent> {
        execution::unsent(&self.context.options.work, key)
    }

    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(async {
            let all = std::mem::take(&mut *self.running.lock());
            let mut ended = Vec::new();
            for (_, execution) in all.into_values().flatten() {
                let (answer, done) = oneshot::channel();
                if execution.send(Control::Kill(answer)).await.is_ok() {
                    ended.push(done);
                }
            }
            for done in ended {
                // The execution ended by itself before it could answer.
                let _ = done.await;
            }
            Ok(())
        })
    }
}

/// Returns this machine as a node, as Kubernetes would describe it.
fn this_machine() -> Node {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy().to_ascii_lowercase();
    let name: NodeName = host.parse().or_else(|_| FALLBACK_NAME.parse()).unwrap_or_else(|_| NodeName::global());
    let (os, arch) = (std::env::consts::OS, go_arch(std::env::consts::ARCH));
    let labels = BTreeMap::from([
        ("kubernetes.io/hostname".to_owned(), name.to_string()),
        ("kubernetes.io/os".to_owned(), os.to_owned()),
        ("kubernetes.io/arch".to_owned(), arch.to_owned()),
    ]);
    Node {
        name,
        labels,
        taints: Vec::new(),
        ready: true,
        unschedulable: false,
        os: os.to_owned(),
        arch: arch.to_owned(),
    }
}

/// Returns the Go name of an architecture, which Kubernetes uses.
fn go_arch(arch: &'static str) -> &'static str {
    match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_a_ready_node_with_the_well_known_labels() {
        let node = this_machine();
        assert!(node.ready);
        assert_eq!(node.labels["kubernetes.io/os"], "linux");
        assert_eq!(node.labels["kubernetes.io/hostname"], node.name.as_str());
    }
}
