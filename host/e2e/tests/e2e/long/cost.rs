//! What the same check costs a node as an image and as a component: bytes, time, memory and processor
//! time (docs/benchmarks.md). One image has a static program only, so no image is much smaller. The
//! other one has the files of a base image as well.

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

/// An image with the check, which no node has.
struct Image {
    /// The name in the table.
    title: &'static str,
    tag: &'static str,
    /// A part of a script. It may set `files` to further files of the image, as `mkimage` takes them.
    files: &'static str,
}

const IMAGES: [Image; 2] = [
    Image { title: "image with a static program", tag: "static", files: "" },
    Image { title: "image with the same program on a base image", tag: "based", files: BASE },
];

/// Lists the files of a base image as slim variants of Debian's image have them: of the required
/// packages and of those that they depend on, without documentation.
const BASE: &str = r#"
required=$(dpkg-query -W -f '${Package} ${Priority}\n' | awk '$2 == "required" { print $1 }')
options='--recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances'
packages=$(apt-cache depends $options $required | grep '^[a-z0-9]' | sort -u)
mapfile -t files < <(dpkg -L $packages 2>/dev/null | grep -vE ':|^/usr/share/(doc|info|lintian|locale|man)/' |
  while read -r file; do if [ -f "$file" ] && [ ! -L "$file" ]; then printf '%s\n' "$file"; fi; done |
  xargs -d '\n' realpath | sort -u | sed 's/.*/&:&/')
"#;

/// The statuses of the items, by node and name.
type Items = BTreeMap<(String, String), String>;

/// What a way to run the check costs a node.
struct Cost {
    /// Bytes from the registry or the API server.
    bytes: u64,
    /// Objects that the kubelet reads from the API server for the check.
    objects: usize,
    /// The times in seconds from the launch of the plugin to the first and the last result.
    seconds: [f64; 2],
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
        let [first, last] = self.seconds;
        loudly(&format!(
            "| {name} | {:.0} KiB | {} | {:.2} GB | {first:.2} s | {last:.2} s | {:.0} ms | {:.1} MiB | {:.1} MiB |",
            self.bytes as f64 / 1024.0,
            self.objects,
            (self.bytes * NODES) as f64 / 1e9,
            self.processor * 1e3,
            mib(self.peak),
            mib(self.own),
        ));
    }
}

impl Image {
    /// Builds the image and pushes it to the registry of the cluster. Returns its name.
    fn push(&self, bed: &Bed, registry: &str) -> String {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (scripts, source) = (package.join("cluster"), package.join("tests/e2e/long/image.go"));
        let image = format!("{registry}/{}:{}", bed.namespace(), self.tag);
        let build = format!(
            "CGO_ENABLED=0 \"${{PLUMBLINE_GO:-go}}\" build -trimpath -ldflags '-s -w -X main.id={}' -o check '{}'",
            bed.namespace(),
            source.display()
        );
        let scripts = scripts.display();
        let make =
            format!("COMPRESS=1 '{scripts}/mkimage' image.tar {image} '[\"/check\"]' check:/check \"${{files[@]}}\"");
        let push = format!("'{scripts}/push' image.tar {registry}");
        let script = format!("set -eu\n{}{build}\nfiles=()\n{}{make}\n{push}\n", caches(), self.files);
        bed.program(Path::new("bash"), &["-c", &script]).expect(0);
        image
    }
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

/// Returns the times in seconds from the launch of the plugin to its first and its last result, by the
/// log of the aggregator.
fn seconds_to_results(bed: &Bed) -> [f64; 2] {
    let params = LogParams { timestamps: true, ..LogParams::default() };
    let log = bed.ask(bed.api::<Pod>().logs("sonobuoy", &params));
    let times = |what: &str| log.lines().filter(|line| line.contains(what)).map(seconds_of_day).collect::<Vec<_>>();
    let (launched, received) = (times(" launched"), times("result received"));
    assert!(!launched.is_empty() && received.len() == bed.nodes().len(), "{log}");
    // The day may end in between.
    let after = |time: &f64| (time - launched[0]).rem_euclid(86_400.0);
    let after: Vec<f64> = received.iter().map(after).collect();
    [after.iter().copied().fold(f64::INFINITY, f64::min), after.iter().copied().fold(0.0, f64::max)]
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
        seconds: seconds_to_results(bed),
        processor: cpu_seconds_with_children(&pid).unwrap(),
        peak: status_kib(&pid, "VmHWM").unwrap(),
        own: status_kib(&pid, "RssAnon").unwrap(),
    };
    bed.command("delete", &["--wait", "--yes"]).expect(0);
    Some((cost, items))
}

/// Alone, because it measures time.
#[test]
fn images_and_components_find_the_same_and_their_costs_are_printed() {
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
    let head =
        format!("| | bytes per node | API objects per node | bytes of {NODES} nodes | launch to first result | ");
    let rest = "launch to last result | processor time | peak memory | its own memory |";
    loudly(&format!("{head}{rest}\n|---|---|---|---|---|---|---|---|---|"));
    let mut expected: Option<Items> = None;
    let mut same = |name: &str, found: Items| {
        assert_eq!(found.len(), SETTINGS.len() * bed.nodes().len(), "{name}: {found:?}");
        assert!(found.values().all(|status| status != "unknown"), "{name}: {found:?}");
        let expected = expected.get_or_insert_with(|| found.clone());
        assert_eq!(*expected, found, "{name}");
    };
    for image in &IMAGES {
        let name = image.push(&bed, &registry);
        let Some((cost, found)) = measure(&bed, &definition(&bed, &name), "/check", Some(&name)) else { return };
        cost.print(image.title);
        same(image.title, found);
    }
    for (language, directory) in components {
        let Some((cost, found)) = measure(&bed, &directory, "run-check", None) else { return };
        cost.print(&format!("component, {language}"));
        same(language, found);
    }
}
