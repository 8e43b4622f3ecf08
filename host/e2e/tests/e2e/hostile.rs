//! Tests of hostile modules in the aggregator's pod, with the pod's default memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::faults::{process, retrieve};
use crate::plugin::Plugin;
use crate::settings::loudly;

/// The memory limit of the pod.
const MEMORY: &str = "1Gi";
const ROLE: &str = r#"(instance $role) (export "plumbline:plugin/post-processor@0.1.0" (instance $role))"#;

/// The behavior of a module, the limits in its definition, further arguments of the plugin, and the
/// message of the item with status `unknown`.
const CASES: &[(&str, Limits, &[&str], &str)] = &[
    ("endless-loop", &[("wall", "2s")], &[], "limit `wall-seconds`: 2 seconds"),
    ("memory-growth", &[("wall", "60s")], &[], "limit `memory`: 256 MiB"),
    ("recursion", &[("wall", "60s")], &[], "limit `stack`: 1 MiB"),
    ("read-flood", &[("wall", "5s"), ("input-bytes", "10MiB")], &["--bytes=20MiB"], "limit `input-bytes`: 10 MiB"),
    ("item-flood", &[("wall", "60s"), ("items", "100000")], &[], "limit `items`: 100000 items"),
    ("byte-flood", &[("wall", "60s"), ("output-bytes", "10MiB")], &[], "limit `output-bytes`: 10 MiB"),
    ("meta-flood", &[("wall", "60s")], &[], "limit `item-bytes`: 16 MiB"),
    ("deep-tree", &[("wall", "60s"), ("depth", "20")], &[], "limit `depth`: 20 levels"),
    ("huge-string", &[("wall", "60s")], &[], "limit `hostcall-bytes`: 32 MiB"),
    ("behave", &[("wall", "60s"), ("table-elements", "100")], &[], "limit `table-elements`: 100 elements"),
    ("status-flood", &[("wall", "60s")], &[], "limit `statuses`: 1000 different statuses"),
];

type Limits = &'static [(&'static str, &'static str)];

/// The behavior of a judge, the limits in the definition of its plugin, the status of its verdict, and
/// its error.
const JUDGES: &[(&str, Limits, &str, &str)] = &[
    ("rule-flood", &[("wall", "60s"), ("items", "10000")], "unknown", "limit `items`: 10000 items"),
    ("check-flood", &[("wall", "60s")], "failed", "more than 10000 checks"),
];

/// A module that writes more to the log than allowed. Its call does not fail.
const LOG_FLOOD: &str = "log-flood";

/// Creates the bundle of a plugin whose results `module` reads. Returns its reference.
fn bundle(bed: &Bed, name: &str, module: &[u8], limits: Limits, args: &[&str]) -> String {
    let mut definition: Value = serde_json::from_str(&Plugin::job(name).args(args).definition(bed.image())).unwrap();
    definition["sonobuoy-config"]["result-format"] = "hostile".into();
    let files: &[&str] = if args.is_empty() { &["report.xml"] } else { &["report.xml", "extra.bin"] };
    definition["sonobuoy-config"]["result-files"] = json!(files);
    definition["plumbline"] = json!({"options": {"behaviour": name}});
    write(bed, name, module, definition, limits)
}

/// Creates the bundle of a plugin whose results `module` judges. Returns its reference.
fn judged(bed: &Bed, name: &str, module: &[u8], limits: Limits) -> String {
    let mut definition: Value = serde_json::from_str(&Plugin::job(name).definition(bed.image())).unwrap();
    definition["plumbline"] = json!({"verdict": [{"judge": "hostile", "options": {"behaviour": name}}]});
    write(bed, name, module, definition, limits)
}

fn write(bed: &Bed, name: &str, module: &[u8], mut definition: Value, limits: Limits) -> String {
    let dir = bed.path(name);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("hostile.wasm"), module).unwrap();
    let limits: serde_json::Map<_, _> = limits
        .iter()
        // Counts are numbers; sizes and durations have a unit.
        .map(|(key, text)| ((*key).to_owned(), text.parse::<u64>().map_or_else(|_| json!(text), |count| json!(count))))
        .collect();
    definition["plumbline"]["limits"] = json!(limits);
    fs::write(dir.join("plugin.yaml"), definition.to_string()).unwrap();
    format!("./{name}")
}

/// Returns a file of the archive.
fn member(bed: &Bed, archive: &str, name: &str) -> String {
    bed.program(Path::new("tar"), &["-xzOf", archive, name]).expect(0).out
}

fn misbehave() -> Vec<u8> {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    let guest = modules.join("guests/misbehave.wasm");
    fs::read(&guest).unwrap_or_else(|error| panic!("guest {}: {error}; run `cargo xtask setup` first", guest.display()))
}

/// Returns a small component whose compilation takes more memory than the pod has.
fn many_functions() -> Vec<u8> {
    let functions = "(func)".repeat(200_000);
    wat::parse_str(format!("(component (core module {functions}) {ROLE})")).unwrap()
}

fn says(item: &Value, want: &str) -> bool {
    let own = item["status"] == "unknown" && item["name"].as_str().is_some_and(|name| name.contains(want));
    own || item["items"].as_array().is_some_and(|items| items.iter().any(|item| says(item, want)))
}

/// Returns the peak memory of the container of this process, including cached files. Returns `None`
/// if its control group is not visible from here.
fn peak(pid: u32) -> Option<u64> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let group =
        groups.lines().find_map(|line| line.split_once(":memory:")).map(|(_, path)| path.trim_start_matches('/'))?;
    let file = Path::new("/sys/fs/cgroup/memory").join(group).join("memory.max_usage_in_bytes");
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[test]
fn hostile_modules_cost_their_own_plugins_and_no_other() {
    let Some(bed) = Bed::new("hostile") else { return };
    let guest = misbehave();
    let mut bundles: Vec<_> =
        CASES.iter().map(|(name, limits, args, _)| bundle(&bed, name, &guest, limits, args)).collect();
    bundles.push(bundle(&bed, "many-functions", &many_functions(), &[], &[]));
    bundles.push(bundle(&bed, LOG_FLOOD, &guest, &[("wall", "60s")], &[]));
    bundles.extend(JUDGES.iter().map(|(name, limits, ..)| judged(&bed, name, &guest, limits)));
    let mut args: Vec<_> = bundles.iter().flat_map(|bundle| ["-p", bundle]).collect();
    args.push("--wait");
    let start = Instant::now();
    // A judge reported failed checks before it exceeded its limit, so the run fails.
    let done = bed.run(&[Plugin::job("good")], &args).expect(1);
    let took = start.elapsed().as_secs();
    assert_unharmed(&bed);
    let archive = retrieve(&bed);
    let tree = |plugin: &str| bed.plumbline(&["results", &archive, "-p", plugin, "-o", "json"]).json();
    assert_eq!(tree("good")[0]["status"], "passed", "{done:?}");
    let compiling = ("many-functions", "compiling module `hostile` took more than 768 MiB of memory");
    let wanted = CASES.iter().map(|(name, _, _, want)| (*name, *want)).chain([compiling]);
    for (plugin, want) in wanted {
        let tree = tree(plugin);
        assert!(says(&tree[0], want), "no item of `{plugin}` says {want}: {tree}");
    }
    for (plugin, _, status, want) in JUDGES {
        let verdict = member(&bed, &archive, &format!("plugins/{plugin}/plumbline_verdict.json"));
        let verdict: Value = serde_json::from_str(&verdict).unwrap();
        assert_eq!(&verdict["status"], status, "{plugin}: {verdict}");
        assert!(verdict["chain"][0]["error"].as_str().is_some_and(|error| error.contains(want)), "{plugin}: {verdict}");
    }
    let log = member(&bed, &archive, "meta/run.log");
    assert_eq!(log.matches("limit `log-bytes` reached: 65536 bytes").count(), 1, "{log}");
    let lines = log.matches("line ").count();
    assert!((1_000..20_000).contains(&lines), "{lines} of 100,000 lines are in the log");
    match process("aggregator", &format!("SONOBUOY_NAMESPACE={}", bed.namespace())).and_then(peak) {
        Some(peak) => loudly(&format!("hostile: at most {} MiB of {MEMORY} in {took} s", peak >> 20)),
        None => loudly("hostile: the control groups of pods are not seen from here, so the peak of memory is unknown"),
    }
}

/// Checks that the aggregator has its default memory, and that its container was not restarted.
fn assert_unharmed(bed: &Bed) {
    let pod = bed.ask(bed.api::<Pod>().get("sonobuoy"));
    let limits = pod.spec.unwrap().containers.remove(0).resources.unwrap().limits.unwrap();
    assert_eq!(limits["memory"].0, MEMORY);
    let containers = pod.status.unwrap().container_statuses.unwrap();
    assert!(containers.iter().all(|container| container.restart_count == 0), "{containers:?}");
}
