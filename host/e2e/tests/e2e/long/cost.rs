//! What the same check costs a node as an image and as a component: bytes, time, memory and processor
//! time (docs/benchmarks.md). The image has one static program, so no image is much smaller.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ListParams, LogParams};
use plumbline_dev::proc::{cpu_seconds_with_children, status_kib};
use serde_json::{Value, json};

use super::{GO, GRANT, Language, RUST, caches};
use crate::bed::Bed;
use crate::checks::{descendant, nodes, tree};
use crate::faults::{process, retrieve};
use crate::guide;
use crate::settings::loudly;

/// The settings that the check compares with the value 1: one item each. All containers of a node
/// see the same values.
const SETTINGS: [&str; 30] = [
    "fs/aio-max-nr",
    "fs/dir-notify-enable",
    "fs/file-max",
    "fs/lease-break-time",
    "fs/leases-enable",
    "fs/nr_open",
    "fs/overflowgid",
    "fs/overflowuid",
    "fs/pipe-max-size",
    "fs/protected_fifos",
    "fs/protected_hardlinks",
    "fs/protected_regular",
    "fs/protected_symlinks",
    "fs/suid_dumpable",
    "kernel/dmesg_restrict",
    "kernel/kptr_restrict",
    "kernel/osrelease",
    "kernel/ostype",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/randomize_va_space",
    "kernel/sysctl_writes_strict",
    "kernel/threads-max",
    "vm/dirty_background_ratio",
    "vm/dirty_ratio",
    "vm/max_map_count",
    "vm/overcommit_memory",
    "vm/overcommit_ratio",
    "vm/swappiness",
    "vm/vfs_cache_pressure",
];
/// The name of the plugin, and of the project.
const PLUGIN: &str = "cost";
/// The variable with the name of the namespace, by which the test finds the process.
const VARIABLE: &str = "PLUMBLINE_E2E_COST";
/// The number of nodes to which bytes are extrapolated.
const NODES: u64 = 5_000;

/// The statuses of the items, by node and name.
type Items = BTreeMap<(String, String), String>;

/// What a way to run the check costs a node.
struct Cost {
    /// Bytes from the registry or the API server.
    bytes: u64,
    /// Objects that the kubelet reads from the API server for the check.
    objects: usize,
    /// The time in seconds from the launch of the plugin to the last result.
    seconds: f64,
    /// Processor time of the process in seconds.
    processor: f64,
    /// Peak of the resident memory in KiB.
    peak: u64,
    /// Memory that is not pages of a file, in KiB.
    own: u64,
}

impl Cost {
    fn print(&self, name: &str) {
        let mib = |kib: u64| kib as f64 / 1024.0;
        loudly(&format!(
            "| {name} | {:.0} KiB | {} | {:.2} GB | {:.2} s | {:.0} ms | {:.1} MiB | {:.1} MiB |",
            self.bytes as f64 / 1024.0,
            self.objects,
            (self.bytes * NODES) as f64 / 1e9,
            self.seconds,
            self.processor * 1e3,
            mib(self.peak),
            mib(self.own),
        ));
    }
}

/// Builds the image and pushes it to the registry of the cluster. Returns its name.
fn image(bed: &Bed, registry: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (scripts, source) = (package.join("cluster"), package.join("tests/e2e/long/image.go"));
    let image = format!("{registry}/{}:1", bed.namespace());
    let build = format!(
        "CGO_ENABLED=0 \"${{PLUMBLINE_GO:-go}}\" build -trimpath -ldflags '-s -w -X main.id={}' -o check '{}'",
        bed.namespace(),
        source.display()
    );
    let make = format!("COMPRESS=1 '{}/mkimage' image.tar {image} '[\"/check\"]' check:/check", scripts.display());
    let push = format!("'{}/push' image.tar {registry}", scripts.display());
    let script = format!("set -eux\n{}{build}\n{make}\n{push}\n", caches());
    bed.program(Path::new("bash"), &["-c", &script]).expect(0);
    image
}

/// Writes the definition of a plugin with the image. Returns the file.
fn definition(bed: &Bed, image: &str) -> String {
    let config = json!({"driver": "DaemonSet", "plugin-name": PLUGIN, "result-format": "items", "skip-cleanup": true});
    let spec = json!({
        "name": "plugin",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": VARIABLE, "value": bed.namespace()}, {"name": "SETTINGS", "value": SETTINGS.join(",")}],
        "volumeMounts": [{"name": "results", "mountPath": "/tmp/sonobuoy/results"}],
    });
    fs::write(bed.path("image.yaml"), json!({"sonobuoy-config": config, "spec": spec}).to_string()).unwrap();
    "image.yaml".to_owned()
}

/// Creates and builds the check of the templates in a language. Returns its directory.
fn component(bed: &Bed, prelude: &str, language: &Language) -> String {
    let name = language.name;
    let new = format!("plumbline plugin new {PLUGIN} --world check --lang {name}");
    let script = format!("{prelude}mkdir {name}\ncd {name}\n{new}\nplumbline plugin build {PLUGIN}\n");
    bed.program(Path::new("bash"), &["-c", &script]).expect(0);
    let directory = format!("{name}/{PLUGIN}");
    let file = bed.path(&directory).join("plugin.yaml");
    let mut yaml = fs::read_to_string(&file).unwrap();
    let settings: BTreeMap<&str, &str> = SETTINGS.iter().map(|setting| (*setting, "1")).collect();
    let granted = format!("  options: {}\n{GRANT}", json!({"settings": settings}));
    let driver = ("  driver: Process\n", "  driver: DaemonSet\n  skip-cleanup: true\n");
    for (from, to) in [driver, (GRANT, granted.as_str())] {
        assert!(yaml.contains(from), "no `{from}` in {yaml}");
        yaml = yaml.replace(from, to);
    }
    let env = json!([{"name": VARIABLE, "value": bed.namespace()}]);
    fs::write(file, format!("{yaml}spec:\n  env: {env}\n")).unwrap();
    directory
}

/// Returns the time in seconds from the launch of the plugin to its last result, by the log of the
/// aggregator.
fn seconds_to_last_result(bed: &Bed) -> f64 {
    let params = LogParams { timestamps: true, ..LogParams::default() };
    let log = bed.ask(bed.api::<Pod>().logs("sonobuoy", &params));
    let times = |what: &str| log.lines().filter(|line| line.contains(what)).map(seconds_of_day).collect::<Vec<_>>();
    let (launched, received) = (times(" launched"), times("result received"));
    assert!(!launched.is_empty() && received.len() == bed.nodes().len(), "{log}");
    // The day may end in between.
    received.iter().map(|time| (time - launched[0]).rem_euclid(86_400.0)).fold(0.0, f64::max)
}

/// Returns the time at the start of a line, such as `2026-11-27T08:00:00.5Z`, in seconds since
/// midnight.
fn seconds_of_day(line: &str) -> f64 {
    let (_, time) = line.split_once('T').unwrap();
    let time = time.split(['Z', '+', '-']).next().unwrap();
    time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}

/// Returns the bytes that a node pulled for the image, as its kubelet reports them.
fn pulled_bytes(bed: &Bed, image: &str) -> u64 {
    let messages = bed.pulled();
    let size = |message: &String| message.split_once("Image size: ")?.1.split(' ').next()?.parse::<u64>().ok();
    let sizes = messages.iter().filter(|message| message.contains(image)).filter_map(size);
    sizes.max().unwrap_or_else(|| panic!("no size of `{image}`: {messages:?}"))
}

/// Returns the bytes of the ConfigMaps with the check and its code, and their number.
fn sent_bytes(bed: &Bed) -> (u64, usize) {
    let maps = bed.ask(bed.api::<ConfigMap>().list(&ListParams::default())).items;
    let is_check = |map: &&ConfigMap| map.metadata.name.as_deref().unwrap_or_default().starts_with("plumbline-check-");
    let maps: Vec<&ConfigMap> = maps.iter().filter(is_check).collect();
    let chunks = maps.iter().filter_map(|map| map.binary_data.as_ref()).flat_map(BTreeMap::values);
    (chunks.map(|chunk| chunk.0.len() as u64).sum(), maps.len())
}

/// Returns the statuses of the settings on each node.
fn items(bed: &Bed, tree: &Value) -> Items {
    assert_eq!(nodes(tree), bed.nodes(), "{tree}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_node = |node: String| {
        let settings = descendant(tree, &[&node]).and_then(|item| item["items"].as_array()).unwrap();
        settings.iter().map(move |item| ((node.clone(), text(&item["name"])), text(&item["status"]))).collect::<Items>()
    };
    bed.nodes().into_iter().flat_map(of_node).collect()
}

/// Runs a plugin on every node, and measures a process whose command line contains `word`. For a
/// plugin with an image, `image` is its name. Returns `None` if processes of nodes are not visible.
fn measure(bed: &Bed, plugin: &str, word: &str, image: Option<&str>) -> Option<(Cost, Items)> {
    // `kernel/ostype` is not 1.
    bed.run(&[], &["-p", plugin, "--wait"]).expect(1);
    let items = items(bed, &tree(bed, &retrieve(bed), PLUGIN));
    let Some(pid) = process(word, &format!("{VARIABLE}={}", bed.namespace())) else {
        loudly("SKIPPED cost: the processes of the cluster's nodes are not visible from here");
        return None;
    };
    let pid = pid.to_string();
    let (bytes, objects) = image.map_or_else(|| sent_bytes(bed), |image| (pulled_bytes(bed, image), 0));
    let cost = Cost {
        bytes,
        objects,
        seconds: seconds_to_last_result(bed),
        processor: cpu_seconds_with_children(&pid).unwrap(),
        peak: status_kib(&pid, "VmHWM").unwrap(),
        own: status_kib(&pid, "RssAnon").unwrap(),
    };
    bed.command("delete", &["--wait", "--yes"]).expect(0);
    Some((cost, items))
}

/// Alone, because it measures time.
#[test]
fn an_image_and_components_find_the_same_and_their_costs_are_printed() {
    let test = "cost";
    let Some(bed) = Bed::alone(test) else { return };
    let Ok(registry) = std::env::var("PLUMBLINE_E2E_REGISTRY") else {
        return loudly(&format!("SKIPPED {test}: PLUMBLINE_E2E_REGISTRY, a registry of the cluster, is not set"));
    };
    if let Some(missing) = GO.missing().or_else(|| RUST.missing()) {
        return loudly(&format!("SKIPPED {test}: {missing}"));
    }
    let prelude = format!("{}{}", guide::prelude(&bed), caches());
    let components = [&RUST, &GO].map(|language| (language.name, component(&bed, &prelude, language)));
    let image = image(&bed, &registry);
    let Some((cost, expected)) = measure(&bed, &definition(&bed, &image), "/check", Some(&image)) else { return };
    assert_eq!(expected.len(), SETTINGS.len() * bed.nodes().len(), "{expected:?}");
    assert!(expected.values().all(|status| status != "unknown"), "{expected:?}");
    let head = format!("| | bytes per node | API objects per node | bytes of {NODES} nodes | launch to last result | ");
    loudly(&format!("{head}processor time | peak memory | its own memory |\n|---|---|---|---|---|---|---|---|"));
    cost.print("image with a static program");
    for (language, directory) in components {
        let Some((cost, found)) = measure(&bed, &directory, "run-check", None) else { return };
        cost.print(&format!("component, {language}"));
        assert_eq!(found, expected, "{language}");
    }
}
