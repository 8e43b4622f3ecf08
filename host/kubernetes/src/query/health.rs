//! Derives the health of a cluster from the files of a survey, for `meta/clusterhealth.json`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::LazyLock;

use plumbline_archive::layout;
use regex::bytes::Regex;
use serde::Serialize;
use serde_json::{Deserializer, Value};

use super::list::read_list;
use crate::nodes::ready_condition;
use crate::pod_view::text_at;

/// The health of a cluster. The keys are those of Sonobuoy's archives, so `total_nodes` also counts
/// pods.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct ClusterHealth {
    node_health: HealthGroup,
    /// The health of the pods in the namespaces whose resources were collected.
    pod_health: HealthGroup,
    /// The version string of the API server, or empty if unknown.
    api_version: String,
    error_summary: ErrorSummary,
    /// Omitted if nothing is missing, as in Sonobuoy's archives.
    #[serde(skip_serializing_if = "Incomplete::is_empty")]
    incomplete: Incomplete,
}

/// Maximum number of sentences about missing objects in each group.
const MAX_INCOMPLETE: usize = 20;

/// Why not all nodes or pods are counted. Nothing that is derived from such a group is certain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Incomplete {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<String>,
}

impl Incomplete {
    pub(super) fn nodes(&mut self, why: impl Into<String>) {
        push(&mut self.nodes, why.into());
    }

    pub(super) fn pods(&mut self, why: impl Into<String>) {
        push(&mut self.pods, why.into());
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.pods.is_empty()
    }
}

fn push(reasons: &mut Vec<String>, why: String) {
    match reasons.len() {
        0..MAX_INCOMPLETE => reasons.push(why),
        MAX_INCOMPLETE => reasons.push(format!("more in `{}`", layout::META_QUERY_TIME)),
        _ => {}
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct HealthGroup {
    #[serde(rename = "total_nodes")]
    total: u64,
    #[serde(rename = "healthy_nodes")]
    healthy: u64,
    /// Each of them, in list order.
    details: Vec<HealthOf>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct HealthOf {
    name: String,
    /// Whether it is healthy: a node is ready, or a pod is running or ended successfully.
    healthy: bool,
    /// The status of the decisive condition, or `Ready` for a healthy pod.
    ready: String,
    /// The reason, as one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// The reason, as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
}

/// The number of suspicious lines in logs, by path in the archive. Logs without such lines are left
/// out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorSummary {
    /// Lines that look like errors. Omitted if empty, because Sonobuoy's `results` panics on a
    /// class without a file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, u64>,
    /// Lines that look like warnings. Omitted if empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    warnings: BTreeMap<String, u64>,
}

/// Derives the health of a cluster from the files below `tree`. `incomplete` lists what the survey
/// did not collect. Also returns a sentence for each file that could not be read.
///
/// A missing file means that the data was not requested. Files are read item by item and line by
/// line, so memory grows only with the number of nodes and pods.
pub(super) fn assess(tree: &Path, incomplete: Incomplete) -> (impl Serialize + use<>, Vec<String>) {
    let mut health = ClusterHealth { api_version: api_version(tree), incomplete, ..ClusterHealth::default() };
    let mut problems = Vec::new();
    let nodes = tree.join("resources/cluster/core_v1_nodes.json");
    add(&nodes, &mut health.node_health, node, &mut problems);
    problems.iter().for_each(|problem| health.incomplete.nodes(problem));
    let before = problems.len();
    for namespace in names(&tree.join("resources/ns"), &mut problems) {
        let pods = tree.join("resources/ns").join(namespace).join("core_v1_pods.json");
        add(&pods, &mut health.pod_health, pod, &mut problems);
    }
    problems.iter().skip(before).for_each(|problem| health.incomplete.pods(problem));
    logs(tree, &mut health.error_summary, &mut problems);
    (health, problems)
}

fn api_version(tree: &Path) -> String {
    // A failure here was already recorded when the file was written.
    let version: Option<Value> =
        fs::read(tree.join(layout::SERVER_VERSION)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    version.as_ref().map(|version| text(version, "/gitVersion")).unwrap_or_default()
}

/// Returns the sorted names in a directory, or none if it does not exist.
fn names(dir: &Path, problems: &mut Vec<String>) -> Vec<String> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // Names come from the server and were checked. Any other name is foreign.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    };
    read().unwrap_or_else(|error| {
        complain(dir, &error, problems);
        Vec::new()
    })
}

fn complain(path: &Path, error: &io::Error, problems: &mut Vec<String>) {
    if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        problems.push(format!("failed to read `{}`: {error}", path.display()));
    }
}

fn add(path: &Path, group: &mut HealthGroup, judge: fn(&Value) -> HealthOf, problems: &mut Vec<String>) {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return complain(path, &error, problems),
    };
    let read = read_list(Deserializer::from_reader(BufReader::new(file)), &mut |item| {
        let one = judge(&item);
        group.total += 1;
        group.healthy += u64::from(one.healthy);
        group.details.push(one);
        Ok(())
    });
    if let Err(error) = read {
        problems.push(format!("failed to read `{}`: {error}", path.display()));
    }
}

fn node(item: &Value) -> HealthOf {
    let ready = ready_condition(item);
    let of = |pointer: &str| ready.map(|condition| text(condition, pointer)).unwrap_or_default();
    HealthOf {
        name: text(item, "/metadata/name"),
        healthy: of("/status") == "True",
        ready: of("/status"),
        reason: of("/reason"),
        message: of("/message"),
        namespace: String::new(),
    }
}

fn pod(item: &Value) -> HealthOf {
    let (name, namespace) = (text(item, "/metadata/name"), text(item, "/metadata/namespace"));
    let phase = text(item, "/status/phase");
    if matches!(phase.as_str(), "Running" | "Succeeded") {
        return HealthOf { name, namespace, healthy: true, ready: "Ready".to_owned(), ..HealthOf::default() };
    }
    let conditions = item.pointer("/status/conditions").and_then(Value::as_array);
    let because = conditions.into_iter().flatten().find(|condition| text(condition, "/status") != "True");
    let of = |pointer: &str| because.map(|condition| text(condition, pointer)).unwrap_or_default();
    // A pod that was evicted, or whose node is gone, has its reason only in the status.
    let first = |texts: [String; 3]| texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    HealthOf {
        name,
        namespace,
        healthy: false,
        ready: first([of("/status"), "False".to_owned(), String::new()]),
        reason: first([of("/reason"), text(item, "/status/reason"), phase]),
        message: first([of("/message"), text(item, "/status/message"), String::new()]),
    }
}

fn text(value: &Value, pointer: &str) -> String {
    text_at(value, pointer).to_owned()
}

fn logs(tree: &Path, summary: &mut ErrorSummary, problems: &mut Vec<String>) {
    let root = tree.join("podlogs");
    for namespace in names(&root, problems) {
        for pod in names(&root.join(&namespace), problems) {
            let dir = root.join(&namespace).join(&pod).join("logs");
            for file in names(&dir, problems).into_iter().filter(|name| name.ends_with(".txt")) {
                let path = dir.join(&file);
                match File::open(&path).and_then(|log| scan(BufReader::with_capacity(64 << 10, log))) {
                    Err(error) => complain(&path, &error, problems),
                    Ok(hits) => {
                        let name = format!("podlogs/{namespace}/{pod}/logs/{file}");
                        for (count, class) in
                            [(hits.errors, &mut summary.errors), (hits.warnings, &mut summary.warnings)]
                        {
                            if count > 0 {
                                class.insert(name.clone(), count);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Number of bytes of a line that are searched. A match after that is not counted.
const MAX_LINE: usize = 64 << 10;

/// Numbers of suspicious lines in a log. A line counts at most once in each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Hits {
    errors: u64,
    warnings: u64,
}

fn scan(mut log: impl BufRead) -> io::Result<Hits> {
    let mut hits = Hits::default();
    let mut line = Vec::new();
    loop {
        let piece = log.fill_buf()?;
        if piece.is_empty() {
            count(&line, &mut hits);
            return Ok(hits);
        }
        let end = piece.iter().position(|&b| b == b'\n');
        let text = end.and_then(|end| piece.get(..end)).unwrap_or(piece);
        let room = MAX_LINE.saturating_sub(line.len());
        line.extend_from_slice(text.get(..room).unwrap_or(text));
        let taken = text.len() + usize::from(end.is_some());
        log.consume(taken);
        if end.is_some() {
            count(&line, &mut hits);
            line.clear();
        }
    }
}

// The patterns are constants, so they compile. A line of klog starts with a letter and the date.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("[fF]ailed|[eE]rror|^E[0-9]").ok());
static WARNING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("[wW]arn|^W[0-9]").ok());

fn count(line: &[u8], hits: &mut Hits) {
    let matches = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(line));
    hits.errors += u64::from(matches(&ERROR));
    hits.warnings += u64::from(matches(&WARNING));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(tree: &Path, name: &str, text: &str) {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_class_without_a_file_is_left_out() {
        let text = serde_json::to_string(&ErrorSummary::default()).unwrap();
        assert_eq!(text, "{}");
    }

    #[test]
    fn the_health_of_a_cluster() {
        let tree = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| write(tree.path(), name, text);
        put("serverversion.json", r#"{"gitVersion":"v1.30.2"}"#);
        put(
            "resources/cluster/core_v1_nodes.json",
            r#"{"apiVersion":"v1","items":[
                {"metadata":{"name":"n1"},"status":{"conditions":[{"type":"DiskPressure","status":"False"},
                    {"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status"}]}},
                {"metadata":{"name":"n2"},"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}},
                {"metadata":{"name":"n3"}}]}"#,
        );
        // This covers the bare array of an older archive, and a namespace that sorts first although
        // it was written last.
        put(
            "resources/ns/kube-system/core_v1_pods.json",
            r#"[{"metadata":{"name":"p1","namespace":"kube-system"},"status":{"phase":"Pending","conditions":[
                    {"type":"Initialized","status":"True"},
                    {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no node fits"}]}},
                {"metadata":{"name":"p2","namespace":"kube-system"},"status":{"phase":"Failed","reason":"Evicted","message":"disk is full"}}]"#,
        );
        put(
            "resources/ns/default/core_v1_pods.json",
            r#"{"items":[{"metadata":{"name":"p3","namespace":"default"},"status":{"phase":"Succeeded","conditions":[{"status":"False"}]}}]}"#,
        );
        put("resources/ns/broken/core_v1_pods.json", r#"{"items":[{"metadata""#);
        put("podlogs/kube-system/x/logs/x.txt", "E0101 x\nall failed\nwarning\n");
        put("podlogs/kube-system/x/logs/x.log", "error\n");
        put("podlogs/kube-system/y/logs/y.txt", "all is well\n");
        let mut incomplete = Incomplete::default();
        incomplete.nodes("failed to list nodes: no answer");
        let (health, problems) = assess(tree.path(), incomplete);
        let text = serde_json::to_string_pretty(&health).unwrap();
        let (counts, _) = text.split_once(",\n  \"incomplete\"").unwrap();
        insta::assert_snapshot!(format!("{counts}\n}}"));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("broken"), "{problems:?}");
        let incomplete = serde_json::json!({"nodes": ["failed to list nodes: no answer"], "pods": problems});
        assert_eq!(serde_json::to_value(health).unwrap()["incomplete"], incomplete);
    }

    #[test]
    fn many_gaps_are_a_short_list() {
        let mut incomplete = Incomplete::default();
        (0..1000).for_each(|n| incomplete.pods(format!("failed to list pods in namespace `n{n}`")));
        assert_eq!(incomplete.pods.len(), MAX_INCOMPLETE + 1);
        assert_eq!(incomplete.pods.last().unwrap(), "more in `meta/query-time.json`");
    }

    #[test]
    fn an_empty_collection_is_not_a_problem() {
        let tree = tempfile::tempdir().unwrap();
        let (health, problems) = assess(tree.path(), Incomplete::default());
        assert_eq!(serde_json::to_value(health).unwrap(), serde_json::to_value(ClusterHealth::default()).unwrap());
        assert!(problems.is_empty());
    }

    #[test]
    fn a_line_counts_once_in_each_class() {
        let log = "E0101 10:00 x\nE0 failed with an Error\nlevel=error\nlevel=warn Failed\nWarning\nW1\nEx W2\nall is well\nhorrors, ERROR\nwarn";
        // `horrors` contains `rror` after an `o`.
        assert_eq!(scan(log.as_bytes()).unwrap(), Hits { errors: 4, warnings: 4 });
        assert_eq!(scan(&b""[..]).unwrap(), Hits::default());
    }

    #[test]
    fn lines_without_end_are_read_piece_by_piece() {
        let mut log = vec![b'x'; 1 << 20];
        log.extend_from_slice(b" Error\nfailed\n");
        let small = BufReader::with_capacity(7, log.as_slice());
        assert_eq!(scan(small).unwrap(), Hits { errors: 1, warnings: 0 });
    }
}
