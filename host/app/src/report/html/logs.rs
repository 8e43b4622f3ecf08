//! The logs of plugin pods on the page, which failed items offer: the start and the end of each.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, BufReader, Read, Write};
use std::ops::ControlFlow;

use plumbline_archive::layout::META_CONFIG;
use plumbline_archive::results::ResultsArchive;
use plumbline_core::GLOBAL;
use plumbline_kubernetes::names::plugin_of_pod;
use serde::{Deserialize, Serialize};

use crate::report::html::ansi::{KEPT, Part, parts, shortened};
use crate::report::html::failed::Texts;
use crate::report::html::row::PluginRow;
use crate::report::html::spool;
use crate::report::text::name;

/// The most logs on the page. Each has at most as many bytes as [`KEPT`] says.
const MAX_LOGS: usize = 100;

/// The directory of logs in an archive.
const LOGS: &str = "podlogs";

/// The namespace in the paths of logs of a run on one machine. Its pods are plugins, and its
/// containers are nodes.
const LOCAL: &str = "local";

/// The end of the name of a worker's container, and of the log of a container before its restart.
const WORKER: &str = "-worker";
const PREVIOUS: &str = ".previous";

/// The largest list of pods that is read, in bytes.
const MAX_PODS: u64 = 64 << 20;

/// The largest configuration of a run that is read, in bytes.
const MAX_CONFIG: u64 = 16 << 20;

/// The nodes of plugins: the number of the plugin, and the name of the node.
type NodeSet<'a> = HashSet<(usize, &'a str)>;

/// A cut moves by at most this many bytes to the end of a line.
const MAX_MOVE: usize = 1 << 10;

/// A log, as the script shows it.
#[derive(Serialize)]
pub(super) struct PageLog {
    /// The number of the plugin.
    plugin: usize,
    /// The node, or empty if the plugin does not have a pod on each.
    node: String,
    /// The file in the archive.
    file: String,
    /// The number of its text, or 0 if the page has no room for it.
    text: u32,
}

/// The logs on the page.
#[derive(Default)]
pub(super) struct Logs {
    pub(super) shown: Vec<PageLog>,
    /// The number of plugins whose logs were added.
    plugins: usize,
}

impl Logs {
    /// Adds the logs of the plugins in `rows` that follow those of the last call.
    pub(super) fn add(
        &mut self,
        rows: &[PluginRow],
        archive: &mut ResultsArchive,
        texts: &mut spool::Texts,
    ) -> io::Result<()> {
        let first = std::mem::replace(&mut self.plugins, rows.len());
        let chosen = chosen(rows, first, archive, MAX_LOGS.saturating_sub(self.shown.len()));
        let mut contents = read(archive, &chosen);
        for Candidate { plugin, node, file, .. } in chosen {
            let text = match contents.remove(&file) {
                Some(content) => texts.push(&content)?,
                None => 0,
            };
            self.shown.push(PageLog { plugin, node, file: name(&file), text });
        }
        Ok(())
    }
}

/// What the path of a log says.
struct LogPath<'a> {
    file: &'a str,
    namespace: &'a str,
    pod: &'a str,
    plugin: &'a str,
    container: &'a str,
    /// Whether the plugin has a pod on each node of a cluster.
    is_per_node: bool,
}

impl<'a> LogPath<'a> {
    /// Reads `podlogs/NAMESPACE/POD/logs/CONTAINER.txt`. Archives of old versions have `.log`.
    fn of(file: &'a str) -> Option<Self> {
        let mut parts = file.strip_prefix(LOGS)?.strip_prefix('/')?.split('/');
        let (namespace, pod, logs, last) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if logs != "logs" || parts.next().is_some() {
            return None;
        }
        let container = last.strip_suffix(".txt").or_else(|| last.strip_suffix(".log"))?;
        let (plugin, is_per_node) = if namespace == LOCAL { (pod, false) } else { plugin_of_pod(pod)? };
        Some(Self { file, namespace, pod, plugin, container, is_per_node })
    }

    /// The node of the pod: empty if the plugin does not have a pod on each, `None` if it is unknown.
    /// `nodes` has all nodes of the plugin.
    fn node(&self, plugin: usize, nodes: &NodeSet<'_>, pods: &HashMap<String, String>) -> Option<String> {
        if self.namespace == LOCAL {
            let container = name(self.container);
            let is_node = nodes.contains(&(plugin, container.as_str()));
            let worker = container.strip_suffix(WORKER).filter(|_| !is_node);
            let node = worker.unwrap_or(&container);
            return Some(if node == GLOBAL { String::new() } else { node.to_owned() });
        }
        if !self.is_per_node {
            return Some(String::new());
        }
        pods.get(&pod_key(self.namespace, self.pod)).map(|node| name(node))
    }
}

fn pod_key(namespace: &str, pod: &str) -> String {
    format!("{namespace}/{pod}")
}

/// A log that failed items of a plugin may offer.
struct Candidate {
    plugin: usize,
    node: String,
    file: String,
    /// Whether nothing that counts failed on the node.
    is_excused: bool,
    /// Whether it is the log of a worker, or of a container before its restart.
    is_secondary: bool,
}

/// Chooses at most `most` logs of the plugins in `rows` from number `first` on that have failures.
/// Plugins and nodes with failures that count come first, and each plugin gets a log before another
/// one gets its second.
fn chosen(rows: &[PluginRow], first: usize, archive: &mut ResultsArchive, most: usize) -> Vec<Candidate> {
    let failing = rows.iter().enumerate().skip(first).filter(|(_, row)| row.counting > 0 || row.excused > 0);
    let failing: HashMap<&str, (usize, &PluginRow)> =
        failing.map(|(plugin, row)| (row.directory.as_str(), (plugin, row))).collect();
    let is_failing = |file: &str| LogPath::of(file).is_some_and(|log| failing.contains_key(log.plugin));
    let files = archive.files_below(LOGS).filter(|(file, size)| *size > 0 && is_failing(file));
    let files: Vec<String> = files.map(|(file, _)| file.to_owned()).collect();
    let mut paths: Vec<LogPath<'_>> = files.iter().filter_map(|file| LogPath::of(file)).collect();
    let own = namespace_of_run(archive, &paths);
    paths.retain(|log| own.as_deref() == Some(log.namespace));
    let pods = nodes_of_pods(archive, &paths);
    let (mut nodes, mut bad_nodes) = (NodeSet::new(), NodeSet::new());
    for (plugin, row) in failing.values() {
        nodes.extend(row.nodes.iter().map(|(node, _)| (*plugin, &**node)));
        bad_nodes.extend(row.nodes.iter().filter(|(_, failed)| *failed).map(|(node, _)| (*plugin, &**node)));
    }
    let candidate = |log: &LogPath<'_>| {
        let (plugin, row) = *failing.get(log.plugin)?;
        let node = log.node(plugin, &nodes, &pods)?;
        let is_excused = !node.is_empty() && !bad_nodes.contains(&(plugin, node.as_str()));
        if is_excused && !row.failed_nodes.contains(node.as_str()) {
            return None;
        }
        let is_secondary = log.container.ends_with(WORKER) || log.container.ends_with(PREVIOUS);
        Some(Candidate { plugin, node, file: log.file.to_owned(), is_excused, is_secondary })
    };
    let mut found: Vec<Candidate> = paths.iter().filter_map(candidate).collect();
    found.sort_by_key(|log| (log.plugin, log.is_excused, log.is_secondary));
    let mut positions: HashMap<usize, usize> = HashMap::new();
    let rank = |log: Candidate| {
        let position = positions.entry(log.plugin).or_default();
        *position += 1;
        let counts = rows.get(log.plugin).is_some_and(|row| row.counting > 0);
        ((!counts, *position, log.plugin), log)
    };
    let mut ranked: Vec<_> = found.into_iter().map(rank).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(most).map(|(_, log)| log).collect()
}

/// The part of `meta/config.json` that is read here. The whole file as values could take much memory.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Config {
    namespace: String,
}

/// The namespace of the run, in which its plugins ran. An archive can have the logs of other runs too.
/// If it does not name the namespace, it must have the logs of only one.
fn namespace_of_run(archive: &mut ResultsArchive, logs: &[LogPath<'_>]) -> Option<String> {
    let config = archive.read(META_CONFIG, MAX_CONFIG).ok();
    let Config { namespace } = config.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if !namespace.is_empty() {
        return Some(namespace);
    }
    let first = logs.first()?.namespace;
    logs.iter().all(|log| log.namespace == first).then(|| first.to_owned())
}

/// A pod as the API server returns it.
#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

/// The nodes of the pods of plugins that have one on each node. A list of pods that cannot be read
/// is ignored: the page then has fewer logs.
fn nodes_of_pods(archive: &mut ResultsArchive, logs: &[LogPath<'_>]) -> HashMap<String, String> {
    let namespaces: BTreeSet<&str> = logs.iter().filter(|log| log.is_per_node).map(|log| log.namespace).collect();
    let mut nodes = HashMap::new();
    for namespace in namespaces {
        let list = format!("resources/ns/{namespace}/core_v1_pods.json");
        if archive.size(&list).is_none_or(|size| size > MAX_PODS) {
            continue;
        }
        let Ok(reader) = archive.file(&list) else { continue };
        let pods: Vec<Pod> = serde_json::from_reader(BufReader::new(reader)).unwrap_or_default();
        for pod in pods {
            nodes.extend(pod.spec.node_name.map(|node| (pod_key(namespace, &pod.metadata.name), node)));
        }
    }
    nodes
}

/// Reads logs, in the order of the archive. The result has those that can be read.
fn read(archive: &mut ResultsArchive, chosen: &[Candidate]) -> HashMap<String, Texts> {
    let wanted: HashSet<&str> = chosen.iter().map(|log| log.file.as_str()).collect();
    let mut contents = HashMap::new();
    // After an error, the page has the paths of the remaining logs.
    let _ = archive.visit(&mut |file, _| wanted.contains(file), &mut |file, log| {
        let parts = excerpt(log, &name(file))?;
        contents.insert(file.to_owned(), Texts { texts: vec![(String::new(), parts)], more: 0 });
        Ok(ControlFlow::Continue(()))
    });
    contents
}

/// The last bytes of what is written, and the number of bytes before them.
#[derive(Default)]
struct Tail {
    kept: Vec<u8>,
    left_out: usize,
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        let extra = self.kept.len().saturating_sub(KEPT.1);
        self.kept.drain(..extra);
        self.left_out = self.left_out.saturating_add(extra);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a log, and splits its start and its end into parts. `source` is its path in the archive.
fn excerpt(log: &mut impl Read, source: &str) -> io::Result<Vec<Part>> {
    let (mut head, mut tail) = (Vec::new(), Tail::default());
    log.by_ref().take(KEPT.0 as u64).read_to_end(&mut head)?;
    io::copy(log, &mut tail)?;
    let Tail { mut kept, left_out } = tail;
    if left_out == 0 {
        head.append(&mut kept);
        return Ok(parts(&String::from_utf8_lossy(&head), source));
    }
    let is_end = |byte: &u8| *byte == b'\n';
    let before = head.iter().rev().take(MAX_MOVE).position(is_end).unwrap_or_default();
    let after = kept.iter().take(MAX_MOVE).position(is_end).map_or(0, |at| at + 1);
    head.truncate(head.len() - before);
    kept.drain(..after);
    let left_out = format!("{} bytes", left_out.saturating_add(before + after));
    Ok(shortened(&String::from_utf8_lossy(&head), &left_out, &String::from_utf8_lossy(&kept), source))
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
